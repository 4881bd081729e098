"""Stores with a row in every table, what is in them, and their way from one to another."""

import json
import sqlite3
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import psycopg
from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations, outgoing_message_actions as outgoing
from gatepost.channels.conversation import PairingState
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.provider import Button
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.channels.routing.rule import RouteSpec
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind
from gatepost.channels.speech import voice_actions as voices
from gatepost.channels.triggers import actions as triggers, rows as trigger_rows
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import Heartbeat, TriggerConfig, TriggerSchedule
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.policy import Policy
from gatepost.core.ports import Store, Transaction
from gatepost.core.text import fold_text
from gatepost.core.times import DAY, HOUR
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.attention_actions import set_attention
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.export import export_actions as export, import_actions as store_import
from gatepost.export.export_actions import Summary
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Option, Question
from gatepost.gates.gate import GateKind, GateSpec
from gatepost.gates.proposed_action import Action
from gatepost.guests import session_actions as sessions
from gatepost.inbox import (
    account_actions,
    claim_actions as inbox,
    expiry_actions as expiry,
    item_actions as inbox_items,
)
from gatepost.inbox.event import EventType, Priority, Push, Ref, Route, Trust
from gatepost.inbox.push import actions as push
from gatepost.jobs import job_actions as jobs
from gatepost.jobs.idempotency_actions import run_once
from gatepost.ledger import (
    ledger_step_actions as ledger_steps,
    profile_actions as ledger_profiles,
    topic_actions as ledger,
    topic_rows as topics,
)
from gatepost.ledger.connections import actions as connections
from gatepost.ledger.hcs import hcs10_messages as hcs10
from gatepost.ledger.hcs.hcs10_messages import OperatorId
from gatepost.ledger.public_ledger import LedgerReceipt
from gatepost.ledger.topic import LedgerId, TopicKind
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.sent_record import AckRequest, MailSpec
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.plans import actions as plans
from gatepost.residents.mind_compaction import MindSummaries
from gatepost.residents.runs import ending_actions as run_endings, rows as runs
from gatepost.residents.runs.cycle_limits import RunLimit
from gatepost.residents.runs.deferred_call_actions import answer_call
from gatepost.spaces import actions as spaces
from gatepost.stores.row_mapping import get_columns
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.plans.plan_specs import parse_spec
from tests.residents import resident_runs

SECRET = "sixteen characters at least"
ADMIN_KEY = f"sk_{'admin':-<43}"
AGENT_KEY = f"sk_{'agent':-<43}"
#: what `fill_store` lets others do
RIGHTS = [
    "commands of the tools of entity 8: 'npx'",
    "the command of a gate: 'Tests'",
    *(f"an open trigger: {name!r}" for name in ("shop-bot", "daily", "issues", *(f"to-{scheme}" for scheme in Scheme))),
    "a user of a channel who is let in: 'Husam S.'",
    "a key of the administrator: 'sk_admin---'",
    "keys of the kind 'agent': 1",
    "keys of the kind 'trigger': 1",
    "keys of the kind 'public': 1",
]
QUESTION = Question(
    question="Ship it?",
    options=(Option(id="ship", label="Ship it"), Option(id="wait", label="Wait")),
    respondents=("husam", "ben"),
    within=10 * DAY,
    context="All \u2028 green",
    ref=Ref("task", "1"),
    session="s-1",
)


