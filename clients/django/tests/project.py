"""Settings of the tests. DATABASE names a file, SNOWRAFT_ADDRESS a member."""

import os

INSTALLED_APPS = ["snowraft_django", "shop"]
DATABASES = {"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": os.environ.get("DATABASE", ""), "OPTIONS": {"timeout": 60}}}
DEFAULT_AUTO_FIELD = "snowraft_django.SnowraftAutoField"
SNOWRAFT = {"ADDRESSES": os.environ.get("SNOWRAFT_ADDRESS", "127.0.0.1:1"), "TIMEOUT": 60}
SECRET_KEY = "test"
USE_TZ = True
