"""The limits of a run on memory and disk, on the driver."""