def fill_store(kit: Kit) -> resident_runs.WaitingRun:
    """Put rows into every table, and a resident that is waiting_run and waits for an answer."""
    store, clock = kit.store, kit.clock
    _register_entities(store)
    _fill_inboxes(kit)
    store.run_sync(sessions.begin, "s-1", agent="ben", host="claude")
    store.run_sync(set_attention, "ben", AttentionLevel.FOCUS, length=HOUR)
    store.run_sync(spaces.create, name="Q4 Report", members=["husam", "ana"])
    for number in range(3):
        clock.advance("1 second")
        store.run_sync(
            spaces.post, "q4-report", sender="husam", content=f"number {number}", data={"n": [number, "\u2028"]}
        )
    store.run_sync(spaces.mark_read, "q4-report", "ana", 2)
    sign_off = store.run_sync(gates.add, GateSpec(name="Sign-off", owner="ana", awaits="husam"), by="admin")
    store.run_sync(gates.add, GateSpec(name="Mail", owner="ana", kind=GateKind.MAIL, awaits="ben"), by="admin")
    resolved = store.run_sync(gates.add, GateSpec(name="Done", owner="ana", waiters=("ben",)), by="admin")
    store.run_sync(gates.resolve, resolved.id, by="husam", reason='"so"\n')
    _add_checked_gates(kit)
    store.run_sync(plans.set_plan, "ana", parse_spec({"name": "then", "onGate": sign_off.id}))
    store.run_sync(plans.set_plan, "ana", parse_spec({"name": "never", "runAfter": "1 second", "active": False}))
    store.run_sync(
        plans.set_plan, "ben", parse_spec({"name": "daily", "cron": "0 9 * * *", "timeZone": "Europe/Berlin"})
    )
    store.run_sync(decisions.ask, QUESTION, by="ana")
    answered = store.run_sync(decisions.ask, replace(QUESTION, free_text=True), by="ana")
    store.run_sync(decisions.answer, answered.id, AnswerSpec(option="ship", text="go"), by="husam")
    about_action = Question(question="Send it?", action=Action(name="send_invoice", args={"to": ["\u2028", None]}))
    edited = store.run_sync(decisions.ask, about_action, by="ana")
    edit = AnswerSpec(option="edit", args={"to": "ben"}, context_hash=edited.context_hash)
    store.run_sync(decisions.answer, edited.id, edit, by="husam")
    _fill_channels(kit)
    trigger = TriggerSpec(
        name="issues", scheme=Scheme.GITHUB, secret=SECRET, target="ana", prompt="look", owner="husam"
    )
    store.run_sync(triggers.add, trigger)
    for scheme in Scheme:
        of_scheme = TriggerSpec(
            name=f"to-{scheme.value}",
            scheme=scheme,
            secret="whsec_c2l4dGVlbiBjaGFyYWN0ZXJzIG9yIG1vcmU=",
            target="team:web",
        )
        store.run_sync(triggers.add, of_scheme)
    store.run_sync(keys.create, kind="admin", secret=ADMIN_KEY, name="admin.key")
    store.run_sync(keys.create, kind="agent", secret=AGENT_KEY, entity="ana", name="ana's")
    store.run_sync(keys.create, kind="trigger", secret=f"sk_{'trigger':-<43}", trigger="issues")
    store.run_sync(keys.create, kind="public", secret=f"pk_{'public':-<43}")
    lost = store.run_sync(keys.create, kind="agent", secret=f"sk_{'lost':-<43}", entity="ben")
    store.run_sync(keys.revoke, lost.id)
    _send_mail_and_notes(kit)
    store.run_sync(jobs.add, "nudge", {"to": "ana"})
    store.run_sync(run_once, "POST /api/spaces", "key-1", "digest", lambda _: {"id": "q4"})
    resident_runs.create_resident(store)
    thinker = store.read_sync(directory.find, "thinker").number
    store.run_sync(runs.insert_mind, thinker, MindSummaries(run=0, summaries=("It began.",), dropped_count=2))
    _stop_builder(store)
    resident_runs.finish_run(store, resident_runs.begin_run(store))
    _fill_public_ledger(kit)
    return resident_runs.begin_run(store, content="Where is order 8?")


def _send_mail_and_notes(kit: Kit) -> None:
    """A thread of mail, and a work item with a parent, a note and an event; all of it is on the local ledger."""
    store = kit.open(policy=Policy(ledger="local:"))
    spec = MailSpec(to="ben", subject="Schema", payload={"text": "Which \u2028?"}, ack=AckRequest.REQUIRED)
    sent = store.run_sync(mail.send, spec, sender="ana")
    store.run_sync(mail.send, MailSpec(reply_to=sent.event, payload={"choice": 2}, context=[1]), sender="ben")
    store.run_sync(work.add, WorkItemSpec(type=WorkType.PHASE, id="design", topic="0.0.9"), by="admin")
    spec_of_task = WorkItemSpec(type=WorkType.TASK, id="0.0.1", title="Write it", parent=Ref("phase", "design"))
    store.run_sync(work.add, spec_of_task, by="ana")
    store.run_sync(work.post_note, Ref("task", "0.0.1"), "**Done**", by="ana", notify=["ben"])
    store.run_sync(work.post_event, Ref("task", "0.0.1"), "blocked", reason="no schema", by="ana")


