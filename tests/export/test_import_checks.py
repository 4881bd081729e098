"""What an import refuses in rows that the schema takes: values that nobody could read later, and hidden rights."""

import json
import random
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.core.times import MAX_INSTANT
from gatepost.directory import entity_actions as directory, entity_rows as entities, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Invalid, NotFound
from gatepost.export import imported_row_check_actions as row_checks
from gatepost.testing import Kit
from tests.export.exports import (
    ADMIN_KEY,
    RIGHTS,
    SECRET,
    change_row,
    check_health,
    dump,
    export_lines,
    fill_store,
    find_line,
    import_lines,
    replace_line,
)
from tests.support.collected_failures import CollectedFailures

DEEP = "[" * 200 + "]" * 200
DEEPER = "[" * 100_000
MAIL_DATA = '{"message_type":"fyi","subject":null,"payload":{},"context":null,"priority":3}'
NOTE_DATA = '{"type":"task.note","from_agent":"ann","note":"x","priority":3}'
CONFIG_WITH_SECRET = '{"mcp":{"servers":[{"name":"files","command":["npx"],"env":{"NODE_OPTIONS":"-r evil"}}]}}'


@pytest.fixture(scope="module")
def lines() -> Sequence[bytes]:
    """The export of a store with a row in every table, with secrets."""
    with Kit() as kit:
        fill_store(kit)
        return tuple(export_lines(kit.store))


@pytest.fixture(scope="module")
def bare_lines() -> Sequence[bytes]:
    """The same without secrets."""
    with Kit() as kit:
        fill_store(kit)
        return tuple(export_lines(kit.store, secrets=False))


@pytest.fixture(scope="module")
def administered() -> Iterator[Kit]:
    """One store for all that is refused: it stays as it is."""
    with Kit() as kit:
        kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        yield kit


def refuse(kit: Kit, lines: Sequence[bytes], *messages: str, line: int) -> None:
    """Check that an import fails at this line with these messages, and leaves the store as it was."""
    store = kit.store  # migrated now
    before = dump(kit.url)
    with pytest.raises(Invalid) as caught:
        import_lines(store, lines)
    assert caught.value.message.startswith(f"line {line}: ")
    assert [message for message in messages if message not in caught.value.message] == [], caught.value.message
    assert "\n" not in caught.value.message
    assert len(caught.value.message) < 300
    assert dump(kit.url) == before


