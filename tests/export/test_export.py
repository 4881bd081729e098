"""Exports: what is in one, which files are refused, and that a refused one leaves the store as empty as it was."""

import functools
import json
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from gatepost.channels.triggers import actions as triggers
from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.core.ports import Reader
from gatepost.core.times import MINUTE
from gatepost.directory import entity_actions as directory, key_actions as keys
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound
from gatepost.export import catalog_rows as catalog, export_actions as export, import_actions as store_import
from gatepost.export.export_actions import COUNTERS, TABLES
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Push
from gatepost.inbox.push import actions as push
from gatepost.jobs import lease_actions as leases
from gatepost.residents import agent_actions as agents
from gatepost.spaces import actions as spaces
from gatepost.stores.row_mapping import is_boolean
from gatepost.testing import Kit
from tests.export.exports import (
    ADMIN_KEY,
    AGENT_KEY,
    SECRET,
    change_row,
    check_health,
    dump,
    export_lines,
    fill_store,
    find_line,
    import_lines,
    remove_table,
    replace_line,
)


@pytest.fixture(scope="module")
def lines() -> Sequence[bytes]:
    """The export of a store with a row in every table."""
    with Kit() as kit:
        fill_store(kit)
        return tuple(export_lines(kit.store))


class TestDeclaration:
    """The few things that are not read from the catalog."""

    @pytest.fixture
    def columns(self, kit: Kit) -> list[Any]:
        return kit.store.read_sync(lambda tx: tx.fetch_all("export/catalog/list_columns"))

    def test_every_table_is_exported_or_left_out_on_purpose(self, columns: list[Any]) -> None:
        assert {row.table_name for row in columns} == {*TABLES, COUNTERS, "leases", "schema_version"}

    def test_tables_come_after_those_that_they_refer_to(self, kit: Kit) -> None:
        tables = kit.store.read_sync(catalog.read_tables, TABLES)
        for table in tables.values():
            assert table.key, table
            for column in table.columns.values():
                assert column.parent is None or TABLES.index(column.parent) <= TABLES.index(table.name)
                assert column.parent is None or len(tables[column.parent].key) == 1

    def test_truth_values_are_those_of_postgres(self, empty_postgres_url: str) -> None:
        with Kit(empty_postgres_url) as kit:
            columns = kit.store.read_sync(lambda tx: tx.fetch_all("export/catalog/list_columns"))
        assert [row.column_name for row in columns if is_boolean(row.column_name) != (row.type == "boolean")] == []

    def test_both_databases_have_the_same_columns_in_the_same_order(self, empty_postgres_url: str) -> None:
        with Kit() as kit, Kit(empty_postgres_url) as other:
            ours, theirs = (one.store.read_sync(catalog.read_tables, TABLES) for one in (kit, other))

        def describe(tables: dict[str, catalog.Table]) -> Any:
            return [
                (table.name, table.key, [(one.name, one.kind, one.is_required, one.parent) for one in columns])
                for table in tables.values()
                if (columns := [*table.columns.values()])
            ]

        assert describe(ours) == describe(theirs)


class TestFormat:
    def test_the_first_line_says_what_it_is_and_the_last_how_much(self, lines: Sequence[bytes]) -> None:
        head, end = json.loads(lines[0]), json.loads(lines[-1])
        assert head == {
            "gatepost": "export",
            "format": 2,
            "schema": head["schema"],
            "createdAt": "2026-02-22T09:00:04Z",
            "secrets": True,
        }
        assert sum(end["end"].values()) == len(lines) - 2
        assert {*end["end"]} == {*TABLES, COUNTERS}, "a row in every table"
        assert end["unreadable"] == []

    def test_a_row_has_the_types_of_json(self, lines: Sequence[bytes]) -> None:
        row = json.loads(lines[find_line(lines, "pending")])["row"]
        assert row["wakes"] is True
        assert isinstance(row["arrival"], int)
        assert None not in row.values()

    def test_leases_and_transactions_are_not_in_it(self, kit: Kit) -> None:
        fill_store(kit)
        text = b"".join(export_lines(kit.store))
        assert b'"table":"leases"' not in text
        assert b'"xid"' not in text


