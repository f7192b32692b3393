"""Client of Snowraft: unique, time-ordered IDs and numbers of sequences from a cluster.

>>> from snowraft import Client
>>> with Client("10.0.0.1:7701,10.0.0.2:7701") as client:
...     print(client.next_id())

The same with asyncio is in ``snowraft.aio``.
"""

import logging

from ._requests import DecodedText, SequenceInfo
from ._reservations import Claim, Reconciled, Reservation, Resolution
from ._version import VERSION as __version__
from .blocks import Blocks, BlocksStats
from .buffer import Buffer, BufferStats
from .client import Client
from .clock import Clock, SystemClock
from .encoding import ENCODINGS, decode_text, encode_text
from .errors import SnowraftError
from .generator import Generator, LaneStatus
from .hooks import Batch, Hooks, Try
from .layout import PRESETS, Layout, Parts
from .numbers import Numbers
from .sequence import Sequence

logging.getLogger("snowraft").addHandler(logging.NullHandler())

__all__ = [
    "ENCODINGS",
    "PRESETS",
    "Batch",
    "Blocks",
    "BlocksStats",
    "Buffer",
    "BufferStats",
    "Claim",
    "Client",
    "Clock",
    "DecodedText",
    "Generator",
    "Hooks",
    "LaneStatus",
    "Layout",
    "Numbers",
    "Parts",
    "Reconciled",
    "Reservation",
    "Resolution",
    "Sequence",
    "SequenceInfo",
    "SnowraftError",
    "SystemClock",
    "Try",
    "__version__",
    "decode_text",
    "encode_text",
]
