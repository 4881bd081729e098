"""
Check the values of rows that come from a file.

The schema checks types, references and some words. It does not check that a text is the JSON that the code expects,
that a time can be shown, or that a word is one of a few. A row that the store takes and no verb can read would break
the inbox of an agent later, when nobody thinks of the import any more. So each such value is read here, before
anything is committed, by what reads it later; a record that is more than its values is made of the row as a whole.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Final

from msgspec import Meta

from gatepost.channels.provider import Button
from gatepost.channels.routing import rule_actions as routing_rules, unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.rule import ANY_CHANNEL, MAX_RANK
from gatepost.channels.triggers import actions as trigger_actions, rows as triggers
from gatepost.channels.triggers.trigger import check_trigger_name
from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording.dotted_path import parse_path
from gatepost.core import address, json_limits as strict, typed_json
from gatepost.core.times import MAX_INSTANT
from gatepost.directory import key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.gates.condition_check import parse_ci_target
from gatepost.gates.proposed_action import AnswerKind
from gatepost.inbox.event import MAX_HOPS, EventType, Priority, Trust
from gatepost.ledger import topic_rows as topics
from gatepost.ledger.public_ledger import LedgerReceipt, TransactionId
from gatepost.ledger.topic import LedgerId
from gatepost.mail import sent_record_rows as outgoing, work_item as work
from gatepost.plans import cron
from gatepost.residents import agent_config_json as agent_config, goal_and_memory
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.cycle_limits import RunLimit

Row = Mapping[str, Any]
Check = Callable[[Any], object]
#: the largest number in a file, which leaves 2**62 numbers for new rows
MAX_NUMBER: Final = 2**62
#: of the columns for which PostgreSQL has smaller types
_MAXIMA: Final = {"hops": MAX_HOPS, "attempts": 2**15 - 1, "size": 2**31 - 1, "times": 2**31 - 1}
#: nested arrays and objects of a stored value; a push may have fewer, and some values are wrapped
_MAX_DEPTH: Final = 150
#: what parsing raises for a value that is not valid
_ERRORS: Final = (GatepostError, ValueError, TypeError, LookupError, RecursionError)


def check_values(table: str, row: Row) -> None:
    """Raise Invalid if a value of a row cannot be read later. The columns and types of the row are right."""
    for column, value in row.items():
        if value is None:
            continue
        try:
            if checks := _CHECKS.get(f"{table}.{column}"):
                for check in checks:
                    check(value)
            elif type(value) is int:
                _check_number(column, value)
        except _ERRORS:
            raise Invalid(f"{column!r} of {table!r} is not valid: {quote_value(value)}") from None
    try:
        for has_conflict, reason in _CONFLICTS.get(table, ()):
            if has_conflict(row):
                raise Invalid(reason.format_map(row))
        if read_row := _ROW_READERS.get(table):
            read_row(row)
    except _ERRORS as error:
        reason = error.message if isinstance(error, GatepostError) else "its columns do not fit each other"
        raise Invalid(f"this row of {table!r} is not valid: {reason}") from None


def _check_number(column: str, value: int) -> None:
    is_instant = column.endswith("_at") or column in ("deadline", "rest_until")
    maximum = MAX_INSTANT if is_instant else _MAXIMA.get(column, MAX_NUMBER)
    if not 0 <= value <= maximum:
        raise ValueError(value)


def _check_data(value: str) -> None:
    """Check JSON of a sender: as strictly as a push, so that every reader can write it as JSON again."""
    document = strict.parse_json(value.encode(), max_depth=_MAX_DEPTH)
    if "\\u" in value:
        json.dumps(document, ensure_ascii=False).encode()
        if "\\u0000" in value.replace("\\\\", ""):
            raise ValueError(value)


def _check_depth(value: str) -> None:
    """Raise ValueError if a text is not JSON, or nested too deep."""
    if strict.is_deeper_than(json.loads(value), _MAX_DEPTH, value.count("[") + value.count("{")):
        raise ValueError("it is nested too deep")


def _fits(kind: Any) -> Check:
    """Return a check of a value."""
    return partial(typed_json.convert, kind=kind)


def _reads(kind: Any) -> Check:
    """Return a check of a text that is JSON."""
    return typed_json.make_decoder(kind)


#: columns, and what checks a value in them
_COLUMN_CHECKS: Final[Sequence[tuple[str, *tuple[Check, ...]]]] = (
    ("entities.name entities.team entities.role", address.check_name),
    ("events.type gates.event_type", EventType),
    ("events.trust", Trust),
    ("events.priority broadcasts.priority pending.priority past.priority decisions.urgency", Priority),
    ("events.data messages.data outgoing.data", _check_data),
    ("jobs.payload calls.result", _check_depth),
    ("idempotency_keys.body", lambda value: _check_depth(value or "null")),
    ("agents.config", _check_depth, agent_config.decode),
    ("entities.skills", _reads(list[str])),
    ("goals.priority", goal_and_memory.check_goal_priority),
    ("runs.limit_reached", RunLimit),
    ("decisions.options", _reads(list[tuple[str, str, str]])),
    ("decisions.args answers.args ledger_accounts.profile", _check_data, _reads(dict)),
    ("minds.summaries outgoing.targets channel_messages.sent_ids", _reads(list[str])),
    ("ledger_accounts.account topics.id", topics.check_id),
    ("ledger_accounts.profile_topic ledger_payers.account topic_messages.payer", LedgerId.parse),
    ("connections.peer_account connections.peer_inbound", LedgerId.parse),
    ("ledger_steps.transaction_id", TransactionId.parse),
    ("ledger_steps.receipt", _reads(LedgerReceipt)),
    ("topics.running_hash topic_messages.running_hash", topics.decode_hash),
    ("topic_messages.content", topics.decode),
    ("work_items.id", work.check_id),
    ("work_items.title", work.check_title),
    ("triggers.name", check_trigger_name),
    ("triggers.provider triggers.secret", _fits(Annotated[str, Meta(min_length=1)])),
    ("triggers.owner triggers.target", address.parse),
    ("triggers.config", triggers.decode_config),
    ("triggers.scheme", Scheme),
    ("route_rules.channel", lambda value: value == ANY_CHANNEL or address.check_name(value)),
    ("route_rules.filters", _check_data, lambda value: [*map(parse_path, routing_rules.decode_filters(value))]),
    ("route_rules.targets", lambda value: [*map(address.parse, routing_rules.decode_targets(value))]),
    ("route_rules.rank", _fits(Annotated[int, Meta(ge=-MAX_RANK, le=MAX_RANK)])),
    ("unrouted.envelope voice_messages.envelope", _check_data, unrouted_messages.decode_envelope),
    ("unrouted.event", _check_data, unrouted_messages.decode_event),
    ("shared_entries.metadata", _reads(dict[str, str])),
    ("channel_messages.options", _reads(list[Button])),
)
_CHECKS: Final[Mapping[str, Sequence[Check]]] = {
    column: checks for columns, *checks in _COLUMN_CHECKS for column in columns.split()
}

#: what the rows of a table cannot be, and why
_CONFLICTS: Final[Mapping[str, Sequence[tuple[Callable[[Row], object], str]]]] = {
    "entities": [
        (lambda row: row["name"] == ADMINISTRATOR and row["kind"] != EntityKind.HUMAN, "the administrator is a human")
    ],
    "keys": [(lambda row: row["kind"] in ("page", "link"), "keys of the kind {kind!r} are not exported")],
    "gates": [
        (
            lambda row: row["kind"] in ("ci", "command") and row.get("awaits") is None,
            "a gate of the kind {kind!r} must say what it awaits",
        )
    ],
    "decisions": [
        (
            lambda row: (row.get("action") is None) != (row.get("args") is None),
            "an action and its arguments must be given together",
        )
    ],
    "topics": [
        (
            lambda row: row["kind"] in ("inbound", "outbound", "connection") and row.get("entity") is None,
            "this kind of topic belongs to an entity",
        ),
        (
            lambda row: row["kind"] == "work" and row.get("work_item") is None,
            "this kind of topic needs a work item",
        ),
    ],
    "connections": [
        (
            lambda row: row["is_incoming"] and row.get("request") is None,
            "a connection that an agent outside has asked for needs the request",
        ),
        (
            lambda row: row["state"] in ("open", "closing") and None in (row.get("peer"), row.get("topic")),
            "an open connection needs two ends and a topic",
        ),
    ],
    # a signature, for one, has no digest
    "idempotency_keys": [
        (lambda row: row.get("digest") and not row["body"], "this idempotency key lacks its stored reply")
    ],
}

#: what reads several values of a row together
_ROW_READERS: Final[Mapping[str, Callable[[Row], object]]] = {
    "keys": lambda row: keys.check_scope(row["kind"], row.get("entity"), row.get("trigger_id")),
    "names": lambda row: (address.check_alias if row["is_alias"] else address.check_name)(row["name"]),
    "plans": lambda row: row.get("cron") and cron.parse(row["cron"], row.get("zone") or "UTC"),
    "gates": lambda row: row["kind"] == "ci" and parse_ci_target(row["awaits"]),
    "decisions": lambda row: row.get("action") and [AnswerKind.parse(id) for id, *_ in json.loads(row["options"])],
    "outgoing": outgoing.check_row,
    "triggers": lambda row: trigger_actions.check_config(row["provider"], triggers.decode_config(row["config"])),
    "steps": lambda row: runs.decode_turn(row["kind"], row["body"]),
}
