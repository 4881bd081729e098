"""
Two files that are made from what operations declare, so that a new operation cannot be forgotten.

`wrong_input.txt` has a line for everything that can be wrong with a request: a body that is missing, no JSON, no
object, or has an unknown field; a field that is missing, and one with a value of another type; odd and unknown
parameters of a query; a name of what is not there, and one that can be no name.

`callers.txt` has a column of statuses for each caller: `tests/operations/test_access.py` says who must be refused, and
this table also shows who is not. Every operation is called on what is the analyst's; Husam is asked, waits and reads
with it, and the thinker has the runs.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any, Final, NamedTuple

import msgspec

from gatepost.executor import load_operations
from gatepost.operations.operation import Kind, Operation
from tests.operations.access_cases import CALL_CASES
from tests.snapshot.requests import TRIGGER_KEY, RequestSetup, open_request_setup

CALLERS: Final = ("nobody", TRIGGER_KEY, "designer", "thinker", "husam", "analyst", "admin")
#: no field takes an array of numbers, but for those that take any JSON
_WRONG_VALUE: Final = [7]
_TITLE_WIDTH: Final = 30
_ROUTE_WIDTH: Final = 44


class Call(NamedTuple):
    """A good request, from which wrong ones are made."""

    names: Mapping[str, str]
    query: str
    body: Mapping[str, Any]


def list_operations() -> list[Operation]:
    return sorted(load_operations(), key=lambda operation: (operation.path, operation.method))


def build_call(operation: Operation, objects: Mapping[str, Any]) -> Call:
    """Return the call of the access tests, about what there is."""
    case = CALL_CASES[operation.endpoint]
    return Call(
        {name: objects.get(word, word) for name, word in case.path.items()},
        "&".join(f"{name}={objects.get(word, word)}" for name, word in case.query.items()),
        {**(operation.example or {}), **{name: objects.get(word, word) for name, word in case.body.items()}},
    )


async def walk_wrong_input() -> str:
    """Return the text of `wrong_input.txt`."""
    blocks: list[str] = []
    for operation in list_operations():
        async with open_request_setup(CALL_CASES[operation.endpoint].ledger) as setup:
            lines = [operation.endpoint]
            for title, path, body in _list_wrong_requests(operation, build_call(operation, setup.objects)):
                status, answer = await setup.ask("admin", operation.method, path, body)
                lines.append(f"  {title:{_TITLE_WIDTH}} {_describe(setup, status, answer)}")
        blocks.append("\n".join(lines) + "\n")
    return "\n".join(blocks)


def _list_wrong_requests(operation: Operation, call: Call) -> Iterator[tuple[str, str, str]]:
    """Return for each what is wrong, the path with its query, and the body."""
    path, document = operation.path.format(**call.names), json.dumps(call.body) if operation.has_body else ""
    fields = [field for field in msgspec.structs.fields(operation.request) if field.name not in operation.path_fields]
    if operation.path_fields:
        last = operation.path_fields[-1]
        yield f"{last} unknown", operation.path.format(**{**call.names, last: "nobody-here"}), document
        yield f"{last} malformed", operation.path.format(**{**call.names, last: "No%20Name"}), document
    if not operation.has_body:
        for query in ("colour=red", *(f"{field.encode_name}=odd" for field in fields)):
            yield query, f"{path}?{query}", ""
        return
    yield "no body", path, ""
    yield "no JSON", path, "{"
    yield "no object", path, "[]"
    yield "colour", path, json.dumps({**call.body, "colour": "red"})
    for field in fields:
        name = field.encode_name
        if field.required:
            yield f"no {name}", path, json.dumps({key: value for key, value in call.body.items() if key != name})
        yield f"{name} [7]", path, json.dumps({**call.body, name: _WRONG_VALUE})


def _describe(setup: RequestSetup, status: int, answer: str) -> str:
    """Return the status, and what is said about it."""
    if status < 400:
        return str(status)
    problem = json.loads(answer)
    kind, hint = problem["type"].rpartition(":")[2], problem.get("hint")
    return setup.values.mask(f"{status} {kind}: {problem['detail']}" + (f" ({hint})" if hint else ""))


async def walk_callers() -> str:
    """Return the text of `callers.txt`."""
    rows = {operation.endpoint: await _list_statuses(operation) for operation in list_operations()}
    lines = [
        " ".join([f"{route:{_ROUTE_WIDTH}}", *(f"{cell:8}" for cell in cells)]).rstrip()
        for route, cells in {"operation": CALLERS, **rows}.items()
    ]
    return "\n".join(lines) + "\n"


async def _list_statuses(operation: Operation) -> Sequence[str]:
    """Return what each caller gets. What one has changed, another does not see."""
    statuses: list[str] = []
    async with AsyncExitStack() as stack:
        setup: RequestSetup | None = None
        for caller in CALLERS:
            if setup is None:
                setup = await stack.enter_async_context(open_request_setup(CALL_CASES[operation.endpoint].ledger))
            call = build_call(operation, setup.objects)
            path = operation.path.format(**call.names) + (f"?{call.query}" if call.query else "")
            body = json.dumps(call.body) if operation.has_body else ""
            status, _ = await setup.ask(caller, operation.method, path, body)
            statuses.append(str(status))
            if status < 400 and operation.kind not in (Kind.READ, Kind.STREAM):
                await stack.aclose()
                setup = None
    return statuses
