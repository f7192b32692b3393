"""A generator against a scripted member."""

from __future__ import annotations

import asyncio
import pickle
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from fake import Call, Member, refuse
from kit import FakeClock, eventually

from snowraft import Client, Generator, SnowraftError, SystemClock
from snowraft._watch import Reading, Watch

LAYOUT = {
    "name": "default",
    "fields": [{"kind": "time", "bits": 41}, {"kind": "worker", "bits": 10}, {"kind": "sequence", "bits": 12}],
    "unitMs": "1",
    "epochAtMs": "1735689600000",
    "datacenter": "0",
    "spread": "1024",
    "leaseOnly": False,
}
EPOCH = 1735689600000


class Cluster:
    """Grants windows by the clock that requests carry, and can be told to misbehave."""

    def __init__(self) -> None:
        self.window_ms = 600_000
        self.replies: list[Any] = []  # for the next requests for windows: "lost", "late", or an answer
        self.grants: list[dict[str, str]] = []
        self.held: dict[str, dict[str, str]] = {}  # the last grant of each token
        self.extensions: dict[str, dict[str, str]] = {}  # by extension ID
        self.token = 0
        self.released: list[dict[str, Any]] = []
        self.sealed = False
        self.observed_ms = 0
        self.status: dict[str, Any] | None = None  # None: the token lacks the scope
        self.gate = threading.Event()
        self.member = Member(self.answer)

    def answer(self, call: Call) -> Any:
        if self.sealed and call.path != "/v1/status":
            return refuse("SET_BACK", 9, 400)
        if call.path.startswith("/v1/layouts/"):
            return {"layout": LAYOUT}
        if call.path == "/v1/workers:release":
            self.released.append(call.body)
            return {}
        if call.path == "/v1/workers:acquire":
            self.token += 1
            start = int(call.body["clockAtMs"]) - EPOCH
            return self.reply(call, self.grant(self.token, start, start + self.window_ms))
        if call.path == "/v1/workers:extend":
            grant = self.extensions.get(call.body["extensionId"])
            if grant is None:
                held = self.held[call.body["token"]]
                if call.body["untilTick"] != held["untilTick"]:
                    return refuse("WINDOW_MISMATCH", 10, 409)
                grant = self.grant(int(held["token"]), int(held["fromTick"]), int(held["untilTick"]) + self.window_ms)
                self.extensions[call.body["extensionId"]] = grant
            return self.reply(call, grant)
        return self.status or refuse("PERMISSION_DENIED", 7, 403)

    def grant(self, token: int, from_tick: int, until_tick: int) -> dict[str, str]:
        grant = {
            "worker": str(token % 1024),
            "token": str(token),
            "fromTick": str(from_tick),
            "untilTick": str(until_tick),
            "observedClockAtMs": str(self.observed_ms),
            "maxWindowMs": "600000",
        }
        self.grants.append(grant)
        self.held[grant["token"]] = grant
        return grant

    def reply(self, call: Call, grant: dict[str, str]) -> Any:
        how = self.replies.pop(0) if self.replies else None
        if how == "lost":
            return None
        if how == "late":
            self.gate.wait(300)
        return how if isinstance(how, (tuple, bytes)) else {"grant": grant}

    def requests(self, kind: str) -> list[dict[str, Any]]:
        return [c.body for c in self.member.of(f"/v1/workers:{kind}")]


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    c = Cluster()
    with c.member:
        yield c
        c.gate.set()


def open_generator(cluster: Cluster, clock: Any = None, **options: Any) -> tuple[Client, Generator]:
    client = Client(cluster.member.address)
    return client, client.generator(clock=clock, **options)


def test_issues_and_releases_after_the_last_tick(cluster: Cluster) -> None:
    clock = FakeClock()
    client, generator = open_generator(cluster, clock, holder="shop-1")
    with client:
        generator.ready()
        assert not cluster.released
        ids = [generator.next() for _ in range(5)]
        assert ids == sorted(set(ids))
        tick = ids[-1] >> 22
        assert generator.take(5000)[-1] >> 22 == tick + 1
    assert [r["nextTick"] for r in cluster.released] == [str(tick + 2)]
    acquired = cluster.requests("acquire")
    assert len(acquired) == 1 and acquired[0]["holder"] == "shop-1/0" and acquired[0]["clockAtMs"] == str(clock.wall)
    assert acquired[0]["nonce"] == cluster.released[0]["nonce"]
    with pytest.raises(SnowraftError) as raised:
        generator.next()
    assert raised.value.reason == "CLOSED"


