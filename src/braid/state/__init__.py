"""Durable state: files, immutable blocks, the records that commit a step."""
