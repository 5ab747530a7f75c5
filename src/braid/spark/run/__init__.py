"""A run of a query on Spark: opened, started, and stepped through."""