#: tables, columns and values, each of which makes an export unreadable
REFUSED_VALUES: list[tuple[str, str, Any]] = [
    *(("entities", "name", value) for value in ("", "Ana", "all", "a b", "x" * 64)),
    ("entities", "team", "no team"),
    ("entities", "role", "*"),
    ("entities", "created_at", -1),
    ("entities", "retired_at", MAX_INSTANT + 1),
    ("entities", "number", 2**62 + 1),
    ("events", "type", "poem"),
    ("events", "trust", "blind"),
    *(("events", "priority", value) for value in (-1, 5)),
    *(("events", "hops", value) for value in (-1, 10_001, 2**40)),
    ("events", "occurred_at", MAX_INSTANT + 1),
    *(
        ("events", "data", value)
        for value in ("", "{torn", "NaN", "[1e999]", "1 2", DEEP, DEEPER, r'"\ud800"', r'"\u0000"')
    ),
    ("broadcasts", "priority", 7),
    ("pending", "priority", -1),
    ("past", "priority", 5),
    *(("pending", "attempts", value) for value in (-1, 2**15)),
    ("pending", "size", 2**31),
    ("pending", "seen_at", 2**62),
    ("claims", "deadline", 2**62),
    ("inboxes", "fence", 2**63 - 1),
    ("inboxes", "cursor", -1),
    *(("messages", "data", value) for value in ("{torn", "Infinity", DEEP)),
    ("messages", "seq", -1),
    *(("jobs", "payload", value) for value in ("", "{torn", DEEP, DEEPER)),
    *(("idempotency_keys", "body", value) for value in ("{torn", DEEP)),
    *(("agents", "config", value) for value in ("", "{torn", "[]", '{"model":"magic"}', '{"colour":1}', DEEP, DEEPER)),
    (
        "agents",
        "config",
        json.dumps({"tools": [{"name": "t", "inputSchema": {"type": "object", "x": json.loads(DEEP)}}]}),
    ),
    ("agents", "rest_until", 2**60),
    ("goals", "priority", 1_001),
    *(("entities", "skills", value) for value in ("", "x", "[1]", '{"a":"b"}')),
    *(("minds", "summaries", value) for value in ("", '"x"', "[1]", '{"a":"b"}', DEEPER)),
    ("runs", "limit_reached", "patience"),
    *(("calls", "result", value) for value in ("", "{torn", DEEP, DEEPER)),
    ("gates", "event_type", "poem"),
    *(
        ("decisions", "options", value)
        for value in ("", "{}", "[1]", '["abc"]', '[["a","b"]]', '[["a","b",3]]', DEEPER)
    ),
    *(("decisions", "args", value) for value in ("", "{torn", "[]", '{"a":NaN}', DEEP)),
    ("decisions", "urgency", 9),
    *(("answers", "args", value) for value in ("", "{torn", '"x"', DEEP)),
    *(("outgoing", "data", value) for value in ("", "{torn", '{"a":NaN}', DEEP)),
    *(("outgoing", "targets", value) for value in ("", "{}", "[1]")),
    *(("work_items", "id", value) for value in ("", "a b", "x" * 129)),
    *(("work_items", "title", value) for value in ("", "two\nlines", "x" * 201)),
    *(("ledger_accounts", "account", value) for value in ("", "0.0", "1.0.7")),
    *(("ledger_accounts", "profile", value) for value in ("", "{torn", "[]", '{"a":NaN}')),
    ("ledger_accounts", "profile_topic", "0.0"),
    *(("ledger_payers", "account", value) for value in ("", "ana")),
    ("ledger_payers", "last_start", -1),
    *(("ledger_steps", "transaction_id", value) for value in ("", "0.0.7", "0.0.7@1", "ana@1700000000.000000001")),
    *(("ledger_steps", "receipt", value) for value in ("", "{torn", "[]", '{"topic":"0.0.7"}', '{"sequence":1.5}')),
    *(("connections", "peer_account", value) for value in ("", "ana")),
    *(("connections", "peer_inbound", value) for value in ("", "0.0")),
    ("connections", "hour", -1),
    *(("topics", "id", value) for value in ("", "0.0.x", "0.1.7")),
    *(("topics", "running_hash", value) for value in ("", "AAAA", "\u00e9")),
    *(("topic_messages", "payer", value) for value in ("", "ana")),
    ("topic_messages", "content", "\u00e9"),
    *(("topic_messages", "running_hash", value) for value in ("", "AAAA")),
    ("triggers", "name", "No Name"),
    ("triggers", "provider", ""),
    ("triggers", "owner", "team:"),
    ("triggers", "config", "[]"),
    ("route_rules", "channel", "No Channel"),
    ("route_rules", "filters", '["a"]'),
    ("route_rules", "filters", '{"a..b":1}'),
    ("route_rules", "targets", '"ana"'),
    ("route_rules", "targets", '["team:"]'),
    ("route_rules", "rank", 1_000_001),
    ("unrouted", "envelope", "{}"),
    ("unrouted", "event", '{"priority":9}'),
    ("shared_entries", "metadata", '{"a":1}'),
    ("channel_messages", "options", '[{"id":"a"}]'),
    ("channel_messages", "sent_ids", "[1]"),
    ("voice_messages", "envelope", "{}"),
    ("triggers", "scheme", "trust-me"),
    ("triggers", "secret", ""),
    ("triggers", "target", "team:"),
]

