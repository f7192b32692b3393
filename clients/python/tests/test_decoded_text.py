"""Texts of sequences, decoded by a scripted member."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from fake import Member

from snowraft import Client, DecodedText, SnowraftError, aio

DECODE = "/v1/sequences:decode"
ANSWER: dict[str, Any] = {
    "sequence": "vouchers",
    "text": "V-1",
    "number": "17",
    "period": "2026-01-01",
    "format": "V-{code:base32:8}",
    "state": "not-granted",
    "deleted": True,
}
WANT = DecodedText(17, "2026-01-01", "V-{code:base32:8}", "not-granted", True)


def test_text_decodes_to_its_number() -> None:
    with Member(lambda call: ANSWER) as member:
        with Client(member.address) as client:
            assert client.sequence("vouchers").decode("V-1") == WANT

        async def decode() -> DecodedText:
            async with aio.Client(member.address) as client:
                return await client.sequence("vouchers").decode("V-1")

        assert asyncio.run(decode()) == WANT
        assert [call.body for call in member.of(DECODE)] == [{"sequence": "vouchers", "text": "V-1"}] * 2


@pytest.mark.parametrize("other", [{"number": "x"}, {"state": "lost"}, {"state": 1}, {"period": 5}])
def test_malformed_answer_is_refused(other: dict[str, Any]) -> None:
    with Member(lambda call: ANSWER | other) as member, Client(member.address) as client:
        with pytest.raises(SnowraftError):
            client.sequence("vouchers").decode("V-1")
