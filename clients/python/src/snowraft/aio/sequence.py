"""Numbers of one sequence, requested from members, for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

from .. import _requests as requests
from .. import _reservations as reservations
from .._coalescer import MOST_SHARED
from .._reservations import Claim, Reconciled, Reservation, Resolution
from ..errors import check_count
from ..numbers import Numbers
from ..sequence import texts_of
from ._coalescer import AsyncCoalescer

if TYPE_CHECKING:
    from .client import Client


class Sequence:
    """The numbers of one sequence. ``snowraft.Sequence`` describes it."""

    def __init__(self, client: Client, name: str) -> None:
        self.name = name
        self._client = client
        self._strict = False  # as the last answer showed
        self._calls: AsyncCoalescer[Numbers] = AsyncCoalescer(self._shared, client._report)

    async def next(
        self,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> int:
        """Returns the next number."""
        return (await self.take(1, request_id=request_id, period=period, from_=from_, timeout=timeout)).first

    async def take(
        self,
        count: int,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> Numbers:
        """Returns the next count numbers, 1 to 1,000,000, in one run."""
        check_count(count, "numbers")
        alone = request_id is not None or period is not None or from_ is not None or timeout is not None
        if alone or count > MOST_SHARED:
            return await self._request(count, request_id, period, from_, timeout)
        self._client._own()
        numbers, offset = await self._calls.do(count)
        return numbers.part(offset, count)

    async def next_text(
        self,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> str:
        """Returns the next number as text, in the format of the sequence or in decimal."""
        return (await self.texts(1, request_id=request_id, period=period, from_=from_, timeout=timeout))[0]

    async def texts(
        self,
        count: int,
        *,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> list[str]:
        """Returns the next count numbers, 1 to 1000, as texts."""
        check_count(count, "texts", MOST_SHARED)
        return texts_of(await self.take(count, request_id=request_id, period=period, from_=from_, timeout=timeout))

    async def last(self, timeout: float | None = None) -> int | None:
        """Returns the last number that was issued; None before the first one."""
        return await self._client._run(requests.last(self._client._core, self.name, timeout))

    async def decode(self, text: str, timeout: float | None = None) -> requests.DecodedText:
        """Returns the number of a text that the format of the sequence wrote, or an earlier format of it."""
        return await self._client._run(requests.decode(self._client._core, self.name, text, timeout))

    async def set_next(
        self, number: int, *, force: bool = False, timeout: float | None = None
    ) -> requests.SequenceInfo:
        """Sets the next number."""
        return await self._client._run(requests.set_next(self._client._core, self.name, number, force, timeout))

    async def reserve(self, *keys: str, period: str = "", timeout: float | None = None) -> list[Reservation]:
        """Reserves a number of a gapless sequence for each key, 1 to 100 different keys."""
        return await self._client._run(reservations.reserve(self._client._core, self.name, keys, period, timeout))

    async def confirm(self, *claims: Claim, timeout: float | None = None) -> None:
        """Records that the claimed numbers are in use, all or none."""
        await self._client._run(reservations.confirm(self._client._core, self.name, claims, timeout))

    async def void(
        self, reason: str, *claims: Claim, never_committed: bool = False, timeout: float | None = None
    ) -> None:
        """Records that the claimed numbers are void, all or none, with a reason of 1 to 256 bytes."""
        flow = reservations.void(self._client._core, self.name, claims, reason, never_committed, timeout)
        await self._client._run(flow)

    async def open_reservations(self, min_age: float = 0, *, timeout: float | None = None) -> list[Reservation]:
        """Returns the open reservations of at least min_age seconds, the oldest first; at most 1,000."""
        flow = reservations.open_reservations(self._client._core, self.name, min_age, timeout)
        return await self._client._run(flow)

    async def reconcile(
        self,
        min_age: float,
        resolve: Callable[[Reservation], Awaitable[Resolution]],
        *,
        timeout: float | None = None,
    ) -> Reconciled:
        """Asks resolve what became of each number that has been open for min_age seconds, and records the answers."""
        done = Reconciled()
        for r in await self.open_reservations(min_age, timeout=timeout):
            flow = reservations.settle(self._client._core, self.name, r.claim, await resolve(r), timeout)
            done.count(await self._client._run(flow))
        return done

    async def _shared(self, count: int) -> Numbers:
        return await self._request(count)

    async def _request(
        self,
        count: int,
        request_id: str | None = None,
        period: str | None = None,
        from_: int | None = None,
        timeout: float | None = None,
    ) -> Numbers:
        core = self._client._core
        flow = requests.numbers(core, self.name, count, request_id, period, from_, self._strict, timeout)
        numbers = await self._client._run(flow)
        self._strict = numbers.mode == "strict"
        return numbers
