"""Spark around the engine: sessions, jobs, the streaming query."""
