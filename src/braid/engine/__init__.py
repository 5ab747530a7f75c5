"""One step, on the driver and in its tasks. Nothing here imports Spark."""
