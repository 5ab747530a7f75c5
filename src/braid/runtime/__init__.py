"""Carrying a query out: steps, recovery, ingest and probe tasks, sinks; with `api`, the rooms that know Spark."""
