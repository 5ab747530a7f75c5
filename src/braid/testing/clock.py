"""A clock that only moves when the test moves it."""

from __future__ import annotations


class ManualClock:
    """Milliseconds, for `StepRunner`'s `now_ms`."""

    def __init__(self, now_ms: int = 0) -> None:
        self.now_ms = now_ms

    def __call__(self) -> int:
        return self.now_ms

    def advance(self, milliseconds: int) -> None:
        if milliseconds < 0:
            raise ValueError(f"a clock does not go back, but was moved by {milliseconds} ms")
        self.now_ms += milliseconds
