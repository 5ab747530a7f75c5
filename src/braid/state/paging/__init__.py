"""Mapped files read by range: which bytes a range of rows has, their checksums, and pages given back."""
