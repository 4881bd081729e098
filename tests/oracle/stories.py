"""Stories: requests that follow from each other, and credentials of every kind on two routes."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from tests.oracle.cases import Case, build_step
from tests.oracle.operations import CLAIM, CLAIM_SETUP, DISCARD, EVENT, HOOK_SECRET, LETTER, SPACE, TRIGGER

_CREDENTIALS: Final = (
    "empty",
    "revoked",
    "public key alone",
    "public key as a secret",
    "token alone",
    "secret key as a public one",
    "expired token",
    "endless token",
    "forged token",
    "token of a stranger",
    "no token",
)


def _push_step(title: str, body: Mapping[str, Any], **fields: Any) -> Case:
    return build_step("POST /api/inbox", title, body=body, **fields)


def _event_step(verb: str, event: str, **fields: Any) -> Case:
    return build_step(f"POST /api/events/{{id}}/{verb}", path={"id": event}, **fields)


def _hook_step(title: str, raw: str = '{"action": "opened"}', **fields: Any) -> Case:
    trigger = fields.pop("trigger", "github-main")
    return build_step("POST /hooks/{trigger}", title, path={"trigger": trigger}, by="nobody", raw=raw, **fields)


STORIES: Final[Mapping[str, Sequence[Case]]] = {
    "credentials": [
        build_step(route, f"{route} by {caller}", by=caller, body=body)
        for route, body in (("GET /api/entities", None), ("POST /api/inbox", {"to": "analyst", "content": "hello"}))
        for caller in _CREDENTIALS
    ],
    "no such route": [
        Case(id="unknown path", route=None, request="GET /api/nothing"),
        Case(id="unknown path by nobody", route=None, request="GET /api/nothing", by="nobody"),
        Case(id="root", route=None, request="GET /"),
        Case(id="a slash at the end", route=None, request="GET /api/gates/"),
        Case(id="wrong method", route=None, request="PUT /api/gates"),
        Case(id="wrong method of a hook", route=None, request="GET /hooks/github-main"),
        Case(id="wrong method of a batch", route=None, request="GET /api/inbox/batch"),
        Case(id="HEAD", route=None, request="HEAD /api/entities"),
        Case(id="OPTIONS", route=None, request="OPTIONS /api/entities"),
        Case(id="operations", route=None, request="GET /api/openapi.json", by="nobody"),
    ],
    "pushes": [
        _push_step("to an alias", {"to": "bead-42", "content": "x"}),
        _push_step("to a team", {"to": "team:web", "content": "x"}),
        _push_step("to a role", {"to": "team:web/lead", "content": "x"}),
        _push_step("to an empty team", {"to": "team:nothing", "content": "x"}),
        _push_step("to everybody", {"to": "*", "content": "x"}),
        _push_step("to nobody known", {"to": "analist", "content": "x"}),
        _push_step("to an odd address", {"to": "team:", "content": "x"}),
        _push_step("with a key", {"to": "analyst", "content": "x", "dedupKey": "k1"}),
        _push_step("with the same key", {"to": "analyst", "content": "x", "dedupKey": "k1"}),
        _push_step("with the same key and other words", {"to": "analyst", "content": "y", "dedupKey": "k1"}),
        _push_step("with the same key by another", {"to": "analyst", "content": "x", "dedupKey": "k1"}, by="designer"),
        _push_step("as itself", {"to": "analyst", "content": "x", "sender": "designer"}, by="designer"),
        _push_step("as another", {"to": "analyst", "content": "x", "sender": "husam"}, by="designer"),
        _push_step("as the house", {"to": "analyst", "content": "x", "type": "system"}, by="designer"),
        _push_step("of an odd type", {"to": "analyst", "type": "odd"}),
        _push_step("of an odd priority", {"to": "analyst", "priority": "odd"}),
        _push_step("of priority 5", {"to": "analyst", "priority": 5}),
        _push_step("of priority 0", {"to": "analyst", "priority": 0}),
        _push_step("for an odd time", {"to": "analyst", "ttl": "soon"}),
        _push_step("with its own time", {"to": "analyst", "content": "x", "occurredAt": "2026-02-18T08:00:00Z"}),
        _push_step("with an odd time", {"to": "analyst", "occurredAt": "yesterday"}),
        _push_step("with a route", {"to": "analyst", "content": "x", "route": {"channel": "slack", "sessionId": "s1"}}),
        _push_step("with an odd reference", {"to": "analyst", "ref": {"type": "issue"}}),
        _push_step("with too many hops", {"to": "analyst", "content": "x", "hops": 10_001}),
        _push_step("after many hops", {"to": "analyst", "content": "x", "hops": 9_999}),
        _push_step("in snake case", {"to": "analyst", "content": "x", "dedup_key": "k2"}),
        _push_step("with no number", {"to": "analyst"}, headers={"x-more": "yes"}),
        build_step("POST /api/inbox", "a field twice", raw='{"to": "analyst", "to": "designer", "content": "x"}'),
        build_step("POST /api/inbox", "NaN", raw='{"to": "analyst", "data": NaN}'),
        build_step("POST /api/inbox", "a lone surrogate", raw='{"to": "analyst", "content": "\\ud800"}'),
        build_step("POST /api/inbox", "a zero byte", raw='{"to": "analyst", "content": "a\\u0000b"}'),
        build_step("POST /api/inbox", "very deep", raw='{"to": "analyst", "data": ' + "[" * 2000 + "]" * 2000 + "}"),
        build_step("POST /api/inbox", "a long key", body={"to": "analyst"}, headers={"idempotency-key": "k" * 600}),
        build_step(
            "POST /api/inbox", "an empty key", body={"to": "analyst", "content": "x"}, headers={"idempotency-key": ""}
        ),
        build_step("POST /api/inbox/batch", "none", body={"pushes": []}),
        build_step("POST /api/inbox/batch", "too many", body={"pushes": [{"to": "analyst"}] * 1001}),
        build_step(
            "POST /api/inbox/batch",
            "as others",
            body={"pushes": [{"to": "analyst", "sender": "husam"}, {"to": "analyst", "content": "x"}]},
            by="designer",
        ),
    ],
    "an item is held by one": [
        build_step("POST /api/inbox/{name}/drain", "empty the inbox", path={"name": "designer"}, body={"limit": 1000}),
        build_step("POST /api/inbox/{name}/drain", "nothing waits", path={"name": "designer"}, body={}),
        build_step("POST /api/inbox/{name}/drain", "no body", path={"name": "designer"}),
        build_step("POST /api/inbox/{name}/claim", "nothing to claim", path={"name": "designer"}, body={"owner": "s1"}),
        build_step(
            "POST /api/inbox/{name}/ack", "ack", path={"name": "analyst"}, body=CLAIM, before=[EVENT, CLAIM_SETUP]
        ),
        build_step("POST /api/inbox/{name}/ack", "ack twice", path={"name": "analyst"}, body=CLAIM),
        build_step("POST /api/inbox/{name}/release", "release late", path={"name": "analyst"}, body=CLAIM),
        build_step(
            "POST /api/inbox/{name}/ack",
            "another's",
            path={"name": "analyst"},
            body={**CLAIM, "owner": "s2"},
            before=[EVENT, CLAIM_SETUP],
        ),
        build_step("POST /api/inbox/{name}/ack", "old fence", path={"name": "analyst"}, body={**CLAIM, "fence": 0}),
        build_step("POST /api/inbox/{name}/ack", "of another inbox", path={"name": "designer"}, body=CLAIM),
        build_step(
            "POST /api/inbox/{name}/ack", "unknown claim", path={"name": "analyst"}, body={**CLAIM, "claimId": "odd"}
        ),
        build_step("POST /api/inbox/{name}/release", "release", path={"name": "analyst"}, body=CLAIM),
        build_step(
            "POST /api/inbox/{name}/claim", "low limit", path={"name": "analyst"}, body={"owner": "s1", "limit": 0}
        ),
        build_step(
            "POST /api/inbox/{name}/claim", "high limit", path={"name": "analyst"}, body={"owner": "s1", "limit": 1001}
        ),
        build_step(
            "POST /api/inbox/{name}/claim", "low budget", path={"name": "analyst"}, body={"owner": "s1", "budget": 599}
        ),
        build_step(
            "POST /api/inbox/{name}/claim", "odd hold", path={"name": "analyst"}, body={"owner": "s1", "hold": "soon"}
        ),
        build_step("POST /api/inbox/{name}/claim", "of a person", path={"name": "husam"}, body={"owner": "s1"}),
        build_step(
            "POST /api/inbox/{name}/seen",
            "by a person",
            path={"name": "husam"},
            body={"events": ["$letter"]},
            by="husam",
        ),
        build_step("POST /api/inbox/{name}/seen", "unknown event", path={"name": "husam"}, body={"events": ["odd"]}),
        build_step("GET /api/inbox/{name}/account", "account", path={"name": "analyst"}),
    ],
    "states of an event": [
        _event_step("discard", "$new_event", before=[EVENT]),
        _event_step("discard", "$new_event"),
        _event_step("replay", "$new_event"),
        _event_step("replay", "$new_event"),
        _event_step("done", "$new_event"),
        _event_step("done", "$new_letter", before=[LETTER]),
        _event_step("done", "$new_letter", body={"name": "husam"}),
        _event_step("done", "$new_letter", body={"name": "husam"}),
        _event_step("done", "$new_letter", by="husam", before=[LETTER]),
        _event_step("replay", "$new_letter"),
        _event_step("discard", "$new_event", body={"name": "designer"}, before=[EVENT]),
        _event_step("discard", "$new_event", by="designer"),
        _event_step("replay", "$new_event", by="analyst", before=[DISCARD]),
        build_step("GET /api/events/{id}", path={"id": "$new_event"}, by="analyst"),
    ],
    "spaces": [
        build_step("POST /api/spaces", "the same id", body={"name": "Q4 report"}),
        build_step("POST /api/spaces", "an odd id", body={"name": "X", "id": "Not An Id"}),
        build_step("POST /api/spaces", "unknown members", body={"name": "Y", "members": ["nobody-here"]}),
        build_step("POST /api/spaces", "a member twice", body={"name": "Z", "members": ["husam", "husam"]}),
        build_step(
            "POST /api/spaces/{id}/members", "join twice", path={"id": "$room"}, body={"name": "husam"}, before=[SPACE]
        ),
        build_step("POST /api/spaces/{id}/members", "unknown", path={"id": "$room"}, body={"name": "nobody-here"}),
        build_step("DELETE /api/spaces/{id}/members/{name}", "leave", path={"id": "$room", "name": "analyst"}),
        build_step("DELETE /api/spaces/{id}/members/{name}", "leave twice", path={"id": "$room", "name": "analyst"}),
        build_step(
            "POST /api/spaces/{id}/messages",
            "as one who left",
            path={"id": "$room"},
            body={"content": "x", "sender": "analyst"},
        ),
        build_step("POST /api/spaces/{id}/messages", "without a sender", path={"id": "$room"}, body={"content": "x"}),
        build_step(
            "POST /api/spaces/{id}/messages", "as itself", path={"id": "$room"}, body={"content": "x"}, by="husam"
        ),
        build_step("PATCH /api/spaces/{id}/read", "too far", path={"id": "$room"}, body={"seq": 99}, by="husam"),
        build_step("PATCH /api/spaces/{id}/read", "back", path={"id": "$room"}, body={"seq": 0}, by="husam"),
        build_step("PATCH /api/spaces/{id}/read", "below zero", path={"id": "$room"}, body={"seq": -1}, by="husam"),
        build_step("GET /api/spaces/{id}", "show", path={"id": "$room"}, by="husam"),
        build_step("DELETE /api/spaces/{id}", "archive", path={"id": "$room"}),
        build_step("DELETE /api/spaces/{id}", "archive twice", path={"id": "$room"}),
        build_step(
            "POST /api/spaces/{id}/messages",
            "post late",
            path={"id": "$room"},
            body={"content": "x", "sender": "husam"},
        ),
        build_step("PATCH /api/spaces/{id}", "rename late", path={"id": "$room"}, body={"name": "Late"}),
        build_step("GET /api/spaces/{id}/messages", "read late", path={"id": "$room"}),
    ],
    "names": [
        build_step("POST /api/entities", "taken", body={"name": "husam", "kind": "human"}),
        build_step("POST /api/entities", "taken alias", body={"name": "bead-42", "kind": "human"}),
        build_step("POST /api/entities", "reserved", body={"name": "admin", "kind": "human"}),
        build_step("POST /api/entities", "odd", body={"name": "Not A Name", "kind": "human"}),
        build_step("POST /api/entities", "odd kind", body={"name": "robot", "kind": "robot"}),
        build_step(
            "POST /api/entities", "snake case", body={"name": "snake", "kind": "human", "display_name": "Snake"}
        ),
        build_step(
            "POST /api/entities", "unknown owner", body={"name": "owned", "kind": "agent", "owner": "nobody-here"}
        ),
        build_step(
            "POST /api/entities",
            "many aliases",
            body={"name": "many", "kind": "human", "aliases": [f"a{number}" for number in range(51)]},
        ),
        build_step("GET /api/entities/{name}", "by an alias", path={"name": "bead-42"}),
        build_step("GET /api/agents/{name}", "a person", path={"name": "husam"}),
        build_step("GET /api/agents/{name}", "itself", path={"name": "thinker"}, by="thinker"),
        build_step("GET /api/agents/{name}", "another", path={"name": "thinker"}, by="designer"),
        build_step("POST /api/agents/{name}/pause", "a guest", path={"name": "analyst"}),
        build_step("GET /api/agents/{name}/mind", "of a guest", path={"name": "analyst"}),
        build_step("POST /api/agents", "odd model", body={"name": "odd-1", "model": "no model"}),
        build_step("POST /api/agents", "odd tool", body={"name": "odd-2", "model": "demo", "tools": [{"name": "x"}]}),
        build_step("POST /api/agents", "odd loop", body={"name": "odd-3", "model": "demo", "loop": {"maxSteps": 0}}),
        build_step(
            "POST /api/agents", "unknown field inside", body={"name": "odd-4", "model": "demo", "mind": {"colour": 1}}
        ),
        build_step("PATCH /api/agents/{name}", "nothing", path={"name": "thinker"}, body={}),
        build_step("PATCH /api/agents/{name}", "a null", path={"name": "thinker"}, body={"instructions": None}),
        build_step("PATCH /api/entities/{name}", "a null", path={"name": "analyst"}, body={"team": None}),
        build_step(
            "PATCH /api/entities/{name}", "itself", path={"name": "analyst"}, body={"team": "web"}, by="analyst"
        ),
        build_step("DELETE /api/entities/{name}", "the administrator", path={"name": "admin"}),
        build_step("POST /api/entities", "leaver", body={"name": "leaver", "kind": "agent"}),
        build_step("DELETE /api/entities/{name}", "retire", path={"name": "leaver"}),
        build_step("DELETE /api/entities/{name}", "retire twice", path={"name": "leaver"}),
        build_step("POST /api/inbox", "push to one who left", body={"to": "leaver", "content": "x"}),
        build_step("POST /api/entities", "take the name again", body={"name": "leaver", "kind": "agent"}),
        build_step("PATCH /api/entities/{name}", "change one who left", path={"name": "leaver"}, body={"team": "web"}),
    ],
    "webhooks": [
        _hook_step("signed", sign=HOOK_SECRET, headers={"x-github-delivery": "d1", "x-github-event": "issues"}),
        _hook_step(
            "delivered again", sign=HOOK_SECRET, headers={"x-github-delivery": "d1", "x-github-event": "issues"}
        ),
        _hook_step("delivered under another name", sign=HOOK_SECRET, headers={"x-github-delivery": "d2"}),
        _hook_step("signed by another", sign="another-secret-of-some-length"),
        _hook_step("not signed"),
        _hook_step("no JSON", "{", sign=HOOK_SECRET),
        _hook_step("no body", "", sign=HOOK_SECRET),
        _hook_step("the secret", trigger="header-hook", headers={"x-secret-key": HOOK_SECRET}),
        _hook_step("the secret by another name", trigger="header-hook", headers={"x-gitlab-token": HOOK_SECRET}),
        _hook_step("another secret", trigger="header-hook", headers={"x-secret-key": "another-secret-of-some-length"}),
        _hook_step(
            "a cloud event",
            '{"specversion": "1.0", "id": "c1", "source": "/shop", "type": "order.made", "data": {"order": 7}}',
            trigger="header-hook",
            headers={"x-secret-key": HOOK_SECRET, "content-type": "application/cloudevents+json"},
        ),
        _hook_step("unknown", trigger="no-such-thing", headers={"x-secret-key": HOOK_SECRET}),
        build_step(
            "PATCH /api/triggers/{name}",
            "close",
            path={"name": "$new_trigger"},
            body={"active": False},
            before=[TRIGGER],
        ),
        _hook_step("closed", trigger="$new_trigger", sign=HOOK_SECRET),
        build_step(
            "POST /api/triggers",
            "taken",
            body={"name": "github-main", "scheme": "github", "secret": HOOK_SECRET, "target": "analyst"},
        ),
        build_step(
            "POST /api/triggers",
            "odd scheme",
            body={"name": "odd", "scheme": "odd", "secret": HOOK_SECRET, "target": "analyst"},
        ),
        build_step(
            "POST /api/triggers",
            "short secret",
            body={"name": "odd", "scheme": "github", "secret": "short", "target": "analyst"},
        ),
        build_step(
            "POST /api/triggers",
            "unknown target",
            body={"name": "odd", "scheme": "github", "secret": HOOK_SECRET, "target": "nobody-here"},
        ),
        build_step(
            "POST /api/agents/{name}/trigger",
            "a trigger's key",
            path={"name": "analyst"},
            body={"serviceName": "jira"},
            by="trigger",
        ),
        build_step(
            "POST /api/agents/{name}/trigger",
            "another agent",
            path={"name": "designer"},
            body={"serviceName": "jira"},
            by="trigger",
        ),
        build_step("POST /api/agents/{name}/trigger", "a person", path={"name": "husam"}, body={"serviceName": "jira"}),
    ],
    "keys": [
        build_step(
            "POST /api/keys", "of an agent", body={"agent": "designer"}, capture={"new_key": "id", "secret": "key"}
        ),
        Case(
            id="use it",
            route="GET /api/inbox/{name}/account",
            request="GET /api/inbox/designer/account",
            by="nobody",
            headers={"x-secret-key": "$secret"},
        ),
        build_step("DELETE /api/keys/{id}", "revoke", path={"id": "$new_key"}),
        Case(
            id="use it late",
            route="GET /api/inbox/{name}/account",
            request="GET /api/inbox/designer/account",
            by="nobody",
            headers={"x-secret-key": "$secret"},
        ),
        build_step("DELETE /api/keys/{id}", "revoke twice", path={"id": "$new_key"}),
        build_step("POST /api/keys", "of a trigger", body={"trigger": "analyst"}),
        build_step("POST /api/keys", "public", body={"public": True, "name": "web"}),
        build_step("POST /api/keys", "administrator's", body={}),
        build_step("POST /api/keys", "two kinds", body={"agent": "analyst", "trigger": "analyst"}),
        build_step("POST /api/keys", "of nobody", body={"agent": "nobody-here"}),
        build_step("POST /api/keys", "of a person", body={"agent": "husam"}),
        build_step("POST /api/keys", "long name", body={"agent": "analyst", "name": "x" * 201}),
    ],
}
