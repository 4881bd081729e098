"""Queries of lists and streams: good, bad, unknown, said twice, at their limits, and page after page."""

from collections.abc import Iterator
from typing import Final

from tests.oracle.cases import Case, Setup, build_query_cases, build_step

#: what every list with pages is asked
_PAGE_QUERIES: Final = (
    "limit=1",
    "limit=0",
    "limit=1000",
    "limit=1001",
    "limit=-1",
    "limit=5.0",
    "limit=1e2",
    "limit=many",
    "limit=",
    "limit=1&limit=2",
    "after=0",
    "after=-1",
    "after=nothing",
    "after=99999999999999999999",
    "after=",
    "colour=red",
)
#: what only one list with pages of each kind is asked; the others are asked the first few
_FEW_PAGE_QUERIES: Final = (
    "limit=1",
    "limit=0",
    "limit=many",
    "limit=1&limit=2",
    "after=nothing",
    "after=99999999999999999999",
    "colour=red",
)

_LIST_QUERIES: Final = {
    "GET /api/entities": (
        "kind=human",
        "kind=agent&team=web",
        "kind=robot",
        "team=nothing",
        "retired=true",
        "retired=1",
        "retired=yes",
        "retired=maybe",
        "kind=human&kind=agent",
    ),
    "GET /api/agents": ("team=web", "retired=false", "retired=maybe", "team=web&team=finance"),
    "GET /api/runs": ("agent=thinker", "agent=nobody-here", "status=running", "status=completed", "status=odd"),
    "GET /api/inbox": (
        "state=pending",
        "state=odd",
        "type=mail",
        "type=odd",
        "sender=husam",
        "sender=nobody-here",
        "ref=issue:7",
        "ref=issue",
        "since=2026-02-18T09:00:05Z",
        "since=1h",
        "since=2026-02-18T09:00:05",
        "until=2026-02-18T09:00:05Z",
        "until=never",
    ),
    "GET /api/spaces": ("member=analyst", "member=nobody-here", "member=jira"),
    "GET /api/plans": ("owner=analyst", "owner=nobody-here", "status=pending", "status=scheduled", "status=odd"),
    "GET /api/gates": (
        "owner=analyst",
        "owner=nobody-here",
        "waiter=husam",
        "kind=timer",
        "kind=odd",
        "pending=true",
        "pending=false",
        "pending=odd",
        "owner=analyst&owner=designer",
    ),
    "GET /api/decisions": (
        "asker=analyst",
        "asked=husam",
        "asked=nobody-here",
        "session=4f1c",
        "pending=true",
        "pending=false",
        "since=2026-02-18T09:00:05Z",
        "since=yesterday",
    ),
    "GET /api/triggers": (),
    "GET /api/keys": (),
}
_INNER_LIST_QUERIES: Final = {
    "GET /api/agents/{name}/runs": ("GET /api/agents/thinker/runs", ("status=running", "status=odd")),
    "GET /api/agents/{name}/memories": ("GET /api/agents/thinker/memories", ()),
    "GET /api/runs/{id}/steps": ("GET /api/runs/$run/steps", ()),
    "GET /api/inbox/{name}": (
        "GET /api/inbox/analyst",
        (
            "state=pending",
            "state=odd",
            "type=alert",
            "sender=husam",
            "ref=issue:7",
            "since=odd",
            "until=2026-02-18T09:00:05Z",
        ),
    ),
    "GET /api/inbox/{name}/peek": ("GET /api/inbox/analyst/peek", ()),
}
_MESSAGE_QUERIES: Final = (
    "limit=1",
    "limit=0",
    "limit=odd",
    "afterSeq=1",
    "beforeSeq=2",
    "afterSeq=1&beforeSeq=2",
    "afterSeq=-1",
    "afterSeq=odd",
    "beforeSeq=99999999999999999999",
    "member=analyst",
    "member=designer",
    "member=nobody-here",
    "colour=red",
)
#: lists that others than the administrator ask for what is not their own, or for what is
_QUERIES_BY_OTHERS: Final = {
    "GET /api/runs": ("agent=thinker", "agent=designer", "agent=nobody-here"),
    "GET /api/spaces": ("member=analyst", "member=designer", "member=nobody-here"),
    "GET /api/plans": ("owner=analyst", "owner=designer", "owner=nobody-here"),
    "GET /api/gates": ("owner=analyst", "owner=designer", "waiter=husam", "owner=nobody-here"),
    "GET /api/decisions": ("asker=analyst", "asker=designer", "asked=husam", "asker=nobody-here"),
}
_STREAM_QUERIES: Final = {
    "GET /api/spaces/{id}/stream": ("GET /api/spaces/q4-report/stream", ("after=odd", "after=-1", "member=designer")),
    "GET /api/inbox/{name}/stream": ("GET /api/inbox/analyst/stream", ("after=odd", "after=5", "after=1-x")),
    "GET /api/runs/{id}/stream": ("GET /api/runs/$past/stream", ("after=odd", "after=-1")),
    "GET /api/agents/{name}/stream": ("GET /api/agents/analyst/stream", ("after=odd",)),
    "GET /api/stream": (
        "GET /api/stream",
        ("after=odd", "space=no-such-thing", "inbox=nobody-here", "after=1&after=2"),
    ),
}


