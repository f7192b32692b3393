"""Defaults of SQLAlchemy columns from a generator of Snowraft."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import cast

from snowraft import Generator, SnowraftError
from sqlalchemy.engine.interfaces import AdaptedConnection, ExecutionContext

__all__ = ["generator_default"]


def generator_default(generator: Generator) -> Callable[[ExecutionContext], int]:
    """Returns a default for columns: one ID of the generator for each row, from memory.

    :param generator: usually a lazy one, ``client.generator(lazy=True)``, because modules of models are imported before a
        server forks.

    If no ID is in memory, the statement waits for at most the timeout of the client, and then raises SnowraftError, which
    SQLAlchemy wraps in a StatementError. In async engines, a thread waits, and the event loop continues.
    """

    def next_id(context: ExecutionContext) -> int:
        try:
            return generator.next()  # in the thread of an event loop, it raises instead of waiting
        except SnowraftError:
            if not context.dialect.is_async:
                raise
        connection = cast(AdaptedConnection, context.root_connection.connection.dbapi_connection)
        return connection.run_async(lambda _: asyncio.to_thread(generator.next))

    return next_id
