"""
The example payloads of GitHub (`@octokit/webhooks-examples` of npm): each becomes one readable line, and arrives once.
"""

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

import pytest

from gatepost.actions import directory, inbox, triggers
from gatepost.actions.directory import EntitySpec
from gatepost.actions.triggers import TriggerSpec
from gatepost.core.entity import EntityKind
from gatepost.core.webhook import Scheme
from gatepost.core.webhook_lines import MAX_OWN_LENGTH, build_lines
from gatepost.gateway import webhooks
from gatepost.gateway.http import HttpAnswer
from gatepost.testing import Kit
from tests.programs import cache
from tests.webhook_senders import SENDERS

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
    if re.search(r"[{}\[\]]|None|null|undefined|\(\)|\"\"|#(?![0-9])", text):
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


def test_every_example_payload_arrives_once_if_it_is_delivered_twice(package: Path) -> None:
    # A few are in the package twice. GitHub signs the body alone, so the same body again is a repeat.
    examples: list[Example] = []
    for example in read_examples(package / "api.github.com/index.json"):
        examples += [example] if all(example.payload != other.payload for other in examples) else []
    with Kit() as kit:
        for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind))
        spec = TriggerSpec(name="github", scheme=Scheme.GITHUB, secret=GITHUB.secret, target="ana")
        kit.store.run_sync(triggers.add, spec)
        duplicates = asyncio.run(deliver_twice(kit, examples))
        items = kit.store.read_sync(inbox.page, "ana", limit=2 * PAYLOAD_COUNT)
    assert duplicates == [(False, True)] * len(examples)
    assert [(item.event.subject, item.event.data["payload"]) for item in items] == examples
    assert [item.event.dedup_key for item in items] == [
        f"svc:github:{UUID(int=number)}" for number in range(len(examples))
    ]


async def deliver_twice(kit: Kit, examples: list[Example]) -> list[tuple[bool, ...]]:
    """Return for each example whether the first and the second delivery were duplicates."""
    return [
        tuple([await deliver(kit, example, str(UUID(int=number))) for _ in range(2)])
        for number, example in enumerate(examples)
    ]


async def deliver(kit: Kit, example: Example, delivery: str) -> bool:
    body = json.dumps(example.payload).encode()
    headers = GITHUB.build_headers(body, kit.clock.now(), X_GitHub_Event=example.event, X_GitHub_Delivery=delivery)
    answer = await webhooks.receive("github", headers.items(), body, kit.store)
    assert not isinstance(answer, HttpAnswer)
    [event] = answer.events
    return event.duplicate
