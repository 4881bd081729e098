"""Asks a gateway in this process every case of the corpus, in order, and returns the masked answers."""

import asyncio
import hashlib
import hmac
import json
import logging
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import httpx2
import structlog

from gatepost.actions import runs, sessions
from gatepost.errors import Conflict
from gatepost.gateway.attempt_limits import AttemptLimits
from gatepost.testing import FakeClock
from tests import resident_runs
from tests.gateways import Gateway, open_gateway
from tests.oracle.callers import build_credential
from tests.oracle.cases import Case, Setup
from tests.oracle.masks import Masks

Answer = dict[str, Any]

#: seconds in which a frame of a stream comes, or is missing
_FRAME_TIMEOUT: Final = 5.0
#: headers that are part of an answer
_HEADERS: Final = ("allow", "location", "retry-after", "www-authenticate")
_METRIC: Final = re.compile(r"^# TYPE (\S+ \S+)$", re.MULTILINE)


def replay(corpus: Sequence[Case]) -> dict[str, Answer]:
    """Return the answers by case."""
    with TemporaryDirectory() as folder, silence_logs():
        return asyncio.run(_replay(corpus, f"sqlite:///{Path(folder, 'oracle.db')}"))


@contextmanager
def silence_logs() -> Iterator[None]:
    """While entered, nothing is logged."""
    config = structlog.get_config()
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
    try:
        yield
    finally:
        structlog.configure(**config)


async def _replay(corpus: Sequence[Case], url: str) -> dict[str, Answer]:
    clock = FakeClock()
    masks = Masks(clock.now())
    async with open_gateway(url, clock=clock) as gateway, gateway.open_client(x_nobody="yes") as client:
        minutes = count(step=60)  # every case is long after the one before: none has failed too often
        object.__setattr__(gateway.app_state, "attempt_limits", AttemptLimits(lambda: next(minutes)))
        caller = Caller(gateway, client, clock, masks)
        return {case.id: await caller.ask(case) for case in corpus}