#: tables, other values of a row that do not fit each other, and the reason
REFUSED_ROWS: list[tuple[str, dict[str, Any], str]] = [
    ("entities", {"name": "admin", "kind": "agent"}, "the administrator is a human"),
    ("names", {"name": "team:web", "is_alias": True}, "'team:web' is not an alias"),
    ("names", {"name": "No Name", "is_alias": False}, "'No Name' is not a name"),
    ("keys", {"kind": "admin", "entity": 2, "trigger_id": None}, "is not for one entity or trigger"),
    ("keys", {"kind": "public", "entity": 2}, "is not for one entity or trigger"),
    ("keys", {"kind": "agent", "entity": None}, "an agent's key needs the agent"),
    ("keys", {"kind": "page", "entity": 2}, "keys of the kind 'page' are not exported"),
    ("keys", {"kind": "link", "entity": 2}, "keys of the kind 'link' are not exported"),
    ("keys", {"kind": "trigger", "entity": None, "trigger_id": None}, "a trigger's key needs the trigger"),
    ("plans", {"cron": "61 * * * *"}, "61 * * * *"),
    ("plans", {"cron": "0 0 31 2 *"}, "0 0 31 2 *"),
    ("plans", {"cron": "0 9 * * *", "zone": "Mars/Olympus"}, "Mars/Olympus"),
    ("gates", {"kind": "ci", "awaits": "rm -rf"}, "rm -rf"),
    ("gates", {"kind": "ci", "awaits": None}, "must say what it awaits"),
    ("gates", {"kind": "command", "awaits": None}, "must say what it awaits"),
    ("decisions", {"action": "send_invoice", "args": None}, "an action and its arguments must be given together"),
    ("decisions", {"action": None, "args": "{}"}, "an action and its arguments must be given together"),
    (
        "decisions",
        {"action": "send_invoice", "args": "{}", "options": '[["yes","Yes",""]]'},
        "'yes' is not a kind of answer to an action",
    ),
    ("outgoing", {"kind": "mail", "data": "{}"}, "its columns do not fit each other"),
    ("outgoing", {"kind": "mail", "data": MAIL_DATA, "targets": "[]"}, "mail needs a recipient and a thread"),
    ("outgoing", {"kind": "mail", "data": MAIL_DATA, "thread": None}, "mail needs a recipient and a thread"),
    (
        "outgoing",
        {"kind": "note", "data": NOTE_DATA, "ref_type": None},
        "a note or an event needs a work item",
    ),
    ("outgoing", {"kind": "note", "data": NOTE_DATA.replace("3", "9")}, "its columns do not fit each other"),
    (
        "outgoing",
        {"kind": "event", "data": '{"type":"task.blocked","from_agent":"ann"}'},
        "its columns do not fit each other",
    ),
    *(
        ("topics", {"kind": kind, "entity": None}, "this kind of topic belongs to an entity")
        for kind in ("inbound", "outbound", "connection")
    ),
    ("topics", {"kind": "work", "work_item": None}, "this kind of topic needs a work item"),
    ("connections", {"is_incoming": True, "request": None}, "has asked for needs the request"),
    ("connections", {"state": "open", "peer": None}, "an open connection needs two ends and a topic"),
    ("connections", {"state": "closing", "topic": None}, "an open connection needs two ends and a topic"),
    ("triggers", {"config": '{"templates":[{}]}'}, "templates[0]: it says nothing of the payload"),
    ("idempotency_keys", {"body": ""}, "this idempotency key lacks its stored reply"),
    ("triggers", {"config": '{"token":"1:secret"}'}, "a trigger of 'webhook' has no token"),
    (
        "triggers",
        {"provider": "telegram", "scheme": None, "config": '{"token":"1:secret"}'},
        "token: it names no variable",
    ),
    ("triggers", {"provider": "cron", "scheme": None}, "a cron trigger needs a schedule"),
    ("steps", {"kind": "prompt", "body": "{torn"}, "its columns do not fit each other"),
    ("steps", {"kind": "prompt", "body": '{"text":1}'}, "its columns do not fit each other"),
    ("steps", {"kind": "prompt", "body": '{"text":"x","more":' + DEEPER}, "its columns do not fit each other"),
    ("steps", {"kind": "reply", "body": '{"calls":[{"id":"c1"}]}'}, "its columns do not fit each other"),
    ("steps", {"kind": "result", "body": '{"text":"a prompt"}'}, "its columns do not fit each other"),
    ("steps", {"kind": "poem", "body": "{}"}, "its columns do not fit each other"),
]


def isolate_row(lines: Sequence[bytes], table: str, **columns: Any) -> list[bytes]:
    """The first line of an export, and the last row of a table with other values: a row is checked by itself."""
    return [lines[0], change_row(lines, table, **columns)[find_line(lines, table)]]


def name_cases(cases: Sequence[tuple[str, Any, Any]]) -> list[str]:
    """Short names: some values are long."""
    return [f"{number} {case[0]}" for number, case in enumerate(cases)]


