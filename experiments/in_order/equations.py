"""Equations 1 to 8 of the paper: response times of the faster stream's rows, and what holding results saves.

Rates in rows a second, times in seconds. `slow` is λ1, `fast` λ2, `cost` c, the seconds to compare two rows, `window`
|w|. A row of one stream is compared with the rows of the other in the window: equations 2 to 6 give a row of the
faster stream c·|w|·λ1, which the paper calls C_S.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Setting:
    """Two streams and the join between them."""

    slow: float
    fast: float
    cost: float
    window: float

    @property
    def rows_a_turn(self) -> float:
        """n: rows of the faster stream for every row of the slower one."""
        return self.fast / self.slow

    @property
    def lookup(self) -> float:
        """C_S: seconds to look a row of the faster stream up."""
        return self.cost * self.window * self.slow

    @property
    def share(self) -> float:
        """c·|w|·λ1·λ2: the share of time that the lookups of one stream take, either of them."""
        return self.cost * self.window * self.slow * self.fast


def keeps_up(setting: Setting) -> bool:
    """Equation 1. It lets the lookups of each stream take all the time; where both share a server half is left."""
    return setting.cost * setting.window < 1 / (setting.slow * setting.fast)


def total_sync_filter(setting: Setting) -> float:
    """Equation 2: the response times of the n rows between two of the slower stream, added."""
    n = setting.rows_a_turn
    return total_filter_order(setting) + n * (n + 1) / 2 * setting.lookup


def mean_sync_filter(setting: Setting) -> float:
    """Equation 3."""
    return mean_filter_order(setting) + (setting.rows_a_turn + 1) / 2 * setting.lookup


def total_filter_order(setting: Setting) -> float:
    """Equation 4."""
    n = setting.rows_a_turn
    return n / setting.slow - (n * n - n) / (2 * setting.fast)


def mean_filter_order(setting: Setting) -> float:
    """Equation 5."""
    return 1 / setting.slow - (setting.rows_a_turn - 1) / (2 * setting.fast)


def gain(setting: Setting) -> float:
    """Equation 6: what Filter-Order saves of Sync-Filter's mean response time."""
    return 1 - mean_filter_order(setting) / mean_sync_filter(setting)


def gain_of_share(share: float) -> float:
    """Equation 7, which is equation 6 with the setting's share put in."""
    return share / (1 + share)


LARGEST_GAIN = gain_of_share(1.0)
"""Equation 8: the gain where the system hardly keeps up."""
