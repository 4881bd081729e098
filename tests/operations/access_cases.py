"""The table of the access tests: how every operation is called on what is somebody else's."""

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import psycopg

from gatepost.app import parse_sqlite_path
from gatepost.channels import pairing_actions as pairing
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.ports import Reader, Store, Transaction
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.key_handlers import generate_secret
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import Option, Question
from gatepost.gates.gate import GateSpec
from gatepost.guests import session_actions as sessions
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Push, Route
from gatepost.inbox.push import actions as push
from gatepost.ledger import topic_actions as ledger
from gatepost.ledger.topic import TopicKind
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.plans import actions as plans
from gatepost.spaces import actions as spaces
from tests.plans.plan_specs import parse_spec
from tests.residents import resident_runs
from tests.support.gateways.local_gateways import Gateway, create_entities, create_token, list_operations

#: what one who is not concerned gets: nothing, or what everybody may see, or a list of what is its own
EXPECT_REFUSED: Final = "refused"
EXPECT_OPEN: Final = "open"
EXPECT_OWN: Final = "own"
#: each of many is refused by itself
EXPECT_EACH: Final = "each"

HOOK_SECRET: Final = "sixteen-chars-at-least"
BOT_TOKEN: Final = "7:a-token-of-a-bot"


@dataclass(frozen=True)
class CallCase:
    """How an operation is called on somebody else's things, and what one who is not concerned gets."""

    expected: str = EXPECT_REFUSED
    path: Mapping[str, str] = field(default_factory=dict)
    query: Mapping[str, str] = field(default_factory=dict)
    #: other ways to ask for what is not one's own, each of which is refused
    other_queries: Sequence[Mapping[str, str]] = ()
    #: changes to the example of the OpenAPI, by its own words in `World`
    body: Mapping[str, str] = field(default_factory=dict)
    #: what the administrator gets, who is concerned by everything
    admin_status: int = 200
    #: some can be done on a public ledger only
    ledger: str = "local:"


ANALYST_PATH: Final = {"name": "analyst"}
HUSAM_PATH: Final = {"name": "husam"}
SPACE_PATH: Final = {"id": "space"}
EVENT_PATH: Final = {"id": "event"}
PLAN_PATH: Final = {"id": "plan"}
GATE_PATH: Final = {"id": "gate"}
DECISION_PATH: Final = {"id": "decision"}
TRIGGER_PATH: Final = {"name": "trigger"}
ROUTE_PATH: Final = {"id": "route"}
THINKER_PATH: Final = {"name": "thinker"}
RUN_PATH: Final = {"id": "run"}
WORK_PATH: Final = {"type": "task", "id": "0.0.7"}
PUBLIC_LEDGER: Final = "hedera:testnet"
CLAIM_BODY: Final = {"claimId": "claim", "fence": "fence"}

