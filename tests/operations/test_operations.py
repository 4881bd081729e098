"""
One walk over every operation, from its declaration: with no key, an unknown one, a trigger's, an agent's, a token, the
administrator's, and with another's name. What is expected follows from the access rule, so that a new operation cannot
be forgotten. `test_access.py` walks the same operations with requests that would change something.
"""

from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import msgspec
import pytest

from gatepost.executor import load_operations
from gatepost.operations import access
from gatepost.operations.operation import Kind, Operation
from tests.support.gateways.local_gateways import Gateway, create_entities, create_token, list_operations, open_gateway

OPERATIONS: Final = {operation.endpoint: operation for operation in load_operations()}
#: for the analyst, by itself
ENTITY_CALLERS: Final = ("agent's key", "token")
NOBODY: Final = ("no key", "unknown key")
#: what is sent where the body of a request would be: nothing that can be parsed
NOT_JSON: Final = b"{"
OTHERS: Final = ("husam", "nobody-here")


@pytest.fixture
async def gateway(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Gateway]:
    async with open_gateway(f"sqlite:///{tmp_path_factory.mktemp('walk')}/gatepost.db") as gateway:
        create_entities(gateway.store)
        yield gateway


def create_callers(gateway: Gateway) -> Mapping[str, Mapping[str, str]]:
    token = {"authorization": f"Bearer {create_token('analyst')}", "x-public-key": gateway.create_key("public")}
    return {
        "no key": {},
        "unknown key": {"x-secret-key": "sk_" + "x" * 43},
        "trigger's key": {"x-secret-key": gateway.create_key("trigger", "analyst")},
        "agent's key": {"x-secret-key": gateway.create_key("agent", "analyst")},
        "token": token,
        "administrator's key": {"x-secret-key": gateway.admin_key},
    }


async def send(
    gateway: Gateway,
    operation: Operation,
    headers: Mapping[str, str],
    *,
    path: Mapping[str, str] | None = None,
    query: Mapping[str, str] | None = None,
    content: bytes | None = None,
) -> tuple[int, Any]:
    """Call an operation; return the status and the problem, if it is one."""
    values = dict.fromkeys(operation.path_fields, "analyst") | dict(path or {})
    target = operation.path.format(**values)
    if operation.kind is Kind.STREAM:
        text = "&".join(f"{name}={value}" for name, value in (query or {}).items())
        async with await gateway.open_stream(f"{target}?{text}", x_nobody="yes", **headers) as stream:
            return stream.status, None
    async with gateway.open_client(x_nobody="yes") as client:
        answer = await client.request(
            operation.method, target, params=dict(query or {}), content=content, headers=dict(headers)
        )
    is_problem = answer.headers.get("content-type") == "application/problem+json"
    return answer.status_code, answer.json() if is_problem else None


def expect_refusal(rule: access.Access, caller: str) -> int | None:
    """The status with which this kind of caller is refused before its body is read; None if it is not."""
    if not rule.needs_credential:
        return None
    if caller in NOBODY:
        return 401
    if caller == "trigger's key":
        return None if isinstance(rule, access.TriggerKey) else 403
    if caller in ENTITY_CALLERS:
        return 403 if isinstance(rule, access.Administrator | access.TriggerKey) else None
    return None


def test_every_operation_is_declared_and_described() -> None:
    assert set(OPERATIONS) == set(list_operations())


@pytest.mark.parametrize("route", OPERATIONS)
def test_every_operation_has_a_handler(route: str) -> None:
    operation = OPERATIONS[route]
    assert operation.batch is not None or operation.kind is Kind.RAW or callable(operation.handler)


async def test_the_kind_of_caller_is_checked_before_the_form(gateway: Gateway) -> None:
    """The body is not JSON and the query is wrong: a caller that may not ask at all is not told so."""
    wrong: list[str] = []
    for caller, headers in create_callers(gateway).items():
        for operation in OPERATIONS.values():
            if operation.kind is Kind.RAW:
                continue
            content = NOT_JSON if operation.has_body else None
            status, problem = await send(gateway, operation, headers, query={"unknown": "1"}, content=content)
            expected = expect_refusal(operation.access, caller) or 422
            if status not in ((400, 422) if expected == 422 else (expected,)):
                wrong.append(f"{operation.endpoint} by {caller}: {status} instead of {expected}: {problem}")
    assert not wrong, "\n".join(wrong)


def list_actor_fields(operation: Operation) -> list[str]:
    """The fields that name for whom a request acts, but not those in the path."""
    match operation.access:
        case access.ActAs(fields=fields):
            return list(fields)
        case access.AnyEntity(own=own):
            return list(own)
        case access.NamedEntityOrOwner(field=field):
            return [] if field in operation.path_fields else [field]
        case _:
            return []


@pytest.mark.parametrize("caller", ENTITY_CALLERS)
async def test_another_name_is_refused_alike_whether_it_exists_or_not(gateway: Gateway, caller: str) -> None:
    headers = create_callers(gateway)[caller]
    wrong: list[str] = []
    count = 0
    for operation in OPERATIONS.values():
        for values in list_requests_as_others(operation):
            answers = [await send(gateway, operation, headers, **values(name)) for name in OTHERS]
            count += 1
            problems = [
                str(problem).replace(repr(name), "NAME") for (_, problem), name in zip(answers, OTHERS, strict=True)
            ]
            if [status for status, _ in answers] != [403, 403] or problems[0] != problems[1]:
                wrong.append(f"{operation.endpoint}: {answers}")
    assert not wrong, "\n".join(wrong)
    assert count > 30


def list_requests_as_others(operation: Operation) -> list[Any]:
    """Ways to name somebody else: in the path, in the query, or in the body of the example."""
    names = {field.name: field.encode_name for field in msgspec.structs.fields(operation.request)}
    ways: list[Any] = []
    if isinstance(operation.access, access.NamedEntity) and operation.access.field in operation.path_fields:
        field = operation.access.field
        ways.append(
            lambda name: {"path": {field: name}} | ({"content": build_body(operation)} if operation.has_body else {})
        )
    for actor in list_actor_fields(operation):
        if operation.has_body:
            ways.append(lambda name, actor=actor: {"content": build_body(operation, **{names[actor]: name})})
        else:
            ways.append(lambda name, actor=actor: {"query": {names[actor]: name}})
    return ways


def build_body(operation: Operation, **changes: Any) -> bytes:
    """The example of an operation, made by the caller itself but for the changes."""
    names = {field.name: field.encode_name for field in msgspec.structs.fields(operation.request)}
    own = {names[actor]: None for actor in list_actor_fields(operation) if actor not in operation.path_fields}
    return msgspec.json.encode({**(operation.example or {}), **own, **changes})


async def test_a_trigger_key_triggers_its_own_agent_only(gateway: Gateway) -> None:
    headers = create_callers(gateway)["trigger's key"]
    for operation in OPERATIONS.values():
        if isinstance(operation.access, access.TriggerKey):
            field, content = operation.access.field, build_body(operation)
            status, _ = await send(gateway, operation, headers, content=content)
            assert status == operation.status
            for name in OTHERS:
                status, problem = await send(gateway, operation, headers, path={field: name}, content=content)
                assert (status, problem["detail"]) == (403, "this key can only trigger 'analyst'")
