"""What an aggregation adds to a step, on the driver."""