class TestSecrets:
    def test_are_left_out_unless_asked_for(self, kit: Kit) -> None:
        with Kit(clock=kit.clock) as source:
            fill_store(source)
            lines = export_lines(source.store, secrets=False)
            text = b"".join(lines)
            for secret in (SECRET, ADMIN_KEY[:11], "sk_crm"):
                assert secret.encode() not in text
                assert secret.encode() in b"".join(export_lines(source.store))
        import_lines(kit.store, lines)
        assert kit.store.read_sync(keys.find, ADMIN_KEY) is None
        assert kit.store.read_sync(keys.find, AGENT_KEY) is not None
        thinker = kit.store.read_sync(agents.show, "thinker")
        assert thinker is not None
        assert thinker.config.tools[0].request is not None
        assert thinker.config.tools[0].request.headers == {}
        check_health(kit.store)

    def test_a_trigger_without_its_secret_stays_closed(self, kit: Kit) -> None:
        with Kit(clock=kit.clock) as source:
            fill_store(source)
            import_lines(kit.store, export_lines(source.store, secrets=False))
        with pytest.raises(NotFound, match="there is no such webhook"):
            kit.store.read_sync(webhooks.find_open_trigger, "issues")
        with pytest.raises(Conflict, match="'issues' was imported without its secret"):
            kit.store.run_sync(triggers.change, "issues", {"active": True})

    def test_a_token_in_the_url_of_a_tool_is_hidden(self, kit: Kit) -> None:
        fill_store(kit)
        tool = {
            "name": "weather",
            "description": "The weather",
            "execution": {"url": "https://example.com/now?token=hunter2hunter2&city=rome"},
        }
        server = {"name": "files", "url": "https://example.com/mcp?api_key=hunter2hunter2"}
        document = {"model": "demo", "tools": [tool], "mcp": {"servers": [server]}}
        kit.store.run_sync(agents.configure, "ana", document)
        plain, full = (b"".join(export_lines(kit.store, secrets=secrets)) for secrets in (False, True))
        assert b"hunter2" in full
        assert b"hunter2" not in plain
        assert b"city=rome" in plain

    def test_a_configuration_that_cannot_be_read_is_left_out_and_said(self, kit: Kit) -> None:
        fill_store(kit)
        kit.store.run_sync(lambda tx: tx.execute("residents/agents/update", entity=7, config="{torn", now=tx.now))
        written: list[bytes] = []
        summary = kit.store.read_sync(export.export_store, written.append)
        assert summary.omissions == ["agents: the configuration of entity 7 cannot be read"]
        assert b"{torn" not in b"".join(written)


def test_nulls_may_be_written_out(kit: Kit, lines: Sequence[bytes]) -> None:
    rows = [json.loads(line) for line in lines]
    for document in rows:
        if document.get("table") == "pending":
            document["row"].setdefault("claim", None)
    import_lines(kit.store, [json.dumps(document).encode() for document in rows])
    check_health(kit.store)


class TestEmptiness:
    def refuse(self, kit: Kit, lines: Sequence[bytes], message: str) -> None:
        before = dump(kit.url)
        with pytest.raises(Conflict, match=message):
            import_lines(kit.store, lines)
        assert dump(kit.url) == before

    def test_an_administrator_and_their_keys_are_replaced(self, kit: Kit, lines: Sequence[bytes]) -> None:
        kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN, display="Another"))
        kit.store.run_sync(keys.create, kind="admin", secret=f"sk_{'other':-<43}", name="admin.key")
        import_lines(kit.store, lines)
        assert kit.store.read_sync(directory.show, "admin").display == "admin"
        assert kit.store.read_sync(keys.find, f"sk_{'other':-<43}") is None
        assert kit.store.read_sync(keys.find, ADMIN_KEY) is not None

    def test_another_entity(self, kit: Kit, lines: Sequence[bytes]) -> None:
        kit.store.run_sync(directory.register, EntitySpec(name="ana", kind=EntityKind.AGENT))
        self.refuse(kit, lines, "the store is not empty: it has entities")

    def test_another_key(self, kit: Kit, lines: Sequence[bytes]) -> None:
        kit.store.run_sync(keys.create, kind="public", secret=f"pk_{'x':-<43}")
        self.refuse(kit, lines, "the store is not empty: it has keys")

    def test_something_of_the_administrators(self, kit: Kit, lines: Sequence[bytes]) -> None:
        kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        kit.store.run_sync(push.push_event, Push(to="admin", source="test", content="hello"))
        self.refuse(kit, lines, "the store is not empty: it has events, pending")

    def test_what_was_imported_before(self, kit: Kit, lines: Sequence[bytes]) -> None:
        import_lines(kit.store, lines)
        self.refuse(kit, lines, "the store is not empty: it has sessions, events, broadcasts")

    def test_a_process_that_is_at_work(self, kit: Kit, lines: Sequence[bytes]) -> None:
        kit.store.run_sync(leases.take, "duty:janitor", "gateway-1", MINUTE)
        self.refuse(kit, lines, "a gateway is at work in this store")
        kit.clock.advance(2 * MINUTE)
        import_lines(kit.store, lines)