def build_queries() -> Iterator[Case]:
    for number, (route, queries) in enumerate(_LIST_QUERIES.items()):
        yield from build_query_cases(route, route, [*(_PAGE_QUERIES if number < 1 else _FEW_PAGE_QUERIES), *queries])
        yield from _build_page_cases(route, route)
    for route, (path, queries) in _INNER_LIST_QUERIES.items():
        yield from build_query_cases(route, path, [*_FEW_PAGE_QUERIES, *queries])
        yield from _build_page_cases(route, path)
    yield from build_query_cases(
        "GET /api/spaces/{id}/messages", "GET /api/spaces/q4-report/messages", _MESSAGE_QUERIES
    )
    yield from build_query_cases(
        "GET /api/agents/{name}/goals", "GET /api/agents/thinker/goals", ("status=active", "status=odd")
    )
    for route, queries in _QUERIES_BY_OTHERS.items():
        for caller in ("designer", "husam"):
            yield from build_query_cases(route, route, queries, by=caller)
    for route, (path, queries) in _STREAM_QUERIES.items():
        for caller in ("admin", "designer"):
            yield from build_query_cases(route, path, queries, by=caller)
    yield from _build_resume_cases()


def _build_page_cases(route: str, path: str) -> Iterator[Case]:
    """Take a page of one, and the page after it; where there is no page after it, that is asked for by nothing."""
    yield Case(id=f"{route} first page", route=route, request=f"{path}?limit=1", capture={"cursor": "next"})
    yield Case(id=f"{route} second page", route=route, request=f"{path}?limit=1&after=$cursor")


def _build_resume_cases() -> Iterator[Case]:
    message = Setup(request="POST /api/spaces/q4-report/messages", body={"content": "live", "sender": "husam"})
    yield build_step(
        "GET /api/stream", "GET /api/stream a space", query="space=q4-report", frames=2, meanwhile=[message]
    )
    yield build_step(
        "GET /api/spaces/{id}/stream",
        "GET /api/spaces/{id}/stream from Last-Event-ID",
        path={"id": "q4-report"},
        headers={"last-event-id": "1"},
        frames=2,
    )
    yield build_step(
        "GET /api/spaces/{id}/stream",
        "GET /api/spaces/{id}/stream as a member",
        path={"id": "q4-report"},
        query="member=analyst&after=1",
        frames=2,
    )
    yield build_step(
        "GET /api/runs/{id}/stream",
        "GET /api/runs/{id}/stream from its second step",
        path={"id": "$past"},
        query="after=2",
        frames=3,
    )