class TestValues:
    def test_that_nobody_could_read_are_refused(self, administered: Kit, lines: Sequence[bytes]) -> None:
        with CollectedFailures() as failures:
            for table, column, value in REFUSED_VALUES:
                with failures.check(f"{table}.{column} = {value!r:.40}"):
                    changed = isolate_row(lines, table, **{column: value})
                    refuse(administered, changed, f"'{column}' of '{table}' is not valid: ", line=2)

    def test_that_do_not_fit_each_other_are_refused(self, administered: Kit, lines: Sequence[bytes]) -> None:
        with CollectedFailures() as failures:
            for table, values, reason in REFUSED_ROWS:
                with failures.check(f"{table} {values!r:.80}"):
                    changed = isolate_row(lines, table, **values)
                    refuse(administered, changed, f"this row of '{table}' is not valid: ", reason, line=2)

    def test_are_refused_after_many_rows(self, administered: Kit, lines: Sequence[bytes]) -> None:
        table, column, value = REFUSED_VALUES[-1]
        changed = change_row(lines, table, **{column: value})
        message = f"'{column}' of '{table}' is not valid: "
        refuse(administered, changed, message, line=find_line(lines, table) + 1)

    def test_of_every_checked_column_are_in_these_tests(self, lines: Sequence[bytes]) -> None:
        """Each check refuses a value above, and takes one of a well-filled store."""
        rows = [json.loads(line) for line in lines[1:-1]]
        filled = {(document["table"], column) for document in rows for column in document["row"]}
        checked = {tuple(column.split(".")) for column in row_checks._CHECKS}
        assert checked <= filled
        assert checked <= {(table, column) for table, column, _ in REFUSED_VALUES}
        assert {row["kind"] for row in select_rows(rows, "steps")} == {"prompt", "reply", "result"}
        assert {row["kind"] for row in select_rows(rows, "keys")} == {"admin", "agent", "trigger", "public"}
        assert len({row["scheme"] for row in select_rows(rows, "triggers") if "scheme" in row}) == 6
        assert len({row["kind"] for row in select_rows(rows, "gates")}) == 7
        assert [row["cron"] for row in select_rows(rows, "plans") if "cron" in row]

    def test_of_a_well_filled_store_are_taken(self, lines: Sequence[bytes], bare_lines: Sequence[bytes]) -> None:
        for line in (*lines[1:-1], *bare_lines[1:-1]):
            document = json.loads(line)
            row_checks.check_values(document["table"], document["row"])

    @pytest.mark.parametrize("data", ["[" * 128 + "]" * 128, r'"\\u0000 \u00e9 \ud83d\ude00"', "-1e300"])
    def test_at_the_limit_are_taken(self, kit: Kit, lines: Sequence[bytes], data: str) -> None:
        values: dict[str, dict[str, Any]] = {
            "events": {"data": data, "occurred_at": MAX_INSTANT, "hops": 10_000},
            "pending": {"attempts": 2**15 - 1, "size": 2**31 - 1, "expires_at": None},
            "goals": {"priority": -1_000},
            "calls": {"result": "NaN"},
            "inboxes": {"fence": 2**62},
        }
        changed = lines
        for table, columns in values.items():
            changed = change_row(changed, table, **columns)
        assert import_lines(kit.store, changed).omissions == []

    def test_are_left_out_and_said_in_a_repair(self, kit: Kit, lines: Sequence[bytes]) -> None:
        changed = change_row(lines, "jobs", payload="{torn")
        changed = change_row(changed, "steps", kind="reply", body="{torn")
        changed = change_row(changed, "goals", priority=2**40)
        summary = import_lines(kit.store, changed, repair=True)
        assert sorted(summary.omissions) == sorted(
            [
                f"line {find_line(lines, 'jobs') + 1}: 'payload' of 'jobs' is not valid: '{{torn'",
                f"line {find_line(lines, 'steps') + 1}: this row of 'steps' is not valid:"
                " its columns do not fit each other",
                f"line {find_line(lines, 'goals') + 1}: 'priority' of 'goals' is not valid: {2**40}",
            ]
        )
        assert summary.rows.total() == len(lines) - 2 - 3
        check_health(kit.store)


