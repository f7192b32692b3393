"""Fields of models."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models

from . import ids

if TYPE_CHECKING:
    BigAutoField = models.BigAutoField[int | str, int]
else:
    BigAutoField = models.BigAutoField


class SnowraftAutoField(BigAutoField):
    """A 64-bit primary key that gets its ID when an object is saved first, from memory and without a roundtrip.

    The column is an ordinary bigint without a counter. Objects have no ID before they are saved, as with other automatic
    fields. Django saves in threads that may wait, so that a first ID never stops an event loop.
    """

    description = "64-bit ID of Snowraft"
    db_returning = False

    def get_internal_type(self) -> str:
        """Returns the kind of the column: one to which the database assigns nothing."""
        return "BigIntegerField"

    def get_pk_value_on_save(self, instance: models.Model) -> int:
        """Returns the ID of an object that has none."""
        return ids.next_id()

    def has_default(self) -> bool:
        """Reports that new objects have new keys, so that Django inserts them without a try to update first."""
        return True

    def get_default(self) -> None:
        """Returns the key of an object that is not saved: none."""
