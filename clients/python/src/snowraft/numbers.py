"""Numbers of sequences."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Numbers:
    """A run of ``count`` numbers: ``first``, ``first + increment``, and so on. All fit into 64 bits, signed."""

    first: int
    count: int
    increment: int
    """Difference between a number and the one before it; not 0, may be negative."""
    period: str = ""
    """First day of the period that the numbers belong to, such as ``2026-11-22``; empty without a reset."""
    texts: tuple[str, ...] = ()
    """The numbers in the format of the sequence; empty if it has none, and for more than 1000 numbers."""
    mode: str = ""
    """``"strict"`` or ``"relaxed"``."""

    def __len__(self) -> int:
        return self.count

    def __getitem__(self, index: int) -> int:
        if not 0 <= index < self.count:
            raise IndexError(index)
        return self.first + index * self.increment

    def __iter__(self) -> Iterator[int]:
        return (self.first + index * self.increment for index in range(self.count))

    def part(self, start: int, count: int) -> Numbers:
        """Returns count of the numbers, from an index on."""
        return Numbers(
            self[start], count, self.increment, self.period, self.texts[start : start + count], self.mode
        )
