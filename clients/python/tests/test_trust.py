"""Pins, CAs and tokens: no token travels on a connection whose server is not verified."""

from __future__ import annotations

import asyncio
import datetime
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import vectors
from certificates import Authority
from cryptography.x509.oid import ExtendedKeyUsageOID
from fake import Call, Member, one_id, refuse
from kit import one_round

from snowraft import Client, SnowraftError, aio
from snowraft import _transport as transport
from snowraft._standing import is_loopback
from snowraft._tls import _check_holds

TOKEN = next(t["text"] for t in vectors.load("pins")["tokens"] if t["valid"] and not t.get("pin"))
OURS, OTHERS = Authority(), Authority()
OLD: dict[str, Any] = {"begin": datetime.datetime(2020, 1, 1), "end": datetime.datetime(2021, 1, 1)}


def serving(ca: str, ids: Callable[[Call], Any] = one_id) -> Callable[[Call], Any]:
    return lambda call: {"ca": ca} if call.path == "/v1/ca" else ids(call)


def next_id(kind: str, address: str, **options: Any) -> int:
    """Requests an ID with one of the two clients."""
    if kind == "sync":
        with Client(address, **options) as client:
            return client.next_id()

    async def request() -> int:
        async with aio.Client(address, **options) as client:
            return await client.next_id()

    return asyncio.run(request())


def refused(kind: str, address: str, **options: Any) -> SnowraftError:
    with one_round(), pytest.raises(SnowraftError) as raised:
        next_id(kind, address, **options)
    return raised.value


def tokens(member: Member) -> list[str]:
    """Returns the tokens that a member got."""
    return [call.headers["authorization"] for call in member.calls if "authorization" in call.headers]


both = pytest.mark.parametrize("kind", ["sync", "aio"])


@both
def test_pin_is_verified_before_the_token_is_sent(kind: str) -> None:
    with Member(serving(OURS.pem), OURS.server()) as member:
        assert next_id(kind, member.address, token=TOKEN, pin=OURS.pin) == 1
        first = member.calls[0]
        assert first.path == "/v1/ca" and "authorization" not in first.headers and "snowraft-receipt" not in first.headers
        assert member.of("/v1/ids:generate")[0].headers["authorization"] == f"Bearer {TOKEN}"
        assert all(call.connection != first.connection for call in member.calls[1:])
        assert set(member.names) == {OURS.pin}


