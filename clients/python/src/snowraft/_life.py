"""The threads of a generator in one process: one for each lane, and one for the check of the clocks."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from . import _answers as answers
from . import _methods as methods
from . import _reasons as reasons
from . import _requests as requests
from ._granter import MemberGranter
from ._lane import Lane, Outlook, Rest, window_ended
from ._methods import Method
from ._threads import start
from ._watch import Limits, Watch
from .clock import Clock
from .errors import SnowraftError, closed, invalid
from .layout import Layout

if TYPE_CHECKING:
    from .client import Client

log = logging.getLogger("snowraft")

_CHECK_EVERY = 1.0  # seconds between two checks of the clock
_QUERY_EVERY = 20_000  # ms between two requests for the clock of a member while the clock seems right
_QUERY_TIMEOUT = 2.0
_ACQUIRE_LIMIT = 0.5  # seconds to wait at the end for the answer to a request for a worker
_LAYOUT_TIMEOUT = 5.0
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.5


class Life:
    """A generator from its start to its close or a fork."""

    def __init__(
        self, client: Client, layout: str, holder: str, lanes: int, clock: Clock, changed: threading.Condition
    ) -> None:
        self._client, self._layout, self._holder, self._count = client, layout, holder, lanes
        self._changed = changed
        self.watch = Watch(clock)
        self.lanes: list[Lane] = []  # empty until the layout is known
        self._problem: SnowraftError | None = None  # of the last attempt to open the lanes
        self._granter = MemberGranter(self._call, layout)
        self._stop = threading.Event()
        self._wakes: list[threading.Event] = []
        self._runners: list[threading.Thread] = []  # the threads of the lanes

    def inherited(self, changed: threading.Condition) -> Life:
        """Returns what a child may know of this life: no lease, no nonce of the parent's, no thread."""
        clock = self.watch.clock
        return Life(self._client, self._layout, self._holder, self._count, clock, changed)

    def start(self) -> None:
        """Starts the threads, which ends the wait for a layout and a window. A life that did not start cannot be used."""
        try:
            start("clock", self._judge)  # first: nothing is issued without it
            start("open", self._open)
        except BaseException:
            self._stop.set()
            raise

    def _call(self, method: Method, body: dict[str, Any], timeout: float) -> dict[str, Any]:
        return self._client._call(method, body=body, timeout=timeout)

    def missing(self) -> Outlook:
        """Returns the outlook of a generator without lanes. Requires the lock."""
        problem = self._problem
        if problem and problem._lasts():
            return Outlook(error=problem)
        return Outlook(grant=True, error=window_ended(0, problem))

    def _open(self) -> None:
        """Opens the lanes, and runs the last one. Tries until it succeeds or the generator is closed."""
        pause = _FIRST_PAUSE
        while not self._stop.is_set():
            try:
                lane, wake = self._open_lanes(self._request_layout())
            except SnowraftError as error:
                self._note(error)
            except Exception as e:  # a bug must not end the attempts silently
                log.exception("lanes not opened; retrying")
                self._note(SnowraftError(f"lanes not opened: {e}", reason=reasons.INTERNAL))
            else:
                return self._run(lane, wake)
            self._stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)

    def _request_layout(self) -> Layout:
        """Requests the layout. Raises an error if this client can issue no ID of it."""
        layout = self._client._run(requests.get_layout(self._client._core, self._layout, _LAYOUT_TIMEOUT, self._failed))
        try:
            layout.check_issues(max(self.watch.now().wall, layout.epoch_ms))
        except ValueError as e:
            raise invalid(str(e)) from None
        return layout

    def _open_lanes(self, layout: Layout) -> tuple[Lane, threading.Event]:
        """Opens the lanes that are missing, each with a thread. Returns the last one, which this thread runs."""
        with self._changed:  # close waits for these threads
            while not self._stop.is_set():
                index, wake = len(self.lanes), threading.Event()
                holder = f"{self._holder}/{index}"
                lane = Lane(layout, holder, self._granter, self.watch, self._changed, wake.set)
                last = index == self._count - 1
                self.lanes.append(lane)  # before its thread starts, so that a seal reaches it
                try:
                    runner = threading.current_thread() if last else start(f"lane-{index}", self._run, lane, wake)
                except BaseException:
                    self.lanes.pop()
                    raise
                self._wakes.append(wake)
                self._runners.append(runner)
                if last:
                    self._changed.notify_all()
                    return lane, wake
        raise closed("generator")

    def _failed(self, error: SnowraftError) -> None:
        """Notes the error of a try, after which others may follow. Raises an error if the generator is closed."""
        if self._stop.is_set():
            raise closed("generator")
        if not error._lasts():  # another member may not have that problem
            self._note(error)

    def _note(self, error: SnowraftError) -> None:
        """Notes why the lanes are not open."""
        with self._changed:
            first, self._problem = self._problem is None, error
            self._changed.notify_all()
        if first and error.reason != reasons.CLOSED:
            log.warning("generator cannot start yet; retrying: %s", error, extra={"error": str(error)})

    def _run(self, lane: Lane, wake: threading.Event) -> None:
        while not self._stop.is_set():
            try:
                rest = lane.step()
            except Exception as e:  # a bug must not end the extensions silently
                log.exception("lane failed; retrying")
                lane.problem = SnowraftError(f"lane failed: {e}", reason=reasons.INTERNAL)
                rest = Rest(1000)
            if rest.ms:
                (wake if rest.kickable else self._stop).wait(rest.ms / 1000)
                wake.clear()
        lane.finish()

    def _judge(self) -> None:
        """Checks the clock until the generator is closed."""
        asked = None
        while not self._stop.is_set():
            now = self.watch.now()
            if asked is None or self.watch.check(now) or now.mono - asked >= _QUERY_EVERY:
                asked = now.mono
                try:
                    self._query()
                except SnowraftError:
                    pass  # no member answers, or the token lacks cluster:read: grants show the observed clock too
                except Exception:  # a bug must not end the checks silently
                    log.exception("clock of a member not learned; retrying")
            with self._changed:
                self.watch.tick()
            self._stop.wait(_CHECK_EVERY)

    def _query(self) -> None:
        """Queries one member, and corrects its clock by the offset that it reports."""
        began = self.watch.now()
        status = self._client._call(methods.GET_STATUS, timeout=_QUERY_TIMEOUT)
        took = self.watch.now().mono - began.mono
        config = answers.part(status, "config")
        threshold = answers.integer(config, "waitThresholdMs", 0, 3_600_000)
        offset = answers.integer(config, "maxClockOffsetMs", 0, 3_600_000)
        sealed = status.get("sealed")
        observed = answers.integer(status, "observedClockAtMs", 0, 1 << 62)
        clock = answers.integer(status, "clockAtMs", 0, 1 << 62)
        clock -= answers.integer(status, "clockOffsetMs", -(1 << 62), 1 << 62)
        with self._changed:
            if threshold and offset:
                self.watch.set_limits(Limits(threshold, offset, config.get("rollback") == "swap"))
            if answers.text(status, "leaderId"):  # without a leader, the replica may be old
                self.watch.observe(observed)
            if took <= self.watch.limits.offset:  # after a longer time, the clock of the member is too inexact
                self.watch.observe_peer(answers.text(status, "memberId"), clock, took)
        if sealed is not None:
            text = "the cluster was set back in time and is sealed; restore it with \"snowraft restore\""
            self._client._core.sealed(SnowraftError(text, reason=reasons.SET_BACK))

    def close(self, timeout: float) -> None:
        """Stops issuing, waits for the threads that release the workers, and raises what failed.

        A lane without a worker may be requesting one, for which it waits a short time only.
        """
        with self._changed:
            self._stop.set()  # no lane is opened afterwards
            for lane in self.lanes:
                lane.stop()
            self._changed.notify_all()
        for wake in self._wakes:
            wake.set()
        began = time.monotonic()
        for lane, thread in zip(self.lanes, self._runners):
            limit = timeout if lane.holds() else min(timeout, _ACQUIRE_LIMIT)
            thread.join(max(0.0, began + limit - time.monotonic()))
        failures = [lane.failure for lane in self.lanes if lane.failure]
        if failures:
            raise failures[0].copy("; ".join(f.message for f in failures))
        if any(lane.holds() and thread.is_alive() for lane, thread in zip(self.lanes, self._runners)):
            text = "workers not released in time; they become free when their windows end"
            raise SnowraftError(text, reason=reasons.TIMEOUT, unknown=True)


