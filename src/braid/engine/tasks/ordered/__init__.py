"""What an ordered query adds to the tasks."""
