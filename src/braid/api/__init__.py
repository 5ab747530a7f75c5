"""The public objects: streams, joins, writers, runs."""
