"""What a query means and what will run, as data."""