@both
@pytest.mark.parametrize("claimed", [OTHERS.pem, OURS.pem, "", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
def test_server_of_another_cluster_gets_no_token(kind: str, claimed: str) -> None:
    with Member(serving(claimed), OTHERS.server()) as member:
        error = refused(kind, member.address, token=TOKEN, pin=OURS.pin)
        assert error.reason == "PIN_MISMATCH" and not error.retry and not error.unknown
        assert not tokens(member) and not member.of("/v1/ids:generate")


def joined(*pems: str) -> str:
    """Returns one block of PEM with all certificates, one after the other."""
    return ssl.DER_cert_to_PEM_cert(b"".join(map(ssl.PEM_cert_to_DER_cert, pems)))


@both
def test_certificate_after_the_pinned_one_is_not_trusted(kind: str) -> None:
    with Member(serving(joined(OURS.pem, OTHERS.pem)), OTHERS.server()) as member:
        assert refused(kind, member.address, token=TOKEN, pin=OURS.pin).reason == "PIN_MISMATCH"
        assert not tokens(member)
    for pem in (joined(OURS.pem, OTHERS.pem), joined(OURS.pem, OURS.pem), joined(Authority("Example", "Root").pem, OURS.pem)):
        with pytest.raises(SnowraftError, match="after the certificate"):
            next_id(kind, "127.0.0.1:1", token=TOKEN, ca=pem)


def test_context_holds_the_pinned_certificates_only() -> None:
    ours, others = ssl.PEM_cert_to_DER_cert(OURS.pem), ssl.PEM_cert_to_DER_cert(OTHERS.pem)
    for der, pinned, good in ((ours, [ours], True), (ours + others, [ours], False), (ours, [ours, others], False)):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(cadata=der)
        if good:
            _check_holds(context, pinned)
            continue
        with pytest.raises(ValueError, match="another certificate"):
            _check_holds(context, pinned)


@both
def test_another_address_may_be_of_the_cluster(kind: str) -> None:
    with Member(serving(OTHERS.pem), OTHERS.server()) as stranger, Member(serving(OURS.pem), OURS.server()) as member:
        for addresses in ([stranger.address, member.address], [member.address, stranger.address]):
            assert next_id(kind, ",".join(addresses), token=TOKEN, pin=OURS.pin) == 1
        assert not tokens(stranger)


@both
def test_chain_with_the_pinned_ca_appended_is_not_enough(kind: str) -> None:
    with Member(serving(OURS.pem), OTHERS.server(chain=OURS.pem)) as member:
        assert refused(kind, member.address, token=TOKEN, pin=OURS.pin).reason == "PIN_MISMATCH"
        assert not tokens(member)


@both
def test_certificate_of_a_client_is_not_enough(kind: str) -> None:
    with Member(serving(OURS.pem), OURS.server(usage=ExtendedKeyUsageOID.CLIENT_AUTH)) as member:
        assert refused(kind, member.address, token=TOKEN, pin=OURS.pin).reason == "PIN_MISMATCH"
        assert not tokens(member)


@both
def test_names_and_dates_do_not_count_with_a_pin(kind: str) -> None:
    with Member(serving(OURS.pem), OURS.server(host="elsewhere.example", **OLD)) as member:
        assert next_id(kind, member.address, token=TOKEN, pin=OURS.pin) == 1


@both
def test_ca_of_a_cluster_is_a_pin(kind: str) -> None:
    with Member(one_id, OURS.server(**OLD)) as member:
        assert next_id(kind, member.address, token=TOKEN, ca=OURS.pem) == 1
        assert not member.of("/v1/ca") and set(member.names) == {OURS.pin}
    with Member(serving(OTHERS.pem), OTHERS.server()) as member:
        assert refused(kind, member.address, token=TOKEN, ca=OURS.pem).reason == "PIN_MISMATCH"
        assert not tokens(member)


@both
def test_ca_comes_from_a_file(kind: str, tmp_path: Path) -> None:
    file = tmp_path / "ca.pem"
    file.write_text(OURS.pem)
    with Member(one_id, OURS.server()) as member:
        assert next_id(kind, member.address, ca=file) == 1
        with pytest.raises(SnowraftError, match="CA file cannot be read: .*nope.pem") as raised:
            next_id(kind, member.address, ca=tmp_path / "nope.pem")
        assert raised.value.reason == "INVALID_ARGUMENT"


@both
def test_other_ca_verifies_names_and_dates(kind: str) -> None:
    other = Authority("Example", "Example Root")
    port = "localhost:%s"
    cases: list[tuple[dict[str, Any], bool]] = [
        ({"host": "localhost"}, True),
        ({"host": "other"}, False),
        ({"host": "localhost", **OLD}, False),
    ]
    for options, good in cases:
        with Member(one_id, other.server(**options)) as member:
            address = port % member.address.rpartition(":")[2]
            if good:
                assert next_id(kind, address, token=TOKEN, ca=other.pem) == 1
                continue
            error = refused(kind, address, token=TOKEN, ca=other.pem)
            assert error.reason == "UNAVAILABLE" and "certificate is not trusted" in str(error)
            assert not tokens(member)


@both
def test_context_of_the_caller_is_used(kind: str) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(cadata=OURS.pem)
    with Member(one_id, OURS.server(host="localhost")) as member:
        address = "localhost:" + member.address.rpartition(":")[2]
        assert next_id(kind, address, token=TOKEN, tls=context) == 1
    with Member(one_id, OURS.server(host="localhost")) as member:
        address = "localhost:" + member.address.rpartition(":")[2]
        assert refused(kind, address, token=TOKEN, tls=True).reason == "UNAVAILABLE"
        assert not tokens(member)


@both
def test_secret_is_replaced(kind: str) -> None:
    """The server first knows the old secret, then both, and answers with the CA of the connection."""
    token = f"{TOKEN}_{OTHERS.pin}"
    with Member(serving(OTHERS.pem), OTHERS.server()) as member:
        assert next_id(kind, member.address, token=token, ca=OURS.pem) == 1
        assert set(member.names) == {".".join(sorted([OURS.pin, OTHERS.pin]))}


def test_ca_is_requested_again_after_another_secret_signs() -> None:
    with Member(serving(OURS.pem), OURS.server()) as member:
        with Client(member.address, token=f"{TOKEN}_{OTHERS.pin}", pin=OURS.pin) as client:
            client.next_id()
            member.context, member.answer = OTHERS.server(), serving(OTHERS.pem)
            client._transport.renew()  # the member was restarted
            client.next_id()
            assert len(member.of("/v1/ca")) >= 2


@both
def test_member_that_cannot_answer_now_is_no_mismatch(kind: str) -> None:
    with Member(lambda _: refuse("OVERLOADED", 8, 429), OURS.server()) as member:
        error = refused(kind, member.address, token=TOKEN, pin=OURS.pin)
        assert error.reason == "OVERLOADED" and error.retry and not tokens(member)


@both
def test_token_without_a_pin_stays_on_this_host(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with Member(one_id) as member:
        assert next_id(kind, member.address, token=TOKEN) == 1
        monkeypatch.setattr(transport, "is_loopback", lambda host: False)
        monkeypatch.setattr("snowraft.aio._transport.is_loopback", lambda host: False)
        sent = len(member.of("/v1/ids:generate"))
        error = refused(kind, member.address, token=TOKEN)
        assert "clear text" in str(error) and len(member.of("/v1/ids:generate")) == sent
        assert next_id(kind, member.address, token=TOKEN, tls=False) == 1


@both
def test_server_without_tls(kind: str) -> None:
    with Member(one_id) as member:
        error = refused(kind, member.address, token=TOKEN, pin=OURS.pin)
        assert error.reason == "UNAVAILABLE" and not tokens(member)


def test_pin_stays_verified_on_kept_connections() -> None:
    with Member(serving(OURS.pem), OURS.server()) as member, Client(member.address, pin=OURS.pin, token=TOKEN) as client:
        for _ in range(5):
            client.next_id()
        assert member.connections <= 4  # for the CA, for IDs, for members
        member.context = OTHERS.server()
        client._transport.renew()
        with pytest.raises(SnowraftError) as raised:
            client.next_id()
        assert raised.value.reason == "PIN_MISMATCH"


def test_secrets_are_not_shown() -> None:
    client = Client("127.0.0.1:1", token=TOKEN)
    secret = TOKEN.split("_")[2]
    assert secret not in repr(client._core.trust) and secret not in repr(vars(client))
    for text in (TOKEN[:-1], TOKEN + "x", "snowraft_17_" + secret + "_pin"):
        with pytest.raises(SnowraftError) as raised:
            Client("127.0.0.1:1", token=text)
        assert secret[:20] not in str(raised.value)


@pytest.mark.parametrize("options", [{"ca": "x", "tls": True}, {"pin": "x"}, {"ca": ""}, {"token": "x"}, {"timeout": 0}])
def test_wrong_options(options: dict[str, Any]) -> None:
    with pytest.raises(SnowraftError):
        Client("127.0.0.1:1", **options)


def test_loopback() -> None:
    for host, expected in (("127.0.0.1", True), ("127.9.9.9", True), ("::1", True), ("10.0.0.1", False), ("x", False)):
        assert is_loopback(host) is expected


@both
def test_secured_port_for_grpc_is_named_at_once(kind: str) -> None:
    with Member(lambda _: None, context=OURS.server()) as member:  # selects no protocol of HTTP/1.1
        error = refused(kind, member.address, token=TOKEN, pin=OURS.pin)
        text = f"{member.address}: the port speaks gRPC; use the port for HTTP, 7701 by default"
        assert str(error) == f"snowraft: {text} [UNAVAILABLE]" and not error.retry and not error.unknown
