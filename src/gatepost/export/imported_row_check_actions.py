"""
Check the values of rows that come from a file.

The schema checks types, references and some words. It does not check that a text is the JSON that the code expects,
that a time can be shown, or that a word is one of a few. A row that the store takes and no verb can read would break
the inbox of an agent later, when nobody thinks of the import any more. So each such value is parsed here, before
anything is committed, by the function that reads it later.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from gatepost.channels.provider import Button
from gatepost.channels.routing import dead_letter_actions as dead_letters, rule_actions as routing_rules
from gatepost.channels.routing.rule import ANY_CHANNEL, MAX_RANK
from gatepost.channels.triggers import actions as trigger_actions, rows as triggers
from gatepost.channels.triggers.trigger import check_trigger_name
from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording import dotted_path
from gatepost.core import address, json_limits as strict
from gatepost.core.times import MAX_INSTANT
from gatepost.directory import key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.directory.key import KeyKind
from gatepost.errors import GatepostError, Invalid, quote_value
from gatepost.gates.condition_check import parse_ci_target
from gatepost.gates.proposed_action import AnswerKind
from gatepost.inbox.event import MAX_HOPS, EventType, Priority, Trust
from gatepost.ledger import topic_rows as topics
from gatepost.ledger.public_ledger import LedgerReceipt, TransactionId
from gatepost.ledger.topic import LedgerId
from gatepost.mail import mail_rows as outgoing, work_item as work
from gatepost.plans import cron
from gatepost.residents import agent_config_json as agent_config, goals_and_memories
from gatepost.residents.runs import rows as runs
from gatepost.residents.runs.cycle_limits import RunLimit

Check = Callable[[Any], object]
#: the largest number in a file, which leaves 2**62 numbers for new rows
MAX_NUMBER: Final = 2**62
#: of the columns for which PostgreSQL has smaller types
_MAXIMA: Final = {"hops": MAX_HOPS, "attempts": 2**15 - 1, "size": 2**31 - 1}
#: nested arrays and objects of a stored value; a push may have fewer, and some values are wrapped
_MAX_DEPTH: Final = 150
#: what parsing raises for a value that is not valid
_ERRORS: Final = (GatepostError, ValueError, TypeError, LookupError, RecursionError)


def check_values(table: str, row: Mapping[str, Any]) -> None:
    """Raise Invalid if a value of a row cannot be read later. The columns and types of the row are right."""
    for column, value in row.items():
        if value is None:
            continue
        try:
            if check := _CHECKS.get((table, column)):
                check(value)
            elif type(value) is int:
                _check_number(column, value)
        except _ERRORS:
            raise Invalid(f"{column!r} of {table!r} is not valid: {quote_value(value)}") from None
    try:
        _check_row(table, row)
    except _ERRORS as error:
        reason = error.message if isinstance(error, GatepostError) else "its columns do not fit each other"
        raise Invalid(f"this row of {table!r} is not valid: {reason}") from None


def _check_number(column: str, value: int) -> None:
    is_instant = column.endswith("_at") or column in ("deadline", "rest_until")
    maximum = MAX_INSTANT if is_instant else _MAXIMA.get(column, MAX_NUMBER)
    if not 0 <= value <= maximum:
        raise ValueError(value)


def _check_filled(value: str) -> None:
    if not value:
        raise ValueError(value)


def _check_data(value: str) -> None:
    """Check JSON of a sender: as strictly as a push, so that every reader can write it as JSON again."""
    document = strict.parse_json(value.encode(), max_depth=_MAX_DEPTH)
    if "\\u" in value:
        json.dumps(document, ensure_ascii=False).encode()
        if "\\u0000" in value.replace("\\\\", ""):
            raise ValueError(value)


def _check_object(value: str) -> None:
    _check_data(value)
    if not isinstance(json.loads(value), dict):
        raise ValueError(value)


def _parse_json(value: str) -> Any:
    """Return the value of a text; raise ValueError if it is not JSON or nested too deep."""
    document = json.loads(value)
    if strict.is_deeper_than(document, _MAX_DEPTH, value.count("[") + value.count("{")):
        raise ValueError("it is nested too deep")
    return document


def _check_config(value: str) -> None:
    agent_config.parse(_parse_json(value))


def _check_channel(value: str) -> None:
    if value != ANY_CHANNEL:
        address.check_name(value)


def _check_filters(value: str) -> None:
    _check_object(value)
    for path in routing_rules.decode_filters(value):
        dotted_path.parse_path(path)


def _check_targets(value: str) -> None:
    for target in routing_rules.decode_targets(value):
        address.parse(target)


def _check_rank(value: int) -> None:
    if not -MAX_RANK <= value <= MAX_RANK:
        raise ValueError(value)


def _check_envelope(value: str) -> None:
    _check_data(value)
    dead_letters.decode_envelope(value)


def _check_reply(value: str) -> None:
    if value:  # `_check_row` says which key may have none
        _parse_json(value)


def _check_event_fields(value: str) -> None:
    _check_data(value)
    dead_letters.decode_event(value)


def _check_key(kind: KeyKind, row: Mapping[str, Any]) -> None:
    if kind in ("page", "link"):
        raise Invalid(f"keys of the kind {kind!r} are not exported", hint="the file was changed after the export")
    entity = row.get("entity")
    keys.check_scope(kind, None if entity is None else str(entity), row.get("trigger_id"))


def _check_row(table: str, row: Mapping[str, Any]) -> None:
    """Raise an error if the values of a row do not fit each other."""
    match table, row:
        case "entities", {"name": name, "kind": kind} if name == ADMINISTRATOR and kind != EntityKind.HUMAN:
            raise Invalid("the administrator is a human")
        case "keys", {"kind": kind}:
            _check_key(kind, row)
        case "names", {"name": name}:
            (address.check_alias if row.get("is_alias") else address.check_name)(name)
        case "plans", {"cron": str(expression)}:
            cron.parse(expression, row.get("zone") or "UTC")
        case "gates", {"kind": "ci" | "command" as kind}:
            _check_awaited(kind, row.get("awaits"))
        case "decisions", {"options": options}:
            _check_action(row.get("action"), row.get("args"), options)
        case "outgoing", {"kind": kind, "data": data, "targets": targets}:
            outgoing.check_record(kind, data, targets, row.get("thread"), row.get("ref_type"))
        case "topics" | "connections", _:
            _check_ledger_row(table, row)
        case "triggers", {"provider": provider, "config": config}:
            trigger_actions.check_config(provider, triggers.decode_config(config))
        case "idempotency_keys", {"digest": digest, "body": ""} if digest:  # a signature, for one, has no digest
            raise Invalid("a request has a reply")
        case "steps", {"kind": kind, "body": body}:
            runs.decode_turn(kind, body)
        case _:
            pass


def _check_awaited(kind: str, awaits: str | None) -> None:
    """Check what a gate awaits that a process checks."""
    if awaits is None:
        raise Invalid(f"a gate of the kind {kind!r} must say what it awaits")
    if kind == "ci":
        parse_ci_target(awaits)


def _check_ledger_row(table: str, row: Mapping[str, Any]) -> None:
    """Raise an error if a topic or a connection lacks what its readers rely on."""
    match table, row:
        case "topics", {"kind": "inbound" | "outbound" | "connection"} if row.get("entity") is None:
            raise Invalid("this kind of topic belongs to an entity")
        case "topics", {"kind": "work"} if row.get("work_item") is None:
            raise Invalid("this kind of topic needs a work item")
        case "connections", {"is_incoming": True} if row.get("request") is None:
            raise Invalid("a connection that an agent outside has asked for needs the request")
        case "connections", {"state": "open" | "closing"} if row.get("peer") is None or row.get("topic") is None:
            raise Invalid("an open connection needs two ends and a topic")
        case _:
            pass


def _check_action(name: str | None, args: str | None, options: str) -> None:
    """Check the action of a decision: it has arguments, and its options are kinds of answers."""
    if (name is None) != (args is None):
        raise Invalid("an action and its arguments go together")
    if name is not None:
        for id, *_ in json.loads(options):
            AnswerKind.parse(id)


_CHECKS: Final[Mapping[tuple[str, str], Check]] = {
    ("entities", "name"): address.check_name,
    ("entities", "team"): address.check_name,
    ("entities", "role"): address.check_name,
    ("events", "type"): EventType,
    ("events", "trust"): Trust,
    ("events", "priority"): Priority,
    ("events", "data"): _check_data,
    ("broadcasts", "priority"): Priority,
    ("items", "priority"): Priority,
    ("messages", "data"): _check_data,
    ("jobs", "payload"): _parse_json,
    ("idempotency_keys", "body"): _check_reply,
    ("agents", "config"): _check_config,
    ("goals", "priority"): goals_and_memories.check_goal_priority,
    ("minds", "summaries"): msgspec.json.Decoder(list[str]).decode,
    ("runs", "limit_reached"): RunLimit,
    ("calls", "result"): _parse_json,
    ("gates", "event_type"): EventType,
    ("decisions", "options"): msgspec.json.Decoder(list[tuple[str, str, str]]).decode,
    ("decisions", "args"): _check_object,
    ("decisions", "urgency"): Priority,
    ("answers", "args"): _check_object,
    ("outgoing", "data"): _check_data,
    ("outgoing", "targets"): msgspec.json.Decoder(list[str]).decode,
    ("ledger_accounts", "account"): topics.check_id,
    ("ledger_accounts", "profile"): _check_object,
    ("ledger_accounts", "profile_topic"): LedgerId.parse,
    ("ledger_payers", "account"): LedgerId.parse,
    ("ledger_steps", "transaction_id"): TransactionId.parse,
    ("ledger_steps", "receipt"): msgspec.json.Decoder(LedgerReceipt).decode,
    ("connections", "peer_account"): LedgerId.parse,
    ("connections", "peer_inbound"): LedgerId.parse,
    ("topics", "id"): topics.check_id,
    ("topics", "running_hash"): topics.decode_hash,
    ("topic_messages", "payer"): LedgerId.parse,
    ("topic_messages", "content"): topics.decode,
    ("topic_messages", "running_hash"): topics.decode_hash,
    ("work_items", "id"): work.check_id,
    ("work_items", "title"): work.check_title,
    ("triggers", "name"): check_trigger_name,
    ("triggers", "provider"): _check_filled,
    ("triggers", "owner"): address.parse,
    ("triggers", "config"): triggers.decode_config,
    ("triggers", "scheme"): Scheme,
    ("triggers", "secret"): _check_filled,
    ("triggers", "target"): address.parse,
    ("route_rules", "channel"): _check_channel,
    ("route_rules", "filters"): _check_filters,
    ("route_rules", "targets"): _check_targets,
    ("route_rules", "rank"): _check_rank,
    ("unrouted", "envelope"): _check_envelope,
    ("unrouted", "event"): _check_event_fields,
    ("shared_entries", "metadata"): msgspec.json.Decoder(dict[str, str]).decode,
    ("channel_messages", "options"): msgspec.json.Decoder(list[Button]).decode,
    ("channel_messages", "sent_ids"): msgspec.json.Decoder(list[str]).decode,
    ("voice_messages", "envelope"): _check_envelope,
}
