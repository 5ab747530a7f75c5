"""Expressions evaluated on columns, with Spark's results."""