CALL_CASES: Final = {
    "POST /api/entities": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/entities": CallCase(EXPECT_OPEN),
    "GET /api/entities/{name}": CallCase(EXPECT_OPEN, ANALYST_PATH),
    "PATCH /api/entities/{name}": CallCase(path=ANALYST_PATH),
    "DELETE /api/entities/{name}": CallCase(path=ANALYST_PATH),
    "PUT /api/entities/{name}/attention": CallCase(path=THINKER_PATH),
    "POST /api/agents": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/agents": CallCase(EXPECT_OPEN),
    "GET /api/agents/{name}": CallCase(EXPECT_OPEN, ANALYST_PATH),
    "PATCH /api/agents/{name}": CallCase(path=ANALYST_PATH),
    "DELETE /api/agents/{name}": CallCase(path=ANALYST_PATH),
    "POST /api/agents/{name}/wake": CallCase(path=ANALYST_PATH, admin_status=202),
    "POST /api/agents/{name}/trigger": CallCase(path=ANALYST_PATH, admin_status=202),
    "GET /api/agents/{name}/stream": CallCase(path=ANALYST_PATH),
    "GET /api/agents/{name}/setup": CallCase(path=THINKER_PATH),
    "POST /api/agents/{name}/pause": CallCase(path=THINKER_PATH),
    "POST /api/agents/{name}/resume": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/runs": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/mind": CallCase(path=THINKER_PATH),
    "GET /api/agents/{name}/memories": CallCase(path=THINKER_PATH),
    "GET /api/models": CallCase(),
    "GET /api/settings": CallCase(),
    "GET /api/agents/{name}/goals": CallCase(path=THINKER_PATH),
    "GET /api/runs": CallCase(EXPECT_OWN, other_queries=[{"agent": "thinker"}]),
    "GET /api/usage/runs": CallCase(EXPECT_OWN, other_queries=[{"agent": "thinker"}]),
    "GET /api/usage/budgets": CallCase(EXPECT_OWN, other_queries=[{"agent": "thinker"}]),
    "GET /api/usage": CallCase(EXPECT_OPEN, other_queries=[{"agent": "thinker"}]),
    "GET /api/overview": CallCase(EXPECT_OPEN, other_queries=[{"name": "husam"}]),
    "GET /api/health/history": CallCase(),
    "GET /api/health/accounts": CallCase(),
    "GET /api/health/check": CallCase(),
    "GET /api/fires": CallCase(EXPECT_OWN, other_queries=[{"owner": "analyst"}]),
    "GET /api/plans/{id}/fires": CallCase(path=PLAN_PATH),
    "GET /api/triggers/{name}/fires": CallCase(path=TRIGGER_PATH),
    "GET /api/runs/{id}": CallCase(path=RUN_PATH),
    "GET /api/runs/{id}/steps": CallCase(path=RUN_PATH),
    "GET /api/runs/{id}/stream": CallCase(path=RUN_PATH),
    "POST /api/runs/{id}/tool-results": CallCase(path=RUN_PATH, body={"callId": "call"}),
    "POST /api/runs/{id}/replay": CallCase(path={"id": "past"}),
    "POST /api/runs/{id}/cancel": CallCase(path=RUN_PATH),
    "POST /api/inbox": CallCase(body={"sender": "husam"}, admin_status=201),
    "POST /api/inbox/batch": CallCase(EXPECT_EACH, body={"pushes": "forged"}),
    "GET /api/inbox": CallCase(),
    "GET /api/inbox/{name}": CallCase(path=ANALYST_PATH),
    "GET /api/inbox/{name}/account": CallCase(path=ANALYST_PATH),
    "GET /api/inbox/{name}/peek": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/drain": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/claim": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/ack": CallCase(path=ANALYST_PATH, body=CLAIM_BODY),
    "POST /api/inbox/{name}/release": CallCase(path=ANALYST_PATH, body=CLAIM_BODY | {"failed": "events"}),
    "POST /api/inbox/{name}/seen": CallCase(path=ANALYST_PATH, body={"events": "events"}),
    "GET /api/inbox/{name}/groups": CallCase(path=ANALYST_PATH),
    "POST /api/inbox/{name}/done": CallCase(path=HUSAM_PATH, body={"events": "personals"}),
    "POST /api/inbox/{name}/undo": CallCase(path=HUSAM_PATH, body={"receipt": "claim"}, admin_status=409),
    "POST /api/inbox/{name}/discard": CallCase(path=HUSAM_PATH, body={"events": "personals"}),
    "POST /api/inbox/{name}/snooze": CallCase(path=HUSAM_PATH, body={"events": "personals"}),
    "POST /api/inbox/{name}/unsnooze": CallCase(path=HUSAM_PATH, body={"events": "personals"}, admin_status=409),
    "GET /api/inbox/{name}/stream": CallCase(path=ANALYST_PATH),
    "GET /api/events/{id}": CallCase(path=EVENT_PATH),
    "POST /api/events/{id}/replay": CallCase(path={"id": "discarded"}),
    "POST /api/events/{id}/discard": CallCase(path=EVENT_PATH),
    "POST /api/events/{id}/done": CallCase(path={"id": "personal"}, body={"name": "husam"}),
    "POST /api/spaces": CallCase(body={"name": "another"}, admin_status=201),
    "GET /api/spaces": CallCase(EXPECT_OWN, other_queries=[{"member": "analyst"}]),
    "GET /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "PATCH /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "DELETE /api/spaces/{id}": CallCase(path=SPACE_PATH),
    "GET /api/spaces/{id}/members": CallCase(path=SPACE_PATH),
    "POST /api/spaces/{id}/members": CallCase(path=SPACE_PATH, admin_status=201),
    "DELETE /api/spaces/{id}/members/{name}": CallCase(path=SPACE_PATH | ANALYST_PATH, admin_status=204),
    "GET /api/spaces/{id}/messages": CallCase(path=SPACE_PATH),
    "POST /api/spaces/{id}/messages": CallCase(path=SPACE_PATH, admin_status=201),
    "PATCH /api/spaces/{id}/read": CallCase(path=SPACE_PATH),
    "GET /api/spaces/{id}/stream": CallCase(path=SPACE_PATH),
    "GET /api/stream": CallCase(
        query={"inbox": "analyst", "space": "space"},
        other_queries=[{"inbox": "analyst"}, {"space": "space"}, {"inbox": "admin"}],
    ),
    "POST /api/plans": CallCase(admin_status=201),
    "GET /api/plans": CallCase(EXPECT_OWN, other_queries=[{"owner": "analyst"}]),
    "GET /api/plans/{id}": CallCase(path=PLAN_PATH),
    "PATCH /api/plans/{id}": CallCase(path=PLAN_PATH),
    "POST /api/plans/{id}/run": CallCase(path=PLAN_PATH),
    "DELETE /api/plans/{id}": CallCase(path=PLAN_PATH, admin_status=204),
    "POST /api/gates": CallCase(admin_status=201),
    "GET /api/gates": CallCase(EXPECT_OWN, other_queries=[{"owner": "analyst"}, {"waiter": "husam"}]),
    "GET /api/gates/{id}": CallCase(path=GATE_PATH),
    "PUT /api/gates/{id}/resolution": CallCase(path=GATE_PATH),
    "POST /api/gates/{id}/waiters": CallCase(path=GATE_PATH),
    "POST /api/chat": CallCase(body={"to": "analyst"}, admin_status=201),
    "GET /api/shared-inbox": CallCase(EXPECT_OWN),
    "GET /api/shared-inbox/stream": CallCase(EXPECT_OPEN),
    "GET /api/shared-inbox/{id}": CallCase(path={"id": "entry"}),
    "GET /api/channels": CallCase(),
    "GET /api/channels/sessions": CallCase(EXPECT_OWN, other_queries=[{"person": "husam"}]),
    "GET /api/channels/pairings": CallCase(),
    "POST /api/channels/pairings": CallCase(body={"code": "pairing"}),
    "POST /api/channels/pairings/refuse": CallCase(body={"code": "pairing"}),
    "DELETE /api/channels/pairings/{id}": CallCase(path={"id": "paired"}),
    "POST /api/decisions": CallCase(admin_status=201),
    "GET /api/decisions": CallCase(EXPECT_OWN, other_queries=[{"asker": "analyst"}, {"asked": "husam"}]),
    "GET /api/decisions/{id}": CallCase(path=DECISION_PATH),
    "PUT /api/decisions/{id}/answer": CallCase(path=DECISION_PATH),
    "PUT /api/decisions/{id}/respondents": CallCase(path=DECISION_PATH),
    "PUT /api/decisions/{id}/question": CallCase(path=DECISION_PATH),
    "DELETE /api/decisions/{id}": CallCase(path=DECISION_PATH),
    "POST /api/decisions/{id}/claim": CallCase(path=DECISION_PATH),
    "POST /api/triggers": CallCase(body={"name": "newcomer"}, admin_status=201),
    "GET /api/triggers": CallCase(EXPECT_OWN),
    "GET /api/triggers/{name}": CallCase(path=TRIGGER_PATH),
    "PATCH /api/triggers/{name}": CallCase(path=TRIGGER_PATH),
    "DELETE /api/triggers/{name}": CallCase(path=TRIGGER_PATH, admin_status=204),
    "POST /api/triggers/{name}/test": CallCase(path=TRIGGER_PATH),
    "POST /api/routes": CallCase(admin_status=201),
    "GET /api/routes": CallCase(),
    "GET /api/routes/{id}": CallCase(path=ROUTE_PATH),
    "PATCH /api/routes/{id}": CallCase(path=ROUTE_PATH),
    "DELETE /api/routes/{id}": CallCase(path=ROUTE_PATH, admin_status=204),
    "GET /api/routes/dead-letters": CallCase(),
    "POST /api/routes/dead-letters/{id}/replay": CallCase(path={"id": "dead"}),
    "POST /api/routes/dead-letters/{id}/discard": CallCase(path={"id": "dead"}),
    "POST /api/keys": CallCase(admin_status=201),
    "GET /api/keys": CallCase(),
    "POST /api/sign-in/links": CallCase(admin_status=201),
    "POST /api/sign-in": CallCase(admin_status=421),
    "DELETE /api/sign-in": CallCase(admin_status=421),
    "GET /api/caller": CallCase(EXPECT_OPEN),
    "DELETE /api/keys/{id}": CallCase(path={"id": "key"}),
    "POST /api/mail": CallCase(body={"sender": "husam"}, admin_status=201),
    "GET /api/mail": CallCase(EXPECT_OWN, other_queries=[{"sender": "analyst"}, {"box": "thread", "sender": "husam"}]),
    "GET /api/mail/{id}": CallCase(path={"id": "mail"}),
    "POST /api/events/{id}/reply": CallCase(path={"id": "mailed"}, admin_status=201),
    "POST /api/work": CallCase(body={"madeBy": "husam"}, admin_status=201),
    "GET /api/work": CallCase(EXPECT_OPEN),
    "GET /api/work/{type}/{id}": CallCase(EXPECT_OPEN, WORK_PATH),
    "POST /api/work/{type}/{id}/events": CallCase(path=WORK_PATH, body={"sender": "husam"}, admin_status=201),
    "GET /api/work/{type}/{id}/events": CallCase(EXPECT_OPEN, WORK_PATH),
    "POST /api/work/{type}/{id}/notes": CallCase(path=WORK_PATH, body={"sender": "husam"}, admin_status=201),
    "GET /api/work/{type}/{id}/notes": CallCase(EXPECT_OPEN, WORK_PATH),
    "GET /api/ledger/topics": CallCase(EXPECT_OPEN),
    "GET /api/ledger/topics/{id}": CallCase(path={"id": "topic"}),
    "GET /api/ledger/topics/{id}/messages": CallCase(path={"id": "topic"}),
    "GET /api/ledger/topics/{id}/verify": CallCase(path={"id": "topic"}),
    "GET /api/ledger/profiles/{name}": CallCase(EXPECT_OPEN, ANALYST_PATH),
    "POST /api/ledger/sync": CallCase(),
    "GET /api/ledger/sync": CallCase(),
    "GET /api/ledger/connections": CallCase(EXPECT_OWN),
    "POST /api/ledger/connections": CallCase(body={"sender": "husam"}, admin_status=201, ledger=PUBLIC_LEDGER),
    "POST /api/ledger/connections/{id}/accept": CallCase(path={"id": "request"}, ledger=PUBLIC_LEDGER),
    "POST /api/ledger/connections/{id}/refuse": CallCase(path={"id": "request"}, ledger=PUBLIC_LEDGER),
    "POST /api/ledger/connections/{id}/close": CallCase(path={"id": "connection"}, ledger=PUBLIC_LEDGER),
    "GET /api/sessions": CallCase(EXPECT_OWN, other_queries=[{"agent": "thinker"}]),
    "GET /api/sessions/{id}": CallCase(path={"id": "guest"}),
    "GET /health": CallCase(EXPECT_OPEN),
    "GET /metrics": CallCase(),
    "POST /hooks/{trigger}": CallCase(path={"trigger": "trigger"}, admin_status=401),
    "POST /channels/telegram/{bot}": CallCase(path={"bot": "trigger"}, admin_status=404),
}


