"""Calls a generator until the process is killed, and prints a line for its clock and each call: drive.py ADDRESSES."""

import sys
import time

from snowraft import Client, SnowraftError

PACE = 0.002

print(f"@{time.time_ns() // 1_000_000}", flush=True)
generator = Client(sys.argv[1].split(",")).generator()
while True:
    began = time.monotonic()
    try:
        line = f"={generator.next()}"
    except SnowraftError as e:
        line = "!" + str(e).replace("\n", " ")
    print(line, flush=True)
    time.sleep(max(0, PACE - (time.monotonic() - began)))
