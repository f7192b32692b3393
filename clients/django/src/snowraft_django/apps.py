"""The application."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.apps import AppConfig, apps
from django.conf import settings
from django.core import checks
from django.core.exceptions import ImproperlyConfigured

from . import ids


class SnowraftConfig(AppConfig):
    """Checks the settings. It starts nothing."""

    name = "snowraft_django"
    verbose_name = "Snowraft"

    def ready(self) -> None:
        """Registers the checks."""
        checks.register(check_setting)
        checks.register(check_apps)


def check_setting(**_: Any) -> list[checks.CheckMessage]:
    """Returns an error unless a generator can be made by the settings. It calls no member."""
    try:
        ids.configured()
    except ImproperlyConfigured as error:
        hint = 'Set SNOWRAFT = {"ADDRESSES": ["10.0.0.1:7701"]}, with the HTTP addresses of two or three members.'
        return [checks.Error(str(error), hint=hint, id="snowraft.E001")]
    return []


def check_apps(app_configs: Sequence[AppConfig] | None, **_: Any) -> list[checks.CheckMessage]:
    """Returns a warning for each app of the project whose models do not get the field of DEFAULT_AUTO_FIELD.

    Installed packages choose their field on purpose. An app that ``startapp`` made has a line that chooses another one.
    """
    field = "snowraft_django.SnowraftAutoField"
    if settings.DEFAULT_AUTO_FIELD != field:
        return []
    return [
        checks.Warning(
            f"the keys of the app {app.label!r} are not IDs of Snowraft: its default_auto_field is {app.default_auto_field!r}",
            hint=f"Remove the line from {Path(app.path).name}/apps.py, or set default_auto_field = {field!r}.",
            id="snowraft.W001",
        )
        for app in app_configs or apps.get_app_configs()
        if app.default_auto_field != field and not {"site-packages", "dist-packages"} & {*Path(app.path).parts}
    ]
