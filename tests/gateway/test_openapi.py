"""
The OpenAPI is whole and true: every operation is described, every example is one, and whatever the gateway is sent, it
answers with what is described there and never with a fault of its own.
"""

import json
import os
import random
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, suppress
from copy import deepcopy
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonschema_rs
import pytest
import schemathesis
from hypothesis import HealthCheck, given, note, settings, strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import GenerationMode
from schemathesis.checks import CHECKS
from schemathesis.core.result import Ok
from schemathesis.schemas import APIOperation

from gatepost.app import open_store, register_administrator
from gatepost.directory import key_actions as keys
from gatepost.directory.key_handlers import generate_secret
from gatepost.gateway.streams.live_readers import LiveStreams
from gatepost.gateway.web_app import GatewayApp
from gatepost.transports.signal_bus import SignalBus
from tests.operations.access_cases import create_owned_objects
from tests.support.collected_failures import CollectedFailures
from tests.support.gateways.local_gateways import TOKEN_RULES, build_app_state, build_openapi, list_operations
from tests.support.servers.private_servers import Postgres

NIGHTLY: Final = bool(os.environ.get("GATEPOST_NIGHTLY"))
#: requests for each operation, caller and kind of data
EXAMPLE_COUNT: Final = 300 if NIGHTLY else 1
#: a schema cannot say all that makes a request good: that somebody lives at an address, or which of two goes with which
EXCLUDED_CHECKS: Final = ["positive_data_acceptance"]
#: here each of many is refused by itself
BATCH_OPERATION: Final = "POST /api/inbox/batch"


def test_what_a_stream_without_names_shows_the_administrator_is_said() -> None:
    assert "the administrator sees all spaces, its own inbox" in list_operations()["GET /api/stream"]["description"]


def test_every_operation_is_described() -> None:
    with CollectedFailures() as failures:
        for operation, description in list_operations().items():
            with failures.check(operation):
                check_description(operation, description)


def check_description(operation: str, description: Mapping[str, Any]) -> None:
    assert description["summary"]
    assert description["description"].endswith(".")
    assert len(description["tags"]) == 1
    answers = description["responses"]
    success_statuses = [status for status in answers if status.startswith("2")]
    assert success_statuses
    for status, answer in answers.items():
        assert answer["description"]
        for media, content in answer.get("content", {}).items():
            assert content["schema"] or media.startswith("text/plain"), f"{status} says nothing of its shape"
            assert media == "application/problem+json" or status < "400" or operation == "GET /health"
        assert answer.get("content") or status == "204"
    if description.get("security") != []:
        assert {"401", "403", "503"} <= set(answers)
    if "requestBody" in description:
        assert {"400", "413", "422"} <= set(answers)


def test_operations_have_names_of_their_own() -> None:
    names = [operation["operationId"] for operation in list_operations().values()]
    assert len(set(names)) == len(names)


def test_every_body_has_an_example_that_is_one() -> None:
    components = json.dumps(build_openapi()["components"]["schemas"]).replace("#/components/schemas/", "#/$defs/")
    definitions = json.loads(components)
    with CollectedFailures() as failures:
        for operation, description in list_operations().items():
            for media, content in description.get("requestBody", {}).get("content", {}).items():
                with failures.check(operation):
                    assert media == "application/json"
                    schema = json.loads(json.dumps(content["schema"]).replace("#/components/schemas/", "#/$defs/"))
                    validator = jsonschema_rs.validator_for({**schema, "$defs": definitions})
                    assert [error.message for error in validator.iter_errors(content["example"])] == []


class Caller(NamedTuple):
    """An application, the credential of one who calls it, and what there is to be called about."""

    name: str
    app: GatewayApp
    headers: dict[str, str]
    values: Mapping[str, Any]


#: By day both are sent the same requests, which cost more to make than to answer; by night each has its own.
CALLERS_BY_DAY: Final = ("administrator-sqlite", "agent-sqlite")
CALLERS: Final = (*CALLERS_BY_DAY, "administrator-postgres", "agent-postgres")