def test_nothing_is_issued_at_the_end_of_the_window(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 1000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        cluster.replies = ["lost"] * 1000
        until = int(cluster.grants[0]["untilTick"])
        clock.pass_ms(999)
        last = [generator.next(timeout=0) for _ in range(3)]
        assert {id >> 22 for id in last} == {until - 1}
        clock.pass_ms(1)
        with pytest.raises(SnowraftError) as raised:
            generator.next(timeout=0)
        assert raised.value.reason == "WINDOW_ENDED" and raised.value.retry
        cluster.replies = []
        generator.ready()
        assert generator.next() >> 22 >= until


def test_full_last_tick_ends_with_the_window(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 1000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready(5)
        cluster.replies = ["lost"] * 1000
        until = int(cluster.grants[0]["untilTick"])
        clock.pass_ms(999)
        ids: list[int] = []
        with pytest.raises(SnowraftError) as raised:
            while len(ids) <= 4096:
                ids.append(generator.next(timeout=0))
        assert raised.value.reason == "WINDOW_ENDED"
        assert {(id >> 22, id >> 12 & 1023) for id in ids} == {(until - 1, 1)} and len(set(ids)) == len(ids)


def test_lost_reply_of_an_extension_is_repeated(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 2000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        first = int(cluster.grants[0]["untilTick"])
        cluster.replies = ["lost", "lost"]
        clock.pass_ms(2000)
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        eventually(lambda: len(cluster.requests("extend")) >= 3)
        generator.ready()
        sent = cluster.requests("extend")
        assert sent[0]["extensionId"] != "0"
        assert len({r["extensionId"] for r in sent[:3]}) == 1 and len({r["untilTick"] for r in sent[:3]}) == 1
        assert generator.lanes()[0].until_tick == first + 2000
        clock.pass_ms(2000)
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        eventually(lambda: len(cluster.requests("extend")) >= 4)
        assert cluster.requests("extend")[3]["extensionId"] != sent[0]["extensionId"]


def test_lost_reply_of_an_acquisition_is_a_lost_grant(cluster: Cluster) -> None:
    cluster.replies = ["lost"]
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        assert len(cluster.requests("acquire")) == 2
        assert generator.lanes()[0].token == 2
        assert generator.next() >> 12 & 1023 == 2
    assert [r["token"] for r in cluster.released] == ["2"]


def test_late_reply_extends_from_its_end(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 2000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        cluster.replies = ["late"]
        until = int(cluster.grants[0]["untilTick"])
        clock.pass_ms(1999)
        generator.next(timeout=0)
        clock.pass_ms(1)
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        eventually(lambda: len(cluster.grants) == 2)
        with pytest.raises(SnowraftError):  # granted, but the reply is not here yet
            generator.next(timeout=0)
        cluster.gate.set()
        generator.ready()
        assert generator.next(timeout=0) >> 22 == until


def test_lost_worker_is_replaced(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 2000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        cluster.replies = [refuse("WINDOW_MISMATCH", 10, 409)]
        clock.pass_ms(2000)
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        eventually(lambda: generator.lanes()[0].token == 2)
        assert generator.next() >> 12 & 1023 == 2
    assert [r["token"] for r in cluster.released] == ["2"]  # a lost worker is not released


def test_clock_ahead_behind_and_jumping(cluster: Cluster) -> None:
    clock = FakeClock()
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        generator.next()
        for wall, reason in ((501, "CLOCK_SKEW"), (3_600_000, "CLOCK_SKEW"), (-1001, "CLOCK_BEHIND")):
            clock.wall += wall
            with pytest.raises(SnowraftError) as raised:
                generator.next(timeout=0)
            assert raised.value.reason == reason and raised.value.retry and "correct the clock" in str(raised.value)
            clock.wall -= wall
            generator.next(timeout=0)


def test_observed_clock_of_a_grant_is_respected(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.observed_ms = clock.wall + 1500
    client, generator = open_generator(cluster, clock)
    with client:
        eventually(lambda: [lane.token for lane in generator.lanes()] == [1])
        with pytest.raises(SnowraftError) as raised:
            generator.ready(0)
        assert raised.value.reason == "CLOCK_BEHIND"
        clock.pass_ms(1501)
        generator.ready()


def test_seal_in_the_answer_to_an_extension(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.window_ms = 2000
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        cluster.sealed = True
        clock.pass_ms(1500)  # the extension is due, and much of the window is left
        generator.next(timeout=0)
        generator._life.lanes[0].kick()
        eventually(lambda: generator.problem() is not None)
        with pytest.raises(SnowraftError) as raised:
            generator.next(timeout=0)
        assert raised.value.reason == "SET_BACK"


def test_impossible_grants_are_ignored(cluster: Cluster) -> None:
    now = SystemClock.wall_ns() // 1_000_000 - EPOCH
    good = cluster.grant(7, now, now + 600_000)
    bad: list[dict[str, Any]] = [
        {"worker": "1024"},
        {"token": "0"},
        {"untilTick": str(now)},
        {"fromTick": "-1"},
        {"untilTick": str(1 << 41 | 1)},
        {"worker": "x"},
        {"worker": None},
        {"worker": 1.5},
        {"token": str(1 << 64)},
    ]
    cluster.replies = [(200, {"grant": good | change}) for change in bad] + [b"HTTP/1.1 200 OK\r\n\r\nnonsense", (200, [])]
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        assert len(cluster.requests("acquire")) == len(bad) + 3
        assert generator.lanes()[0].token == len(bad) + 3
        generator.next()


@pytest.mark.parametrize("worker", ["1024", "x"])
def test_an_impossible_grant_may_have_had_an_effect(cluster: Cluster, worker: str) -> None:
    cluster.replies = [(200, {"grant": cluster.grant(1, 0, 1) | {"worker": worker}})] * 1000
    client, generator = open_generator(cluster)
    with client:
        while not (lanes := generator.lanes()) or not (error := lanes[0].problem) or error.reason == "WINDOW_ENDED":
            time.sleep(0.001)
        assert (error.reason, error.unknown, error.retry) == ("INTERNAL", True, False)


def test_event_loop_is_never_blocked(cluster: Cluster) -> None:
    cluster.replies = ["late"]
    client, generator = open_generator(cluster)
    with client:

        async def call() -> str:
            with pytest.raises(SnowraftError) as raised:
                generator.next()
            return raised.value.reason

        assert asyncio.run(call()) == "WINDOW_ENDED"
        cluster.gate.set()
        generator.ready()


def test_threads_get_different_ids(cluster: Cluster) -> None:
    client, generator = open_generator(cluster, lanes=2)
    with client:
        generator.ready()
        got: list[list[int]] = []
        threads = [
            threading.Thread(target=lambda: got.append([generator.next() for _ in range(5000)])) for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert all(ids == sorted(ids) for ids in got)
        assert len({id for ids in got for id in ids}) == 40_000


def test_after_is_a_floor(cluster: Cluster) -> None:
    client, generator = open_generator(cluster)
    with client:
        generator.ready()
        id = generator.next()
        floor = (id >> 22) + 2 << 22 | 1023 << 12 | 77
        assert generator.next(floor) > floor
        with pytest.raises(SnowraftError) as raised:
            generator.next((id >> 22) + 3_600_000 << 22)
        assert raised.value.reason == "CLOCK_BEHIND"  # the status, with which to compare the clock, is denied


def test_a_floor_that_no_process_can_have_issued(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.status = status(clock)
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        eventually(lambda: generator._watch.trusted())
        with pytest.raises(SnowraftError) as raised:
            generator.next((generator.next() >> 22) + 3_600_000 << 22)
        assert raised.value.reason == "INVALID_ARGUMENT"


def test_default_clock_is_the_systems() -> None:
    clock = SystemClock()
    before, mono = time.time_ns(), time.monotonic_ns()
    wall, boot = clock.wall_ns(), clock.monotonic_ns()
    assert before <= wall <= time.time_ns()
    assert boot >= mono and clock.monotonic_ns() >= boot


def test_unknown_layout_fails_at_once(cluster: Cluster) -> None:
    cluster.member.answer = lambda call: refuse("UNKNOWN_LAYOUT", 5, 404)
    client, generator = open_generator(cluster)
    with client:
        with pytest.raises(SnowraftError) as raised:
            generator.ready()
        assert raised.value.reason == "UNKNOWN_LAYOUT"
        with pytest.raises(SnowraftError) as raised:
            generator.next()
        assert raised.value.reason == "UNKNOWN_LAYOUT"


def test_errors_can_be_pickled_and_keep_no_frames(cluster: Cluster) -> None:
    clock = FakeClock()
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        clock.wall += 10_000
        error = generator.problem()
        assert error and error.reason == "CLOCK_SKEW"
        again = pickle.loads(pickle.dumps(error))
        assert str(again) == str(error) and again.metadata == error.metadata and again.retry
        clock.wall -= 10_000
        cluster.sealed = True
        client._core.sealed(SnowraftError("sealed", reason="SET_BACK"))
        sealed = generator._life.lanes[0].problem
        with pytest.raises(SnowraftError):
            generator.next(timeout=0)
        assert sealed and sealed.__traceback__ is None


def status(clock: FakeClock, **changes: Any) -> dict[str, Any]:
    """Returns the status of a member whose clock is that of the test now."""
    config = {"waitThresholdMs": "1000", "maxClockOffsetMs": "500", "rollback": "refuse"}
    return {
        "memberId": "m",
        "leaderId": "m",
        "clockAtMs": str(clock.wall),
        "clockOffsetMs": "0",
        "observedClockAtMs": str(clock.wall),
        "config": config | changes.pop("config", {}),
    } | changes


def test_rollback_policy_swap_leaves_the_worker(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.status = status(clock, config={"rollback": "swap"})
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        eventually(lambda: generator._watch.limits.swap)
        before = [generator.next() for _ in range(3)]
        clock.wall -= 5000
        after = generator.next()
        assert after < before[0] and after >> 12 & 1023 == 2
        eventually(lambda: [r["token"] for r in cluster.released] == ["1"])
        assert cluster.released[0]["nextTick"] == str((before[-1] >> 22) + 1)


def test_clock_of_a_member_shows_that_this_one_is_ahead(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.status = status(clock, clockAtMs=str(clock.wall - 10_000), observedClockAtMs=str(clock.wall - 10_000))
    client, generator = open_generator(cluster, clock)
    with client:
        eventually(lambda: (p := generator.problem()) is not None and p.reason == "CLOCK_SKEW")
        with pytest.raises(SnowraftError) as raised:
            generator.next(timeout=0)
        assert raised.value.reason == "CLOCK_SKEW" and raised.value.metadata["ahead_ms"] == "10000"


def test_limits_of_the_cluster_are_followed(cluster: Cluster) -> None:
    clock = FakeClock()
    cluster.status = status(clock, config={"maxClockOffsetMs": "50", "waitThresholdMs": "100"})
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        eventually(lambda: generator._watch.limits.offset == 50)
        generator.next()
        for wall, reason in ((51, "CLOCK_SKEW"), (-101, "CLOCK_BEHIND")):
            clock.wall += wall
            with pytest.raises(SnowraftError) as raised:
                generator.next(timeout=0)
            assert raised.value.reason == reason
            clock.wall -= wall


def test_seal_in_the_status_of_a_member(cluster: Cluster) -> None:
    clock = FakeClock()
    client, generator = open_generator(cluster, clock)
    with client:
        generator.ready()
        answer = cluster.answer

        def sealed(call: Call) -> Any:  # extensions are still granted
            return refuse("SET_BACK", 9, 400) if call.path == "/v1/workers:acquire" else answer(call)

        cluster.member.answer = sealed
        clock.pass_ms(20_000)  # the next check of the clock queries a member
        cluster.status = status(clock, sealed={"reason": "set back"})
        eventually(lambda: (p := generator.problem()) is not None and p.reason == "SET_BACK")


def test_first_failed_try_is_the_cause_of_a_missing_window(caplog: pytest.LogCaptureFixture) -> None:
    with Member(lambda _: None) as member:
        pass
    with Client(member.address) as client, client.generator() as generator:
        eventually(lambda: "connection refused" in str(generator.problem()))
        text = f"snowraft: no window was granted yet: {member.address}: connection refused [WINDOW_ENDED]"
        assert str(generator.problem()) == text
        with pytest.raises(SnowraftError, match="connection refused"):
            generator.next(timeout=0)
    assert [r.getMessage() for r in caplog.records] == [
        f"generator cannot start yet; retrying: snowraft: {member.address}: connection refused [UNAVAILABLE]"
    ]


def test_close_without_a_worker_ends_the_search_for_a_layout() -> None:
    gate = threading.Event()
    calls = []

    def answer(call: Call) -> Any:
        calls.append(call.path)
        gate.wait(300)
        return refuse("NO_LEADER")

    with Member(answer) as member, Client(member.address) as client:
        generator = client.generator()
        opener = next(t for t in threading.enumerate() if t.name == "snowraft-open")
        eventually(lambda: "/v1/layouts/default" in calls)
        generator.close()  # raises nothing, although the request is in progress
        assert opener.is_alive()
        gate.set()
        opener.join(300)
        assert not opener.is_alive() and calls.count("/v1/layouts/default") == 1


def test_wait_between_the_readings_of_two_clocks_is_no_jump() -> None:
    class Waits(FakeClock):
        waits = 3

        def wall_ns(self) -> int:
            wall, self.waits = super().wall_ns(), self.waits - 1
            if self.waits >= 0:
                self.pass_ms(700)
            return wall

    clock = Waits()
    watch = Watch(clock)
    clock.pass_ms(60_000)
    assert watch.check(watch.now()) is None
    clock.waits = 1
    assert watch.now() == Reading(clock.wall, clock.mono)
