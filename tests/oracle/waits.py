"""Stories of what waits: gates, decisions, plans and runs; and of bodies that are too large."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.oracle.cases import Case, Setup, build_step
from tests.oracle.operations import DECISION, GATE, OPTIONS, PLAN, QUESTION, RUN

#: the text of a body that is larger than most may be
_LARGE_BODY: Final = '{"to": "analyst", "content": "' + "x" * 6_000_000 + '"}'
_RESOLVE_ROUTE: Final = "PUT /api/gates/{id}/resolution"
_ANSWER_ROUTE: Final = "PUT /api/decisions/{id}/answer"
_GATE_PATH: Final = {"id": "$new_gate"}
_DECISION_PATH: Final = {"id": "$new_decision"}


def _gate_step(title: str, **body: Any) -> Case:
    return build_step("POST /api/gates", title, body={"owner": "analyst", "name": title, **body})


def _plan_step(title: str, **body: Any) -> Case:
    return build_step(
        "POST /api/plans", title, body={"owner": "analyst", "name": title, "instruction": "Report", **body}
    )


WAITS: Final[Mapping[str, Sequence[Case]]] = {
    "a gate ends once": [
        build_step(_RESOLVE_ROUTE, "resolve", path=_GATE_PATH, body={"reason": "green"}, before=[GATE]),
        build_step(_RESOLVE_ROUTE, "resolve again", path=_GATE_PATH, body={"reason": "green"}),
        build_step(_RESOLVE_ROUTE, "withdraw late", path=_GATE_PATH, body={"withdraw": True}),
        build_step("POST /api/gates/{id}/waiters", "wait late", path=_GATE_PATH, body={"name": "designer"}),
        build_step("GET /api/gates/{id}", path=_GATE_PATH),
        build_step(
            _RESOLVE_ROUTE, "withdraw", path=_GATE_PATH, body={"withdraw": True, "reason": "obsolete"}, before=[GATE]
        ),
        build_step(_RESOLVE_ROUTE, "resolve late", path=_GATE_PATH, body={}),
        build_step(_RESOLVE_ROUTE, "resolve for another", path=_GATE_PATH, body={"by": "husam"}, before=[GATE]),
        build_step(_RESOLVE_ROUTE, "as another", path=_GATE_PATH, body={"by": "husam"}, by="analyst", before=[GATE]),
        build_step(_RESOLVE_ROUTE, "as nobody known", path=_GATE_PATH, body={"by": "nobody-here"}, before=[GATE]),
        build_step(_RESOLVE_ROUTE, "by one who waits", path=_GATE_PATH, body={}, by="husam", before=[GATE]),
        build_step(
            "POST /api/gates/{id}/waiters", "wait twice", path=_GATE_PATH, body={"name": "husam"}, before=[GATE]
        ),
        build_step("POST /api/gates/{id}/waiters", "nobody waits", path=_GATE_PATH, body={"name": "nobody-here"}),
        build_step(_RESOLVE_ROUTE, "of a decision", path={"id": "$new_gate"}, body={}, before=[DECISION]),
    ],
    "kinds of gates": [
        _gate_step("timer", kind="timer", within="1h"),
        _gate_step("timer without a time", kind="timer"),
        _gate_step("event", kind="event", awaits="alert:ci"),
        _gate_step("event without a type", kind="event"),
        _gate_step("mail", kind="mail", awaits="husam"),
        _gate_step("command", kind="command", awaits="true"),
        _gate_step("ci", kind="ci", awaits="pr:7@acme/shop"),
        _gate_step("ci that is none", kind="ci", awaits="odd"),
        _gate_step("decision", kind="decision"),
        _gate_step("odd kind", kind="odd"),
        _gate_step("deadline", deadline="2026-02-20T10:00:00Z"),
        _gate_step("deadline that was", deadline="2020-02-20T10:00:00Z"),
        _gate_step("deadline without a zone", deadline="2026-02-20T10:00:00"),
        _gate_step("two deadlines", deadline="2026-02-20T10:00:00Z", within="2h"),
        _gate_step("odd duration", within="soon"),
        _gate_step("odd escalation", atDeadline="odd"),
        _gate_step("unknown waiter", waiters=["nobody-here"]),
        _gate_step("unknown owner", owner="nobody-here"),
        _gate_step("snake case", made_by="analyst"),
        build_step("POST /api/gates", "by itself", body={"name": "Mine"}, by="analyst"),
        build_step("POST /api/gates", "for another", body={"name": "Yours", "owner": "designer"}, by="analyst"),
        build_step("POST /api/gates", "without an owner", body={"name": "Whose"}),
    ],
    "a decision is answered once": [
        build_step("POST /api/decisions", "ask", body=QUESTION, capture={"new_decision": "id", "hash": "contextHash"}),
        build_step(_ANSWER_ROUTE, "unknown option", path=_DECISION_PATH, body={"option": "odd"}, by="husam"),
        build_step(_ANSWER_ROUTE, "nothing", path=_DECISION_PATH, body={}, by="husam"),
        build_step(
            _ANSWER_ROUTE, "two ways at once", path=_DECISION_PATH, body={"again": True, "reject": True}, by="husam"
        ),
        build_step(_ANSWER_ROUTE, "again without words", path=_DECISION_PATH, body={"again": True}, by="husam"),
        build_step(
            _ANSWER_ROUTE,
            "changed question",
            path=_DECISION_PATH,
            body={"option": "ship", "contextHash": "odd"},
            by="husam",
        ),
        build_step(_ANSWER_ROUTE, "send back", path=_DECISION_PATH, body={"again": True, "text": "why?"}, by="husam"),
        build_step(
            "PUT /api/decisions/{id}/question",
            "revise",
            path=_DECISION_PATH,
            body={"question": "Now?", "options": OPTIONS},
            by="analyst",
        ),
        build_step(
            _ANSWER_ROUTE,
            "old question",
            path=_DECISION_PATH,
            body={"option": "ship", "contextHash": "$hash"},
            by="husam",
        ),
        build_step(_ANSWER_ROUTE, "answer", path=_DECISION_PATH, body={"option": "ship", "text": "go"}, by="husam"),
        build_step(_ANSWER_ROUTE, "answer late", path=_DECISION_PATH, body={"option": "wait"}, by="husam"),
        build_step("DELETE /api/decisions/{id}", "withdraw late", path=_DECISION_PATH, by="analyst"),
        build_step(
            "PUT /api/decisions/{id}/question",
            "revise late",
            path=_DECISION_PATH,
            body={"question": "Then?", "options": OPTIONS},
            by="analyst",
        ),
        build_step("GET /api/decisions/{id}", path=_DECISION_PATH),
        build_step(
            _ANSWER_ROUTE,
            "reject",
            path=_DECISION_PATH,
            body={"reject": True, "text": "no"},
            by="husam",
            before=[DECISION],
        ),
        build_step(
            _ANSWER_ROUTE, "in words", path=_DECISION_PATH, body={"text": "on Friday"}, by="husam", before=[DECISION]
        ),
        build_step(
            "DELETE /api/decisions/{id}",
            "withdraw as another",
            path=_DECISION_PATH,
            query="by=husam",
            by="analyst",
            before=[DECISION],
        ),
        build_step(
            "DELETE /api/decisions/{id}",
            "withdraw for another",
            path=_DECISION_PATH,
            query="by=analyst&reason=obsolete",
        ),
        build_step("DELETE /api/decisions/{id}", "withdraw twice", path=_DECISION_PATH),
        build_step("POST /api/decisions", "of its owner", body={"question": "May I?", "freeText": True}, by="analyst"),
        build_step("POST /api/decisions", "of nobody", body={"question": "May I?", "freeText": True}, by="designer"),
        build_step("POST /api/decisions", "no way to answer", body={**QUESTION, "options": [], "freeText": False}),
        build_step("POST /api/decisions", "two alike", body={**QUESTION, "options": [OPTIONS[0], OPTIONS[0]]}),
        build_step("POST /api/decisions", "unknown default", body={**QUESTION, "default": "odd"}),
        build_step(
            "POST /api/decisions", "odd option", body={**QUESTION, "options": [{"id": "ship", "colour": "red"}]}
        ),
        build_step("POST /api/decisions", "odd urgency", body={**QUESTION, "urgency": "odd"}),
        build_step("POST /api/decisions", "with reference", body={**QUESTION, "ref": {"type": "issue", "id": "7"}}),
        build_step("POST /api/decisions", "unknown session", body={**QUESTION, "session": "odd"}),
    ],
    "plans": [
        _plan_step("after", runAfter="5 hours"),
        _plan_step("at", scheduledAt="2026-02-20T10:00:00Z"),
        _plan_step("at a time that was", scheduledAt="2020-02-20T10:00:00Z"),
        _plan_step("on a gate", onGate="$gate"),
        _plan_step("on an unknown gate", onGate="odd"),
        _plan_step("never"),
        _plan_step("twice", runAfter="5 hours", cron="0 9 * * *"),
        _plan_step("odd cron", cron="0 99 * * *"),
        _plan_step("daily", cron="@daily"),
        _plan_step("odd zone", cron="@daily", timeZone="Mars/Base"),
        _plan_step("zone without cron", runAfter="1h", timeZone="Europe/Berlin"),
        _plan_step("odd catching up", cron="@daily", catchUp="odd"),
        _plan_step("odd time", scheduledAt="tomorrow"),
        _plan_step("owner unknown", owner="nobody-here", runAfter="1h"),
        _plan_step("of a person", owner="husam", runAfter="1h"),
        _plan_step("by a guest", runAfter="1h", by="analyst"),
        build_step("POST /api/plans", "its own", body={"name": "Mine", "runAfter": "1h"}, by="designer"),
        build_step("PATCH /api/plans/{id}", "nothing", path={"id": "$new_plan"}, body={}, before=[PLAN]),
        build_step("PATCH /api/plans/{id}", "another kind", path={"id": "$new_plan"}, body={"runAfter": "1h"}),
        build_step("PATCH /api/plans/{id}", "a null", path={"id": "$new_plan"}, body={"instruction": None}),
        build_step("DELETE /api/plans/{id}", "delete", path={"id": "$new_plan"}),
        build_step("DELETE /api/plans/{id}", "delete twice", path={"id": "$new_plan"}),
        build_step("PATCH /api/plans/{id}", "change late", path={"id": "$new_plan"}, body={"name": "Late"}),
    ],
    "runs": [
        build_step(
            "POST /api/runs/{id}/tool-results",
            "unknown call",
            path={"id": "$run"},
            body={"callId": "odd", "result": 1},
            before=[RUN],
        ),
        build_step(
            "POST /api/runs/{id}/tool-results",
            "of another run",
            path={"id": "$past"},
            body={"callId": "$call", "result": 1},
        ),
        build_step(
            "POST /api/runs/{id}/tool-results", "answer", path={"id": "$run"}, body={"callId": "$call", "result": 1}
        ),
        build_step(
            "POST /api/runs/{id}/tool-results",
            "answer twice",
            path={"id": "$run"},
            body={"callId": "$call", "result": 2},
        ),
        build_step("POST /api/runs/{id}/cancel", "cancel", path={"id": "$run"}),
        build_step("POST /api/runs/{id}/cancel", "cancel twice", path={"id": "$run"}),
        build_step("GET /api/runs/{id}", "show", path={"id": "$run"}),
        build_step("POST /api/runs/{id}/replay", "odd model", path={"id": "$past"}, body={"model": "no model"}),
        build_step("GET /api/runs", "by status", query="status=cancelled&limit=1"),
    ],
    # the gateway waits for a second before it hangs up on a body that is too large: few of them are sent
    "sizes": [
        build_step("POST /api/inbox", "long content", body={"to": "analyst", "content": "x" * 300_000}),
        build_step("POST /api/inbox", "large data", body={"to": "analyst", "data": "x" * 1_200_000}),
        build_step("POST /api/inbox", "a large body", raw=_LARGE_BODY),
        build_step("POST /api/inbox/batch", "a large body", raw=_LARGE_BODY),
        build_step("POST /api/gates", "a large body by nobody", raw=_LARGE_BODY, by="nobody"),
        build_step("POST /api/keys", "a large body by one who may not", raw=_LARGE_BODY, by="designer"),
        build_step("GET /api/entities", "a body that is not asked for", raw="{}"),
        build_step("GET /api/entities", "a long query", query="team=" + "x" * 5_000),
    ],
    "three hours later": [
        build_step(
            "POST /api/inbox",
            "push",
            body={"to": "designer", "content": "x", "ttl": "10m"},
            capture={"brief": "eventId"},
        ),
        build_step("POST /api/inbox", "push another", body={"to": "designer", "content": "y"}),
        build_step(
            "POST /api/inbox/{name}/claim", "claim", path={"name": "designer"}, body={"owner": "s1", "limit": 1}
        ),
        build_step("GET /api/gates/{id}", "a gate", path={"id": "$gate"}, before=[Setup(request="wait 3 hours")]),
        build_step("GET /api/gates", "gates that wait", query="owner=analyst&pending=true&limit=2"),
        build_step("GET /api/decisions/{id}", "a decision", path={"id": "$decision"}),
        build_step("GET /api/decisions", "decisions that wait", query="pending=true&limit=2"),
        build_step("GET /api/plans", "plans", query="owner=designer&limit=2"),
        build_step("GET /api/events/{id}", "an event that has expired", path={"id": "$brief"}),
        build_step(
            "GET /api/inbox/{name}", "an inbox", path={"name": "designer"}, query="limit=3&until=2026-02-18T10:00:00Z"
        ),
        build_step("GET /api/inbox/{name}/account", "an account", path={"name": "designer"}),
        build_step("GET /api/inbox/{name}/peek", "what waits", path={"name": "designer"}, query="limit=2"),
        build_step(
            "POST /api/inbox/{name}/claim", "claim again", path={"name": "designer"}, body={"owner": "s2", "limit": 2}
        ),
        build_step("GET /api/sessions/{id}", "a session", path={"id": "$session"}),
        build_step("PUT /api/gates/{id}/resolution", "resolve late", path={"id": "$gate"}, body={}),
        build_step(
            "PUT /api/decisions/{id}/answer",
            "answer late",
            path={"id": "$decision"},
            body={"option": "ship"},
            by="husam",
        ),
        build_step("GET /health", "health"),
    ],
}
