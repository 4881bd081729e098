"""What a connection makes of the answers of gateways, proxies and strangers."""

import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager

import pytest

from gatepost.client.plain_http import HttpConnection
from gatepost.errors import Invalid


@contextmanager
def answer_with(*answers: bytes) -> Iterator[tuple[HttpConnection, list[bytes]]]:
    """A connection to a server that gives these answers, one for each request, and then hangs up."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def serve() -> None:
            stream, _ = listener.accept()
            with stream:
                for answer in answers:
                    requests.append(stream.recv(65_536))
                    stream.sendall(answer)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            port = listener.getsockname()[1]
            with closing(HttpConnection("127.0.0.1", port, is_secure=False, timeout=20)) as connection:
                yield connection, requests
        finally:
            thread.join()


@pytest.mark.parametrize(
    ("answer", "body", "can_continue"),
    [
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\ntea", b"tea", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", b"", True),
        (b"HTTP/1.1 204 No Content\r\n\r\n", b"", True),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 3\r\nConnection: close\r\n\r\ntea", b"tea", False),
        (b"HTTP/1.0 200 OK\r\ncontent-length: 3\r\n\r\ntea", b"tea", False),
        (b"HTTP/1.1 200 OK\r\n\r\ntea and more", b"tea and more", False),
        (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200\r\ncontent-length: 3\r\n\r\ntea", b"tea", True),
        (
            b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
            b"3\r\ntea\r\nA;note=1\r\n and cakes\r\n0\r\nend: 1\r\n\r\n",
            b"tea and cakes",
            True,
        ),
    ],
)
def test_a_body_ends_where_its_head_says(answer: bytes, body: bytes, can_continue: bool) -> None:
    with answer_with(answer) as (connection, requests):
        connection.request("GET", "/api/inbox", {"x-secret-key": "sk"})
        assert (connection.read(), connection.can_continue) == (body, can_continue)
        assert connection.read() == b""
    [request] = requests
    assert request.startswith(b"GET /api/inbox HTTP/1.1\r\nhost: 127.0.0.1:")
    assert request.endswith(b"\r\nx-secret-key: sk\r\n\r\n")


def test_a_connection_takes_one_request_after_the_other() -> None:
    chunked = b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n"
    with answer_with(chunked, b"HTTP/1.1 201 Created\r\ncontent-length: 1\r\n\r\nb") as (connection, requests):
        assert connection.request("GET", "/", {}).status == 200
        assert connection.read() == b"a"
        assert connection.request("POST", "/", {}, b"x").status == 201
        assert connection.read() == b"b"
    assert requests[1].endswith(b"\r\ncontent-length: 1\r\n\r\nx")


def test_lines_are_read_across_chunks() -> None:
    chunks = b"5\r\none\nt\r\n3\r\nwo\n\r\n5\r\nthree\r\n0\r\n\r\n"
    with answer_with(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n" + chunks) as (connection, _):
        connection.request("GET", "/", {})
        assert [connection.read_line(100) for _ in range(4)] == [b"one\n", b"two\n", b"three", b""]


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"", "closed without an answer"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ntea", "in the middle of an answer"),
        (b"SSH-2.0-OpenSSH\r\n", "is no answer of HTTP"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "is not the length of an answer"),
        (b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\nmany\r\n", "is not the length of a chunk"),
        (b"HTTP/1.1 200 OK\r\n" + b"a: b\r\n" * 300, "the head of the answer is too long"),
        (b"HTTP/1.1 200 " + b"x" * 70_000, "a line of the answer is too long"),
        (b"HTTP/1.1 100 Continue\r\n\r\n" * 20, "the answer does not begin"),
    ],
)
def test_what_is_no_answer_is_an_error_of_the_connection(answer: bytes, reason: str) -> None:
    def ask(connection: HttpConnection) -> bytes:
        connection.request("GET", "/", {})
        return connection.read()

    with answer_with(answer) as (connection, _), pytest.raises(OSError, match=reason):
        ask(connection)


def test_a_line_that_does_not_end_is_not_kept_in_memory() -> None:
    with answer_with(b"HTTP/1.1 200 OK\r\n\r\n" + b"x" * 5_000) as (connection, _):
        connection.request("GET", "/", {})
        with pytest.raises(OSError, match="too long"):
            connection.read_line(1_000)


@pytest.mark.parametrize("value", ["a\r\nx-act-as: admin", "a\nb", "\u2603"])
def test_a_header_cannot_add_another(value: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        with closing(HttpConnection("127.0.0.1", port, is_secure=False, timeout=20)) as connection:
            stream, _ = listener.accept()
            with pytest.raises(Invalid, match="a header has a"):
                connection.request("GET", "/", {"x-secret-key": value})
            connection.close()
            with stream:
                assert stream.recv(100) == b""