Change = Callable[[Sequence[bytes]], Sequence[bytes]]

BROKEN: list[tuple[Change, str]] = [
    (lambda _: [], "this is not an export of Gatepost"),
    (lambda _: [b'{"hello": 1}'], "this is not an export of Gatepost"),
    (lambda _: [b'{"record":"export","format":1,"at":"2026-01-01T00:00:00Z"}'], "this is not an export of Gatepost"),
    (lambda lines: lines[1:], "this is not an export of Gatepost"),
    (lambda lines: [b"{torn", *lines[1:]], "this is not an export of Gatepost"),
    (lambda lines: [lines[0].replace(b'"format":2', b'"format":3'), *lines[1:]], "line 1: the export has format 3 and"),
    (lambda lines: [lines[0].replace(b'"schema":', b'"schema":9'), *lines[1:]], "line 1: the export has schema 9"),
    (lambda lines: lines[:1], "line 1 is the last, and not the end of an export: the rest is missing"),
    (lambda lines: lines[:-1], "line {before_last} is the last, and not the end of an export: the rest is missing"),
    (lambda lines: [*lines[:-1], lines[-1][:-9]], "line {last}: it is not JSON"),
    (lambda lines: [*lines, *lines], "line {after_last}: the export has ended before it"),
    (
        lambda lines: replace_line(lines, -1, b'{"end":[]}'),
        "line {last}: this is neither a row nor the end",
    ),
    (lambda lines: replace_line(lines, 5, b"{torn"), "line 6: it is not JSON"),
    (lambda lines: replace_line(lines, 5, b"\n"), "line 6: it is not JSON"),
    (lambda lines: replace_line(lines, 5, b"[1]"), "line 6: it is not a JSON object"),
    (lambda lines: replace_line(lines, 5, b"[" * 100_000), "line 6: it is not JSON"),
    (lambda lines: replace_line(lines, 5, b"9" * 9_999), "line 6: it is not JSON"),
    (lambda lines: replace_line(lines, 5, b'{"table":"\xff"}'), "line 6: it is not valid UTF-8"),
    (lambda lines: replace_line(lines, 5, b'{"table":"pending"}'), "line 6: this is neither a row nor the end"),
    (lambda lines: replace_line(lines, 5, b'{"table":"poems","row":{}}'), "line 6: there is no table 'poems'"),
    (lambda lines: replace_line(lines, 5, b'{"table":[1],"row":{}}'), "line 6: there is no table [1]"),
    (lambda lines: replace_line(lines, 5, b'{"table":"leases","row":{}}'), "line 6: there is no table 'leases'"),
    (lambda lines: replace_line(lines, 5, b'{"table":"pending","row":[]}'), "line 6: a row is an object, not []"),
    (lambda lines: change_row(lines, "goals", colour="red"), "'goals' has no column 'colour'"),
    (lambda lines: change_row(lines, "events", xid=7), "'events' has no column 'xid'"),
    (lambda lines: change_row(lines, "pending", source=None), "'source' of 'pending' is missing"),
    (lambda lines: change_row(lines, "pending", recipient=None), "'recipient' of 'pending' is missing"),
    (lambda lines: change_row(lines, "pending", wakes=1), "'wakes' of 'pending' must be true or false, not 1"),
    (lambda lines: change_row(lines, "pending", size=True), "'size' of 'pending' must be a whole number, not true"),
    (lambda lines: change_row(lines, "pending", size=1.0), "'size' of 'pending' must be a whole number, not 1.0"),
    (lambda lines: change_row(lines, "pending", size=float("nan")), "it is not JSON"),
    (lambda lines: change_row(lines, "pending", seen_at=2**63), "'seen_at' of 'pending' is out of range"),
    (lambda lines: change_row(lines, "events", content=7), "'content' of 'events' must be a string, not 7"),
    (lambda lines: change_row(lines, "events", content="\x00"), "the content has a NUL character in it"),
    (lambda lines: change_row(lines, "events", content="\ud800"), "the content is not valid Unicode"),
    (lambda lines: change_row(lines, "counters", value=-1), "this is not a row of 'counters'"),
    (lambda lines: change_row(lines, "counters", name="other"), "this is not a row of 'counters'"),
]
#: what is refused after rows were inserted
FORBIDDEN: list[tuple[Change, str]] = [
    (
        lambda lines: [*lines[: find_line(lines, "answers")], *lines[find_line(lines, "answers") + 1 :]],
        "line {before_last}: there should be 2 rows of 'answers' before it, not 1",
    ),
    (lambda lines: change_row(lines, "past", state="gone"), "the store does not take this row of 'past'"),
    (lambda lines: change_row(lines, "entities", name="ana"), "the store does not take this row of 'entities'"),
    (
        lambda lines: change_row(lines, "entities", owner=99),
        "'owner' of 'entities' is 99, and 'entities' has no such row",
    ),
    (
        lambda lines: change_row(lines, "pending", arrival=99),
        "'arrival' of 'pending' is 99, and 'events' has no such row",
    ),
    (lambda lines: change_row(lines, "pending", claim=99), "'claim' of 'pending' is 99, and 'claims' has no such row"),
]


