"""What belongs to a worker process rather than to one of its tasks."""