#: what the owner of an agent may change about it
CHANGED_BY_OWNERS: Final = frozenset(("PUT /api/entities/{name}/attention",))
#: what the owner of an agent may ask about it; it changes nothing
READ_BY_OWNERS: Final = frozenset(
    (
        *(f"GET /api/agents/{{name}}/{part}" for part in ("runs", "mind", "memories", "goals")),
        *("GET /api/runs", "GET /api/runs/{id}", "GET /api/runs/{id}/steps", "GET /api/runs/{id}/stream"),
        *("GET /api/usage", "GET /api/usage/runs", "GET /api/usage/budgets", "GET /api/sessions"),
    )
)


def add_connection(tx: Transaction, name: str, *, is_incoming: bool = True, request: int = 1) -> str:
    """Return a connection that was asked for, on a public ledger."""
    id = tx.new_id("con")
    tx.execute(
        "ledger/connections/insert",
        id=id,
        network="testnet",
        entity=directory.find(tx, name).number,
        peer_account="0.0.9001",
        peer_inbound="0.0.9002",
        is_incoming=is_incoming,
        request=request,
        note=None,
        now=tx.now,
    )
    return id


def add_unrouted(tx: Transaction, trigger: int) -> str | None:
    """Return an unrouted message."""
    envelope = Envelope(channel="webhook", session="github-main", kind=EnvelopeKind.EVENT, content="something")
    return unrouted_messages.insert(tx, trigger, envelope, UnroutedReason.NO_ROUTE, None)


