"""Tasks of streams at distant sites: rounds of messages between their slots."""
