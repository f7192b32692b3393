"""The operations of the contract."""

from __future__ import annotations

import asyncio
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from forks import fork
from objects import Failure, Named, SetClock, failure
from reservations import answer, claims, counts, resolution
from runs import Run

from snowraft import (
    PRESETS,
    Client,
    Layout,
    Parts,
    SequenceInfo,
    SnowraftError,
    aio,
    decode_text,
)

_READY_MS = 10_000


class Operations:
    """Performs operations in the thread of the caller. With a loop, it drives snowraft.aio there."""

    def __init__(self, hello: dict[str, Any], loop: asyncio.AbstractEventLoop | None) -> None:
        self._hello, self._loop = hello, loop
        self._clients, self._generators = Named("client"), Named("generator")
        self._buffers, self._blocks = Named("buffer"), Named("blocks")
        self._clocks, self._runs = Named("clock"), Named("run")

    def perform(self, op: str, args: dict[str, Any], id: int) -> Any:
        """Performs one operation and returns its result."""
        if op == "run":
            return self._run(args, id)
        method: Callable[[dict[str, Any]], Any] | None = getattr(self, f"op_{op}", None)
        if method is None:
            error = {"reason": "UNSUPPORTED", "message": f"unknown operation {op!r}", "retry": False, "unknown": False}
            raise Failure({"error": error})
        return method(args)

    def _do(self, result: Any) -> Any:
        """Returns a result, which with asyncio is that of a coroutine."""
        if self._loop is None or not asyncio.iscoroutine(result):
            return result
        return asyncio.run_coroutine_threadsafe(result, self._loop).result()

    def _in_loop(self, function: Callable[[], Any]) -> Any:
        """Calls an ordinary function where a user calls it: in the thread of the event loop, if there is one."""
        if self._loop is None:
            return function()

        async def call() -> Any:
            return function()

        return asyncio.run_coroutine_threadsafe(call(), self._loop).result()

    def op_hello(self, args: dict[str, Any]) -> Any:
        return self._hello

    def op_open(self, args: dict[str, Any]) -> Any:
        ca = Path(args["ca"]).read_bytes() if args.get("ca") else None
        make = Client if self._loop is None else aio.Client
        client = make(
            args["addresses"],
            token=args.get("token"),
            pin=args.get("pin"),
            ca=ca,
            timeout=args.get("timeout_ms", 10_000) / 1000,
        )
        self._clients.put(args["client"], client)
        return {}

    def op_close(self, args: dict[str, Any]) -> Any:
        kinds = {"generator": self._generators, "buffer": self._buffers, "blocks": self._blocks, "client": self._clients}
        kind = next(kind for kind in kinds if kind in args)
        self._do(kinds[kind].get(args[kind]).close())
        return {}

    def op_memory(self, args: dict[str, Any]) -> Any:
        gc.collect()
        return {"used": str(sys.getallocatedblocks())}

    def op_ids(self, args: dict[str, Any]) -> Any:
        client = self._clients.get(args["client"])
        after = int(args.get("after", "0"))
        return {"ids": texts(self._do(client.ids(args["count"], args.get("layout", "default"), after=after)))}

    def op_uuids(self, args: dict[str, Any]) -> Any:
        return {"uuids": texts(self._do(self._clients.get(args["client"]).uuids(args["count"])))}

    def op_generator(self, args: dict[str, Any]) -> Any:
        clock = self._clocks.get(args["clock"]) if args.get("clock") else None
        client = self._clients.get(args["client"])
        generator = client.generator(args.get("layout", "default"), lanes=args.get("lanes", 1), clock=clock)
        self._generators.put(args["generator"], generator)
        self._do(generator.ready(args.get("ready_ms", _READY_MS) / 1000))
        return {}

    def op_ready(self, args: dict[str, Any]) -> Any:
        self._do(self._generators.get(args["generator"]).ready(args.get("ready_ms", _READY_MS) / 1000))
        return {}

    def op_next(self, args: dict[str, Any]) -> Any:
        generator = self._generators.get(args["generator"])
        after, ids = int(args.get("after", "0")), []
        try:
            for _ in range(args["count"]):
                if after and self._loop:
                    ids.append(str(self._do(generator.get(after))))
                else:
                    ids.append(str(self._in_loop(lambda: generator.next(after))))
        except SnowraftError as e:
            raise Failure({"ids": ids, "error": failure(e)}) from None
        return {"ids": ids}

    def op_status(self, args: dict[str, Any]) -> Any:
        generator = self._generators.get(args["generator"])
        problem = generator.problem()
        status: dict[str, Any] = {"state": "refusing" if problem else "issuing", "workers": []}
        if problem:
            status["reason"] = problem.reason
        for lane in generator.lanes():
            if lane.token:
                worker = {
                    "worker": str(lane.worker),
                    "from_tick": str(lane.from_tick),
                    "until_tick": str(lane.until_tick),
                }
                if lane.last_tick is not None:
                    worker["last_tick"] = str(lane.last_tick)
                status["workers"].append(worker)
        return status

    def op_buffer(self, args: dict[str, Any]) -> Any:
        client = self._clients.get(args["client"])
        buffer = self._in_loop(lambda: client.buffer(args.get("size", 1000), args.get("layout", "default")))
        self._buffers.put(args["buffer"], buffer)
        return {}

    def op_take(self, args: dict[str, Any]) -> Any:
        buffer = self._buffers.get(args["buffer"])
        take = buffer.next if self._loop is None else buffer.get
        return {"ids": [str(self._do(take())) for _ in range(args["count"])]}

    def op_create(self, args: dict[str, Any]) -> Any:
        numeric = {k: int(args[k]) for k in ("start",) if args.get(k) is not None}
        if args.get("step") is not None:
            numeric["increment"] = int(args["step"])
        other = {k: args[k] for k in ("mode", "format", "reset") if args.get(k)}
        if args.get("year_starts"):
            other["year_starts"] = args["year_starts"]
        if args.get("late_ms"):
            other["late_ms"] = args["late_ms"]
        if args.get("zone"):
            other["time_zone"] = args["zone"]
        self._do(self._clients.get(args["client"]).create_sequence(args["sequence"], **numeric, **other))
        return {}

    def op_sequence(self, args: dict[str, Any]) -> Any:
        return info(self._do(self._clients.get(args["client"]).get_sequence(args["sequence"])))

    def op_update(self, args: dict[str, Any]) -> Any:
        return info(self._do(self._clients.get(args["client"]).update_sequence(args["sequence"], format=args["format"])))

    def op_set_next(self, args: dict[str, Any]) -> Any:
        return info(self._do(self._clients.get(args["client"]).sequence(args["sequence"]).set_next(int(args["next"]))))

    def op_delete(self, args: dict[str, Any]) -> Any:
        self._do(self._clients.get(args["client"]).delete_sequence(args["sequence"]))
        return {}

    def op_list(self, args: dict[str, Any]) -> Any:
        return {"names": [s.name for s in self._do(self._clients.get(args["client"]).list_sequences(args["prefix"]))]}

    def op_last(self, args: dict[str, Any]) -> Any:
        last = self._do(self._clients.get(args["client"]).sequence(args["sequence"]).last())
        return {} if last is None else {"last": str(last)}

    def op_decode_text(self, args: dict[str, Any]) -> Any:
        decoded = self._do(self._sequence(args).decode(args["text"]))
        return {"number": str(decoded.number), "state": decoded.state}

    def op_create_layout(self, args: dict[str, Any]) -> Any:
        layout = Layout(args["fields"], name=args["layout"], epoch_ms=args["epoch_ms"])
        self._do(self._clients.get(args["client"]).create_layout(layout))
        return {}

    def op_layout(self, args: dict[str, Any]) -> Any:
        client = self._clients.get(args["client"])
        fields = self._do(client.layout(args["layout"])).fields
        names = [layout.name for layout in self._do(client.list_layouts())]
        return {"fields": ",".join(f"{kind}:{bits}" for kind, bits in fields), "names": names}

    def op_reserve(self, args: dict[str, Any]) -> Any:
        return answer(self._do(self._sequence(args).reserve(*args["keys"])))

    def op_confirm(self, args: dict[str, Any]) -> Any:
        self._do(self._sequence(args).confirm(*claims(args)))
        return {}

    def op_void(self, args: dict[str, Any]) -> Any:
        self._do(self._sequence(args).void(args["reason"], *claims(args)))
        return {}

    def op_reconcile(self, args: dict[str, Any]) -> Any:
        def resolve(r: Any) -> Any:
            return resolution(args, r.key)

        async def soon(r: Any) -> Any:
            return resolution(args, r.key)

        return counts(self._do(self._sequence(args).reconcile(0, resolve if self._loop is None else soon)))

    def _sequence(self, args: dict[str, Any]) -> Any:
        return self._clients.get(args["client"]).sequence(args["sequence"])

    def op_numbers(self, args: dict[str, Any]) -> Any:
        sequence = self._clients.get(args["client"]).sequence(args["sequence"])
        stated = int(args["from"]) if args.get("from") else None
        options = {"request_id": args.get("request_id") or None, "period": args.get("period"), "from_": stated}
        numbers = self._do(sequence.take(args["count"], **options))
        ok = {"first": str(numbers.first), "count": numbers.count, "step": str(numbers.increment)}
        if numbers.texts:
            ok["texts"] = list(numbers.texts)
        if numbers.period:
            ok["period"] = numbers.period
        return ok

    def op_blocks(self, args: dict[str, Any]) -> Any:
        client = self._clients.get(args["client"])
        self._blocks.put(args["blocks"], client.blocks(args["sequence"], first=args.get("size", 100)))
        return {}

    def op_draw(self, args: dict[str, Any]) -> Any:
        blocks = self._blocks.get(args["blocks"])
        return {"numbers": [str(self._do(blocks.take(1)).first) for _ in range(args["count"])]}

    def op_clock(self, args: dict[str, Any]) -> Any:
        try:
            clock = self._clocks.get(args["clock"])
        except ValueError:
            clock = self._clocks.put(args["clock"], SetClock())
        clock.set(args["wall_ms"], args["monotonic_ms"])
        return {}

    def op_decode(self, args: dict[str, Any]) -> Any:
        parts = preset(args["layout"]).decode(decode_text(args["id"], "dec"))
        return {
            "tick_at_ms": parts.at_ms,
            "datacenter": str(parts.datacenter),
            "worker": str(parts.worker),
            "sequence": str(parts.sequence),
        }

    def op_encode(self, args: dict[str, Any]) -> Any:
        layout = preset(args["layout"])
        fields = {k: int(args[k]) for k in ("datacenter", "worker", "sequence")}
        return {"id": str(layout.encode(Parts(layout.tick_at(args["tick_at_ms"]), **fields)))}

    def op_fork(self, args: dict[str, Any]) -> Any:
        generator = self._generators.get(args["generator"])
        return fork(generator, args["forks"], args["threads"], args["per_child"], args["ready_every"], args["file"])

    def _run(self, args: dict[str, Any], id: int) -> Any:
        run = Run(args, self._source(args), self._loop)
        self._runs.put(str(id), run)
        try:
            return run.perform()
        finally:
            self._runs.pop(str(id))

    def _source(self, args: dict[str, Any]) -> Callable[[], Any]:
        """Returns what a run calls for each ID or number: a function, or with asyncio perhaps a coroutine function."""
        kind, name = args["kind"], args["name"]
        if kind == "generator":
            generator = self._generators.get(name)
            next_id: Callable[[], int] = generator.next
            return next_id
        if kind == "buffer":
            buffer = self._buffers.get(name)
            take: Callable[[], Any] = buffer.next if self._loop is None else buffer.get
            return take
        if kind == "blocks":
            blocks = self._blocks.get(name)
            if self._loop is None:
                next_number: Callable[[], int] = blocks.next
                return next_number
            return lambda: blocks_next(blocks)
        client = self._clients.get(name)
        if kind == "ids":
            return lambda: client.next_id(args.get("layout") or "default")
        if kind == "numbers":
            next_strict: Callable[[], Any] = client.sequence(args["sequence"]).next
            return next_strict
        raise ValueError(f"run of kind {kind!r}: expected generator, ids, buffer, numbers or blocks")

    def op_stop(self, args: dict[str, Any]) -> Any:
        self._runs.get(str(args["run"])).stop()
        return {}

    def stop_runs(self) -> None:
        """Stops all runs."""
        for run in self._runs.take_all():
            run.stop()

    def close_all(self) -> None:
        """Closes all clients, which releases the leases."""
        for client in self._clients.take_all():
            try:
                self._do(client.close())
            except SnowraftError:
                pass


async def blocks_next(blocks: aio.Blocks) -> int:
    """Returns a number from memory, or waits for one."""
    try:
        return blocks.next()
    except SnowraftError:
        return (await blocks.take()).first


def texts(values: list[Any]) -> list[str]:
    """Returns values as texts."""
    return [str(value) for value in values]


def preset(name: str) -> Layout:
    """Returns the layout of a preset."""
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}")
    return PRESETS[name]


def info(sequence: SequenceInfo) -> dict[str, Any]:
    """Returns a sequence, as far as the suite looks at it."""
    found = {"mode": sequence.mode, "step": str(sequence.increment), "format": sequence.format}
    return found if sequence.next is None else found | {"next": str(sequence.next)}
