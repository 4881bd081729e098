"""What goes wrong on the way: answers of a test's own, replies that never arrive, and requests that have to wait."""

import asyncio
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tests.support.waits import LAST_RESORT


class Hold:
    """Where requests wait until the test lets them go. They are not yet done."""

    def __init__(self) -> None:
        self._reached = threading.Event()
        self._released = threading.Event()
        self._waiting: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def wait_until_reached(self) -> None:
        assert self._reached.wait(LAST_RESORT), "no request came"

    def release(self) -> None:
        self._released.set()
        for loop, event in self._waiting:
            loop.call_soon_threadsafe(event.set)

    async def pass_through(self) -> None:
        event = asyncio.Event()
        self._waiting.append((asyncio.get_running_loop(), event))
        self._reached.set()
        if not self._released.is_set():
            await event.wait()


@dataclass(frozen=True, kw_only=True)
class OwnAnswer:
    status: int
    #: a JSON document or, as bytes, anything else
    body: Any
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(kw_only=True)
class Fault:
    """What happens to the next `count` requests for a method."""

    method: str
    count: int
    answer: OwnAnswer | None = None
    #: do it, and close the connection instead of an answer
    is_dropped: bool = False
    #: do it, and close the connection in the middle of the answer
    is_cut: bool = False
    hold: Hold | None = None


class Faults:
    """The methods are those of the Bot API, `file` for a download, and `*` for all."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._faults: list[Fault] = []

    def answer(
        self,
        method: str,
        count: int = 1,
        *,
        status: int = 500,
        description: str = "Internal Server Error",
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        **parameters: int,
    ) -> None:
        """Answer the next requests with an error and do nothing; `body` replaces the JSON, as of a proxy."""
        error = {"ok": False, "error_code": status, "description": description}
        document = {**error, "parameters": parameters} if parameters else error
        answer = OwnAnswer(status=status, body=document if body is None else body, headers=headers or {})
        self._add(Fault(method=method, count=count, answer=answer))

    def drop_replies(self, method: str, count: int = 1) -> None:
        """Do what the next requests ask for, and close the connection without an answer."""
        self._add(Fault(method=method, count=count, is_dropped=True))

    def cut_replies(self, method: str, count: int = 1) -> None:
        """Do what the next requests ask for, and close the connection in the middle of the answer."""
        self._add(Fault(method=method, count=count, is_cut=True))

    def hold(self, method: str, count: int = 1) -> Hold:
        """Let the next requests wait until the test releases them."""
        hold = Hold()
        self._add(Fault(method=method, count=count, hold=hold))
        return hold

    def clear_faults(self) -> None:
        with self._lock:
            self._faults.clear()

    def _add(self, fault: Fault) -> None:
        with self._lock:
            self._faults.append(fault)

    def take_fault(self, method: str) -> Fault:
        """Return what happens to a request, and count it."""
        with self._lock:
            for fault in self._faults:
                if fault.method in {method, "*"}:
                    fault.count -= 1
                    if fault.count <= 0:
                        self._faults.remove(fault)
                    return fault
        return Fault(method=method, count=0)
