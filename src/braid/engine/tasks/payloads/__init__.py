"""Payloads that are stored apart from their rows: written once at ingest, fetched for results."""
