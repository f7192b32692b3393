"""The application."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from . import ids


class SnowraftConfig(AppConfig):
    """Checks the setting SNOWRAFT. It starts nothing."""

    name = "snowraft_django"
    verbose_name = "Snowraft"

    def ready(self) -> None:
        """Registers the check."""
        checks.register(check_setting)


def check_setting(**_: Any) -> list[checks.CheckMessage]:
    """Returns an error unless a generator can be made by the settings. It calls no member."""
    try:
        ids.configured()
    except ImproperlyConfigured as error:
        hint = 'Set SNOWRAFT = {"ADDRESSES": ["10.0.0.1:7701"]}, with the HTTP addresses of two or three members.'
        return [checks.Error(str(error), hint=hint, id="snowraft.E001")]
    return []
