"""An order service: POST /orders answers an ID and a number, such as {"id":"253081673229410738","number":"ORD-00001"}."""

import json
import os
import signal
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from snowraft import Client, SnowraftError

# Some addresses of HTTP; the client learns the others.
client = Client(os.environ["SNOWRAFT_MEMBERS"], token=os.environ.get("SNOWRAFT_TOKEN"), timeout=5)
ids = client.generator()  # issues in this process, also while no member can be reached
orders = client.sequence("orders")


class Orders(BaseHTTPRequestHandler):
    def do_POST(self) -> None:
        key = self.headers.get("Idempotency-Key")  # a customer who repeats the request gets the same number
        if self.path != "/orders" or key is None:
            return self.answer(400, "expected POST /orders with the header Idempotency-Key")
        try:
            number = orders.next_text(request_id=key)
            order = {"id": str(ids.next()), "number": number}
        except SnowraftError as error:
            return self.answer(503, str(error))  # the customer repeats the request
        # A real service inserts the order here, with a unique index on the number.
        self.answer(201, json.dumps(order))

    def answer(self, status: int, text: str) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(text.encode())))
        self.end_headers()
        self.wfile.write(text.encode())

    def do_GET(self) -> None:
        self.answer(404, "")


if __name__ == "__main__":
    ids.ready(timeout=10)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())
    host, port = os.environ["LISTEN"].split(":")
    try:
        ThreadingHTTPServer((host, int(port)), Orders).serve_forever()
    finally:
        client.close()  # releases the worker
