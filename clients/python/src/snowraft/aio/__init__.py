"""The client for asyncio.

>>> from snowraft import aio
>>> async with aio.Client("10.0.0.1:7701") as client:
...     print(await client.next_id())
"""

from ._memory import Blocks, Buffer, Generator
from .client import Client
from .sequence import Sequence

__all__ = ["Blocks", "Buffer", "Client", "Generator", "Sequence"]
