"""Notices that this process is a copy of another one.

Objects that issue from memory must not go on in a copy: both would issue the same. A hook of Python notices os.fork. A byte
in a page that the kernel wipes in a child (MADV_WIPEONFORK) also notices forks in C, which call no hook, and reading it costs
less than getpid.
"""

from __future__ import annotations

import mmap
import os
import sys
import weakref
from collections.abc import Sequence
from typing import Protocol

_MADV_WIPEONFORK = 18


class Inheritor(Protocol):
    """An object that must change in a child."""

    def _forked(self) -> None:
        """Makes locks anew and drops what belongs to the parent. Runs once in a child, before any other thread."""
        ...


class _Pid(Sequence[int]):
    """A mark for systems without MADV_WIPEONFORK: its only item is 0 in another process."""

    def __init__(self) -> None:
        self._pid = os.getpid()

    def __getitem__(self, index: int) -> int:  # type: ignore[override]
        return int(os.getpid() == self._pid)

    def __len__(self) -> int:
        return 1


def mark() -> Sequence[int]:
    """Returns a mark of this process: its item 0 is 1 here, and 0 in each child."""
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