def add_pairing(tx: Transaction, user: str, *, is_approved: bool, bot: str = "desk") -> str:
    """Return the id of a pairing of a bot, or of a request for one."""
    trigger = triggers.show(tx, bot)
    code = pairing.request(tx, trigger, chat=user, user_id=user, display="Eve", random_bits=int(user))
    assert code is not None
    request = pairing.list_page(tx)[-1]
    return pairing.approve(tx, code, by=None).id if is_approved else request.id


def find_inbound_topic(tx: Reader, name: str) -> str:
    """Return the inbound topic of an entity that has sent mail."""
    [topic] = ledger.list_topics(tx, kind=TopicKind.INBOUND, viewer=name)
    return topic.id


@dataclass(frozen=True)
class World:
    """The things of others, by the words of the table."""

    gateway: Gateway
    values: Mapping[str, Any]
    #: of the database
    url: str = ""

    async def call(
        self, operation: str, headers: Mapping[str, str], query_words: Mapping[str, str] | None = None
    ) -> tuple[int, Any]:
        """Call an operation as the table says, or with another query; return the status and the answer."""
        case = CALL_CASES[operation]
        method, _, template = operation.partition(" ")
        path = template.format(**{name: self.values.get(word, word) for name, word in case.path.items()})
        query = "&".join(f"{name}={self.values.get(word, word)}" for name, word in (query_words or case.query).items())
        if path.endswith("/stream"):
            async with await self.gateway.open_stream(f"{path}?{query}", x_nobody="yes", **headers) as stream:
                return stream.status, None
        body = None
        if "requestBody" in list_operations()[operation]:
            [content] = list_operations()[operation]["requestBody"]["content"].values()
            body = content["example"] | {name: self.values.get(word, word) for name, word in case.body.items()}
        async with self.gateway.open_client(x_nobody="yes") as client:
            answer = await client.request(method, f"{path}?{query}", json=body, headers=dict(headers))
        return answer.status_code, answer.json() if answer.content.startswith(b"{") else None


