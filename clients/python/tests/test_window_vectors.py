"""One lane of a generator, step by step, as the vectors of the repository fix it."""

from __future__ import annotations

import threading
from typing import Any

import pytest
import vectors
from kit import FakeClock

from snowraft import SnowraftError
from snowraft import _answers as answers
from snowraft._answers import Grant
from snowraft._lane import Lane
from snowraft._lease import Lease
from snowraft._watch import ClockError, Watch


class Play:
    """A script while a lane plays it: the lane has no thread, and its clock stands still between two steps."""

    def __init__(self, script: dict[str, Any]) -> None:
        start = script["start"]
        self.clock = FakeClock(int(start["wallMs"]), int(start["monotonicMs"]))
        self.watch = Watch(self.clock)
        self.layout = vectors.layout(script["layout"])
        self.lane = Lane(self.layout, "h/0", self, self.watch, threading.Condition(threading.Lock()), lambda: None)
        self.step: dict[str, Any] = {}
        self.request: dict[str, Any] | None = None
        self.extension = 0
        self.closed = False

    def play(self, step: dict[str, Any]) -> None:
        self.step, self.request = step, None
        if clock := step.get("clock"):
            self.clock.set(int(clock["wallMs"]), int(clock["monotonicMs"]))
        elif m := step.get("member"):
            self.watch.observe(int(m["observedClockAtMs"]))
            self.watch.observe_peer(m["memberId"], int(m["clockAtMs"]) - int(m["clockOffsetMs"]), int(m["tookMs"]))
        elif step.get("check"):
            self.watch.tick()
        elif step.get("renew"):
            self.lane.extend_at = self.watch.now().mono
            self.lane.step()
            assert self.request == step.get("request")
            assert self.window() == step.get("window")
        elif count := step.get("next"):
            ids, refusal = self.next(count, int(step.get("after", "0")))
            assert ids == step.get("ids", [])
            assert refusal == step.get("refusal")
        else:
            assert step["close"]
            self.lane.stop()
            self.closed = True
            self.lane.finish()
            assert self.request == step.get("request")

    def window(self) -> dict[str, str] | None:
        held = self.lane.lease
        if held is None or held.closed:
            return None
        return {
            "worker": str(held.worker),
            "token": str(held.token),
            "fromTick": str(held.from_tick),
            "untilTick": str(held.until_tick),
        }

    def next(self, count: int, after: int) -> tuple[list[str], dict[str, Any] | None]:
        ids: list[str] = []
        while len(ids) < count:
            now = self.watch.now()
            if error := self.lane.check(now):
                return ids, refusal(error)
            assert self.watch.low <= now.wall <= self.watch.high or self.watch.limits.swap
            if id := self.take(now.wall, after):
                ids.append(str(id))
                continue
            if self.closed:
                return ids, {"reason": "CLOSED"}
            if error := self.lane.check_floor(after, now):
                return ids, refusal(error)
            outlook = self.lane.outlook(now, after)
            if outlook.wait:
                return ids, {"reason": "WAIT", "waitMs": str(outlook.wait)}
            assert outlook.error
            return ids, refusal(outlook.error)
        return ids, None

    def take(self, wall: int, after: int) -> int:
        lease = self.lane.lease
        if lease is None or not after:
            return lease.take_at(wall) if lease else 0
        start, end = lease.take(self.layout.tick_at(wall), 1, after)
        return lease.id(start) if start < end else 0

    def acquire(self, holder: str, clock_ms: int, window_ms: int) -> Grant:
        self.request = {"kind": "acquire", "clockAtMs": str(clock_ms), "windowMs": str(window_ms)}
        return self.answer()

    def extend(self, lease: Lease, extension: int, clock_ms: int, window_ms: int) -> Grant:
        repeats, self.extension = extension == self.extension, extension
        assert extension != 0 and window_ms > 0
        self.request = self.claim("extend", lease) | {"clockAtMs": str(clock_ms), "repeats": repeats}
        return self.answer()

    def release(self, lease: Lease) -> None:
        self.request = self.claim("release", lease) | {"nextTick": str(lease.next_tick)}

    def claim(self, kind: str, lease: Lease) -> dict[str, Any]:
        return {
            "kind": kind,
            "worker": str(lease.worker),
            "token": str(lease.token),
            "untilTick": str(lease.until_tick),
        }

    def answer(self) -> Grant:
        answer = self.step["answer"]
        if answer.get("lost"):
            raise SnowraftError("no answer in time", reason="TIMEOUT", unknown=True)
        if reason := answer.get("error"):
            metadata = {"retry_at_ms": str(self.clock.wall + 60_000)}
            raise SnowraftError(reason, reason=reason, metadata=metadata)
        return answers.grant(answer)


def refusal(error: SnowraftError) -> dict[str, Any]:
    if isinstance(error, ClockError):
        key = "behindMs" if error.reason == "CLOCK_BEHIND" else "aheadMs"
        return {"reason": error.reason, key: str(error.error_ms)}
    return {"reason": error.reason}


@pytest.mark.parametrize("script", vectors.load("windows")["scripts"], ids=lambda s: s["name"])
def test_script(script: dict[str, Any]) -> None:
    play = Play(script)
    for number, step in enumerate(script["steps"]):
        try:
            play.play(step)
        except AssertionError as e:
            raise AssertionError(f"step {number}, {step}: {e}") from None
