"""Stories of what waits: gates, decisions, plans and runs; and of bodies that are too large."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.oracle.cases import Case, Setup, step
from tests.oracle.operations import DECISION, GATE, OPTIONS, PLAN, QUESTION, RUN

#: the text of a body that is larger than most may be
_LARGE: Final = '{"to": "analyst", "content": "' + "x" * 6_000_000 + '"}'
_GATE: Final = "PUT /api/gates/{id}/resolution"
_ANSWER: Final = "PUT /api/decisions/{id}/answer"
_NEW_GATE: Final = {"id": "$new_gate"}
_NEW_DECISION: Final = {"id": "$new_decision"}


def _gate(said: str, **body: Any) -> Case:
    return step("POST /api/gates", said, body={"owner": "analyst", "name": said, **body})


def _plan(said: str, **body: Any) -> Case:
    return step("POST /api/plans", said, body={"owner": "analyst", "name": said, "instruction": "Report", **body})


WAITS: Final[Mapping[str, Sequence[Case]]] = {
    "a gate ends once": [
        step(_GATE, "resolve", path=_NEW_GATE, body={"reason": "green"}, before=[GATE]),
        step(_GATE, "resolve again", path=_NEW_GATE, body={"reason": "green"}),
        step(_GATE, "withdraw late", path=_NEW_GATE, body={"withdraw": True}),
        step("POST /api/gates/{id}/waiters", "wait late", path=_NEW_GATE, body={"name": "designer"}),
        step("GET /api/gates/{id}", path=_NEW_GATE),
        step(_GATE, "withdraw", path=_NEW_GATE, body={"withdraw": True, "reason": "obsolete"}, before=[GATE]),
        step(_GATE, "resolve late", path=_NEW_GATE, body={}),
        step(_GATE, "resolve for another", path=_NEW_GATE, body={"by": "husam"}, before=[GATE]),
        step(_GATE, "as another", path=_NEW_GATE, body={"by": "husam"}, by="analyst", before=[GATE]),
        step(_GATE, "as nobody known", path=_NEW_GATE, body={"by": "nobody-here"}, before=[GATE]),
        step(_GATE, "by one who waits", path=_NEW_GATE, body={}, by="husam", before=[GATE]),
        step("POST /api/gates/{id}/waiters", "wait twice", path=_NEW_GATE, body={"name": "husam"}, before=[GATE]),
        step("POST /api/gates/{id}/waiters", "nobody waits", path=_NEW_GATE, body={"name": "nobody-here"}),
        step(_GATE, "of a decision", path={"id": "$new_gate"}, body={}, before=[DECISION]),
    ],
    "kinds of gates": [
        _gate("timer", kind="timer", within="1h"),
        _gate("timer without a time", kind="timer"),
        _gate("event", kind="event", awaits="alert:ci"),
        _gate("event without a type", kind="event"),
        _gate("mail", kind="mail", awaits="husam"),
        _gate("command", kind="command", awaits="true"),
        _gate("ci", kind="ci", awaits="pr:7@acme/shop"),
        _gate("ci that is none", kind="ci", awaits="odd"),
        _gate("decision", kind="decision"),
        _gate("odd kind", kind="odd"),
        _gate("deadline", deadline="2026-02-20T10:00:00Z"),
        _gate("deadline that was", deadline="2020-02-20T10:00:00Z"),
        _gate("deadline without a zone", deadline="2026-02-20T10:00:00"),
        _gate("two deadlines", deadline="2026-02-20T10:00:00Z", within="2h"),
        _gate("odd duration", within="soon"),
        _gate("odd escalation", atDeadline="odd"),
        _gate("unknown waiter", waiters=["nobody-here"]),
        _gate("unknown owner", owner="nobody-here"),
        _gate("snake case", made_by="analyst"),
        step("POST /api/gates", "by itself", body={"name": "Mine"}, by="analyst"),
        step("POST /api/gates", "for another", body={"name": "Yours", "owner": "designer"}, by="analyst"),
        step("POST /api/gates", "without an owner", body={"name": "Whose"}),
    ],
    "a decision is answered once": [
        step("POST /api/decisions", "ask", body=QUESTION, capture={"new_decision": "id", "hash": "contextHash"}),
        step(_ANSWER, "unknown option", path=_NEW_DECISION, body={"option": "odd"}, by="husam"),
        step(_ANSWER, "nothing", path=_NEW_DECISION, body={}, by="husam"),
        step(_ANSWER, "two ways at once", path=_NEW_DECISION, body={"again": True, "reject": True}, by="husam"),
        step(_ANSWER, "again without words", path=_NEW_DECISION, body={"again": True}, by="husam"),
        step(
            _ANSWER, "changed question", path=_NEW_DECISION, body={"option": "ship", "contextHash": "odd"}, by="husam"
        ),
        step(_ANSWER, "send back", path=_NEW_DECISION, body={"again": True, "text": "why?"}, by="husam"),
        step(
            "PUT /api/decisions/{id}/question",
            "revise",
            path=_NEW_DECISION,
            body={"question": "Now?", "options": OPTIONS},
            by="analyst",
        ),
        step(_ANSWER, "old question", path=_NEW_DECISION, body={"option": "ship", "contextHash": "$hash"}, by="husam"),
        step(_ANSWER, "answer", path=_NEW_DECISION, body={"option": "ship", "text": "go"}, by="husam"),
        step(_ANSWER, "answer late", path=_NEW_DECISION, body={"option": "wait"}, by="husam"),
        step("DELETE /api/decisions/{id}", "withdraw late", path=_NEW_DECISION, by="analyst"),
        step(
            "PUT /api/decisions/{id}/question",
            "revise late",
            path=_NEW_DECISION,
            body={"question": "Then?", "options": OPTIONS},
            by="analyst",
        ),
        step("GET /api/decisions/{id}", path=_NEW_DECISION),
        step(_ANSWER, "reject", path=_NEW_DECISION, body={"reject": True, "text": "no"}, by="husam", before=[DECISION]),
        step(_ANSWER, "in words", path=_NEW_DECISION, body={"text": "on Friday"}, by="husam", before=[DECISION]),
        step(
            "DELETE /api/decisions/{id}",
            "withdraw as another",
            path=_NEW_DECISION,
            query="by=husam",
            by="analyst",
            before=[DECISION],
        ),
        step(
            "DELETE /api/decisions/{id}", "withdraw for another", path=_NEW_DECISION, query="by=analyst&reason=obsolete"
        ),
        step("DELETE /api/decisions/{id}", "withdraw twice", path=_NEW_DECISION),
        step("POST /api/decisions", "of its owner", body={"question": "May I?", "freeText": True}, by="analyst"),
        step("POST /api/decisions", "of nobody", body={"question": "May I?", "freeText": True}, by="designer"),
        step("POST /api/decisions", "no way to answer", body={**QUESTION, "options": [], "freeText": False}),
        step("POST /api/decisions", "two alike", body={**QUESTION, "options": [OPTIONS[0], OPTIONS[0]]}),
        step("POST /api/decisions", "unknown default", body={**QUESTION, "default": "odd"}),
        step("POST /api/decisions", "odd option", body={**QUESTION, "options": [{"id": "ship", "colour": "red"}]}),
        step("POST /api/decisions", "odd urgency", body={**QUESTION, "urgency": "odd"}),
        step("POST /api/decisions", "with reference", body={**QUESTION, "ref": {"type": "issue", "id": "7"}}),
        step("POST /api/decisions", "unknown session", body={**QUESTION, "session": "odd"}),
    ],
    "plans": [
        _plan("after", runAfter="5 hours"),
        _plan("at", scheduledAt="2026-02-20T10:00:00Z"),
        _plan("at a time that was", scheduledAt="2020-02-20T10:00:00Z"),
        _plan("on a gate", onGate="$gate"),
        _plan("on an unknown gate", onGate="odd"),
        _plan("never"),
        _plan("twice", runAfter="5 hours", cron="0 9 * * *"),
        _plan("odd cron", cron="0 99 * * *"),
        _plan("daily", cron="@daily"),
        _plan("odd zone", cron="@daily", timeZone="Mars/Base"),
        _plan("zone without cron", runAfter="1h", timeZone="Europe/Berlin"),
        _plan("odd catching up", cron="@daily", catchUp="odd"),
        _plan("odd time", scheduledAt="tomorrow"),
        _plan("owner unknown", owner="nobody-here", runAfter="1h"),
        _plan("of a person", owner="husam", runAfter="1h"),
        _plan("by a guest", runAfter="1h", by="analyst"),
        step("POST /api/plans", "its own", body={"name": "Mine", "runAfter": "1h"}, by="designer"),
        step("PATCH /api/plans/{id}", "nothing", path={"id": "$new_plan"}, body={}, before=[PLAN]),
        step("PATCH /api/plans/{id}", "another kind", path={"id": "$new_plan"}, body={"runAfter": "1h"}),
        step("PATCH /api/plans/{id}", "a null", path={"id": "$new_plan"}, body={"instruction": None}),
        step("DELETE /api/plans/{id}", "delete", path={"id": "$new_plan"}),
        step("DELETE /api/plans/{id}", "delete twice", path={"id": "$new_plan"}),
        step("PATCH /api/plans/{id}", "change late", path={"id": "$new_plan"}, body={"name": "Late"}),
    ],
    "runs": [
        step(
            "POST /api/runs/{id}/tool-results",
            "unknown call",
            path={"id": "$run"},
            body={"callId": "odd", "result": 1},
            before=[RUN],
        ),
        step(
            "POST /api/runs/{id}/tool-results",
            "of another run",
            path={"id": "$past"},
            body={"callId": "$call", "result": 1},
        ),
        step("POST /api/runs/{id}/tool-results", "answer", path={"id": "$run"}, body={"callId": "$call", "result": 1}),
        step(
            "POST /api/runs/{id}/tool-results",
            "answer twice",
            path={"id": "$run"},
            body={"callId": "$call", "result": 2},
        ),
        step("POST /api/runs/{id}/cancel", "cancel", path={"id": "$run"}),
        step("POST /api/runs/{id}/cancel", "cancel twice", path={"id": "$run"}),
        step("GET /api/runs/{id}", "show", path={"id": "$run"}),
        step("POST /api/runs/{id}/replay", "odd model", path={"id": "$past"}, body={"model": "no model"}),
        step("GET /api/runs", "by status", query="status=cancelled&limit=1"),
    ],
    # the gateway waits for a second before it hangs up on a body that is too large: few of them are sent
    "sizes": [
        step("POST /api/inbox", "long content", body={"to": "analyst", "content": "x" * 300_000}),
        step("POST /api/inbox", "large data", body={"to": "analyst", "data": "x" * 1_200_000}),
        step("POST /api/inbox", "a large body", raw=_LARGE),
        step("POST /api/inbox/batch", "a large body", raw=_LARGE),
        step("POST /api/gates", "a large body by nobody", raw=_LARGE, by="nobody"),
        step("POST /api/keys", "a large body by one who may not", raw=_LARGE, by="designer"),
        step("GET /api/entities", "a body that is not asked for", raw="{}"),
        step("GET /api/entities", "a long query", query="team=" + "x" * 5_000),
    ],
    "three hours later": [
        step(
            "POST /api/inbox",
            "push",
            body={"to": "designer", "content": "x", "ttl": "10m"},
            capture={"brief": "eventId"},
        ),
        step("POST /api/inbox", "push another", body={"to": "designer", "content": "y"}),
        step("POST /api/inbox/{name}/claim", "claim", path={"name": "designer"}, body={"owner": "s1", "limit": 1}),
        step("GET /api/gates/{id}", "a gate", path={"id": "$gate"}, before=[Setup(request="wait 3 hours")]),
        step("GET /api/gates", "gates that wait", query="owner=analyst&pending=true&limit=2"),
        step("GET /api/decisions/{id}", "a decision", path={"id": "$decision"}),
        step("GET /api/decisions", "decisions that wait", query="pending=true&limit=2"),
        step("GET /api/plans", "plans", query="owner=designer&limit=2"),
        step("GET /api/events/{id}", "an event that has expired", path={"id": "$brief"}),
        step(
            "GET /api/inbox/{name}", "an inbox", path={"name": "designer"}, query="limit=3&until=2026-02-18T10:00:00Z"
        ),
        step("GET /api/inbox/{name}/account", "an account", path={"name": "designer"}),
        step("GET /api/inbox/{name}/peek", "what waits", path={"name": "designer"}, query="limit=2"),
        step(
            "POST /api/inbox/{name}/claim", "claim again", path={"name": "designer"}, body={"owner": "s2", "limit": 2}
        ),
        step("GET /api/sessions/{id}", "a session", path={"id": "$session"}),
        step("PUT /api/gates/{id}/resolution", "resolve late", path={"id": "$gate"}, body={}),
        step(
            "PUT /api/decisions/{id}/answer",
            "answer late",
            path={"id": "$decision"},
            body={"option": "ship"},
            by="husam",
        ),
        step("GET /health", "health"),
    ],
}
