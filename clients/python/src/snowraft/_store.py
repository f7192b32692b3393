"""The numbers that a Blocks holds: the current block, and the next one. Guarded by the lock of the Blocks."""

from __future__ import annotations

from collections.abc import Callable

from . import _reasons as reasons
from ._answers import Block
from ._pacer import LOOKS, Pacer
from ._stock import Ledger, Stock
from ._watch import Reading
from .errors import SnowraftError
from .numbers import Numbers

ASK_AGAIN = 100  # ms between requests while a period has ended by this clock, but not by the cluster's


class Store:
    """Issues each number of each block at most once, and never after a later one of its generation and period."""

    def __init__(self, name: str, first: int) -> None:
        self.name = name
        self.current: Stock | None = None
        self.next: Stock | None = None  # nothing of it is issued
        self.ledger, self.pacer = Ledger(), Pacer(first)
        self.skipped = self.blocks = 0
        self._retired = 0  # issued numbers of former blocks
        self._lenient = 0  # monotonic ms until which a block serves although its period has ended by this clock

    @property
    def taken(self) -> int:
        """Numbers issued so far."""
        return self._retired + (self.current.position if self.current else 0)

    def _over(self, stock: Stock, now: Reading) -> bool:
        end = stock.block.period_ends_ms
        return bool(end) and now.wall >= end and now.mono >= self._lenient

    def serve(self, count: int, now: Reading) -> Numbers | None:
        """Issues count numbers in one run. It skips the rest of a block only for more than one number."""
        while True:
            b, following = self.current, self.next
            if b and not self._over(b, now):
                first = b.take(count)
                if first is not None:
                    return Numbers(first, count, b.block.increment, b.block.period, mode="relaxed")
            if following is None or self._over(following, now):
                return None
            if b and following.continues(b):
                self._retire(b)
                following = b.joined(following)
            elif b and (following.block.count >= count or not b.left):
                self._skip(b)
            elif b:
                return None  # both may still serve smaller requests
            self.next, self.current = None, following

    def _retire(self, b: Stock) -> None:
        self._retired += b.position
        self.current = None

    def _skip(self, b: Stock) -> None:
        self.skipped += b.left
        self._retire(b)

    def due(self, now: Reading, asking: bool) -> bool:
        """Reports whether to request the next block, and sets the mark at which a call looks again."""
        b = self.current
        if b is None:
            return False
        self.pacer.measure(now.mono, self.taken)
        mark, due = b.position + max(1, b.block.count // LOOKS), False
        if self.next is None and not asking:
            reserve = self.pacer.reserve(b.block.count)
            if b.left > reserve:
                mark = min(mark, b.block.count - reserve)
            else:
                due = now.mono >= self.pacer.retry_at
                mark = mark if due else b.position
        b.mark = min(mark, b.block.count)
        return due

    def grant(self, block: Block, asked: Reading, now: Reading, stale: bool) -> bool:
        """Takes a granted block, and returns whether it may be used. Raises an error if it is impossible."""
        if not self.ledger.follows(block):
            text = f"block of sequence {self.name!r} ignored, because it is impossible: token {block.token}"
            raise SnowraftError(f"{text}, {block.count} numbers from {block.first}", reason=reasons.INTERNAL)
        self.ledger.token = block.token
        self.blocks += 1
        if stale or self.ledger.outdated(block):
            self.skipped += block.count
            return False
        self.pacer.granted(block, now.mono - asked.mono)
        self.ledger.accepted(block)
        self.weed()
        if block.period_ends_ms and asked.wall >= block.period_ends_ms:
            self._lenient = now.mono + ASK_AGAIN  # the cluster granted it anyway, and its clock decides
        return True

    def put(self, block: Block, now: Reading, wanted: int) -> None:
        """Adds a granted block. There is no room for a third one: then the next call, for wanted numbers, decides."""
        b = Stock(block)
        if self.next is None:
            self.next = b
        elif b.continues(self.next):
            self.next = self.next.joined(b)
        elif not wanted or wanted > block.count:
            self.skipped += block.count
        else:
            self.drop(lambda _: True)
            self.next = b

    def know(self, generation: int, period: str) -> None:
        """Drops the blocks of an earlier generation or period."""
        self.ledger.known = max(self.ledger.known, (generation, period))
        self.weed()

    def drop_before(self, token: int, now: Reading) -> None:
        """Drops the blocks that were granted before a token, those on their way included."""
        self.ledger.floor = max(self.ledger.floor, token)
        self.pacer.overtaken(now.mono)
        self.weed()

    def weed(self) -> None:
        """Drops the blocks that must not be used."""
        self.drop(self.ledger.outdated)

    def drop(self, which: Callable[[Block], bool]) -> None:
        """Drops the current and the next block if which returns True for them."""
        if self.current and which(self.current.block):
            self._skip(self.current)
        if self.next and which(self.next.block):
            self.skipped += self.next.left
            self.next = None

    def tail(self) -> tuple[int, int]:
        """Drops all blocks. Returns the token of the last one and how many of its numbers can be returned."""
        last = self.next or self.current
        token, left, granted = (last.block.token, last.left, last.granted) if last else (0, 0, 0)
        self.drop(lambda _: True)
        return (token, min(left, granted)) if token == self.ledger.token else (0, 0)
