"""How commands reach the tasks of a job: divided by slot, and read by range."""