class TestHead:
    @pytest.mark.parametrize("value", ["1", "0", "null", '"no"', "[]", "{}"])
    def test_says_whether_there_are_secrets(self, administered: Kit, lines: Sequence[bytes], value: str) -> None:
        head = lines[0].replace(b'"secrets":true', f'"secrets":{value}'.encode())
        refuse(administered, replace_line(lines, 0, head), "'secrets' must be true or false, not ", line=1)

    def test_must_say_it(self, administered: Kit, lines: Sequence[bytes]) -> None:
        head = lines[0].replace(b',"secrets":true', b"")
        refuse(administered, replace_line(lines, 0, head), "'secrets' must be true or false, not null", line=1)

    @pytest.mark.parametrize(("old", "new"), [(b'"format":2', b'"format":2.0'), (b'"format":2', b'"format":"2"')])
    def test_has_numbers(self, administered: Kit, lines: Sequence[bytes], old: bytes, new: bytes) -> None:
        refuse(administered, replace_line(lines, 0, lines[0].replace(old, new)), "the export has format ", line=1)

    def test_is_not_nested(self, administered: Kit, lines: Sequence[bytes]) -> None:
        head = lines[0].replace(b'"secrets":true', f'"secrets":{DEEP}'.encode())
        refuse(administered, replace_line(lines, 0, head), "it is nested over 100 deep", line=1)


class TestCounters:
    @pytest.mark.parametrize(
        "row",
        [
            {"name": "arrival", "value": True},
            {"name": "arrival", "value": -1},
            {"name": "arrival", "value": 1.0},
            {"name": "arrival", "value": "1"},
            {"name": "arrival", "value": None},
            {"name": "arrival", "value": 2**62 + 1},
            {"name": "broadcast", "value": 10**30},
            {"name": "arrival"},
            {"name": "arrival", "value": 1, "more": 1},
            {"name": "other", "value": 1},
            {"name": ["arrival"], "value": 1},
            [],
        ],
    )
    def test_are_two_whole_numbers(self, administered: Kit, lines: Sequence[bytes], row: Any) -> None:
        changed = replace_line(lines, 1, json.dumps({"table": "counters", "row": row}).encode())
        refuse(administered, changed, "this is not a row of 'counters'", line=2)

    def test_are_there_once(self, administered: Kit, lines: Sequence[bytes]) -> None:
        refuse(administered, replace_line(lines, 2, lines[1]), "this is not a row of 'counters'", line=3)


Change = Callable[[Sequence[bytes]], list[bytes]]

#: how somebody puts a secret into an export without secrets, and what the import says
HIDDEN_RIGHTS: list[tuple[str, Change, str]] = [
    (
        "keys",
        lambda lines: change_row(lines, "keys", kind="admin", entity=None),
        "a key of the administrator: 'sk_lost----'",
    ),
    (
        "agents",
        lambda lines: change_row(lines, "agents", config=CONFIG_WITH_SECRET),
        "headers or environment variables of the tools of entity 8",
    ),
    ("triggers", lambda lines: change_row(lines, "triggers", active=True), "an open trigger: 'to-stripe'"),
    ("triggers", lambda lines: change_row(lines, "triggers", secret=SECRET), "the secret of a trigger: 'to-stripe'"),
]