def _fill_public_ledger(kit: Kit) -> None:
    """An account with a profile, a transaction under way, mail that waits for the ledger, and connections."""
    store = kit.open(policy=Policy(ledger="hedera:testnet"))
    account, inbound, outside = (
        LedgerId(0, 0, 7_001),
        LedgerId(0, 0, 7_002),
        OperatorId(LedgerId(0, 0, 9_002), LedgerId(0, 0, 9_001)),
    )
    store.run_sync(ledger_profiles.sync_entities, name="ana", account=account)
    store.run_sync(_add_inbound_topic, "ana", inbound)
    ana = store.read_sync(directory.find, "ana")
    store.run_sync(ledger_profiles.save_profile, "testnet", ana, {"display_name": "ana \u2028"}, LedgerId(0, 0, 7_003))
    for step in ("topic/inbound/ana", "mail_1/0.0.7/1"):
        id, _ = store.run_sync(ledger_steps.begin_step, "testnet", step, account)
        receipt = LedgerReceipt(topic=inbound, sequence=3)
        store.run_sync(ledger_steps.finish_step, "testnet", step, id, receipt)
    store.run_sync(mail.send, MailSpec(to="ben", payload={"text": "later"}), sender="ana")
    store.run_sync(connections.connect, LedgerId(0, 0, 9_003), None, by="ana", note="Hello?")
    topic = store.read_sync(ledger.find_topic, str(inbound))
    assert store.run_sync(connections.record_request, topic, 4, outside, "Let us talk \u2028") is None
    [request] = store.read_sync(connections.list_page, state=None, viewer="ana", is_incoming=True)
    store.run_sync(connections.accept, request.id)
    store.run_sync(connections.open_connection, request.id, LedgerId(0, 0, 7_004), memo="hcs-10:1:60:2:0.0.7002:4")


def _fill_channels(kit: Kit) -> None:
    """A bot with a person who writes and is asked, a voice message, a rule, and an unrouted message."""
    store = kit.store
    token = TriggerConfig(token="env:SHOP_BOT_TOKEN")  # one that is stored is not exported
    bot = store.run_sync(
        triggers.add, TriggerSpec(name="shop-bot", provider="telegram", config=token, owner="team:web")
    )
    schedule = TriggerConfig(schedule=TriggerSchedule(cron="0 9 * * *", zone="Europe/Berlin"), heartbeat=Heartbeat())
    store.run_sync(triggers.add, TriggerSpec(name="daily", provider="cron", target="ana", config=schedule))
    spec = RouteSpec(name="shop", filters={"payload.repository": "shop"}, targets=("ana", "team:web"), rank=-5)
    store.run_sync(routing_rules.create_rule, spec, by=None)
    store.run_sync(_insert_channel_rows, bot.number)


def _insert_channel_rows(tx: Transaction, bot: int) -> None:
    husam, session = directory.find(tx, "husam").number, "chat-7:user-7"
    ids = {"telegram_chat_id": "7", "telegram_message_id": "1", "telegram_file_id": "f"}
    envelope = Envelope(
        channel="telegram", session=session, kind=EnvelopeKind.VOICE, content="\u2028", metadata=ids, payload=[1, None]
    )
    conversations.set_cursor(tx, bot, 41, 1)
    conversations.ensure_session(
        tx,
        "telegram",
        session,
        trigger=trigger_rows.read(tx, bot),
        person=directory.find(tx, "husam"),
        chat="7",
        user_id="7",
        display="Husam S.",
    )
    id = conversations.insert_pairing(
        tx, bot, chat="7", user_id="7", display="Husam S.", code="c0de", expires_at=tx.now + DAY
    )
    pairing = conversations.find_pairing(tx, id)
    assert pairing is not None
    conversations.end_pairing(tx, pairing.number, PairingState.APPROVED, person=husam, answered_by=husam)
    unrouted_messages.insert(tx, bot, envelope, UnroutedReason.NO_ROUTE, "telegram:shop-bot:7", sender=husam)
    route = Route("telegram", session)
    shared_inbox.record(
        tx, EntryKind.USER_PROMPT, route, "Hello \u2028", trigger=bot, sender=husam, person=husam, metadata=ids
    )
    outgoing.send(tx, bot, "7", "Ship it?", options=[Button("ship", "Ship it")])
    voices.insert(tx, bot, "telegram:shop-bot:8", envelope, tx.now + DAY, person=husam)


