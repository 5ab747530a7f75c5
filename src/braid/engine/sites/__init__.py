"""Streams at distant sites: the driver's half of a step."""