class TestRights:
    def test_are_listed(self, kit: Kit, lines: Sequence[bytes]) -> None:
        assert import_lines(kit.store, lines).rights == RIGHTS

    def test_without_secrets_are_few(self, kit: Kit, bare_lines: Sequence[bytes]) -> None:
        rights = import_lines(kit.store, bare_lines).rights
        assert rights == [right for right in RIGHTS if "trigger:" not in right and "administrator" not in right]

    def test_of_a_closed_trigger_are_its_secret(self, kit: Kit, lines: Sequence[bytes]) -> None:
        rights = import_lines(kit.store, change_row(lines, "triggers", active=False)).rights
        assert "the secret of a trigger: 'to-stripe'" in rights
        assert "an open trigger: 'to-stripe'" not in rights

    def test_that_have_ended_are_not_listed(self, kit: Kit, lines: Sequence[bytes]) -> None:
        """A revoked key, and the command of a gate that is no longer checked."""
        [index] = [index for index, line in enumerate(lines) if b'"awaits":"make test"' in line]
        gate = json.loads(lines[index])["row"] | {"ended_at": 1}
        changed = replace_line(lines, index, json.dumps({"table": "gates", "row": gate}).encode())
        changed = change_row(changed, "keys", kind="admin", entity=None)
        assert "revoked_at" in json.loads(changed[find_line(lines, "keys")])["row"]
        assert import_lines(kit.store, changed).rights == [right for right in RIGHTS if "of a gate" not in right]

    def test_of_a_key_that_acts_as_the_administrator_are_listed(self, kit: Kit, bare_lines: Sequence[bytes]) -> None:
        changed = change_row(bare_lines, "keys", entity=1, revoked_at=None)
        assert "a key that acts as the administrator: 'sk_lost----'" in import_lines(kit.store, changed).rights

    def test_show_no_control_characters(self, kit: Kit, lines: Sequence[bytes]) -> None:
        changed = change_row(lines, "keys", kind="admin", entity=None, prefix="\x1b[2J\u202e", revoked_at=None)
        assert "a key of the administrator: '\\x1b[2J\\u202e'" in import_lines(kit.store, changed).rights

    @pytest.mark.parametrize(("table", "change", "right"), HIDDEN_RIGHTS, ids=name_cases(HIDDEN_RIGHTS))
    def test_that_are_hidden_are_refused(
        self, administered: Kit, bare_lines: Sequence[bytes], table: str, change: Change, right: str
    ) -> None:
        message = f"the row has {right}, and line 1 says that there are no secrets"
        refuse(administered, change(bare_lines), message, line=find_line(bare_lines, table) + 1)

    @pytest.mark.parametrize(("table", "change", "right"), HIDDEN_RIGHTS, ids=name_cases(HIDDEN_RIGHTS))
    def test_that_are_hidden_are_left_out_in_a_repair(
        self, bare_lines: Sequence[bytes], table: str, change: Change, right: str
    ) -> None:
        with Kit() as kit:
            summary = import_lines(kit.store, change(bare_lines), repair=True)
            [omission] = summary.omissions
            assert omission.startswith(f"line {find_line(bare_lines, table) + 1}: the row has {right}")
            assert right not in summary.rights
            assert kit.store.read_sync(keys.find, ADMIN_KEY) is None
            assert kit.store.read_sync(keys.find, f"sk_{'lost':-<43}") is None
            with pytest.raises(NotFound):
                kit.store.read_sync(webhooks.find_open_trigger, "to-stripe")


class TestReferences:
    @pytest.mark.parametrize("owner", [0, 99])
    def test_within_a_table_are_explained(self, kit: Kit, lines: Sequence[bytes], owner: int) -> None:
        message = f"'owner' of 'entities' is {owner}, and 'entities' has no such row"
        refuse(kit, change_row(lines, "entities", owner=owner), message, line=find_line(lines, "entities") + 1)

    def test_to_a_row_that_was_removed_before_are_explained(self, kit: Kit, lines: Sequence[bytes]) -> None:
        index = find_line(lines, "entities") - 5
        number = json.loads(lines[index])["row"]["number"]
        renumbered = json.loads(lines[index])["row"] | {"number": 50}
        changed = replace_line(lines, index, json.dumps({"table": "entities", "row": renumbered}).encode())
        changed = change_row(changed, "entities", owner=number)
        message = f"is {number}, and 'entities' has no such row"
        with pytest.raises(Invalid, match=message):
            import_lines(kit.store, changed)


def test_a_text_that_is_too_long_for_an_index_names_its_line(empty_postgres_url: str, lines: Sequence[bytes]) -> None:
    key = random.Random(1).randbytes(20_000).hex()
    with Kit(empty_postgres_url) as kit:
        message = "the store does not take this row of 'dedup_keys': index row"
        refuse(kit, change_row(lines, "dedup_keys", dedup_key=key), message, line=find_line(lines, "dedup_keys") + 1)


def select_rows(documents: Sequence[dict[str, Any]], table: str) -> list[dict[str, Any]]:
    return [document["row"] for document in documents if document["table"] == table]


def test_how_an_entity_is_looked_up_is_not_taken_from_the_file(lines: Sequence[bytes]) -> None:
    changed = change_row(lines, "entities", display="M\u00e1laga", display_key="nobody")
    with Kit() as kit:
        import_lines(kit.store, changed)
        assert kit.store.read_sync(entities.is_shown, "M\u00c1LAGA")
        assert not kit.store.read_sync(entities.is_shown, "nobody")
