"""What the user holds: streams, joins, writers, runs."""
