"""What the user asks: durations, windows, the settings of a stream."""
