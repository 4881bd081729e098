"""What a case of the corpus is, and how cases are made from a table of operations."""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

#: who calls: without a credential, with an unknown key, with a key that only triggers the analyst, an agent that is not
#: concerned, a person with a token, the agent that is concerned, the administrator
CALLERS: Final = ("nobody", "unknown", "trigger", "designer", "husam", "analyst", "admin")
#: a value of another type than the one that stands in a good body
_WRONG_VALUES: Final[Mapping[type, Any]] = {str: 7, int: "seven", bool: "yes", list: "one", dict: 7, type(None): []}
_LONG_TEXT: Final = "x" * 400_000
#: what the ids of a noun begin with
_ID_PREFIXES: Final = {
    "runs": "run",
    "events": "evt",
    "plans": "plan",
    "gates": "gate",
    "decisions": "dec",
    "keys": "key",
}


@dataclass(frozen=True, kw_only=True)
class Setup:
    """What the administrator does before a case, so that there is something to ask for. It has to succeed."""

    #: or `a run`, `a session`, `a resident`, which no request makes, or `wait 3 hours`
    request: str
    body: Any = None
    #: names for values of the answer, such as `gate` for `id` or `event` for `items.0.eventId`
    capture: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Case:
    """
    One request. `$gate` in its path, query, headers or body stands for a value that was captured under that name; `$n`
    stands for the number of the request.
    """

    id: str
    #: the operation of the OpenAPI that is asked for; None for a request that none of them answers
    route: str | None
    request: str
    by: str = "admin"
    body: Any = None
    #: the text of the body, where that is no JSON
    raw: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict)
    #: the secret of the webhook, with which the body is signed as GitHub does it
    sign: str | None = None
    #: how many frames of a stream are read
    frames: int = 0
    before: Sequence[Setup] = ()
    #: what the administrator does while a stream is read
    meanwhile: Sequence[Setup] = ()
    capture: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Operation:
    """An operation of the OpenAPI and one good request to it, from which other cases are made."""

    route: str
    path: Mapping[str, str] = field(default_factory=dict)
    query: str = ""
    body: Mapping[str, Any] | None = None
    required: Sequence[str] = ()
    #: changes to the body that make it another good one; empty where a key for repeats has no effect
    other: Mapping[str, Any] = field(default_factory=dict)
    #: whether a repeat without a body is tried under the same key
    repeats: bool = False
    before: Sequence[Setup] = ()
    frames: int = 0
    meanwhile: Sequence[Setup] = ()
    also_by: Sequence[str] = ()

    @property
    def request(self) -> str:
        return self.fill_path(self.path) + (f"?{self.query}" if self.query else "")

    def fill_path(self, path: Mapping[str, str]) -> str:
        return re.sub(r"\{(\w+)\}", lambda match: path[match[1]], self.route)

    def build_case(self, name: str, **changes: Any) -> Case:
        case = Case(
            id=f"{self.route} {name}",
            route=self.route,
            request=self.request,
            body=self.body,
            before=self.before,
            frames=self.frames,
            meanwhile=self.meanwhile,
        )
        return replace(case, **changes)


def build_caller_cases(operation: Operation) -> Iterator[Case]:
    for caller in (*CALLERS, *operation.also_by):
        yield operation.build_case(f"by {caller}", by=caller)


def build_unknown_name_cases(operation: Operation) -> Iterator[Case]:
    """Ask for what is not there: for the last name in the path, and for a name that can be none."""
    if not operation.path:
        return
    *_, last_name = operation.path
    noun = operation.route.split("/")[2].split("/")[0]
    unknown = f"{_ID_PREFIXES[noun]}_{'0' * 32}" if noun in _ID_PREFIXES else "no-such-thing"
    for name, value in (("unknown", unknown), ("malformed", "No%20Such%20%C3%A4%2A")):
        path = operation.fill_path({**operation.path, last_name: value})
        for caller in ("admin", "designer"):
            yield operation.build_case(f"{name} {last_name} by {caller}", request=path, by=caller, frames=0)


def build_bad_body_cases(operation: Operation) -> Iterator[Case]:
    """Send what is no JSON, not an object, not complete, of another type, too long or not known."""
    body = operation.body
    if body is None:
        return
    document = json.dumps(body)
    yield operation.build_case("no body", body=None)
    yield operation.build_case("no JSON", body=None, raw=document[:-1])
    yield operation.build_case("no JSON by nobody", body=None, raw=document[:-1], by="nobody")
    yield operation.build_case("a list", body=[body])
    yield operation.build_case("a null", body=None, raw="null")
    yield operation.build_case("as text", body=None, raw=document, headers={"content-type": "text/plain"})
    yield operation.build_case(
        "as a form", body=None, raw="a=b", headers={"content-type": "application/x-www-form-urlencoded"}
    )
    yield operation.build_case("unknown field", body={**body, "colour": "red"})
    yield operation.build_case("unknown field by designer", body={**body, "colour": "red"}, by="designer")
    for name in operation.required:
        yield operation.build_case(f"without {name}", body={key: value for key, value in body.items() if key != name})
        yield operation.build_case(f"null {name}", body={**body, name: None})
    for name, value in body.items():
        yield operation.build_case(
            f"wrong type of {name}", body={**body, name: "seven" if value == "$fence" else _WRONG_VALUES[type(value)]}
        )
    texts = [name for name, value in body.items() if isinstance(value, str)]
    for name in texts[:2]:
        yield operation.build_case(f"long {name}", body={**body, name: _LONG_TEXT})
        yield operation.build_case(f"empty {name}", body={**body, name: ""})


def build_repeat_cases(operation: Operation) -> Iterator[Case]:
    """Send a request twice under one key, and then another request under the same key."""
    if not operation.other and not operation.repeats:
        return
    headers = {"idempotency-key": f"key of {operation.route}"}
    body = None if operation.body is None else json.loads(json.dumps(operation.body).replace('$n"', 'repeated"'))
    yield operation.build_case("first of a key", headers=headers, body=body)
    yield operation.build_case("repeat of a key", headers=headers, body=body, before=())
    if operation.other:
        changed = {**(body or {}), **operation.other}
        yield operation.build_case("another body for a key", headers=headers, before=(), body=changed)


def build_query_cases(route: str, path: str, queries: Sequence[str], by: str = "admin") -> Iterator[Case]:
    for query in queries:
        yield Case(
            id=f"{route} ?{query}" + ("" if by == "admin" else f" by {by}"),
            route=route,
            request=f"{path}?{query}",
            by=by,
        )


def build_story(name: str, *steps: Case) -> Iterator[Case]:
    """Several requests, one after the other; each is told by its place in the story."""
    for number, step in enumerate(steps, 1):
        yield replace(step, id=f"{name} {number}: {step.id}")


def build_step(
    route: str, title: str = "", *, path: Mapping[str, str] | None = None, query: str = "", **fields: Any
) -> Case:
    """One request of a story; keys of `path` are the names in the route."""
    request = re.sub(r"\{(\w+)\}", lambda match: (path or {})[match[1]], route)
    return Case(id=title or route, route=route, request=request + (f"?{query}" if query else ""), **fields)
