"""Closes lazy generators at the exit of their process.

A child of multiprocessing ends without the functions of atexit, or without those that its parent registered. It runs
finalizers of multiprocessing instead.
"""

from __future__ import annotations

import atexit
import os
import sys
import weakref
from typing import Protocol


class Closer(Protocol):
    """An object that is closed at the exit."""

    def _exit(self) -> None:
        """Closes the object. It may be closed already."""
        ...


_closers: weakref.WeakSet[Closer] = weakref.WeakSet()
_registered = False
_child = 0  # the last process, a child of multiprocessing, that has the finalizer


def close_at_exit(closer: Closer) -> None:
    """Closes an object at the exit of this process and of its children, if the object lives.

    A function of atexit that was registered before, and so runs after this, finds it closed.
    """
    global _registered
    if not _registered:
        _registered = True
        atexit.register(_close)
    _closers.add(closer)


def in_this_process() -> None:
    """Makes sure that this process closes its objects, if it may be a child of multiprocessing."""
    global _child
    process = sys.modules.get("multiprocessing.process")
    if process is None or process.parent_process() is None or _child == os.getpid():
        return
    from multiprocessing.util import Finalize

    _child = os.getpid()
    Finalize(None, _close, exitpriority=0)


def _close() -> None:
    for closer in list(_closers):
        closer._exit()
