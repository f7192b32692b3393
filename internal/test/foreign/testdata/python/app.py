"""A program for gunicorn that answers with IDs of the package snowflake-id, and its PID."""
import os

from snowflake import SnowflakeGenerator

generator = SnowflakeGenerator(int(os.environ["WORKER"]))


def app(environ, start_response):
    ids = []
    while len(ids) < int(environ["QUERY_STRING"]):
        made = next(generator)
        if made is not None:  # None while the millisecond is full
            ids.append(str(made))
    start_response("200 OK", [("Process", str(os.getpid()))])
    return ["\n".join(ids).encode()]
