"""Every operation of the OpenAPI, with one good request to it."""

from collections.abc import Sequence
from typing import Any, Final

from tests.oracle.cases import Operation, Setup

HOOK_SECRET: Final = "sixteen-chars-at-least"
OPTIONS: Final = [{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait", "description": "until Monday"}]
QUESTION: Final = {"asker": "analyst", "of": ["husam"], "question": "Ship it?", "options": OPTIONS, "freeText": True}
CLAIM: Final = {"claimId": "$claim", "owner": "session-1", "fence": "$fence"}

ENTITY: Final = Setup(request="POST /api/entities", body={"name": "temp-$n", "kind": "human"}, capture={"temp": "name"})
AGENT: Final = Setup(request="POST /api/agents", body={"name": "temp-$n"}, capture={"temp": "name"})
EVENT: Final = Setup(
    request="POST /api/inbox", body={"to": "analyst", "content": "number $n"}, capture={"new_event": "eventId"}
)
LETTER: Final = Setup(
    request="POST /api/inbox", body={"to": "husam", "content": "number $n"}, capture={"new_letter": "eventId"}
)
DISCARD: Final = Setup(request="POST /api/events/$new_event/discard")
CLAIM_SETUP: Final = Setup(
    request="POST /api/inbox/analyst/claim",
    body={"owner": "session-1", "limit": 1},
    capture={"claim": "claim.claimId", "fence": "claim.fence", "claimed": "items.0.eventId"},
)
SPACE: Final = Setup(
    request="POST /api/spaces", body={"name": "Room $n", "members": ["husam", "analyst"]}, capture={"room": "id"}
)
MESSAGE: Final = Setup(request="POST /api/spaces/$room/messages", body={"content": "hello", "sender": "husam"})
PLAN: Final = Setup(
    request="POST /api/plans",
    body={"owner": "analyst", "name": "Plan $n", "instruction": "Report", "cron": "0 9 * * *"},
    capture={"new_plan": "id"},
)
GATE: Final = Setup(
    request="POST /api/gates",
    body={"owner": "analyst", "name": "Gate $n", "waiters": ["husam"]},
    capture={"new_gate": "id"},
)
DECISION: Final = Setup(
    request="POST /api/decisions", body=QUESTION, capture={"new_decision": "id", "new_gate": "gate"}
)
TRIGGER: Final = Setup(
    request="POST /api/triggers",
    body={"name": "hook-$n", "scheme": "github", "secret": HOOK_SECRET, "target": "analyst"},
    capture={"new_trigger": "name"},
)
KEY: Final = Setup(request="POST /api/keys", body={"agent": "analyst", "name": "laptop"}, capture={"new_key": "id"})
RUN: Final = Setup(request="a run")

_ANALYST: Final = {"name": "analyst"}
_THINKER: Final = {"name": "thinker"}


def _read(route: str, path: dict[str, str] | None = None, **fields: Any) -> Operation:
    return Operation(route=route, path=path or {}, **fields)


def _write(route: str, path: dict[str, str] | None = None, body: Any = None, **fields: Any) -> Operation:
    return Operation(route=route, path=path or {}, body=body, **fields)


READS: Final[Sequence[Operation]] = (
    _read("GET /health"),
    _read("GET /metrics"),
    _read("GET /api/entities"),
    _read("GET /api/entities/{name}", {"name": "husam"}),
    _read("GET /api/agents"),
    _read("GET /api/agents/{name}", _ANALYST),
    _read("GET /api/agents/{name}/runs", _THINKER, also_by=("thinker",)),
    _read("GET /api/agents/{name}/mind", _THINKER, also_by=("thinker",)),
    _read("GET /api/agents/{name}/memories", _THINKER, also_by=("thinker",)),
    _read("GET /api/agents/{name}/goals", _THINKER, also_by=("thinker",)),
    _read("GET /api/runs", also_by=("thinker",)),
    _read("GET /api/runs/{id}", {"id": "$run"}, also_by=("thinker",)),
    _read("GET /api/runs/{id}/steps", {"id": "$run"}, also_by=("thinker",)),
    _read("GET /api/inbox"),
    _read("GET /api/inbox/{name}", _ANALYST),
    _read("GET /api/inbox/{name}/account", _ANALYST),
    _read("GET /api/inbox/{name}/peek", _ANALYST),
    _read("GET /api/events/{id}", {"id": "$event"}),
    _read("GET /api/spaces"),
    _read("GET /api/spaces/{id}", {"id": "q4-report"}),
    _read("GET /api/spaces/{id}/members", {"id": "q4-report"}),
    _read("GET /api/spaces/{id}/messages", {"id": "q4-report"}),
    _read("GET /api/plans"),
    _read("GET /api/plans/{id}", {"id": "$plan"}),
    _read("GET /api/gates"),
    _read("GET /api/gates/{id}", {"id": "$gate"}),
    _read("GET /api/decisions"),
    _read("GET /api/decisions/{id}", {"id": "$decision"}),
    _read("GET /api/triggers"),
    _read("GET /api/triggers/{name}", {"name": "github-main"}),
    _read("GET /api/sessions/{id}", {"id": "$session"}),
    _read("GET /api/keys"),
    _read("GET /api/runs/{id}/stream", {"id": "$past"}, frames=3, also_by=("thinker",)),
    _read("GET /api/inbox/{name}/stream", _ANALYST, query="after=0-0", frames=2),
    _read("GET /api/spaces/{id}/stream", {"id": "q4-report"}, query="after=0", frames=2),
    _read("GET /api/stream", query="inbox=analyst", frames=2, meanwhile=[EVENT]),
    _read("GET /api/agents/{name}/stream", _ANALYST, frames=2, meanwhile=[EVENT]),
)

WRITES: Final[Sequence[Operation]] = (
    _write(
        "POST /api/entities",
        body={"name": "new-$n", "kind": "human", "displayName": "New", "team": "web", "aliases": ["also-$n"]},
        required=("name", "kind"),
        other={"displayName": "Other"},
    ),
    _write(
        "PATCH /api/entities/{name}",
        {"name": "$temp"},
        {"displayName": "Changed", "team": "finance", "role": "lead", "owner": "husam"},
        before=[ENTITY],
        other={"team": "web"},
    ),
    _write("DELETE /api/entities/{name}", {"name": "$temp"}, before=[ENTITY], repeats=True),
    _write(
        "POST /api/agents",
        body={
            "name": "resident-$n",
            "displayName": "New",
            "model": "demo",
            "instructions": "Answer.",
            "tools": [{"name": "ship", "executionType": "external"}],
            "loop": {"maxSteps": 10},
            "budget": {"tokens": 1000, "per": "day"},
        },
        required=("name",),
        other={"instructions": "Answer briefly."},
    ),
    _write(
        "PATCH /api/agents/{name}",
        {"name": "$temp"},
        {"displayName": "Changed", "instructions": "Answer.", "model": "demo", "mind": {"maxTokens": 5000}},
        before=[AGENT],
        other={"instructions": "Answer briefly."},
    ),
    _write("DELETE /api/agents/{name}", {"name": "$temp"}, before=[AGENT], repeats=True),
    _write("POST /api/agents/{name}/wake", _ANALYST),
    _write("POST /api/agents/{name}/pause", _THINKER, repeats=True, also_by=("thinker",)),
    _write("POST /api/agents/{name}/resume", _THINKER, repeats=True, also_by=("thinker",)),
    _write(
        "POST /api/agents/{name}/trigger",
        _ANALYST,
        {"serviceName": "jira", "payload": {"issue": 1}},
        required=("serviceName",),
        other={"payload": {"issue": 2}},
    ),
    _write(
        "POST /api/runs/{id}/tool-results",
        {"id": "$run"},
        {"callId": "$call", "result": {"status": "shipped"}},
        required=("callId", "result"),
        other={"result": "lost"},
        before=[RUN],
        also_by=("thinker",),
    ),
    _write("POST /api/runs/{id}/cancel", {"id": "$run"}, before=[RUN], repeats=True, also_by=("thinker",)),
    _write("POST /api/runs/{id}/replay", {"id": "$past"}, {"model": "demo"}, required=("model",), also_by=("thinker",)),
    _write(
        "POST /api/inbox",
        body={
            "to": "analyst",
            "type": "mail",
            "content": "Pull the numbers",
            "subject": "Q4",
            "data": {"quarter": 4},
            "priority": "high",
            "ttl": "10m",
            "ref": {"type": "issue", "id": "7"},
            "hops": 0,
        },
        required=("to",),
        other={"content": "Pull others"},
    ),
    _write(
        "POST /api/inbox/batch",
        body={"pushes": [{"to": "analyst", "content": "one"}, {"to": "nobody-here"}, {"to": "team:web"}, {"no": 1}]},
        required=("pushes",),
    ),
    _write(
        "POST /api/inbox/{name}/drain",
        _ANALYST,
        {"limit": 2, "budget": 9000, "session": "session-1"},
        before=[EVENT],
    ),
    _write(
        "POST /api/inbox/{name}/claim",
        _ANALYST,
        {"owner": "session-1", "limit": 1, "budget": 9000, "hold": "5m"},
        required=("owner",),
        before=[EVENT],
    ),
    _write(
        "POST /api/inbox/{name}/ack",
        _ANALYST,
        CLAIM,
        required=("claimId", "owner", "fence"),
        before=[EVENT, CLAIM_SETUP],
        other={"owner": "session-2"},
    ),
    _write(
        "POST /api/inbox/{name}/release",
        _ANALYST,
        {**CLAIM, "failed": ["$claimed"]},
        required=("claimId", "owner", "fence"),
        before=[EVENT, CLAIM_SETUP],
        other={"failed": []},
    ),
    _write("POST /api/inbox/{name}/seen", _ANALYST, {"events": ["$new_event"]}, required=("events",), before=[EVENT]),
    _write(
        "POST /api/events/{id}/replay",
        {"id": "$new_event"},
        {"name": "analyst"},
        before=[EVENT, DISCARD],
        other={"name": "husam"},
    ),
    _write(
        "POST /api/events/{id}/discard",
        {"id": "$new_event"},
        {"name": "analyst"},
        before=[EVENT],
        other={"name": "husam"},
    ),
    _write(
        "POST /api/events/{id}/done",
        {"id": "$new_letter"},
        {"name": "husam"},
        before=[LETTER],
        other={"name": "analyst"},
    ),
    _write(
        "POST /api/spaces",
        body={"name": "Space $n", "id": "space-$n", "members": ["husam", "designer"]},
        required=("name",),
        other={"members": []},
    ),
    _write(
        "PATCH /api/spaces/{id}",
        {"id": "$room"},
        {"name": "Renamed"},
        required=("name",),
        before=[SPACE],
        other={"name": "Again"},
    ),
    _write("DELETE /api/spaces/{id}", {"id": "$room"}, before=[SPACE], repeats=True),
    _write(
        "POST /api/spaces/{id}/members",
        {"id": "$room"},
        {"name": "developer"},
        required=("name",),
        before=[SPACE],
        other={"name": "designer"},
    ),
    _write("DELETE /api/spaces/{id}/members/{name}", {"id": "$room", "name": "analyst"}, before=[SPACE], repeats=True),
    _write(
        "POST /api/spaces/{id}/messages",
        {"id": "$room"},
        {"content": "hello", "sender": "analyst", "data": {"pages": 3}},
        required=("content",),
        before=[SPACE],
        other={"content": "hello again"},
    ),
    _write(
        "PATCH /api/spaces/{id}/read",
        {"id": "$room"},
        {"seq": 1, "name": "analyst"},
        required=("seq",),
        before=[SPACE, MESSAGE],
    ),
    _write(
        "POST /api/plans",
        body={
            "owner": "analyst",
            "name": "Daily",
            "instruction": "Report",
            "cron": "0 9 * * *",
            "timeZone": "Europe/Berlin",
            "catchUp": "skip",
        },
        required=("name",),
        other={"instruction": "Report briefly"},
    ),
    _write(
        "PATCH /api/plans/{id}",
        {"id": "$new_plan"},
        {"name": "Weekly", "instruction": "Report", "cron": "0 9 * * 1"},
        before=[PLAN],
        other={"name": "Monthly"},
    ),
    _write("DELETE /api/plans/{id}", {"id": "$new_plan"}, before=[PLAN], repeats=True),
    _write(
        "POST /api/gates",
        body={
            "owner": "analyst",
            "name": "Sign-off",
            "kind": "human",
            "madeBy": "analyst",
            "awaits": "husam",
            "instruction": "Wait for Husam",
            "waiters": ["designer"],
            "within": "2h",
            "atDeadline": "escalate",
            "fail": "closed",
        },
        required=("name",),
        other={"within": "3h"},
    ),
    _write(
        "PUT /api/gates/{id}/resolution",
        {"id": "$new_gate"},
        {"reason": "CI is green", "withdraw": False},
        before=[GATE],
        other={"withdraw": True},
    ),
    _write(
        "POST /api/gates/{id}/waiters",
        {"id": "$new_gate"},
        {"name": "designer"},
        required=("name",),
        before=[GATE],
        other={"name": "developer"},
    ),
    _write(
        "POST /api/decisions",
        body={**QUESTION, "default": "wait", "within": "2h", "urgency": "high", "context": "CI is green"},
        required=("question",),
        other={"question": "Ship it now?"},
    ),
    _write(
        "PUT /api/decisions/{id}/answer",
        {"id": "$new_decision"},
        {"option": "ship", "text": "go", "again": False, "reject": False},
        before=[DECISION],
        other={"option": "wait"},
    ),
    _write(
        "PUT /api/decisions/{id}/question",
        {"id": "$new_decision"},
        {"question": "Ship on Monday?", "options": OPTIONS, "freeText": False, "urgency": 1, "asker": "analyst"},
        required=("question",),
        before=[DECISION],
        other={"question": "Ship on Tuesday?"},
    ),
    _write(
        "DELETE /api/decisions/{id}", {"id": "$new_decision"}, query="reason=obsolete", before=[DECISION], repeats=True
    ),
    _write(
        "POST /api/triggers",
        body={
            "name": "new-$n",
            "scheme": "github",
            "secret": HOOK_SECRET,
            "target": "analyst",
            "prompt": "Look at it",
            "owner": "husam",
        },
        required=("name", "scheme", "secret", "target"),
        other={"prompt": "Ignore it"},
    ),
    _write(
        "PATCH /api/triggers/{name}",
        {"name": "$new_trigger"},
        {"active": False},
        required=("active",),
        before=[TRIGGER],
        other={"active": True},
    ),
    _write("DELETE /api/triggers/{name}", {"name": "$new_trigger"}, before=[TRIGGER], repeats=True),
    _write("POST /api/keys", body={"agent": "analyst", "name": "laptop"}),
    _write("DELETE /api/keys/{id}", {"id": "$new_key"}, before=[KEY], repeats=True),
    _write("POST /hooks/{trigger}", {"trigger": "header-hook"}, {"action": "opened"}),
)