class Caller:
    """Makes the requests, and knows what was captured from the answers."""

    def __init__(self, gateway: Gateway, client: httpx2.AsyncClient, clock: FakeClock, masks: Masks) -> None:
        self._gateway = gateway
        self._client = client
        self._clock = clock
        self._masks = masks
        self._requests = 0
        self._values: dict[str, Any] = {}
        self._credentials: dict[str, Mapping[str, str]] = {"admin": {"x-secret-key": gateway.admin_key}, "nobody": {}}

    async def ask(self, case: Case) -> Answer:
        self._masks.begin(case.id)
        for setup in case.before:
            await self._prepare(setup, case)
        self._advance()
        headers = {**self._headers(case.by), **{name: self._fill(value) for name, value in case.headers.items()}}
        method, path = self._fill(case.request).split(" ", 1)
        if case.frames:
            return await self._listen(case, path, headers)
        content = self._content(case)
        if content is not None:
            headers.setdefault("content-type", "application/json")
        if case.sign is not None:
            digest = hmac.new(case.sign.encode(), content or b"", hashlib.sha256).hexdigest()
            headers["x-hub-signature-256"] = f"sha256={digest}"
        answer = await self._client.request(method, path, content=content, headers=headers)
        if case.capture:
            self._capture(answer.json(), case.capture)
        return self._record(answer)

    def _content(self, case: Case) -> bytes | None:
        if case.raw is not None:
            return case.raw.encode()
        return None if case.body is None else json.dumps(self._fill(case.body)).encode()

    def _advance(self) -> None:
        self._clock.advance("1s")
        self._requests += 1
        self._values["n"] = self._requests

    async def _prepare(self, setup: Setup, case: Case) -> None:
        self._advance()
        if setup.request.startswith("wait "):
            self._clock.advance(setup.request.removeprefix("wait "))
            return
        if not setup.request.startswith(("POST ", "PUT ", "PATCH ", "DELETE ")):
            self._values |= PREPARATIONS[setup.request](self._gateway, self._values)
            return
        method, path = self._fill(setup.request).split(" ", 1)
        body = None if setup.body is None else self._fill(setup.body)
        answer = await self._client.request(method, path, json=body, headers=dict(self._headers("admin")))
        assert answer.is_success, f"{case.id}: {setup.request} failed: {answer.text}"
        self._capture(answer.json() if answer.content else None, setup.capture)

    def _capture(self, document: Any, names: Mapping[str, str]) -> None:
        for name, path in names.items():
            value = document
            for part in path.split("."):
                value = value[int(part)] if isinstance(value, list) else (value or {}).get(part)
            self._values[name] = value
            assert value is not None or name == "cursor", f"no {path} in {document}"

    def _fill(self, value: Any) -> Any:
        """Put captured values in the place of their names."""
        match value:
            case dict():
                return {key: self._fill(inner) for key, inner in value.items()}
            case list():
                return [self._fill(inner) for inner in value]
            case str() if value[:1] == "$" and value[1:] in self._values:
                return self._values[value[1:]]
            case str() if "$" in value:
                return re.sub(r"\$(\w+)", lambda match: str(self._values.get(match[1], match[0])), value)
            case _:
                return value

    def _headers(self, name: str) -> Mapping[str, str]:
        if name not in self._credentials:
            self._credentials[name] = build_credential(self._gateway, name)
        return self._credentials[name]

    def _record(self, answer: httpx2.Response) -> Answer:
        media = answer.headers.get("content-type", "").partition(";")[0]
        record: Answer = {"status": answer.status_code, "media": media}
        recorded_headers = {name: self._masks.mask(answer.headers[name]) for name in _HEADERS if name in answer.headers}
        if recorded_headers:
            record["headers"] = recorded_headers
        if media.endswith("json") and answer.content:
            document = answer.json()
            record["body"] = summarize_openapi(document) if "openapi" in document else self._masks.mask(document)
        elif answer.content:
            record["body"] = sorted(_METRIC.findall(answer.text)) or self._masks.mask(answer.text)[:500]
        return record

    async def _listen(self, case: Case, path: str, headers: Mapping[str, str]) -> Answer:
        """Read the first frames of a stream, or the answer that is none."""
        async with await self._gateway.open_stream(path, **{"x-nobody": "yes"}, **headers) as listener:
            record: Answer = {"status": listener.status, "media": "text/event-stream"}
            if listener.status != 200:
                record |= {
                    "media": "application/problem+json",
                    "body": self._masks.mask(json.loads(await listener.read_body())),
                }
                return record
            for setup in case.meanwhile:
                await self._prepare(setup, case)
            frames: list[Any] = []
            try:
                async with asyncio.timeout(_FRAME_TIMEOUT):
                    async for frame in listener:
                        has_id = frame.id is not None
                        frames.append({"event": frame.event, "data": self._masks.mask(frame.data), "hasId": has_id})
                        if len(frames) == case.frames:
                            break
            except TimeoutError:
                frames.append("nothing more came")
            return record | {"frames": frames}


def summarize_openapi(document: Any) -> list[str]:
    """Return the operations, with the names of their parameters: the rest of the description may change."""
    return sorted(
        " ".join(
            [
                method.upper(),
                path,
                *sorted(f"{parameter['in']}:{parameter['name']}" for parameter in operation.get("parameters", [])),
            ]
        )
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    )


def _prepare_session(gateway: Gateway, _: Mapping[str, Any]) -> dict[str, Any]:
    return {"session": gateway.store.run_sync(sessions.begin, "4f1c", agent="analyst", host="claude").session}


def _prepare_resident(gateway: Gateway, _: Mapping[str, Any]) -> dict[str, Any]:
    """A resident with one run that has ended and one that waits for a tool."""
    resident_runs.create_resident(gateway.store)
    past_run = resident_runs.begin_run(gateway.store)
    resident_runs.finish_run(gateway.store, past_run)
    run = resident_runs.begin_run(gateway.store)
    return {"past": past_run.run_id, "run": run.run_id, "call": run.call_id}


def _prepare_run(gateway: Gateway, values: Mapping[str, Any]) -> dict[str, Any]:
    """Another run of the resident that waits for a tool; the one before is stopped."""
    with suppress(Conflict):
        gateway.store.run_sync(runs.cancel, values["run"])
    run = resident_runs.begin_run(gateway.store)
    return {"run": run.run_id, "call": run.call_id}


#: what cannot be made by requests: nobody thinks in this process, and no program of a guest runs
PREPARATIONS: Final = {"a session": _prepare_session, "a resident": _prepare_resident, "a run": _prepare_run}
