"""Reservations of gapless sequences, at a scripted member."""

from __future__ import annotations

import asyncio
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fake import Call, Member, refuse

from snowraft import Claim, Client, Reconciled, Reservation, Resolution, SnowraftError, aio

RESERVE, CONFIRM, VOID = "/v1/reservations:reserve", "/v1/reservations:confirm", "/v1/reservations:void"


def item(key: str, number: int, fate: str = "open", **other: Any) -> dict[str, Any]:
    return {
        "key": key,
        "number": str(number),
        "text": f"INV-{number}",
        "period": "2026-01-01",
        "reservation": str(100 + number),
        "attempt": 2,
        "fate": fate,
        "reservedAtMs": "1792419138000",
        "holder": "token 17 (billing)",
    } | other


def test_number_of_a_document() -> None:
    both = [item("a", 7), item("b", 8, "confirmed")]
    with Member(lambda call: {"reservations": both} if call.path == RESERVE else {}) as member:
        with Client(member.address) as client:
            invoices = client.sequence("inv")
            a, b = invoices.reserve("a", "b")
            invoices.confirm(a.claim, b.claim)
            invoices.void("canceled", a.claim)
            invoices.void("canceled", a.claim, never_committed=True)
            invoices.reserve("a", "b", period="2025")
        assert a == Reservation(Claim("a", 107, 2), 7, "INV-7", "2026-01-01", False, 1792419138000, "token 17 (billing)")
        assert (a.key, b.confirmed) == ("a", True)
        claim = {"key": "a", "reservation": "107", "attempt": 2}
        assert [call.body for path in (RESERVE, CONFIRM, VOID) for call in member.of(path)] == [
            {"sequence": "inv", "keys": ["a", "b"]},
            {"sequence": "inv", "keys": ["a", "b"], "period": "2025"},
            {"sequence": "inv", "claims": [claim, {"key": "b", "reservation": "108", "attempt": 2}]},
            {"sequence": "inv", "claims": [claim], "reason": "canceled", "neverCommitted": False},
            {"sequence": "inv", "claims": [claim], "reason": "canceled", "neverCommitted": True},
        ]


@pytest.mark.parametrize(
    "answer",
    [
        [],
        [item("b", 7)],
        [item("a", 7), item("a", 8)],
        [item("a", 7, "void")],
        [item("a", 7, reservation="0")],
        [item("a", 7, attempt=0)],
        [item("a", 7) | {"number": "x"}],
        [item("a", 7, period="yesterday")],
        ["a"],
    ],
)
def test_impossible_reservations_are_refused(answer: Any) -> None:
    """A wrong answer must not give a document the number of another one."""
    with Member(lambda _: {"reservations": answer}) as member, Client(member.address) as client:
        with pytest.raises(SnowraftError, match="invalid response"):
            client.sequence("inv").reserve("a")


def test_lost_answers_are_repeated() -> None:
    answers: list[Any] = [refuse("COMMIT_UNKNOWN", 2, 500), {"reservations": [item("a", 7)]}, None, {}]
    with Member(lambda _: answers.pop(0)) as member, Client(member.address) as client:
        invoices = client.sequence("inv")
        invoices.confirm(invoices.reserve("a")[0].claim)
        assert len(member.of(RESERVE)) == 2 and len(member.of(CONFIRM)) == 2


@pytest.mark.parametrize("tokens", [["x"], ["x", "y"]])
def test_list_that_does_not_end(tokens: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("snowraft._pages.MOST_PAGES", 20)
    calls: list[Call] = []

    def endless(call: Call) -> Any:
        calls.append(call)
        return {"reservations": [], "sequences": [], "layouts": [], "nextPageToken": tokens[len(calls) % len(tokens)]}

    with Member(endless) as member, Client(member.address) as client:
        for ask in (client.sequence("inv").open_reservations, client.list_sequences, client.list_layouts):
            with pytest.raises(SnowraftError, match="a list that does not end"):
                ask()
    assert len(calls) == 3 * (2 if len(tokens) == 1 else 20)


KEYS = ["used", "void", "leave", "stale", "settled", "forgotten", "reusable"]
REFUSALS = {"stale": "STALE_ATTEMPT", "settled": "ALREADY_SETTLED", "forgotten": "UNKNOWN_RESERVATION"}


def ledger(call: Call) -> Any:
    """Answers with pages of two open reservations."""
    if call.path.startswith("/v1/reservations?"):
        query = parse_qs(urlsplit(call.path).query, keep_blank_values=True)
        assert query["sequence"] == ["inv"] and query["minAgeMs"] == ["60000"]
        start = int(query["pageToken"][0] or 0)
        page = [item(key, KEYS.index(key)) for key in KEYS[start : start + 2]]
        return {"reservations": page, "nextPageToken": str(start + 2) if start + 2 < len(KEYS) else ""}
    key = call.body["claims"][0]["key"]
    return refuse(REFUSALS[key], 9, 400) if key in REFUSALS else {}


def resolve(r: Reservation) -> Resolution:
    if r.key == "leave":
        return Resolution("leave")
    if r.key in ("void", "forgotten", "reusable"):
        return Resolution("void", "canceled", never_committed=r.key == "reusable")
    return Resolution("used")


def check(done: Reconciled, member: Member) -> None:
    assert done == Reconciled(confirmed=1, void=2, left=1, overtaken=3)
    assert [c.body["claims"][0]["key"] for c in member.of(CONFIRM)] == ["used", "stale", "settled"]
    assert [(c.body["claims"][0]["key"], c.body["neverCommitted"]) for c in member.of(VOID)] == [
        ("void", False),
        ("forgotten", False),
        ("reusable", True),
    ]


def test_reconcile() -> None:
    with Member(ledger) as member, Client(member.address) as client:
        check(client.sequence("inv").reconcile(60, resolve), member)


def test_reconcile_for_asyncio() -> None:
    async def answer(r: Reservation) -> Resolution:
        await asyncio.sleep(0)
        return resolve(r)

    async def main(address: str) -> Reconciled:
        async with aio.Client(address) as client:
            return await client.sequence("inv").reconcile(60, answer)

    with Member(ledger) as member:
        check(asyncio.run(main(member.address)), member)


def test_number_of_a_document_for_asyncio() -> None:
    async def main(address: str) -> None:
        async with aio.Client(address) as client:
            invoices = client.sequence("inv")
            (a,) = await invoices.reserve("a")
            await invoices.confirm(a.claim)
            await invoices.void("canceled", a.claim)

    with Member(lambda call: {"reservations": [item("a", 7)]} if call.path == RESERVE else {}) as member:
        asyncio.run(main(member.address))
        assert len(member.of(CONFIRM)) == len(member.of(VOID)) == 1


def test_reconcile_stops_at_an_error() -> None:
    with Member(ledger) as member, Client(member.address) as client:
        invoices = client.sequence("inv")

        def fail(_: Reservation) -> Resolution:
            raise OSError("database down")

        with pytest.raises(OSError, match="database down"):
            invoices.reconcile(60, fail)
        with pytest.raises(SnowraftError, match="expected used, void or leave"):
            invoices.reconcile(60, lambda _: Resolution("lost"))  # type: ignore[arg-type]
        with pytest.raises(SnowraftError, match="min_age"):
            invoices.reconcile(-1, resolve)
        assert not member.of(CONFIRM) and not member.of(VOID)
