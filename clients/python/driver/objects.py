"""The named objects of a driver, and the form of its answers."""

from __future__ import annotations

import threading
from typing import Any

from snowraft import SnowraftError


def failure(error: SnowraftError) -> dict[str, Any]:
    """Returns an error in the form of the contract."""
    return {"reason": error.reason, "message": str(error), "retry": error.retry, "unknown": error.unknown}


class Failure(Exception):
    """An answer that is not just a result."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        self.answer = answer


class SetClock:
    """A clock that stands still between settings."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._wall_ms = self._monotonic_ms = 0

    def set(self, wall_ms: int, monotonic_ms: int) -> None:
        """Sets both clocks."""
        with self._lock:
            self._wall_ms, self._monotonic_ms = wall_ms, monotonic_ms

    def wall_ns(self) -> int:
        """Returns the wall clock."""
        return self._wall_ms * 1_000_000

    def monotonic_ns(self) -> int:
        """Returns the monotonic clock."""
        return self._monotonic_ms * 1_000_000


class Named:
    """Objects of one kind, by name."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._all: dict[str, Any] = {}
        self._lock = threading.Lock()

    def put(self, name: str, what: Any) -> Any:
        """Adds an object."""
        with self._lock:
            self._all[name] = what
        return what

    def get(self, name: str) -> Any:
        """Returns the object of that name."""
        with self._lock:
            if name not in self._all:
                raise ValueError(f"no {self._kind} {name!r}")
            return self._all[name]

    def take_all(self) -> list[Any]:
        """Removes and returns all objects."""
        with self._lock:
            found, self._all = list(self._all.values()), {}
            return found

    def pop(self, name: str) -> Any:
        """Removes and returns an object."""
        with self._lock:
            return self._all.pop(name, None)
