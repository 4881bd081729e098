"""
Transcripts of operations: requests to a gateway in this process, on a new store.

    POST /api/gates {"name": "Sign-off"}        by the administrator
    analyst: GET /api/gates                     by an agent or a person; `nobody` has no credential
    | idempotency-key: 7                        a header of the request
    | only: items.0                             which part of a long answer is shown
    | frames: 2                                 how many frames of a stream are read
    | meanwhile: POST /api/inbox {...}          what the administrator asks for after the first of them
    wait 3 hours                                moves the clock, and does what is due; a request takes a second
    anew                                        a new story begins: everything is as it was at first
    ledger hedera:testnet                       which ledger is set; it is the first step of a story

What there is at first is in `create_owned_objects` of `tests/operations/access_cases.py`, under its names there.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import unquote

import httpx2

from gatepost.core.policy import Policy
from gatepost.testing import FakeClock
from tests.snapshot.filled_store import copy_store, do_what_is_due, hold_clock, silence_logs
from tests.snapshot.transcript import Step, Values, dump_json, find, format_json, split_stories
from tests.support.gateways.local_gateways import Gateway, create_token, open_gateway

_REQUEST: Final = re.compile(r"(?:(?P<caller>[a-z-]+): )?(?P<method>[A-Z]+) (?P<path>\S+)(?: (?P<body>.+))?")
_PEOPLE: Final = ("husam",)
#: a caller whose key only triggers the analyst
TRIGGER_KEY: Final = "trigger"
#: headers that nearly every answer has, which are shown where they are missing or have another value
_USUAL_HEADERS: Final = {
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
    "x-content-type-options": "nosniff",
}
#: headers that are shown with the status, or say nothing about the answer
_OTHER_HEADERS: Final = frozenset(("content-length", "content-type"))
#: numbers that are measured: the size of a file, the room on its disk, and how long an answer took
_MEASURED: Final = re.compile(r'(?<="storeBytes":)\d+|(?<=free_bytes )\d\S+$|(?<=} )\S+$', re.MULTILINE)


async def answer_requests(steps: Sequence[Step]) -> dict[int, list[str]]:
    """Return the answers by the numbers of their steps."""
    answers: dict[int, list[str]] = {}
    for story in split_stories(steps):
        words = story[0].text.split()
        async with open_request_setup(words[1] if words[0] == "ledger" else None) as setup:
            for step in story:
                try:
                    answers[step.number] = await setup.answer(step)
                except Exception as error:
                    error.add_note(f"line {step.number}: {step.text}")
                    raise
    return answers


def parse_request(text: str) -> tuple[str, str, str, str | None]:
    """Return the caller, the method, the path and the body of a request."""
    match = _REQUEST.fullmatch(text)
    assert match, f"{text!r} is not a request"
    return match["caller"] or "admin", match["method"], match["path"], match["body"]


@asynccontextmanager
async def open_request_setup(ledger: str | None = None) -> AsyncIterator["RequestSetup"]:
    """While entered, there is a gateway with something of every kind."""
    policy = Policy() if ledger is None else Policy(ledger=ledger)
    with TemporaryDirectory() as folder, hold_clock() as clock, silence_logs():
        path = Path(folder, "office.db")
        objects = copy_store(path)
        async with (
            open_gateway(f"sqlite:///{path}", clock=clock, policy=policy) as gateway,
            gateway.open_client(x_nobody="1") as client,
        ):
            yield RequestSetup(gateway, client, clock, objects)


class RequestSetup:
    """A gateway, and those who send requests to it."""

    def __init__(
        self, gateway: Gateway, client: httpx2.AsyncClient, clock: FakeClock, objects: Mapping[str, Any]
    ) -> None:
        self.objects = objects
        self.values = Values(objects)
        self._gateway = gateway
        self._client = client
        self._clock = clock
        self._credentials: dict[str, Mapping[str, str]] = {"admin": {"x-secret-key": gateway.admin_key}, "nobody": {}}

    async def answer(self, step: Step) -> list[str]:
        if step.text.startswith("wait "):
            self._clock.advance(step.text.removeprefix("wait "))
            await do_what_is_due(self._gateway.store)
        if step.text.startswith(("wait ", "ledger ")):
            return []
        options = dict(option.split(": ", 1) for option in step.options)
        if "frames" in options:
            return await self._listen(step.text, int(options["frames"]), options.get("meanwhile"))
        only = options.pop("only", None)
        response = await self.send(step.text, options)
        for name, path in step.names.items():
            value = find(response.json(), path)
            self.values.name(name, value.rpartition("#")[2] if isinstance(value, str) else value)  # the token of a link
        return list(self._show(response, only))

    async def ask(self, caller: str, method: str, path: str, body: str) -> tuple[int, str]:
        """Send a request; return the status, and the text unless that is a stream."""
        headers = {**self._authorize(caller), "content-type": "application/json"}
        if path.partition("?")[0].endswith("/stream"):
            async with await self._gateway.open_stream(unquote(path), **headers) as stream:
                return stream.status, "" if stream.status == 200 else (await stream.read_body()).decode()
        response = await self._client.request(method, path, content=body or None, headers=headers)
        return response.status_code, response.text

    async def send(self, text: str, headers: Mapping[str, str]) -> httpx2.Response:
        self._clock.advance("1s")
        caller, method, path, body = parse_request(self.values.fill(text))
        headers = {**self._authorize(caller), "content-type": "application/json", **headers}
        return await self._client.request(method, path, content=body, headers=headers)

    def _authorize(self, name: str) -> Mapping[str, str]:
        """Return the credential of a caller: a token of a person, a key of an agent."""
        if name not in self._credentials:
            if name in _PEOPLE:
                token = {"authorization": f"Bearer {create_token(name)}"}
                self._credentials[name] = {"x-public-key": self._gateway.create_key("public"), **token}
            elif name == TRIGGER_KEY:
                self._credentials[name] = {"x-secret-key": self._gateway.create_key("trigger", "analyst")}
            else:
                self._credentials[name] = {"x-secret-key": self._gateway.create_key("agent", name)}
        return self._credentials[name]

    def _show(self, response: httpx2.Response, only: str | None) -> Iterator[str]:
        yield f"{response.status_code} {response.headers.get('content-type', '')}".rstrip()
        for name, value in sorted({**dict.fromkeys(_USUAL_HEADERS, "(missing)"), **response.headers}.items()):
            if name not in _OTHER_HEADERS and value != _USUAL_HEADERS.get(name):
                yield self.values.mask(f"{name}: {value}")
        text = _MEASURED.sub('"<measured>"', response.text.removesuffix("\n"))
        if only is not None:
            text = dump_json(find(json.loads(text), only))
        if text:
            yield from format_json(self.values.mask(text))

    async def _listen(self, text: str, count: int, meanwhile: str | None) -> list[str]:
        """Read the first frames of a stream."""
        caller, _, path, _ = parse_request(self.values.fill(text))
        async with await self._gateway.open_stream(path, **self._authorize(caller)) as stream:
            lines = [f"{stream.status} text/event-stream"]
            async for frame in stream:
                lines.append(
                    f"event: {frame.event}" + ("" if frame.id is None else f", id: {self.values.mask(frame.id)}")
                )
                lines += format_json(self.values.mask(dump_json(frame.data)))
                count -= 1
                if not count:
                    break
                if meanwhile is not None:
                    assert (await self.send(meanwhile, {})).is_success
                    meanwhile = None
            return lines
