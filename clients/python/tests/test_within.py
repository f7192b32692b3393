"""The time limit of the asyncio client."""

from __future__ import annotations

import asyncio

import pytest

from snowraft.aio._within import within


@pytest.mark.parametrize("turns", range(6))
def test_cancellation_that_arrives_with_the_result_is_none(turns: int) -> None:
    async def main() -> None:
        ready: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        dropped: list[int] = []

        async def work() -> int:
            return await ready

        task = asyncio.ensure_future(within(work(), 300, dropped.append))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        ready.set_result(7)
        for _ in range(turns):
            await asyncio.sleep(0)
        late = task.done()
        task.cancel()
        await asyncio.wait({task})
        await asyncio.sleep(0)
        if late:
            assert task.result() == 7 and not dropped
        else:
            assert task.cancelled()

    asyncio.run(main())


def test_result_of_a_canceled_caller_is_discarded() -> None:
    async def main() -> None:
        dropped: list[int] = []
        started = asyncio.Event()

        async def work() -> int:
            started.set()
            try:
                await asyncio.sleep(300)
            except asyncio.CancelledError:
                pass
            return 7

        task = asyncio.ensure_future(within(work(), 300, dropped.append))
        await started.wait()
        task.cancel()
        await asyncio.wait({task})
        while not dropped:
            await asyncio.sleep(0)
        assert task.cancelled() and dropped == [7]

    asyncio.run(main())


def test_work_ends_at_the_limit() -> None:
    async def main() -> None:
        ended = []

        async def work() -> None:
            try:
                await asyncio.sleep(300)
            finally:
                ended.append(True)

        with pytest.raises(TimeoutError):
            await within(work(), 0.01)
        assert ended == [True]

    asyncio.run(main())