def name_lines(message: str, lines: Sequence[bytes]) -> str:
    """The message with the number of the last line, and of those before and after it."""
    numbers = {"{last}": len(lines), "{before_last}": len(lines) - 1, "{after_last}": len(lines) + 1}
    return functools.reduce(lambda text, name: text.replace(name, str(numbers[name])), numbers, message)


class TestRefusals:
    @pytest.mark.parametrize(("change", "message"), BROKEN, ids=[f"{n}" for n in range(len(BROKEN))])
    def test_name_the_line_and_nothing_is_stored(
        self, lines: Sequence[bytes], change: Change, message: str, administered: Kit
    ) -> None:
        self.refuse(administered, change(lines), name_lines(message, lines))

    @pytest.mark.parametrize(("change", "message"), FORBIDDEN, ids=[f"{n}" for n in range(len(FORBIDDEN))])
    def test_after_rows_were_inserted_too(self, kit: Kit, lines: Sequence[bytes], change: Change, message: str) -> None:
        self.refuse(kit, change(lines), name_lines(message, lines))

    @pytest.fixture(scope="class")
    @classmethod
    def administered(cls) -> Iterator[Kit]:
        """One store for all that are refused: it stays as it is."""
        with Kit() as kit:
            kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
            yield kit

    def refuse(self, kit: Kit, lines: Sequence[bytes], message: str) -> None:
        assert kit.store.migrate()
        before = dump(kit.url)
        with pytest.raises(Invalid) as caught:
            import_lines(kit.store, lines)
        assert message in caught.value.message
        assert "line " in caught.value.message or "not an export" in caught.value.message
        assert dump(kit.url) == before

    def test_the_line_is_the_right_one_in_the_middle_of_a_batch(self, kit: Kit, lines: Sequence[bytes]) -> None:
        index = find_line(lines, "past") - 7
        row = json.loads(lines[index])["row"] | {"state": "gone"}
        with pytest.raises(Invalid, match=f"^line {index + 1}: the store does not take this row of 'past'"):
            import_lines(kit.store, replace_line(lines, index, json.dumps({"table": "past", "row": row}).encode()))
        import_lines(kit.store, lines)
        check_health(kit.store)

    def test_a_file_that_was_cut_anywhere(self, lines: Sequence[bytes]) -> None:
        text = b"".join(lines)
        with Kit() as kit:
            assert kit.store.migrate()
            before = dump(kit.url)
            for size in range(0, len(text), len(text) // 40):
                with pytest.raises(GatepostError):
                    import_lines(kit.store, text[:size].splitlines(keepends=True))
                assert dump(kit.url) == before

    def test_too_long(self, lines: Sequence[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(store_import, "MAX_LINE_LENGTH", 1_000)
        with Kit() as kit, pytest.raises(Invalid, match="line 2 has over 1000 bytes"):
            import_lines(kit.store, [lines[0], b"x" * 2_000])


class TestRepair:
    """What is left of a damaged store: some rows, and some that refer to others that are lost."""

    @pytest.mark.parametrize("lost", TABLES)
    def test_a_table_is_lost(self, lines: Sequence[bytes], lost: str) -> None:
        with Kit() as kit:
            self.import_without(kit, lines, lost)

    @pytest.mark.parametrize("lost", ["entities", "claims", COUNTERS])
    def test_a_table_is_lost_on_either_database(self, kit: Kit, lines: Sequence[bytes], lost: str) -> None:
        self.import_without(kit, lines, lost)

    def import_without(self, kit: Kit, lines: Sequence[bytes], lost: str) -> None:
        left = remove_table(lines, lost)
        summary = import_lines(kit.store, left, repair=True)
        assert sum(summary.rows.values()) == len(left) - 2 - len(summary.omissions)
        check_health(kit.store)

    def test_what_refers_to_a_lost_row_is_left_out_and_said(self, kit: Kit, lines: Sequence[bytes]) -> None:
        index = find_line(lines, "events")
        counts = json.loads(lines[-1])["end"]
        counts["events"] -= 1
        left = replace_line(lines, -1, json.dumps({"end": counts}).encode())
        del left[index]
        with pytest.raises(Invalid, match="'events' has no such row") as caught:
            import_lines(kit.store, left)
        assert caught.value.hint is not None
        assert "--repair" in caught.value.hint
        [omission] = import_lines(kit.store, left, repair=True).omissions
        assert omission == caught.value.message
        check_health(kit.store)

    def test_what_nobody_holds_any_more_is_pending_again(self, kit: Kit, lines: Sequence[bytes]) -> None:
        import_lines(kit.store, remove_table(lines, "claims"), repair=True)
        contents = [item.event.content for item in kit.store.run_sync(inbox.claim, "ben", owner="s-3").items]
        assert "being read" in contents

    def test_a_whole_export_arrives_as_it_was(self, kit: Kit) -> None:
        with Kit(clock=kit.clock) as source:
            fill_store(source)
            assert import_lines(kit.store, export_lines(source.store), repair=True).omissions == []
            assert dump(kit.url) == dump(source.url)

    def test_counters_that_are_lost_go_on_behind_the_rows(self, kit: Kit, lines: Sequence[bytes]) -> None:
        import_lines(kit.store, remove_table(lines, COUNTERS), repair=True)
        assert not kit.store.run_sync(push.push_event, Push(to="ana", source="test", content="new")).duplicate
        kit.store.run_sync(push.push_event, Push(to="*", source="test", content="to all again"))
        assert "to all again" in [
            item.event.content for item in kit.store.run_sync(inbox.claim, "cat", owner="s").items
        ]


def test_a_number_is_not_given_twice(kit: Kit, lines: Sequence[bytes]) -> None:
    """Sequences and counters go on behind what was imported."""
    import_lines(kit.store, lines)
    store = kit.store
    arrival = store.read_sync(_read_arrival)
    store.run_sync(directory.register, EntitySpec(name="eve", kind=EntityKind.AGENT))
    store.run_sync(spaces.create, name="Another", members=["eve"])
    store.run_sync(push.push_event, Push(to="eve", source="test", content="first"))
    store.run_sync(push.push_event, Push(to="*", source="test", content="second"))
    store.run_sync(keys.create, kind="agent", secret=f"sk_{'eve':-<43}", entity="eve")
    batch = store.run_sync(inbox.claim, "eve", owner="s-9")
    assert [item.event.content for item in batch.items] == ["first", "second"]
    assert store.read_sync(_read_arrival) == arrival + 2
    check_health(store)


def _read_arrival(tx: Reader) -> int:
    return next(int(row["value"]) for row in catalog.read_counters(tx) if row["name"] == "arrival")
