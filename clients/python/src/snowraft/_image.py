"""Notices that this process is a copy of another one.

Objects that issue from memory must not go on in a copy: both would issue the same. A hook of Python notices os.fork. A byte
in a page that the kernel wipes in a child (MADV_WIPEONFORK) also notices forks in C, which call no hook, and reading it costs
less than getpid.
"""

from __future__ import annotations

import mmap
import os
import sys
import threading
import weakref
from typing import Protocol

_MADV_WIPEONFORK = 18


class Mark(Protocol):
    """A mark of one process."""

    def __getitem__(self, index: int, /) -> int:
        """Returns 1 in the process that made the mark, and 0 in each child, for index 0."""
        ...


class Inheritor(Protocol):
    """An object that must change in a child."""

    _page: Mark

    def _forked(self) -> None:
        """Makes a mark and locks, and drops what belongs to the parent. Runs once in a child.

        The mark is made before all the rest, because a fork in between must wipe it, and stored in _page after all the
        rest, because other threads that find it there go on at once.
        """
        ...


class _Pid:
    """A mark for systems without MADV_WIPEONFORK."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    def __getitem__(self, index: int, /) -> int:
        return int(os.getpid() == self._pid)


def mark() -> Mark:
    """Returns a mark of this process."""
    if sys.platform == "linux":
        page = mmap.mmap(-1, mmap.PAGESIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:
            page.madvise(_MADV_WIPEONFORK)
        except (OSError, ValueError):  # before Linux 4.14
            page.close()
            return _Pid()
        page[0] = 1
        return page
    return _Pid()


_noticing: dict[int, threading.Lock] = {}  # by process ID: a fork can copy a lock that a thread of the parent holds


def own(inheritor: Inheritor) -> Mark:
    """Returns the mark of an object, whose _forked it calls first if a fork has called no hook."""
    if not inheritor._page[0]:
        with _noticing.setdefault(os.getpid(), threading.Lock()):
            if not inheritor._page[0]:
                inheritor._forked()
    return inheritor._page


_inheritors: weakref.WeakSet[Inheritor] = weakref.WeakSet()
_hooked = False


def inherit(inheritor: Inheritor) -> None:
    """Calls _forked of an object in each child of os.fork, as long as the object lives."""
    global _hooked
    if not _hooked and hasattr(os, "register_at_fork"):
        _hooked = True
        os.register_at_fork(after_in_child=_after_fork)
    _inheritors.add(inheritor)


def _after_fork() -> None:
    for inheritor in list(_inheritors):
        inheritor._forked()
