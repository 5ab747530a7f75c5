"""Pure functions on Arrow and NumPy arrays: no Spark, no clock, no files, no logging."""