def _add_inbound_topic(tx: Transaction, name: str, id: LedgerId) -> None:
    memo = hcs10.build_inbound_memo(LedgerId(0, 0, 7_001))
    topics.insert(tx, "testnet", id, TopicKind.INBOUND, memo, entity=directory.find(tx, name).number)


def _add_checked_gates(kit: Kit) -> None:
    """Gates of the kinds that a process checks, and of those that end by themselves."""
    store = kit.open(policy=Policy(can_run_commands=True, allowed_repositories=("acme/shop",)))
    for spec in (
        GateSpec(name="Tea", owner="ana", kind=GateKind.TIMER, within=20 * DAY),
        GateSpec(name="Ticket", owner="ana", kind=GateKind.EVENT, awaits="service:jira"),
        GateSpec(name="Build", owner="ana", kind=GateKind.CI, awaits="pr:7@acme/shop"),
        GateSpec(name="Tests", owner="ana", kind=GateKind.COMMAND, awaits="make test"),
    ):
        store.run_sync(gates.add, spec, by="admin")


def _stop_builder(store: Store) -> None:
    """A resident with a command, whose call was answered and whose cycle ended at a limit."""
    server = {"name": "files", "command": ["npx", "files"], "env": {"TOKEN": "sk_files"}}
    resident_runs.create_resident(store, "builder", mcp={"servers": [server]})
    run = resident_runs.begin_run(store, "builder")
    store.run_sync(
        run_endings.stop_at_limit, run.run_state.run_lease, 4, RunLimit.STEPS, "Go on later.", summary="Asked first."
    )
    store.run_sync(answer_call, run.run_id, run.call_id, {"sent": [True, None, 0.5]})


def _register_entities(store: Store) -> None:
    for newcomer in (
        EntitySpec(name="admin", kind=EntityKind.HUMAN),
        EntitySpec(name="ana", kind=EntityKind.AGENT, team="web", role="lead", aliases=["bead-1", "bead-2"]),
        EntitySpec(name="ben", kind=EntityKind.AGENT, team="web", owner="ana"),
        EntitySpec(name="cat", kind=EntityKind.AGENT),
        EntitySpec(name="old", kind=EntityKind.AGENT),
        EntitySpec(name="husam", kind=EntityKind.HUMAN, display="Husam", aliases=["0.0.7"]),
    ):
        store.run_sync(directory.register, newcomer)
    store.run_sync(directory.update, "ana", owner="husam")
    store.run_sync(let_own_itself, "cat")
    store.run_sync(directory.retire, "old")


def let_own_itself(tx: Transaction, name: str) -> None:
    """Make an entity its own owner, which the verbs refuse and older stores may hold."""
    entity = directory.find(tx, name)
    columns = get_columns(entity, "number display team role")
    tx.execute("directory/entities/update", display_key=fold_text(entity.display), owner=entity.number, **columns)


