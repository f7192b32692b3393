"""The site of the tests under gunicorn. Its import inserts an order, before the server forks."""

import json
import os

from django.core.wsgi import get_wsgi_application

get_wsgi_application()

from django.db import connections  # noqa: E402
from shop.models import Order  # noqa: E402
from snowraft_django import generator  # noqa: E402

Order.objects.create(item="preload")
connections.close_all()


def application(environ, start_response):  # type: ignore[no-untyped-def]
    """Inserts orders, and responds with the process and the fencing token of its worker."""
    Order.objects.bulk_create(Order(item=f"{os.getpid()}") for _ in range(100))
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps({"pid": os.getpid(), "token": generator().lanes()[0].token}).encode()]
