"""Measures one way to make an ID with pyperf.

usage: python bench.py NAME [--address HOST:PORT] [options of pyperf, such as -o FILE]
"""

from __future__ import annotations

import argparse
import time
import uuid
from collections.abc import Callable
from itertools import repeat

import pyperf

EPOCH_MS = 1_735_689_600_000  # 2025-01-01


def leased(layout: str, address: str) -> Callable[[], int]:
    """Returns next of a generator that has a window. It leases until the process ends, and releases its worker then."""
    import atexit

    from snowraft import Client

    client = Client(address)
    atexit.register(client.close)
    generator = client.generator(layout, holder="bench")
    generator.ready(30)
    return generator.next


def toolkit(_: str) -> Callable[[], int]:
    """snowflake-id-toolkit holds a lock for each ID."""
    from snowflake_id_toolkit import TwitterSnowflakeIDGenerator

    return TwitterSnowflakeIDGenerator(1, epoch=EPOCH_MS).generate_next_id


def flakeid(_: str) -> Callable[[], int]:
    """flakeid holds a lock for each ID."""
    import flakeid

    return flakeid.make_generator(flakeid.PRESET_TWITTER, datacenter_id=1, machine_id=1).next_id


def idgenerator(_: str) -> Callable[[], int]:
    """snowflake-id-generator holds a lock for each ID."""
    from id_generator import generator, options

    made = generator.DefaultIdGenerator()
    made.set_id_generator(options.IdGeneratorOptions(worker_id=1, worker_id_bit_length=10, seq_bit_length=12))
    return made.next_id


def unlocked(_: str) -> Callable[[], int]:
    """snowflake-id takes no lock: two threads can get the same ID."""
    from snowflake import SnowflakeGenerator

    return SnowflakeGenerator(1, epoch=EPOCH_MS).__next__


WAYS: dict[str, Callable[[str], Callable[[], object]]] = {
    "clock": lambda _: time.time_ns,
    "usual": lambda address: leased("default", address),
    "uuid4": lambda _: uuid.uuid4,
    "toolkit": toolkit,
    "flakeid": flakeid,
    "idgenerator": idgenerator,
    "unlocked": unlocked,
}


def main() -> None:
    """Runs pyperf, which starts this program again to measure."""

    def forward(command: list[str], args: argparse.Namespace) -> None:
        command += [args.name, "--address", args.address]

    runner = pyperf.Runner(add_cmdline_args=forward)
    runner.argparser.add_argument("name", choices=WAYS)
    runner.argparser.add_argument("--address", default="127.0.0.1:7701")
    args = runner.parse_args()
    made: list[Callable[[], object]] = []

    def run(loops: int) -> float:
        if not made:  # only a worker of pyperf needs one
            made.append(WAYS[args.name](args.address))
        make = made[0]
        began = time.perf_counter()
        for _ in repeat(None, loops):
            make()
        return time.perf_counter() - began

    runner.bench_time_func(args.name, run)


if __name__ == "__main__":
    main()
