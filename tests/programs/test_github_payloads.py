"""
The example payloads of GitHub (`@octokit/webhooks-examples` of npm): each becomes one readable line, and arrives once
by the door of webhooks.
"""

import json
import re
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import httpx2
import pytest

from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording.payload_lines import MAX_OWN_LENGTH, build_lines
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox
from tests.channels.webhooks.webhook_senders import SENDERS
from tests.programs import cache
from tests.support.gateways.local_gateways import Gateway, open_gateway

#: of github.com; the package has those of GitHub Enterprise Server, too
PAYLOAD_COUNT = 329
GITHUB = SENDERS[Scheme.GITHUB]


class Example(NamedTuple):
    event: str
    payload: dict[str, Any]


@pytest.fixture(scope="module")
def package() -> Path:
    if not cache.is_installed():
        pytest.skip("NOT CHECKED: the payloads of npm are not installed; `make test-hosts` installs them")
    return cache.find_folder() / "node_modules/@octokit/webhooks-examples"


def read_examples(file: Path) -> list[Example]:
    events = json.loads(file.read_text())
    return [Example(event["name"], payload) for event in events for payload in event["examples"]]


def list_problems(example: Example, text: str) -> Iterator[str]:
    """Yield what makes a line hard to read."""
    payload = example.payload
    if not text or text != " ".join(text.split()) or not text.isprintable() or len(text) > MAX_OWN_LENGTH:
        yield "it is empty, long or no tidy line"
    own_words = text.replace(str((payload.get("sender") or {}).get("login")), "")  # a bot has brackets in its name
    if re.search(r"[{}\[\]]|None|null|undefined|\(\)|\"\"|#(?![0-9])", own_words):
        yield "it shows that a value is missing, or raw JSON"
    place = (payload.get("repository") or {}).get("full_name") or (payload.get("organization") or {}).get("login")
    if place and not text.startswith(f"{place}: "):
        yield f"it does not name {place}"
    if not all(word in text.lower() for word in re.split("[_-]", payload.get("action") or "")):
        yield f"it does not name the action {payload['action']}"
    numbers = [(payload.get(name) or {}).get("number") for name in ("pull_request", "issue", "discussion")]
    if not all(f"#{number} " in text or text.endswith(f"#{number}") for number in numbers if number):
        yield f"it does not name the number {numbers}"


def test_every_example_payload_becomes_a_readable_line(package: Path) -> None:
    files = sorted(package.glob("*/index.json"))
    counts, problems = {}, []
    for file in files:
        examples = read_examples(file)
        counts[file.parent.name] = len(examples)
        for example in examples:
            headers = {"X-GitHub-Event": example.event}
            [line] = build_lines([], headers, example.payload, scheme=Scheme.GITHUB)
            assert line.subject == example.event
            problems += [f"{problem}: {line.text}" for problem in list_problems(example, line.text)]
    assert counts["api.github.com"] == PAYLOAD_COUNT
    assert problems == []


async def test_every_example_payload_arrives_once_by_the_door_if_it_is_delivered_twice(
    package: Path, tmp_path: Path
) -> None:
    # A few are in the package twice. GitHub signs the body alone, so the same body again is a repeat.
    # A ping tries a new webhook. It is answered, and makes no event.
    pings: list[Example] = []
    examples: list[Example] = []
    for example in read_examples(package / "api.github.com/index.json"):
        group = pings if example.event == "ping" else examples
        group += [example] if all(example.payload != other.payload for other in group) else []
    async with open_hook(tmp_path) as (gateway, client):
        answers = [await deliver(client, example, number) for number, example in enumerate(examples) for _ in range(2)]
        pongs = [await deliver(client, example, number) for number, example in enumerate(pings, len(examples))]
        items = gateway.store.read_sync(inbox.list_page, "ana", limit=2 * PAYLOAD_COUNT)

    assert {(answer.status_code, answer.text) for answer in pongs} == {(200, "pong")}
    assert {answer.status_code for answer in answers} == {202}
    assert [answer.json()["duplicate"] for answer in answers] == [False, True] * len(examples)
    assert [(item.event.subject, item.event.data["payload"]) for item in items] == examples
    assert [item.event.dedup_key for item in items] == [
        f"svc:github:{UUID(int=number)}" for number in range(len(examples))
    ]
    for item, example in zip(items, examples, strict=True):
        assert list(list_problems(example, item.event.content)) == []


async def test_a_payload_that_was_changed_or_signed_by_somebody_else_is_refused(package: Path, tmp_path: Path) -> None:
    first, second, *_ = read_examples(package / "api.github.com/index.json")
    signature = sign(second, 0)["X-Hub-Signature-256"]
    async with open_hook(tmp_path) as (gateway, client):
        for proof in (signature, f"sha256={'0' * 64}", "sha256=", "", signature.removeprefix("sha256=")):
            answer = await deliver(client, first, 0, X_Hub_Signature_256=proof)
            assert answer.status_code == 401
        items = gateway.store.read_sync(inbox.list_page, "ana")

    assert items == []


@asynccontextmanager
async def open_hook(tmp_path: Path) -> AsyncIterator[tuple[Gateway, httpx2.AsyncClient]]:
    """A gateway with the trigger `github`, whose events ana gets, and a client without a key."""
    async with open_gateway(f"sqlite:///{tmp_path}/gatepost.db") as gateway:
        gateway.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
        spec = TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=GITHUB.secret, target="ana")
        gateway.store.run_sync(triggers.add, spec)
        async with gateway.open_client(User_Agent="GitHub-Hookshot/0") as client:
            yield gateway, client


def sign(example: Example, number: int, **overrides: str) -> dict[str, str]:
    """Return the headers of a delivery."""
    return GITHUB.build_headers(
        encode(example),
        0,
        X_GitHub_Event=example.event,
        X_GitHub_Delivery=str(UUID(int=number)),
        **overrides,
    )


def encode(example: Example) -> bytes:
    return json.dumps(example.payload).encode()


async def deliver(client: httpx2.AsyncClient, example: Example, number: int, **overrides: str) -> httpx2.Response:
    """Deliver an example, with the number as the id of the delivery."""
    return await client.post("/hooks/github", content=encode(example), headers=sign(example, number, **overrides))