@pytest.fixture(params=CALLERS if NIGHTLY else ["+".join(CALLERS_BY_DAY)])
def callers(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[list[Caller]]:
    with ExitStack() as stack:
        yield [_open_caller(name, stack, request, tmp_path) for name in request.param.split("+")]


def _open_caller(name: str, stack: ExitStack, request: pytest.FixtureRequest, folder: Path) -> Caller:
    is_agent = name.startswith("agent")
    if name.endswith("sqlite"):
        store = open_store(f"sqlite:///{folder}/{name}.db")
    else:
        postgres: Postgres = request.getfixturevalue("postgres")
        store = open_store(stack.enter_context(postgres.create_database()))
    stack.enter_context(closing(store))
    store.migrate()
    register_administrator(store)
    secret = generate_secret()
    values = create_owned_objects(store)
    entity = "analyst" if is_agent else None
    store.run_sync(keys.create, kind="agent" if is_agent else "admin", secret=secret, entity=entity)
    app = GatewayApp(build_app_state(store, SignalBus(), LiveStreams(), TOKEN_RULES))
    return Caller(name, app, {"x-secret-key": secret}, values)


def test_whatever_it_is_sent_it_answers_as_described(callers: list[Caller]) -> None:
    schema = schemathesis.openapi.from_asgi("/api/openapi.json", callers[0].app)
    schema.config.max_stream_events = 1
    api_operations = [result.ok() for result in schema.get_all_operations() if isinstance(result, Ok)]
    assert len(api_operations) == len(list_operations())
    for number, operation in enumerate(api_operations):
        check_names = [*EXCLUDED_CHECKS, *(["negative_data_rejection"] if operation.label == BATCH_OPERATION else [])]
        excluded = [CHECKS.get_one(name) for name in check_names]
        for mode in list_modes(number):
            with suppress(Unsatisfiable):  # there is nothing to get wrong where nothing is to be said
                _try_operation(operation, mode, callers, excluded)


def list_modes(number: int) -> list[GenerationMode]:
    """Return what an operation is tried with: good and bad requests by night, and one of them by day, in turns."""
    modes = list(GenerationMode)
    return modes if NIGHTLY else [modes[(number + datetime.now(UTC).toordinal()) % len(modes)]]


def _try_operation(
    operation: APIOperation[Any, Any, Any, Any], mode: GenerationMode, callers: list[Caller], excluded: list[Any]
) -> None:
    rejection = [CHECKS.get_one("negative_data_rejection")]

    @settings(
        max_examples=EXAMPLE_COUNT,
        deadline=None,
        database=None,
        derandomize=not NIGHTLY,
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), seed=st.integers(0, 2**32))
    def attempt(case: schemathesis.Case[Any], seed: int) -> None:
        for caller in callers:
            own_case = _copy_case(case)
            if mode is GenerationMode.POSITIVE:
                _use_existing_names(own_case, random.Random(seed), caller.values)
            note(f"the caller is {caller.name}")
            answer = own_case.call(headers=caller.headers, app=caller.app)
            # A list of one is written in a query as the one alone is: nobody can tell that it was wrong.
            is_single = any(isinstance(value, list) and len(value) == 1 for value in (own_case.query or {}).values())
            own_case.validate_response(
                answer,
                excluded_checks=[*excluded, *(rejection if is_single else ())],
                transport_kwargs={"app": caller.app},
            )

    attempt()


def _copy_case(case: schemathesis.Case[Any]) -> schemathesis.Case[Any]:
    """Return the same request, to be changed and sent by itself."""
    return schemathesis.Case(
        operation=case.operation,
        method=case.method,
        path=case.path,
        path_parameters=deepcopy(case.path_parameters),
        headers=deepcopy(case.headers),
        cookies=deepcopy(case.cookies),
        query=deepcopy(case.query),
        body=deepcopy(case.body) if isinstance(case.body, dict | list) else case.body,
        media_type=case.media_type,
        multipart_content_types=deepcopy(case.multipart_content_types),
        meta=deepcopy(case.meta),
    )


