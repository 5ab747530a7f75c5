"""What runs in Spark's Python workers: taking rows in, looking them up, merging blocks, writing results."""
