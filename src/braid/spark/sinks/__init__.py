"""Where results go: the formats of a writer, on Spark."""
