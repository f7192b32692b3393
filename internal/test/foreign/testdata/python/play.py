"""Prints IDs of the package snowflake-id: python3 play.py COUNT. The variable WORKER has the worker."""
import os
import sys

from snowflake import SnowflakeGenerator

generator = SnowflakeGenerator(int(os.environ["WORKER"]))
print("ready", flush=True)
sys.stdin.read(1)  # all copies begin together
ids = []
while len(ids) < int(sys.argv[1]):
    made = next(generator)
    if made is not None:  # None while the millisecond is full
        ids.append(made)
print("\n".join(map(str, ids)))
