"""What tasks do with rows and blocks. Nothing here knows the driver's half."""
