"""The error of this package."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from . import _reasons as reasons


class SnowraftError(Exception):
    """The failure of a call. It carries the most specific error of all tries.

    Match ``reason``, never the text. The reasons of members are those of docs/errors.md. This client has reasons of its
    own: ``CLOSED``, ``TIMEOUT``, ``UNAVAILABLE`` (no member can be reached, or nothing can be issued now) and
    ``PIN_MISMATCH`` (the server does not belong to the cluster that the pin names).
    """

    reason: str
    """Reason of the failure, such as ``"NO_LEADER"``; empty if a server gave none."""
    retry: bool
    """Whether the same call may be repeated: it may succeed after ``retry_after``, and does no harm."""
    unknown: bool
    """Whether the call may have had an effect."""
    member: str
    """Address of the member that was called last; empty if none was."""
    retry_after: float
    """Seconds after which a repetition may succeed; 0 if unknown."""
    metadata: Mapping[str, str]
    """Details of the reason, such as ``retry_at_ms``."""
    others: Sequence[SnowraftError]
    """Last errors of the other members that were called."""

    def __init__(
        self,
        message: str,
        *,
        reason: str = "",
        retry: bool = False,
        unknown: bool = False,
        member: str = "",
        retry_after: float = 0.0,
        metadata: Mapping[str, str] | None = None,
        others: Sequence[SnowraftError] = (),
    ) -> None:
        super().__init__(message)
        self.message = message
        self.reason = reason
        self.retry = retry
        self.unknown = unknown
        self.member = member
        self.retry_after = retry_after
        self.metadata = metadata or {}
        self.others = others

    def __str__(self) -> str:
        return "snowraft: " + "; ".join(e._part() for e in (self, *self.others))

    def __reduce__(self) -> tuple[object, ...]:
        return SnowraftError, (self.message,), self.__dict__

    def _part(self) -> str:
        return f"{self._where()} [{self.reason}]" if self.reason else self._where()

    def _where(self) -> str:
        named = not self.member or self.member in self.message
        return self.message if named else f"{self.member}: {self.message}"

    def _lasts(self) -> bool:
        """Reports whether waiting does not resolve it.

        A member that cannot be reached may come up; a port of something else stays one.
        """
        return self.reason in reasons.LASTING or self.reason == reasons.UNAVAILABLE and not self.retry

    def copy(self, message: str = "", others: Sequence[SnowraftError] | None = None) -> SnowraftError:
        """Returns an equal error, with another message or other members if given.

        An error that is raised twice keeps the frames of both. Errors that several callers get are therefore copied.
        """
        return SnowraftError(
            message or self.message,
            reason=self.reason,
            retry=self.retry,
            unknown=self.unknown,
            member=self.member,
            retry_after=self.retry_after,
            metadata=self.metadata,
            others=self.others if others is None else others,
        )


def invalid(message: str) -> SnowraftError:
    """Returns the error of a request that can never succeed."""
    return SnowraftError(message, reason=reasons.INVALID_ARGUMENT)


def malformed(message: str) -> SnowraftError:
    """Returns the error of a response that no member sends."""
    return SnowraftError(
        f"invalid response of a member: {message}; discarded, please report it with the versions of client and member",
        reason=reasons.INTERNAL,
        unknown=True,
    )


def closed(what: str = "client", *, unknown: bool = False) -> SnowraftError:
    """Returns the error of a call after close, or of one that close ended. The latter may have had an effect."""
    verb = "are" if what.endswith("s") else "is"
    return SnowraftError(f"the {what} {verb} closed", reason=reasons.CLOSED, unknown=unknown)


def check_count(count: int, noun: str, most: int = 1_000_000) -> None:
    """Raises an error unless count is 1 to most."""
    if isinstance(count, bool) or not isinstance(count, int) or not 1 <= count <= most:
        raise invalid(f"count of {noun} {count!r}: expected 1 to {most}")
