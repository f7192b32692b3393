"""Increments a key again and again until it is killed, and prints the values.

usage: incr.py HOST PORT KEY
"""

import sys

import redis
from redis.backoff import ExponentialBackoff
from redis.exceptions import ConnectionError, TimeoutError
from redis.retry import Retry

host, port, key = sys.argv[1:]
client = redis.Redis(
    host=host,
    port=int(port),
    retry=Retry(ExponentialBackoff(cap=0.5, base=0.01), 5),
    retry_on_error=[ConnectionError, TimeoutError],
)
while True:
    print(client.incr(key), flush=True)
