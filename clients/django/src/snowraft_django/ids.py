"""The generator of the process, by the setting SNOWRAFT."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from typing import Any

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.core.signals import setting_changed
from django.dispatch import receiver
from snowraft import Client, Generator, SnowraftError

_OF_CLIENT = {"ADDRESSES", "TOKEN", "CA", "PIN", "TLS", "TIMEOUT", "HOOKS"}
_OF_GENERATOR = {"LAYOUT", "HOLDER", "LANES"}

_made: dict[str, Generator] = {}  # at most one, by the name of the setting


def next_id() -> int:
    """Returns one ID, from memory. It is a default for fields other than the primary key.

    If no ID is in memory, it waits for at most the timeout of the client, but never in the thread of an event loop. Raises
    SnowraftError, and ImproperlyConfigured if the setting SNOWRAFT is invalid.
    """
    return generator().next()


def generator() -> Generator:
    """Returns the generator of the process, for ``ready`` and health checks. It starts at the first ID.

    Raises ImproperlyConfigured if the setting SNOWRAFT is invalid.
    """
    found = _made.get("SNOWRAFT")
    return found or _made.setdefault("SNOWRAFT", configured())


def configured() -> Generator:
    """Returns a new generator by the settings, which has not started. Raises ImproperlyConfigured."""
    options = getattr(settings, "SNOWRAFT", None)
    if options is None:
        raise ImproperlyConfigured("the setting SNOWRAFT is missing")
    if not isinstance(options, Mapping) or "ADDRESSES" not in options:
        raise ImproperlyConfigured("the setting SNOWRAFT has no ADDRESSES")
    if unknown := options.keys() - _OF_CLIENT - _OF_GENERATOR:
        raise ImproperlyConfigured(f"unknown keys of the setting SNOWRAFT: {', '.join(sorted(map(repr, unknown)))}")
    try:
        return Client(**_chosen(options, _OF_CLIENT)).generator(lazy=True, **_chosen(options, _OF_GENERATOR))
    except SnowraftError as error:
        raise ImproperlyConfigured(f"the setting SNOWRAFT is invalid: {error.message}") from None


def _chosen(options: Mapping[str, Any], names: set[str]) -> dict[str, Any]:
    return {name.lower(): options[name] for name in names & options.keys()}


@receiver(setting_changed)
def _forget(*, setting: str, **_: object) -> None:
    """Drops the generator when a test overrides the setting."""
    if setting in _made:
        with contextlib.suppress(SnowraftError):
            _made.pop(setting).close()
