"""Decides when to request a block of numbers, and how many. Rates are in numbers per ms, times in ms."""

from __future__ import annotations

import math

from ._answers import MOST_NUMBERS, Block
from ._window import backoff

LOOKS = 16  # how often callers look at the pace during a block
_MIN_WINDOW = 100  # shortest time over which a rate is measured: a few calls in a row would look like an enormous load
_SHORT_WINDOW = 10  # a shorter one counts as this when deciding when to request a block
_BURST_WINDOW = 1000  # and as this when deciding how large it should be
_HEADROOM = 4  # round trips that a block lasts at least
_DEFAULT_DURATION, _MAX_DURATION = 10_000, 3_600_000


class Pacer:
    """The next block is requested when a fifth of the current one is left, or what two round trips use up.

    A block should last for the block duration of the sequence. It has between half and twice as many numbers as the one
    before, unless a load that jumps would have to wait.
    """

    def __init__(self, first: int) -> None:
        self.duration = 0.0  # time that a block should last; 0 if none was granted yet
        self._first = first
        self._least = self._most = 0
        self._size = 0  # numbers requested last, without those that callers wanted beyond
        self._round_trip = 0.0  # close to the slowest recent one
        self._since: int | None = None  # start of the present window
        self._base = 0  # numbers issued before it
        self._rate = self._recent = self._burst = 0.0
        self._brief_until = -1  # until then blocks last for a few round trips only
        self.failures = 0
        self.retry_at = 0  # no request in the background before

    def measure(self, mono: int, taken: int) -> None:
        """Records how many numbers were issued so far."""
        if self._since is None or taken < self._base or mono < self._since:
            self._since, self._base = mono, taken
            return
        n, elapsed = taken - self._base, mono - self._since
        self._recent = n / max(elapsed, _SHORT_WINDOW)
        self._burst = n / _BURST_WINDOW
        if elapsed < _MIN_WINDOW:
            return
        if self._rate > 0:
            weight = min(1.0, max(0.5, elapsed / max(self.duration, 1.0)))
            self._rate += weight * (self._recent - self._rate)
        else:
            self._rate = self._recent
        self._since, self._base, self._burst = mono, taken, 0.0

    def granted(self, block: Block, took: int) -> None:
        """Records a block and the time that its request took."""
        self.duration = float(max(1, min(block.duration_ms or _DEFAULT_DURATION, _MAX_DURATION)))
        self._most = min(block.most, MOST_NUMBERS) or MOST_NUMBERS
        self._least = max(1, min(block.least, self._most))
        self.failures, self.retry_at = 0, 0
        sample = float(max(1, took))
        self._round_trip = sample if sample > self._round_trip else self._round_trip + (sample - self._round_trip) / 8

    def failed(self, mono: int) -> bool:
        """Records a failed request. Returns whether it is the first in a row."""
        self.failures += 1
        self.retry_at = mono + backoff(self.failures)
        return self.failures == 1

    def overtaken(self, mono: int) -> None:
        """Records that blocks were dropped. While that goes on, large ones would be skipped too."""
        self._brief_until = mono + _BURST_WINDOW

    def ask(self, mono: int, sum: int, most: int) -> int:
        """Returns how many numbers to request when callers wait for sum together, and the largest call for most."""
        if self.duration == 0:
            self._size = self._first
            return max(self._size, sum)
        if mono < self._brief_until:
            size = _clamp(self._rate * _HEADROOM * self._round_trip, 0, MOST_NUMBERS)
        else:
            rate, trips = max(self._rate, self._burst), _HEADROOM * self._round_trip
            size = _clamp(rate * max(self.duration, trips), self._size // 2, min(2 * self._size, MOST_NUMBERS))
            size = max(size, _clamp(rate * max(self.duration / 4, trips), 0, MOST_NUMBERS))
        self._size = max(self._least, min(size, self._most))
        return max(min(max(self._size, sum), self._most), most)

    def reserve(self, count: int) -> int:
        """Returns how many numbers of a block are left when the next one is requested."""
        need = _clamp(2 * self._round_trip * max(self._rate, self._recent), 0, MOST_NUMBERS)
        return max(count // 5 + min(count % 5, 1), need)


def _clamp(count: float, low: int, high: int) -> int:
    return high if count >= high else max(low, math.ceil(count))
