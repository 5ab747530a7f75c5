"""Spark's streaming query: supervised, its sources and its own log."""
