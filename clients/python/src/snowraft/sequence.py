"""Numbers of one sequence, requested from members."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from . import _requests as requests
from . import _reservations as reservations
from ._coalescer import MOST_SHARED, Coalescer
from ._reservations import Claim, Reconciled, Reservation, Resolution
from .errors import check_count
from .numbers import Numbers

if TYPE_CHECKING:
    from .client import Client


class Sequence:
    """The numbers of one sequence. ``Client.sequence`` makes it.

    With a strict sequence, a call that begins after another one returned gets greater numbers (smaller ones, if the
    increment is negative), across processes and hosts. The numbers of a relaxed sequence ascend per member only.

    Numbers are unique. There are gaps where calls failed. Concurrent callers share calls, except those with a timeout,
    a request ID or a period of their own. All methods may be called from any thread.
    """

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._strict = False  # as the last answer showed
        self._calls: Coalescer[Numbers] = Coalescer(lambda count: self._request(count), client._report)

    def next(
        self,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Returns the next number. ``take`` describes the parameters and errors."""
        return self.take(1, request_id=request_id, period=period, from_=from_, timeout=timeout).first

    def take(
        self,
        count: int,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> Numbers:
        """Returns the next count numbers, 1 to 1,000,000, in one run. All are of one period.

        A repetition with the same ``request_id`` (1 to 64 bytes of UTF-8) and count within 10 minutes, from this process or
        another, returns the same numbers. Raises SnowraftError, such as UNKNOWN_SEQUENCE and SEQUENCE_EXHAUSTED.

        ``period`` requests numbers of one period, which is the present one, or one that ended and is still open: its first
        day, such as ``2026-10-01``, or a shorter form that fits the reset, such as ``2026-10``. Late numbers follow all that
        were granted in the period. Raises PERIOD_CLOSED and PERIOD_UNKNOWN. ``from_`` is the next number of the period, by
        the caller's word, if the cluster does not know how the period ended. It needs the right seq:admin. If a number from
        there on was issued in the period, numbers repeat.
        """
        check_count(count, "numbers")
        alone = request_id is not None or period is not None or from_ is not None or timeout is not None
        if alone or count > MOST_SHARED:
            return self._request(count, request_id, period, from_, timeout)
        numbers, offset = self._calls.do(count)
        return numbers.part(offset, count)

    def next_text(
        self,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> str:
        """Returns the next number as text, in the format of the sequence or in decimal."""
        return self.texts(1, request_id=request_id, period=period, from_=from_, timeout=timeout)[0]

    def texts(
        self,
        count: int,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """Returns the next count numbers, 1 to 1000, as texts. Members write the texts."""
        check_count(count, "texts", MOST_SHARED)
        return texts_of(self.take(count, request_id=request_id, period=period, from_=from_, timeout=timeout))

    def last(self, timeout: float | None = None) -> int | None:
        """Returns the last number that was issued; None before the first one. For a strict sequence, it is exact."""
        return self._client._run(requests.last(self._client._core, self.name, timeout))

    def decode(self, text: str, timeout: float | None = None) -> requests.DecodedText:
        """Returns the number of a text that the format of the sequence wrote, or an earlier format of it.

        The sequence may be a deleted one. Raises INVALID_ARGUMENT if no format of the sequence writes the text; the message
        says which part is wrong, such as the check digit. In a secured cluster, it needs the right seq:decode.
        """
        return self._client._run(requests.decode(self._client._core, self.name, text, timeout))

    def set_next(self, number: int, *, force: bool = False, timeout: float | None = None) -> requests.SequenceInfo:
        """Sets the next number. Raises WOULD_REPEAT if numbers could repeat, unless forced."""
        return self._client._run(requests.set_next(self._client._core, self.name, number, force, timeout))

    def reserve(self, *keys: str, period: str = "", timeout: float | None = None) -> list[Reservation]:
        """Reserves a number of a gapless sequence for each key, 1 to 100 different keys of 1 to 128 bytes.

        A key with an open reservation gets its number again, as the next attempt. A key with a confirmed number gets
        that number, as confirmed. A key whose number is void gets another one. No time limit ends a reservation: say
        what became of the number by ``confirm`` or ``void``. The call may be repeated.

        ``period`` is the period of new numbers, such as "2026-10": the present one, or an earlier one whose late time
        has not passed. Else raises PERIOD_CLOSED. A key that has a number keeps it, also one of another period.
        """
        return self._client._run(reservations.reserve(self._client._core, self.name, keys, period, timeout))

    def confirm(self, *claims: Claim, timeout: float | None = None) -> None:
        """Records that the claimed numbers are in use, all or none. It may be repeated.

        Raises STALE_ATTEMPT if a key was reserved again since, and ALREADY_SETTLED if a number is void.
        """
        self._client._run(reservations.confirm(self._client._core, self.name, claims, timeout))

    def void(self, reason: str, *claims: Claim, never_committed: bool = False, timeout: float | None = None) -> None:
        """Records that the claimed numbers are void, all or none, with a reason of 1 to 256 bytes. It may be repeated.

        ``never_committed`` says that no transaction can commit the numbers anymore, because the database of the
        application has a UNIQUE constraint and a committed row for each of them. A sequence with reuse may reserve them
        again.
        """
        flow = reservations.void(self._client._core, self.name, claims, reason, never_committed, timeout)
        self._client._run(flow)

    def open_reservations(self, min_age: float = 0, *, timeout: float | None = None) -> list[Reservation]:
        """Returns the open reservations of at least min_age seconds, the oldest first; at most 1,000."""
        return self._client._run(reservations.open_reservations(self._client._core, self.name, min_age, timeout))

    def reconcile(
        self, min_age: float, resolve: Callable[[Reservation], Resolution], *, timeout: float | None = None
    ) -> Reconciled:
        """Asks resolve what became of each number that has been open for min_age seconds, and records the answers.

        Call it from time to time, in any number of processes: it settles the numbers of processes that crashed between a
        reservation and its confirmation. Only the database of the application knows what became of a number, and a
        transaction may still commit it: docs/document-numbers.md has the recipe. Stops at the first error, except those
        of reservations that other callers attempted again or settled meanwhile.
        """
        done = Reconciled()
        for r in self.open_reservations(min_age, timeout=timeout):
            flow = reservations.settle(self._client._core, self.name, r.claim, resolve(r), timeout)
            done.count(self._client._run(flow))
        return done

    def _request(
        self,
        count: int,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> Numbers:
        core = self._client._core
        flow = requests.numbers(core, self.name, count, request_id, period, from_, self._strict, timeout)
        numbers = self._client._run(flow)
        self._strict = numbers.mode == "strict"
        return numbers


def texts_of(numbers: Numbers) -> list[str]:
    """Returns numbers as texts: those of the member, or decimal for a sequence without a format."""
    return list(numbers.texts) or [str(number) for number in numbers]
