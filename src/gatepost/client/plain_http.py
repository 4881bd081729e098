"""
One connection over HTTP/1.1: a request, its answer, the next.

`http.client` parses headers as mail and always imports TLS: for a command that takes longer than to ask a gateway. So
this module reads what a gateway, or a proxy in front of it, answers, and no more. What goes wrong on the way
is an OSError: the answer is lost, and the caller knows whether it may ask again.
"""

import _socket
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from gatepost.errors import Invalid

#: bytes of a line of a head, and lines of a head
_MAX_LINE_LENGTH: Final = 64 * 1024
_MAX_LINES: Final = 256
_READ_SIZE: Final = 64 * 1024
#: interim answers (`100 Continue`) before the final one
_MAX_INTERIM: Final = 10


class HttpResponse(NamedTuple):
    """The head of an answer; its body is read from the connection."""

    status: int
    #: by their names in lower case
    headers: Mapping[str, str]


class HttpConnection:
    """A connection to a gateway. An answer has to be read to its end before the next request."""

    def __init__(self, host: str, port: int | None, *, is_secure: bool, timeout: float) -> None:
        self._authority = f"[{host}]" if ":" in host else host
        if port is not None:
            self._authority += f":{port}"
        self._socket = (
            _connect_securely(host, port or 443, timeout) if is_secure else _connect(host, port or 80, timeout)
        )
        self._received = bytearray()
        #: bytes of the body that are still to come; None if the connection ends it
        self._remaining: int | None = 0
        self._is_chunked = False
        #: whether another request may follow
        self.can_continue = True

    def close(self) -> None:
        self._socket.close()

    def request(self, method: str, target: str, headers: Mapping[str, str], body: bytes | None = None) -> HttpResponse:
        """Send a request, and return the head of its answer."""
        lines = [f"{method} {target} HTTP/1.1", f"host: {self._authority}", "accept-encoding: identity"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        if body is not None or method in ("POST", "PUT", "PATCH"):
            lines.append(f"content-length: {len(body or b'')}")
        if any("\r" in line or "\n" in line for line in lines):
            raise Invalid("a header has a line break in it", hint="check the key")
        head = "\r\n".join([*lines, "", ""])
        try:
            raw_head = head.encode("latin-1")
        except UnicodeEncodeError:
            raise Invalid("a header has a character that HTTP cannot send", hint="check the key") from None
        self._socket.sendall(raw_head + (body or b""))
        for _ in range(_MAX_INTERIM):
            response = self._read_head(method)
            if response.status >= 200:
                return response
        raise OSError("the answer does not begin")

    def read(self) -> bytes:
        """Return the rest of the body."""
        parts = []
        while part := self._read_part():
            parts.append(part)
        return b"".join(parts)

    def read_line(self, limit: int) -> bytes:
        """Return the next line of the body with its line end; without one at the end of the body, and then nothing."""
        line = bytearray()
        while not line.endswith(b"\n") and (part := self._read_part(up_to_line_end=True)):
            line += part
            if len(line) > limit:
                raise OSError("a line of the answer is too long")
        return bytes(line)

    def _read_head(self, method: str) -> HttpResponse:
        status_line = self._take_line()
        version, _, rest = status_line.partition(" ")
        code = rest[:3]
        if not version.startswith("HTTP/1.") or not (code.isascii() and code.isdigit()):
            raise OSError(f"{status_line[:60]!r} is no answer of HTTP")
        headers: dict[str, str] = {}
        for _ in range(_MAX_LINES):
            line = self._take_line()
            if not line:
                break
            name, _, value = line.partition(":")
            headers.setdefault(name.strip().lower(), value.strip())
        else:
            raise OSError("the head of the answer is too long")
        status, length = int(code), headers.get("content-length")
        self._is_chunked = "chunked" in headers.get("transfer-encoding", "").lower()
        self._remaining = None
        if method == "HEAD" or status < 200 or status in (204, 304):
            self._is_chunked, self._remaining = False, 0
        elif self._is_chunked:
            self._remaining = 0
        elif length is not None:
            if not (length.isascii() and length.isdigit()):
                raise OSError(f"{length[:60]!r} is not the length of an answer")
            self._remaining = int(length)
        options = headers.get("connection", "").lower()
        is_kept = "close" not in options and (version != "HTTP/1.0" or "keep-alive" in options)
        self.can_continue = is_kept and (self._is_chunked or self._remaining is not None)
        return HttpResponse(status, headers)

    def _read_part(self, *, up_to_line_end: bool = False) -> bytes:
        """Return some of the body; nothing at its end."""
        if self._remaining == 0 and self._is_chunked:
            self._begin_chunk()
        if self._remaining == 0:
            return b""
        if not self._received and not self._receive():
            if self._remaining is None:
                return b""
            raise ConnectionError("the connection was closed in the middle of an answer")
        size = len(self._received) if self._remaining is None else min(self._remaining, len(self._received))
        if up_to_line_end and (end := self._received.find(b"\n", 0, size)) >= 0:
            size = end + 1
        part = bytes(self._received[:size])
        del self._received[:size]
        if self._remaining is not None:
            self._remaining -= size
            if self._remaining == 0 and self._is_chunked:
                self._take_line()  # ends the chunk
        return part

    def _begin_chunk(self) -> None:
        text = self._take_line().partition(";")[0].strip()
        try:
            self._remaining = int(text, 16)
        except ValueError:
            raise OSError(f"{text[:60]!r} is not the length of a chunk") from None
        if self._remaining <= 0:
            self._is_chunked, self._remaining = False, 0
            while self._take_line():  # trailers
                pass

    def _take_line(self) -> str:
        while (end := self._received.find(b"\n")) < 0:
            if len(self._received) > _MAX_LINE_LENGTH:
                raise OSError("a line of the answer is too long")
            if not self._receive():
                raise ConnectionError("the connection was closed without an answer")
        line = bytes(self._received[:end]).rstrip(b"\r")
        del self._received[: end + 1]
        return line.decode("latin-1")

    def _receive(self) -> bool:
        """Receive more; return False if nothing more comes."""
        data = self._socket.recv(_READ_SIZE)
        self._received += data
        return bool(data)


def _connect(host: str, port: int, timeout: float) -> Any:
    """Return a socket that is connected to a host, by the first of its addresses that answers."""
    name = host.encode() if host.isascii() else host  # a text is encoded by the rules of international names
    failure: OSError | None = None
    for family, kind, protocol, _, address in _socket.getaddrinfo(name, port, 0, _socket.SOCK_STREAM):
        connection = _socket.socket(family, kind, protocol)
        try:
            connection.settimeout(timeout)
            connection.connect(address)
            connection.setsockopt(_socket.IPPROTO_TCP, _socket.TCP_NODELAY, 1)
        except OSError as error:
            failure = error
            connection.close()
        else:
            return connection
    raise failure or OSError(f"the host {host!r} has no address")


def _connect_securely(host: str, port: int, timeout: float) -> Any:
    import socket
    import ssl

    connection = socket.create_connection((host, port), timeout)
    try:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return ssl.create_default_context().wrap_socket(connection, server_hostname=host)
    except BaseException:
        connection.close()
        raise
