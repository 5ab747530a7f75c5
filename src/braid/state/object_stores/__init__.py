"""What object stores lack: creating a file only if it is absent, and deleting or moving many at once."""