def _record_prompt(tx: Transaction) -> str:
    """Add a prompt of Husam to the shared inbox; return its id."""
    route, person = Route("web", "web-husam"), directory.find_number(tx, "husam")
    return shared_inbox.record(tx, EntryKind.USER_PROMPT, route, "hello", trigger=None, person=person)


def create_owned_objects(store: Store) -> dict[str, Any]:
    """Give others something of every kind."""
    create_entities(store)
    spec = parse_spec({"name": "Daily", "instruction": "Report", "cron": "0 9 * * *"})
    events = [
        store.run_sync(push.push_event, Push(to=recipient, source="test", content="something")).event
        for recipient in ("analyst", "analyst", "analyst", "husam")
    ]
    store.run_sync(inbox_items.discard, events[1])
    claim = store.run_sync(inbox.claim, "analyst", owner="session-1", limit=1, budget=9_000).claim
    assert claim is not None
    plan = store.run_sync(plans.set_plan, "analyst", spec)
    gate = store.run_sync(gates.add, GateSpec(name="Sign-off", owner="analyst", waiters=("husam",)), by="analyst")
    question = Question(question="Ship it?", options=(Option(id="ship", label="Ship it"),), respondents=("husam",))
    decision = store.run_sync(decisions.ask, question, by="analyst")
    entry = store.run_sync(_record_prompt)
    store.run_sync(spaces.post, "q4-report", sender="husam", content="hello")
    sent = store.run_sync(mail.send, MailSpec(to="admin", payload={"text": "hello"}), sender="analyst")
    store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="0.0.7"), by="analyst")
    resident_runs.create_resident(store)
    finished_run = resident_runs.begin_run(store)
    resident_runs.finish_run(store, finished_run)
    waiting_run = resident_runs.begin_run(store)
    trigger = store.run_sync(
        triggers.add,
        TriggerSpec(name="github-main", scheme=Scheme.GITHUB, secret=HOOK_SECRET, target="analyst"),
    )
    bot = TriggerSpec(name="desk", provider="telegram", secret=BOT_TOKEN, target="analyst")
    store.run_sync(triggers.add, bot)
    rule = store.run_sync(routing_rules.create_rule, RouteSpec(name="finance", targets=("analyst",)), by=None)
    return {
        "space": "q4-report",
        "event": events[2],
        "events": [events[0]],
        "discarded": events[1],
        "personal": events[3],
        "personals": [events[3]],
        "plan": plan.id,
        "gate": gate.id,
        "decision": decision.id,
        "entry": entry,
        "guest": store.run_sync(sessions.begin, "4f1c", agent="analyst", host="claude").session,
        "past": finished_run.run_id,
        "run": waiting_run.run_id,
        "call": waiting_run.call_id,
        "topic": store.read_sync(find_inbound_topic, "analyst"),
        "request": store.run_sync(add_connection, "analyst", is_incoming=True),
        "connection": store.run_sync(add_connection, "analyst", is_incoming=False),
        "mail": sent.id,
        "mailed": sent.event,
        "trigger": "github-main",
        "route": rule.id,
        "dead": store.run_sync(add_unrouted, trigger.number),
        "pairing": store.run_sync(add_pairing, "66", is_approved=False),
        "paired": store.run_sync(add_pairing, "67", is_approved=True),
        "claim": claim.id,
        "fence": claim.fence,
        "key": store.run_sync(keys.create, kind="agent", secret=generate_secret(), entity="analyst").id,
        "forged": [{"to": "analyst", "content": "hello", "sender": "husam"}, {"to": "developer", "sender": "analyst"}],
    }


