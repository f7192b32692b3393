"""Uses redis-py as an application does; see ../main.go for the arguments."""

import json
import os
import socket
import sys
import time

import redis

# name has the addresses of all members, as a name in a DNS would.
NAME = "members.test"


def resolve(addresses):
    real = socket.getaddrinfo

    def lookup(host, port, *args, **kwargs):
        if host != NAME:
            return real(host, port, *args, **kwargs)
        return [found for address in addresses for found in real(address, port, *args, **kwargs)]

    socket.getaddrinfo = lookup


def survive(client, key):
    while True:
        for i in range(4):
            while True:
                try:
                    client.incr(f"{key}/{i}")
                    break
                except redis.RedisError as e:
                    print(e, file=sys.stderr)
                    time.sleep(0.02)
        print("took numbers", flush=True)
        if not sys.stdin.readline():
            return


def use(client, key):
    pipeline = client.pipeline()
    out = {"incr": client.incr(key), "incrby": client.incrby(key, 9), "get": client.get(key).decode()}
    for _ in range(3):
        pipeline.incr(key)
    out["pipeline"] = pipeline.execute()
    out["ids"] = client.execute_command("SNOWRAFT.ID", "COUNT", 3)
    out["next"] = client.execute_command("SNOWRAFT.NEXT", "bills")
    out["late"] = client.execute_command("SNOWRAFT.NEXT", "receipts", "PERIOD", os.environ["LAST_YEAR"])
    print(json.dumps(out, default=bytes.decode))


library, mode, *args = sys.argv[1:]
host, port = args[0].split(":")
settings = {}
if mode == "secured":
    settings = {"password": args[1], "ssl": True, "ssl_ca_certs": os.environ["CA"]}
if mode == "several":
    resolve([address.split(":")[0] for address in args])
    host = NAME
client = redis.Redis(host=host, port=int(port), **settings)
if mode == "several":
    survive(client, library)
else:
    use(client, library)
