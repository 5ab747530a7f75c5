"""What an aggregation adds to the tasks."""
