"""Streams at distant sites on Spark: which slots are where, and jobs whose tasks run there."""
