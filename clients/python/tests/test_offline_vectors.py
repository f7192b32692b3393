"""Layouts, encodings, UUIDs, tokens and pins, as the vectors of the repository fix them."""

from __future__ import annotations

import ssl
import uuid

import pytest
import vectors

from snowraft import ENCODINGS, PRESETS, Layout, Parts, _tls, decode_text, encode_text
from snowraft._receipt import Receipts
from snowraft._token import pin_of_token
from snowraft.layout import parse_fields


def parts(m: dict[str, str]) -> Parts:
    return Parts(
        int(m["tick"]), int(m["datacenter"]), int(m["worker"]), int(m["sequence"]), int(m.get("tickAtMs", 0))
    )


@pytest.mark.parametrize("item", vectors.load("layouts")["layouts"], ids=lambda i: i["layout"]["name"])
def test_layout(item: dict) -> None:  # type: ignore[type-arg]
    layout = vectors.layout(item["layout"])
    for m in item["ids"]:
        assert layout.decode(int(m["id"])) == parts(m)
        assert layout.encode(parts(m)) == int(m["id"])
    for id in item.get("foreign", []):
        with pytest.raises(ValueError):
            layout.decode(int(id))
    for m in item.get("misfits", []):
        with pytest.raises(ValueError):
            layout.encode(parts(m))
    for m in item.get("ticks", []):
        assert layout.tick_at(int(m["atMs"])) == int(m["tick"])
        assert layout.ms_at(int(m["tick"])) == int(m["tickAtMs"])
    for m in item.get("starts", []):
        assert layout.start_sequence(int(m["tick"])) == int(m["sequence"])
    now = 1_796_083_200_000
    if item.get("issues"):
        layout.check_issues(now)
    elif layout.tick_at(now) < layout.ticks:  # a lane notices that a layout is full
        with pytest.raises(ValueError):
            layout.check_issues(now)
    if layout.name in PRESETS:
        assert layout == PRESETS[layout.name]


@pytest.mark.parametrize("item", vectors.load("layouts")["fields"], ids=lambda i: i["text"])
def test_fields(item: dict) -> None:  # type: ignore[type-arg]
    if item["valid"]:
        assert Layout(item["text"]).fields == parse_fields(item["text"])
    else:
        with pytest.raises(ValueError):
            parse_fields(item["text"])


def test_texts() -> None:
    for item in vectors.load("encodings")["texts"]:
        for encoding in ENCODINGS:
            assert encode_text(int(item["id"]), encoding) == item[encoding]
            assert decode_text(item[encoding], encoding) == int(item["id"])


@pytest.mark.parametrize("item", vectors.load("encodings")["decode"], ids=lambda i: f"{i['encoding']} {i['text']}")
def test_decode_text(item: dict) -> None:  # type: ignore[type-arg]
    if "id" in item:
        assert decode_text(item["text"], item["encoding"]) == int(item["id"])
        return
    with pytest.raises(OverflowError if item["error"] == "range" else ValueError):
        decode_text(item["text"], item["encoding"])


def test_uuids() -> None:
    for item in vectors.load("uuids")["uuids"]:
        layout, id = vectors.layout(item["layout"]), int(item["id"])
        assert str(layout.uuid(id, item["cluster"])) == item["uuid"]
        assert layout.from_uuid(uuid.UUID(item["uuid"])) == id
    for item in vectors.load("uuids")["reject"]:
        if item["error"] == "range":
            with pytest.raises(ValueError):
                vectors.layout(item["layout"]).from_uuid(uuid.UUID(item["uuid"]))


def test_tokens() -> None:
    for item in vectors.load("pins")["tokens"]:
        if item["valid"]:
            assert pin_of_token(item["text"]) == item.get("pin", "")
            continue
        with pytest.raises(ValueError) as raised:
            pin_of_token(item["text"])
        assert not item["text"] or item["text"] not in str(raised.value)


def test_authorities() -> None:
    for item in vectors.load("pins")["authorities"]:
        assert _tls.pin_of(ssl.PEM_cert_to_DER_cert(item["pem"])) == item["pin"]
        trust = _tls.trust(None, item["pem"], None, None)
        assert trust.pins == [item["pin"]] and trust.context is not None and not trust.context.check_hostname


def test_server_names() -> None:
    for item in vectors.load("pins")["servers"]:
        assert _tls.Trust(pins=sorted(item["pins"])).server_name == item["serverName"]


def test_receipts() -> None:
    receipts = Receipts()
    for number, step in enumerate(vectors.load("receipts")["steps"]):
        before = receipts.latest
        receipts.keep(step["receipt"])
        assert receipts.latest == (step["receipt"] if step["keeps"] else before), number
