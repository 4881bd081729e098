"""A connection to a server that is kept for each thread, and POST requests with JSON."""

import http.client
import json
import threading
from collections.abc import Mapping
from typing import Any


class JsonServer:
    def __init__(self, port: int, headers: Mapping[str, str]) -> None:
        self._port = port
        self._headers = {"Content-Type": "application/json", **headers}
        self._local = threading.local()

    def post(self, path: str, body: Any) -> bytes:
        if not hasattr(self._local, "connection"):
            self._local.connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=60)
        connection = self._local.connection
        connection.request("POST", path, json.dumps(body), self._headers)
        response = connection.getresponse()
        answer: bytes = response.read()
        if response.status >= 300:
            raise ConnectionError(f"{response.status}: {answer[:300]!r}")
        return answer
