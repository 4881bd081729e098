"""The corpus of requests: the furniture, every operation by everybody and with bad input, queries, and stories."""

from collections.abc import Iterator
from functools import cache
from typing import Final

from tests.oracle.cases import (
    Case,
    Setup,
    by_every_caller,
    step,
    story,
    with_bad_bodies,
    with_repeats,
    with_unknown_names,
)
from tests.oracle.operations import HOOK_SECRET, QUESTION, READS, WRITES
from tests.oracle.queries import build_queries
from tests.oracle.stories import STORIES
from tests.oracle.waits import WAITS

_FURNITURE: Final = (
    step("POST /api/entities", body={"name": "husam", "kind": "human", "displayName": "Husam", "team": "finance"}),
    step(
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
    step("POST /api/agents", body={"name": "designer", "team": "web"}),
    step("POST /api/agents", body={"name": "developer", "team": "web", "role": "lead"}),
    step("POST /api/entities", body={"name": "jira", "kind": "service"}),
    step("POST /api/spaces", body={"name": "Q4 report", "members": ["husam", "analyst"]}),
    step("POST /api/spaces", body={"name": "Design", "members": ["designer", "developer", "husam"]}),
    step(
        "POST /api/spaces/{id}/messages",
        path={"id": "q4-report"},
        body={"content": "Pull the numbers", "sender": "husam"},
    ),
    step(
        "POST /api/spaces/{id}/messages",
        path={"id": "q4-report"},
        body={"content": "Here they are", "sender": "analyst", "data": {"revenue": 7}},
    ),
    step("POST /api/inbox", body={"to": "analyst", "content": "one", "source": "ci"}, capture={"event": "eventId"}),
    step("POST /api/inbox", body={"to": "analyst", "content": "two", "type": "alert", "priority": "critical"}),
    step(
        "POST /api/inbox",
        body={
            "to": "analyst",
            "content": "three",
            "type": "mail",
            "sender": "husam",
            "ref": {"type": "issue", "id": "7"},
        },
    ),
    step("POST /api/inbox", body={"to": "team:web", "content": "both of you"}),
    step("POST /api/inbox", body={"to": "husam", "content": "for a person"}, capture={"letter": "eventId"}),
    step(
        "POST /api/plans",
        body={"owner": "analyst", "name": "Daily", "instruction": "Report", "cron": "0 9 * * *"},
        capture={"plan": "id"},
    ),
    step("POST /api/plans", body={"owner": "designer", "name": "Soon", "instruction": "Look", "runAfter": "5 hours"}),
    step(
        "POST /api/gates",
        body={"owner": "analyst", "name": "Sign-off", "awaits": "husam", "waiters": ["husam"], "within": "2h"},
        capture={"gate": "id"},
    ),
    step("POST /api/gates", body={"owner": "designer", "name": "Later", "kind": "timer", "within": "2h"}),
    step("POST /api/decisions", body=QUESTION, capture={"decision": "id"}),
    step(
        "POST /api/triggers",
        body={"name": "github-main", "scheme": "github", "secret": HOOK_SECRET, "target": "analyst"},
    ),
    step(
        "POST /api/triggers",
        body={"name": "header-hook", "scheme": "header", "secret": HOOK_SECRET, "target": "analyst"},
    ),
    step(
        "GET /api/sessions/{id}",
        path={"id": "$session"},
        before=[Setup(request="a session"), Setup(request="a resident")],
    ),
)


@cache
def build_corpus() -> tuple[Case, ...]:
    corpus = tuple(_cases())
    ids = [case.id for case in corpus]
    repeated = sorted({id for id in ids if ids.count(id) > 1})
    assert not repeated, f"two cases have the id {repeated[0]!r}"
    return corpus


def _cases() -> Iterator[Case]:
    yield from story("furnish", *_FURNITURE)
    for operation in READS:
        yield from by_every_caller(operation)
        yield from with_unknown_names(operation)
    yield from build_queries()
    for operation in WRITES:
        yield from by_every_caller(operation)
        yield from with_repeats(operation)
        yield from with_bad_bodies(operation)
        yield from with_unknown_names(operation)
    for name, steps in {**STORIES, **WAITS}.items():
        yield from story(name, *steps)
