"""The corpus of requests: the furniture, every operation by everybody and with bad input, queries, and stories."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from tests.oracle.cases import (
    Case,
    Setup,
    build_bad_body_cases,
    build_caller_cases,
    build_repeat_cases,
    build_step,
    build_story,
    build_unknown_name_cases,
)
from tests.oracle.operations import HOOK_SECRET, QUESTION, READS, WRITES
from tests.oracle.queries import build_queries
from tests.oracle.stories import STORIES
from tests.oracle.waits import WAITS

_SETUP_STEPS: Final = (
    build_step(
        "POST /api/entities", body={"name": "husam", "kind": "human", "displayName": "Husam", "team": "finance"}
    ),
    build_step(
        "POST /api/agents",
        body={
            "name": "analyst",
            "displayName": "Analyst",
            "team": "finance",
            "role": "lead",
            "owner": "husam",
            "aliases": ["bead-42"],
        },
    ),
    build_step("POST /api/agents", body={"name": "designer", "team": "web"}),
    build_step("POST /api/agents", body={"name": "developer", "team": "web", "role": "lead"}),
    build_step("POST /api/entities", body={"name": "jira", "kind": "service"}),
    build_step("POST /api/spaces", body={"name": "Q4 report", "members": ["husam", "analyst"]}),
    build_step("POST /api/spaces", body={"name": "Design", "members": ["designer", "developer", "husam"]}),
    build_step(
        "POST /api/spaces/{id}/messages",
        path={"id": "q4-report"},
        body={"content": "Pull the numbers", "sender": "husam"},
    ),
    build_step(
        "POST /api/spaces/{id}/messages",
        path={"id": "q4-report"},
        body={"content": "Here they are", "sender": "analyst", "data": {"revenue": 7}},
    ),
    build_step(
        "POST /api/inbox", body={"to": "analyst", "content": "one", "source": "ci"}, capture={"event": "eventId"}
    ),
    build_step("POST /api/inbox", body={"to": "analyst", "content": "two", "type": "alert", "priority": "critical"}),
    build_step(
        "POST /api/inbox",
        body={
            "to": "analyst",
            "content": "three",
            "type": "mail",
            "sender": "husam",
            "ref": {"type": "issue", "id": "7"},
        },
    ),
    build_step("POST /api/inbox", body={"to": "team:web", "content": "both of you"}),
    build_step("POST /api/inbox", body={"to": "husam", "content": "for a person"}, capture={"letter": "eventId"}),
    build_step(
        "POST /api/plans",
        body={"owner": "analyst", "name": "Daily", "instruction": "Report", "cron": "0 9 * * *"},
        capture={"plan": "id"},
    ),
    build_step(
        "POST /api/plans", body={"owner": "designer", "name": "Soon", "instruction": "Look", "runAfter": "5 hours"}
    ),
    build_step(
        "POST /api/gates",
        body={"owner": "analyst", "name": "Sign-off", "awaits": "husam", "waiters": ["husam"], "within": "2h"},
        capture={"gate": "id"},
    ),
    build_step("POST /api/gates", body={"owner": "designer", "name": "Later", "kind": "timer", "within": "2h"}),
    build_step("POST /api/decisions", body=QUESTION, capture={"decision": "id"}),
    build_step(
        "POST /api/triggers",
        body={"name": "github-main", "scheme": "github", "secret": HOOK_SECRET, "target": "analyst"},
    ),
    build_step(
        "POST /api/triggers",
        body={"name": "header-hook", "scheme": "header", "secret": HOOK_SECRET, "target": "analyst"},
    ),
    build_step(
        "GET /api/sessions/{id}",
        path={"id": "$session"},
        before=[Setup(request="a session"), Setup(request="a resident")],
    ),
)


@cache
def build_corpus() -> tuple[Case, ...]:
    corpus = tuple(_build_cases())
    ids = [case.id for case in corpus]
    repeated = sorted({id for id in ids if ids.count(id) > 1})
    assert not repeated, f"two cases have the id {repeated[0]!r}"
    return corpus


def _build_cases() -> Iterator[Case]:
    yield from build_story("furnish", *_SETUP_STEPS)
    for operation in READS:
        yield from build_caller_cases(operation)
        yield from build_unknown_name_cases(operation)
    yield from build_queries()
    for operation in WRITES:
        yield from build_caller_cases(operation)
        yield from build_repeat_cases(operation)
        yield from build_bad_body_cases(operation)
        yield from build_unknown_name_cases(operation)
    for name, steps in {**STORIES, **WAITS}.items():
        yield from build_story(name, *steps)
