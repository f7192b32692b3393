"""Prints IDs of the package snowflake-id: python3 play.py COUNT [WORKER]."""
import sys

from snowflake import SnowflakeGenerator

worker = int(sys.argv[2]) if len(sys.argv) == 3 else 1  # a number in the image, equal in all copies
generator = SnowflakeGenerator(worker)
print("ready", flush=True)
sys.stdin.read(1)  # all copies begin together
ids = []
while len(ids) < int(sys.argv[1]):
    made = next(generator)
    if made is not None:  # None while the millisecond is full
        ids.append(made)
print("\n".join(map(str, ids)))