KNOWN_NAMES: Final = ("analyst", "husam", "designer", "thinker", "*", "team:finance")


def _use_existing_names(case: schemathesis.Case[Any], rng: random.Random, values: Mapping[str, Any]) -> None:
    """Point most requests at something that is there; a random name hardly ever does."""
    for name in case.path_parameters or {}:
        if rng.random() < 0.9:
            case.path_parameters[name] = _choose_existing(name, case.path, case.method, rng, values)
    for name in ("owner", "member", "sender", "inbox", "space", "waiter", "asker", "asked", "by"):
        if case.query and name in case.query and rng.random() < 0.7:
            existing = values["space"] if name == "space" else rng.choice(KNOWN_NAMES)
            case.query[name] = [existing] if isinstance(case.query[name], list) else existing
    if isinstance(case.body, dict):
        _use_existing_values(case.body, rng, values)


def _choose_existing(name: str, path: str, method: str, rng: random.Random, values: Mapping[str, Any]) -> str:
    """Something that is there; but nothing is deleted that others are to be tried on."""
    is_spare = method.upper() == "DELETE" and rng.random() < 0.9
    match name, path.split("/")[2]:
        case "trigger", _:
            return str(values["trigger"])
        case "name", "triggers":
            return "github-spare" if is_spare else str(values["trigger"])
        case "name", _:
            return "developer" if is_spare else rng.choice(KNOWN_NAMES)
        case _, "spaces":
            return "spare" if is_spare else str(values["space"])
        case _, "events":
            return str(rng.choice((values["event"], values["discarded"], values["personal"])))
        case _, "runs":
            return str(rng.choice((values["run"], values["past"])))
        case _, "plans":
            return str(values["plan"])
        case _, "gates":
            return str(values["gate"])
        case _, "decisions":
            return str(values["decision"])
        case _, "sessions":
            return str(values["guest"])
        case _:
            return str(values["key"])


def _use_existing_values(body: dict[str, Any], rng: random.Random, values: Mapping[str, Any]) -> None:
    existing: dict[str, Any] = {
        "claimId": values["claim"],
        "fence": values["fence"],
        "events": [values["event"]],
        "failed": [values["event"]],
        "members": ["husam", "analyst"],
        "scheme": rng.choice(("github", "bearer", "slack")),
        "type": rng.choice(("mail", "note", "event", "space_message", "plan", "service", "decision")),
        "priority": rng.choice((0, 4, "high", "fyi")),
        "ttl": "10m",
        "hold": "5m",
        "cron": "0 9 * * *",
        "runAfter": "5 hours",
        "scheduledAt": "2026-02-20T10:00:00Z",
        "timeZone": "Europe/Berlin",
        "seq": rng.choice((0, 1, 2)),
        "callId": values["call"],
        "model": "demo",
        "kind": rng.choice(("human", "timer", "event", "mail", "ci")),
        "awaits": rng.choice(("husam", "mail", "service:jira", "run:4711@acme/shop")),
        "deadline": "2100-01-01T00:00:00Z",
        "within": "2h",
        "waiters": ["designer"],
        "of": ["husam"],
        "option": "ship",
        "default": "ship",
        "urgency": rng.choice((0, 4, "high", "fyi")),
    }
    existing |= dict.fromkeys(
        ("to", "sender", "owner", "target", "agent", "trigger", "by", "madeBy", "asker"), rng.choice(KNOWN_NAMES)
    )
    for name, value in body.items():
        if name in existing and value is not None and rng.random() < 0.8:
            body[name] = existing[name]
    for push in body.get("pushes", ()) if isinstance(body.get("pushes"), list) else ():
        if isinstance(push, dict):
            _use_existing_values(push, rng, values)
