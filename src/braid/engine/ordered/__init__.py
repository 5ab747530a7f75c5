"""What an ordered query adds to a step, on the driver."""
