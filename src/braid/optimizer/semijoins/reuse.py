"""How often the stored rows of one join value are probed while they stay, as sums over batches.

A stored row can be matched by `N` batches, that of its arrival included. The rows of one value form an *entry*, which
starts with a row that finds no retained row of its value, and lasts until `N` batches pass without another one. In each
batch a new row of the value is stored with probability a, and no row with it probes with probability x.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class KeyReuse:
    """Probabilities of one value: `stored_in_batch` is a, `not_probed_in_batch` is x, `retained_batches` is N."""

    stored_in_batch: float
    not_probed_in_batch: float
    retained_batches: float

    @property
    def row_probed_share(self) -> float:
        """The share of stored rows that are probed while they are retained: 1 - x^N."""
        return 1 - self._not_probed_while_retained

    @property
    def probed_row_batches(self) -> float:
        """For how many batches a stored row is retained after it was first probed, that batch included."""
        return self._batches_after_probe(1.0)

    @property
    def waiting_share(self) -> float:
        """The probability that a value has rows of earlier batches that no batch has probed: x a / (1 - x (1 - a)).

        Going back, each batch either stored the value, was probed before that, or neither. That rows expire is left
        out: a value that is not probed for so long is rare.
        """
        kept = self.not_probed_in_batch * (1 - self.stored_in_batch)
        return self.not_probed_in_batch * self.stored_in_batch / (1 - kept) if kept < 1 else 0.0

    @property
    def started_in_batch(self) -> float:
        """The probability that a value starts an entry in a batch: a (1 - a)^N."""
        return self.stored_in_batch * self._not_stored_while_retained

    @property
    def entry_probed_share(self) -> float:
        """The share of entries that are probed while they last; also of stored rows whose entry is, before they expire.

        Both follow from the gaps between batches that store the value, forward from the first one or backward from the
        row: each gap g <= N is without a probe with x^g, and the last row is retained for N batches more.
        """
        return 1 - self._not_probed_while_retained * self._not_probed_before

    @property
    def fetched_row_batches(self) -> float:
        """For how many batches a stored row is retained after its entry was first probed, that batch included."""
        return self._batches_after_probe(self._not_probed_before)

    @property
    def _not_probed_while_retained(self) -> float:
        return float(self.not_probed_in_batch**self.retained_batches)

    @property
    def _not_stored_while_retained(self) -> float:
        return float((1 - self.stored_in_batch) ** self.retained_batches)

    @property
    def _not_probed_before(self) -> float:
        """The probability that an entry has not been probed before the batch of one of its rows."""
        both = (1 - self.stored_in_batch) * self.not_probed_in_batch
        gaps = self.stored_in_batch * self.not_probed_in_batch * _geometric(both, self.retained_batches)
        return self._not_stored_while_retained / (1 - gaps) if gaps < 1 else 1.0

    def _batches_after_probe(self, before: float) -> float:
        """The sum over the batches j = 1 … N of 1 - x^j, where the probability of no probe starts with `before`."""
        x = self.not_probed_in_batch
        return self.retained_batches - before * x * _geometric(x, self.retained_batches)


def _geometric(factor: float, terms: float) -> float:
    """1 + factor + … of so many terms; between whole numbers of terms, the same closed form."""
    if math.isclose(factor, 1.0, abs_tol=1e-12):
        return terms
    return float((1 - factor**terms) / (1 - factor))
