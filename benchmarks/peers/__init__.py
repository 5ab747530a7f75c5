"""The systems that are measured, one a file. Each runs a task in the process it is called in."""
