"""Primary keys of Django models from Snowraft.

Put ``snowraft_django`` into ``INSTALLED_APPS``, and set ``SNOWRAFT``:

>>> SNOWRAFT = {"ADDRESSES": ["10.0.0.1:7701", "10.0.0.2:7701"]}
"""

from .fields import SnowraftAutoField
from .ids import generator, next_id

__all__ = ["SnowraftAutoField", "generator", "next_id"]
