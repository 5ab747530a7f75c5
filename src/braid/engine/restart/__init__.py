"""What a restart must find before it may continue a checkpoint."""
