"""How long a window to request, and when to extend it. All times are in ms."""

from __future__ import annotations

import random

FIRST_WINDOW = 2_000
DEFAULT_MAX_WINDOW = 600_000
MIN_BACKOFF, MAX_BACKOFF = 50, 1_000
PATIENCE = 16  # the pause between extensions that fail is at most the rest of the window divided by it


class SlowStart:
    """Windows are short at first, then two to four times as long each time, up to the longest of the cluster.

    A process that crashes in a loop thus discards seconds of a worker, while a stable one gets windows that outlast a long
    outage. The moment of an extension is random, so that processes that start together do not extend together.
    """

    def __init__(self) -> None:
        self.current = FIRST_WINDOW
        self.coming = FIRST_WINDOW  # the next window to request
        self._reached = 0  # longest window so far, on any worker
        self._max = DEFAULT_MAX_WINDOW
        self._apart = False  # extensions are spread, relative to processes that began or failed at the same time

    def begin(self, max_window: int) -> None:
        """Starts over with a new worker."""
        self.current, self._apart = FIRST_WINDOW, False
        self._limit(max_window)

    def extended(self, max_window: int) -> None:
        """Records that an extension was granted."""
        self.current = self.coming
        self._reached = max(self._reached, self.current)
        self._limit(max_window)

    def failed(self) -> None:
        """Records that an extension was not granted: other processes may have failed too."""
        self._apart = False

    def _limit(self, max_window: int) -> None:
        self._max = max_window or DEFAULT_MAX_WINDOW
        grown = random.randint(2 * self.current, 4 * self.current)
        self.coming = max(1, min(max(grown, self._reached), self._max))

    def extend_after(self, left: int) -> int:
        """Returns the time until the window is extended, of which that much is left."""
        left = max(0, min(left, self.current))  # a clock that moved backwards makes it look longer
        after = left // 2 + random.randint(0, left // 20)
        if self.current < self._max:
            after = left // 4 + random.randint(0, left // 4)
        elif not self._apart:
            after, self._apart = random.randint(0, left // 2), True
        return max(after, MIN_BACKOFF)


def backoff(failures: int, most: int = MAX_BACKOFF) -> int:
    """Returns the pause after failures in a row: 50 ms, doubled for each up to most, less a random part of up to half."""
    pause = min(MIN_BACKOFF << min(max(0, failures - 1), 16), most)
    return max(MIN_BACKOFF, pause - random.randint(0, max(0, pause // 2 - 1)))