def list_stored_secrets(url: str) -> list[str]:
    """Return what is in the database and in no answer: secrets of triggers and tools, and the hashes of keys."""
    [tools] = [tool["execution"]["headers"] for tool in resident_runs.AGENT_CONFIG["tools"] if "execution" in tool]
    with sqlite3.connect(parse_sqlite_path(url)) as connection:
        hashes = [hash for (hash,) in connection.execute("SELECT hash FROM keys")]
    secrets = [
        HOOK_SECRET,
        BOT_TOKEN,
        *(value.split()[1] for value in tools.values()),
        resident_runs.ADAPTER_SECRET,
        *hashes,
    ]
    assert len(hashes) > 1
    return secrets


def read_database(url: str) -> dict[str, list[str]]:
    """Everything that is in the database, but for the numbers that are not given yet."""
    tables = _read_tables(url)
    del tables["counters"]
    return tables


def _read_tables(url: str) -> dict[str, list[str]]:
    if url.startswith("sqlite:"):
        with sqlite3.connect(parse_sqlite_path(url)) as sqlite_connection:
            tables = [
                name
                for (name,) in sqlite_connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
                )
            ]
            return {name: sorted(map(repr, sqlite_connection.execute(f'SELECT * FROM "{name}"'))) for name in tables}
    with psycopg.connect(url) as connection:
        table_rows = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        return {
            name: sorted(map(repr, connection.execute(f'SELECT * FROM "{name}"'.encode()).fetchall()))
            for (name,) in table_rows
        }


def create_credentials(world: World) -> dict[str, dict[str, str]]:
    gateway = world.gateway
    revoked = gateway.create_key("admin")
    gateway.store.run_sync(keys.revoke, revoked[:11])
    return {
        "nobody": {},
        "unknown key": {"x-secret-key": "sk_" + "x" * 43},
        "empty key": {"x-secret-key": ""},
        "revoked key": {"x-secret-key": revoked},
        "public key as a secret": {"x-secret-key": gateway.create_key("public")},
        "public key alone": {"x-public-key": gateway.create_key("public")},
        "token alone": {"authorization": f"Bearer {create_token('analyst')}"},
        "secret key as a public one": {
            "x-public-key": gateway.admin_key,
            "authorization": f"Bearer {create_token('analyst')}",
        },
        "agent's key": {"x-secret-key": gateway.create_key("agent", "designer")},
        "token": {"x-public-key": gateway.create_key("public"), "authorization": f"Bearer {create_token('designer')}"},
        "trigger's key": {"x-secret-key": gateway.create_key("trigger", "designer")},
    }


ENTITY_CREDENTIALS: Final = ("agent's key", "token")
