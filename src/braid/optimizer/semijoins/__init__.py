"""Joins of streams that arise at distant sites: what six ways to join two of them ship, and which way is cheapest."""
