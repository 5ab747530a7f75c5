"""What messages between sites have beyond their payload: a topic, and Arrow's schema, metadata and padding.

Every part of a message is a stream of Arrow with one batch. Its schema and its metadata have an entry for each column,
so the framing of a part is a constant and a term for each column, whatever the number of rows.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Framing:
    """The bytes that a part of a message adds to its payload, and those that each of its columns adds."""

    part_bytes: float
    column_bytes: float

    def of(self, columns: float) -> float:
        """The framing of a part with so many columns."""
        return self.part_bytes + self.column_bytes * columns


NO_FRAMING = Framing(0.0, 0.0)
"""That of the paper's formulas, which count payload alone."""

# Measured: a column of keys is sent with 314 bytes of framing, keys with counts with 421, a time, a number and a text
# with 554. `tests/unit/optimizer/semijoins/test_framing.py` compares it with encoded messages of up to twelve columns.
ARROW_FRAMING = Framing(195.0, 120.0)
"""That of the engine's messages."""