def _fill_inboxes(kit: Kit) -> None:
    """Items in every state, some of which are counted only."""
    store, clock = kit.store, kit.clock

    def send(content: str, to: str = "ana", **more: Any) -> str:
        return store.run_sync(push.push_event, Push(to=to, source="test", content=content, **more)).event

    def drain(**more: Any) -> None:
        batch = store.run_sync(inbox.claim, "ana", owner="s-1")
        assert batch.claim is not None
        end = inbox.release if more else inbox.ack
        store.run_sync(end, batch.claim.id, owner="s-1", fence=batch.claim.fence, **more)

    send("long ago", dedup_key="k0")
    drain()
    send("too late", ttl=1)
    clock.advance("2 days")
    store.run_sync(expiry.expire_items)
    clock.advance("2 days")
    assert store.run_sync(retention.reap) > 0
    poison = send("poison")
    for _ in range(5):
        drain(failed_events=[poison])
    send("delivered", dedup_key="k9", sender="husam", ref=Ref("task", "0.0.1"), subject="About", priority=Priority.HIGH)
    send("also delivered", type=EventType.CHANNEL, route=Route("telegram", "chat-1"), trust=Trust.EXTERNAL, hops=3)
    drain()
    store.run_sync(inbox_items.discard, send("put away"))
    send("runs out", ttl=1)
    clock.advance("1 second")
    store.run_sync(expiry.expire_items)
    send("to all", "*", sender="ana")
    send("to a team", "team:web", data={"n": [1, None, "ü\u2028", 1e300]}, dedup_key="team")
    send("being read", "ben", ttl=10**15)
    store.run_sync(inbox.claim, "ben", owner="s-2")
    send("waits", type=EventType.SPACE_MESSAGE, data={"spaceId": "s", "seq": 4}, dedup_key="k1")
    send("urgent", priority=Priority.CRITICAL)


def export_lines(store: Store, *, secrets: bool = True) -> list[bytes]:
    lines: list[bytes] = []
    store.read_sync(export.export_store, lines.append, secrets=secrets)
    return lines


def find_line(lines: Sequence[bytes], table: str) -> int:
    """The index of the last line of a table."""
    return max(index for index, line in enumerate(lines) if line.startswith(b'{"table":"%b"' % table.encode()))


def change_row(lines: Sequence[bytes], table: str, **columns: Any) -> list[bytes]:
    """The same with other values in the last row of a table."""
    index = find_line(lines, table)
    row = json.loads(lines[index])["row"] | columns
    return replace_line(lines, index, json.dumps({"table": table, "row": row}).encode())


def replace_line(lines: Sequence[bytes], index: int, line: bytes) -> list[bytes]:
    changed = [*lines]
    changed[index] = line
    return changed


def remove_table(lines: Sequence[bytes], table: str) -> list[bytes]:
    """The export of the same store after a table was lost."""
    counts = json.loads(lines[-1])["end"]
    del counts[table]
    left = [line for line in lines[:-1] if not line.startswith(b'{"table":"%b"' % table.encode())]
    return [*left, json.dumps({"end": counts}).encode()]


def import_lines(store: Store, lines: Sequence[bytes], *, repair: bool = False) -> Summary:
    return store.run_sync(store_import.import_store, lines, repair=repair)


def dump(url: str) -> dict[str, list[tuple[Any, ...]]]:
    """Every row of every table as the database has it, without Gatepost; what is each database's own is left out."""
    rows = _dump_sqlite(url.removeprefix("sqlite:///")) if url.startswith("sqlite:") else _dump_postgres(url)
    return {table: sorted(found, key=repr) for table, found in rows.items() if found and table != "leases"}


def _dump_sqlite(path: str) -> dict[str, list[tuple[Any, ...]]]:
    database = sqlite3.connect(Path(path))
    try:
        names = [
            name
            for [name] in database.execute(
                "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%'"
            )
        ]
        return {name: database.execute(f'SELECT * FROM "{name}"').fetchall() for name in names}
    finally:
        database.close()


def _dump_postgres(url: str) -> dict[str, list[tuple[Any, ...]]]:
    with psycopg.connect(url) as database:
        tables = database.execute("SELECT tablename FROM pg_tables WHERE schemaname = current_schema()").fetchall()
        rows: dict[str, list[tuple[Any, ...]]] = {}
        for [name] in tables:
            cursor = database.execute(f'SELECT * FROM "{name}"'.encode())
            assert cursor.description is not None
            chosen = [place for place, column in enumerate(cursor.description) if column.name != "xid"]
            rows[name] = [
                tuple(int(row[place]) if isinstance(row[place], bool) else row[place] for place in chosen)
                for row in cursor
            ]
        [last] = database.execute("SELECT last_value FROM arrivals").fetchone() or [0]
        rows["counters"].append(("arrival", last))
    return rows


def check_health(store: Store) -> None:
    assert store.check() == []
    assert store.read_sync(account_actions.find_orphans) == []
    assert store.read_sync(account_actions.find_unbalanced)[0] == []
