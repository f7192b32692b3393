"""Granted numbers in memory, and what is known of the order of blocks. Guarded by the lock of the Blocks."""

from __future__ import annotations

from dataclasses import replace

from ._answers import MOST_NUMBERS, Block


class Stock:
    """The numbers of a block that were not issued when the stock was made, of one grant or of contiguous ones."""

    def __init__(self, block: Block, granted: int = 0) -> None:
        self.block = block  # its token is that of the last grant
        self.granted = granted or block.count  # numbers at the end that belong to the last grant
        self.position = 0  # issued numbers; only grows
        self.mark = 0  # position from which callers look at the pace

    @property
    def left(self) -> int:
        """Numbers that were not issued."""
        return self.block.count - self.position

    def take(self, count: int) -> int | None:
        """Issues count numbers and returns the first; None if there are not as many."""
        if count > self.left:
            return None
        first = self.block.number(self.position)
        self.position += count
        return first

    def continues(self, other: Stock) -> bool:
        """Reports whether the block begins right after the end of another one, so that they can be joined."""
        a, b = self.block, other.block
        same = (a.epoch, a.increment, a.period_ends_ms) == (b.epoch, b.increment, b.period_ends_ms)
        return same and a.count + b.count <= MOST_NUMBERS and a.first == b.number(b.count)

    def joined(self, following: Stock) -> Stock:
        """Returns one stock of the rest of this block and of the block that continues it."""
        if not self.left:
            return following
        first, count = self.block.number(self.position), self.left + following.block.count
        return Stock(replace(following.block, first=first, count=count), following.granted)


class Ledger:
    """What is known of the sequence. Accepting a wrong block could repeat numbers; ignoring a right one only skips some."""

    def __init__(self) -> None:
        self.known: tuple[int, str] = (0, "")  # latest generation and period
        self.token = 0  # greatest token of a granted block
        self.floor = 0  # blocks with a lower token are not used
        self._end = 0  # last number of the last accepted block
        self._step = 0  # its increment; 0 if any block may follow
        self._ends_in: tuple[int, str] = (0, "")  # its epoch

    def follows(self, block: Block) -> bool:
        """Reports whether a block can follow the last one."""
        if block.token <= self.token:
            return False
        if self._step == 0 or block.epoch != self._ends_in:
            return True
        later = (block.first > self._end) == (self._step > 0) and block.first != self._end
        return block.increment == self._step and later

    def outdated(self, block: Block) -> bool:
        """Reports whether a block must not be used."""
        return block.epoch < self.known or block.token < self.floor

    def accepted(self, block: Block) -> None:
        """Records a block that will be used."""
        self.known = max(self.known, block.epoch)
        self._end, self._step, self._ends_in = block.number(block.count - 1), block.increment, block.epoch
