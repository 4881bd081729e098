"""
The OpenAPI is whole and true: every operation is described, every example is one, and whatever the gateway is sent, it
answers with what is described there and never with a fault of its own.
"""

import json
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from gatepost.actions import keys
from gatepost.app import open_store, register_administrator
from gatepost.gateway.app import create
from gatepost.runtime.admin_key import generate_secret
from gatepost.runtime.live import LiveStreams
from gatepost.runtime.signal_bus import SignalBus
from tests.gateways import RULES, assembled, operations, whole
from tests.scenario.test_access import furnished

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
#: requests for each operation, caller and kind of data
EXAMPLES: Final = 300 if NIGHTLY else 1
#: a schema cannot say all that makes a request good: that somebody lives at an address, or which of two goes with which
UNCHECKED: Final = ["positive_data_acceptance"]
#: here each of many is refused by itself
REFUSES_EACH: Final = "POST /api/inbox/batch"


def test_what_a_stream_without_names_shows_the_administrator_is_said() -> None:
    assert "the administrator sees all spaces and no inbox" in operations()["GET /api/stream"]["description"]


@pytest.mark.parametrize("operation", operations())
def test_every_operation_is_described(operation: str) -> None:
    described = operations()[operation]
    assert described["summary"]
    assert described["description"].endswith(".")
    assert len(described["tags"]) == 1
    answers = described["responses"]
    good = [status for status in answers if status.startswith("2")]
    assert good
    for status, answer in answers.items():
        assert answer["description"]
        for media, content in answer.get("content", {}).items():
            assert content["schema"] or media.startswith("text/plain"), f"{status} says nothing of its shape"
            assert media == "application/problem+json" or status < "400" or operation == "GET /health"
        assert answer.get("content") or status == "204"
    if described.get("security") != []:
        assert {"401", "403", "503"} <= set(answers)
    if "requestBody" in described:
        assert {"400", "413", "422"} <= set(answers)


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for operation in operations().values()]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("operation", [name for name, one in operations().items() if "requestBody" in one])
def test_every_body_has_an_example_that_is_one(operation: str) -> None:
    for media, content in operations()[operation]["requestBody"]["content"].items():
        assert media == "application/json"
        schema = json.loads(json.dumps(content["schema"]).replace("#/components/schemas/", "#/$defs/"))
        definitions = json.loads(
            json.dumps(whole()["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
        )
        jsonschema_rs.validate({**schema, "$defs": definitions}, content["example"])


@pytest.fixture(params=["administrator", "agent"])
def caller(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[tuple[Any, dict[str, str], Mapping[str, Any]]]:
    """An application, the credential of one who calls it, and what there is to be called about."""
    store = open_store(f"sqlite:///{tmp_path}/office.db")
    store.migrate()
    register_administrator(store)
    secret = generate_secret()
    agent = request.param == "agent"
    things = furnished(store)
    store.call(keys.create, kind="agent" if agent else "admin", secret=secret, entity="analyst" if agent else None)
    yield create(assembled(store, SignalBus(), LiveStreams(), RULES)), {"x-secret-key": secret}, things
    store.close()


def test_whatever_it_is_sent_it_answers_as_described(caller: tuple[Any, dict[str, str], Mapping[str, Any]]) -> None:
    app, headers, things = caller
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", app)
    schema.config.max_stream_events = 1
    found = [each.ok() for each in schema.get_all_operations() if isinstance(each, Ok)]
    assert len(found) == len(operations())
    for operation in found:
        unchecked = [*UNCHECKED, *(["negative_data_rejection"] if operation.label == REFUSES_EACH else [])]
        excluded = [CHECKS.get_one(name) for name in unchecked]
        for mode in GenerationMode:
            with suppress(Unsatisfiable):  # there is nothing to get wrong where nothing is to be said
                _try(operation, mode, headers, things, excluded)


def _try(
    operation: APIOperation[Any, Any, Any, Any],
    mode: GenerationMode,
    headers: dict[str, str],
    things: Mapping[str, Any],
    excluded: list[Any],
) -> None:
    rejection = [CHECKS.get_one("negative_data_rejection")]

    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        derandomize=not NIGHTLY,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), seed=st.integers(0, 2**32))
    def attempt(case: schemathesis.Case[Any], seed: int) -> None:
        if mode is GenerationMode.POSITIVE:
            _aim(case, random.Random(seed), things)
        answer = case.call(headers=headers)
        # A list of one is written in a query as the one alone is: nobody can tell that it was wrong.
        alone = any(isinstance(value, list) and len(value) == 1 for value in (case.query or {}).values())
        case.validate_response(answer, excluded_checks=[*excluded, *(rejection if alone else ())])

    attempt()


NAMES: Final = ("analyst", "husam", "designer", "thinker", "*", "team:finance")


def _aim(case: schemathesis.Case[Any], chance: random.Random, things: Mapping[str, Any]) -> None:
    """Point most requests at something that is there; a random name hardly ever does."""
    for name in case.path_parameters or {}:
        if chance.random() < 0.9:
            case.path_parameters[name] = _real(name, case.path, case.method, chance, things)
    for name in ("owner", "member", "sender", "inbox", "space", "waiter", "asker", "asked", "by"):
        if case.query and name in case.query and chance.random() < 0.7:
            real = things["space"] if name == "space" else chance.choice(NAMES)
            case.query[name] = [real] if isinstance(case.query[name], list) else real
    if isinstance(case.body, dict):
        _aim_body(case.body, chance, things)


def _real(name: str, path: str, method: str, chance: random.Random, things: Mapping[str, Any]) -> str:
    """Something that is there; but nothing is deleted that others are to be tried on."""
    spare = method.upper() == "DELETE" and chance.random() < 0.9
    match name, path.split("/")[2]:
        case "trigger", _:
            return str(things["trigger"])
        case "name", "triggers":
            return "github-spare" if spare else str(things["trigger"])
        case "name", _:
            return "developer" if spare else chance.choice(NAMES)
        case _, "spaces":
            return "spare" if spare else str(things["space"])
        case _, "events":
            return str(chance.choice((things["event"], things["discarded"], things["personal"])))
        case _, "runs":
            return str(chance.choice((things["run"], things["past"])))
        case _, "plans":
            return str(things["plan"])
        case _, "gates":
            return str(things["gate"])
        case _, "decisions":
            return str(things["decision"])
        case _, "sessions":
            return str(things["guest"])
        case _:
            return str(things["key"])


def _aim_body(body: dict[str, Any], chance: random.Random, things: Mapping[str, Any]) -> None:
    real: dict[str, Any] = {
        "claimId": things["claim"],
        "fence": things["fence"],
        "events": [things["event"]],
        "failed": [things["event"]],
        "members": ["husam", "analyst"],
        "scheme": chance.choice(("github", "bearer", "slack")),
        "type": chance.choice(("mail", "note", "event", "space_message", "plan", "service", "decision")),
        "priority": chance.choice((0, 4, "high", "fyi")),
        "ttl": "10m",
        "hold": "5m",
        "cron": "0 9 * * *",
        "runAfter": "5 hours",
        "scheduledAt": "2026-02-20T10:00:00Z",
        "timeZone": "Europe/Berlin",
        "seq": chance.choice((0, 1, 2)),
        "callId": things["call"],
        "model": "demo",
        "kind": chance.choice(("human", "timer", "event", "mail", "ci")),
        "awaits": chance.choice(("husam", "mail", "service:jira", "run:4711@acme/shop")),
        "deadline": "2100-01-01T00:00:00Z",
        "within": "2h",
        "waiters": ["designer"],
        "of": ["husam"],
        "option": "ship",
        "default": "ship",
        "urgency": chance.choice((0, 4, "high", "fyi")),
    }
    real |= dict.fromkeys(
        ("to", "sender", "owner", "target", "agent", "trigger", "by", "madeBy", "asker"), chance.choice(NAMES)
    )
    for name, value in body.items():
        if name in real and value is not None and chance.random() < 0.8:
            body[name] = real[name]
    for each in body.get("pushes", ()) if isinstance(body.get("pushes"), list) else ():
        if isinstance(each, dict):
            _aim_body(each, chance, things)
