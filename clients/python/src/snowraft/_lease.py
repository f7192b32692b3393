"""A lane's hold on one worker: the arithmetic of its window.

A cell is a (tick, sequence) of the worker, as the integer tick << sequence_bits | sequence. Position, the next cell to
issue, only grows. No cell at or above limit is issued, and limit always is the end of a grant that this process received
for this very lease. All of it is guarded by the lock of the generator.
"""

from __future__ import annotations

from enum import Enum

from ._answers import Grant
from .layout import Layout

MAX_AHEAD_MS = 5  # a full tick carries over into later ticks, at most this far ahead of the clock


class Verdict(Enum):
    """The outcome of placing cells."""

    TAKEN = 1
    EARLY = 2  # the next cell is too far ahead of the clock
    FLOOR_EARLY = 3  # the first cell above the floor is too far ahead of the clock
    ENDED = 4  # the window is used up, or the clock has passed it
    CLOSED = 5
    EXHAUSTED = 6  # the layout has no tick left
    UNREACHABLE = 7  # no ID of the layout is above the floor


class Lease:
    """A grant, until it is closed."""

    def __init__(self, layout: Layout, grant: Grant, first_tick: int = 0) -> None:
        self.layout, self.worker, self.token, self.from_tick = layout, grant.worker, grant.token, grant.from_tick
        self.bits = layout.width("sequence")
        self.mask = (1 << self.bits) - 1
        self.ticks = layout.ticks
        self.ahead = MAX_AHEAD_MS // layout.unit_ms
        self.time_shift, self.sequence_shift = layout.shift("time"), layout.shift("sequence")
        self.base = layout.datacenter << layout.shift("datacenter") | grant.worker << layout.shift("worker")
        self.first = max(grant.from_tick, first_tick) << self.bits
        if self.id(self.first) == 0:
            self.first += 1  # 0 is never issued, because as a floor it means none
        self.position = self.first
        self.limit = grant.until_tick << self.bits
        self.closed = False
        # While the wall clock shows the ms wall, Generator.next issues the cells below stop, all of one tick. next_id is
        # the ID of position. With a stop of 0, it issues none.
        self.wall, self.stop, self.next_id = 0, 0, 0
        self.id_step = 1 << self.sequence_shift

    def id(self, cell: int) -> int:
        """Returns the ID of a cell."""
        return self.base | cell >> self.bits << self.time_shift | (cell & self.mask) << self.sequence_shift

    def place(self, tick: int, count: int, after: int = 0) -> tuple[int, int, Verdict]:
        """Returns the cells [start, end) that a take would issue with the clock at tick, at most count, all above after.

        If there are none, start is the first cell that it would have issued, for EARLY, FLOOR_EARLY and ENDED.
        """
        if self.closed:
            return 0, 0, Verdict.CLOSED
        if tick < 0:
            return self.position, 0, Verdict.EARLY
        if tick >= self.ticks:
            return 0, 0, Verdict.EXHAUSTED
        bound = min(tick + self.ahead + 1, self.ticks) << self.bits
        start, fresh = self.position, tick << self.bits
        if start < fresh or start == self.first:
            start = max(start, fresh + self.layout.start_sequence(tick))
        verdict = Verdict.EARLY
        if after and start < bound and self.id(start) <= after:
            floor = self._above(after)
            if floor is None:
                return 0, 0, Verdict.UNREACHABLE
            start, verdict = floor, Verdict.FLOOR_EARLY
        if start >= bound:
            return (0, 0, Verdict.EXHAUSTED) if start >> self.bits >= self.ticks else (start, 0, verdict)
        if start >= self.limit:
            return start, 0, Verdict.ENDED
        return start, min(start + count, bound, self.limit), Verdict.TAKEN

    def take(self, tick: int, count: int, after: int = 0) -> tuple[int, int]:
        """Issues the cells [start, end): at most count, none if start equals end."""
        start, end, verdict = self.place(tick, count, after)
        if verdict is not Verdict.TAKEN:
            return 0, 0
        self.position, self.stop = end, 0
        return start, end

    def take_at(self, wall: int) -> int:
        """Issues one ID with the wall clock at that ms; 0 if there is none. Prepares the fast path for this ms."""
        tick = self.layout.tick_at(wall)
        start, end, verdict = self.place(tick, self.mask + 1)
        if verdict is not Verdict.TAKEN:
            return 0
        id = self.id(start)
        self.position, self.next_id = start + 1, id + self.id_step
        self.wall, self.stop = wall, min(end, (start >> self.bits) + 1 << self.bits)
        return id

    def _above(self, id: int) -> int | None:
        """Returns the first cell of this worker whose ID is greater than id."""
        if id >= 1 << self.layout.bits:
            return None
        tick = self.layout.decode(id).tick
        base = self.base | tick << self.time_shift
        if base > id:
            return tick << self.bits
        sequence = (id - base >> self.sequence_shift) + 1
        cell = (tick << self.bits) + min(sequence, 1 << self.bits)
        return cell if cell >> self.bits < self.ticks else None

    def close(self) -> None:
        """Ends the lease: no cell is issued afterwards."""
        self.closed, self.stop = True, 0

    @property
    def issued(self) -> bool:
        """Whether a cell was issued."""
        return self.position != self.first

    @property
    def next_tick(self) -> int:
        """The first tick in which nothing was issued."""
        return (self.position - 1 >> self.bits) + 1 if self.issued else self.from_tick

    @property
    def until_tick(self) -> int:
        """The tick at which the window ends."""
        return self.limit >> self.bits

    def extend(self, until_tick: int) -> None:
        """Moves the end of the window."""
        self.limit = until_tick << self.bits

    def ends_ms(self) -> int:
        """Returns the end of the window, in Unix ms."""
        return self.layout.ms_at(self.until_tick)

    def lead_ms(self, cell: int, wall: int) -> int:
        """Returns the time by which the tick of a cell is ahead of a clock."""
        return self.layout.ms_at(cell >> self.bits) - wall

    def due_ms(self, cell: int, wall: int) -> int:
        """Returns the time until a cell is no longer too far ahead of a clock."""
        return self.layout.ms_at((cell >> self.bits) - self.ahead) - wall

    def is_behind(self, cell: int, wall: int, threshold_ms: int) -> bool:
        """Reports whether a cell is so far ahead of a clock that the clock must have moved backwards.

        A full tick is only a reason to wait for the next one, however long ticks are.
        """
        ticks = (cell >> self.bits) - self.layout.tick_at(wall)
        return ticks > self.ahead + 1 and self.lead_ms(cell, wall) > threshold_ms
