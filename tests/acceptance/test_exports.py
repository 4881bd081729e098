"""Exports as files: broken lines are named, chunks are cut well, and the commands do what they say."""

import json
import os
import subprocess
import unicodedata
from collections.abc import Callable
from dataclasses import asdict
from typing import Any

import pytest

from gatepost.actions import directory, push, transfer
from gatepost.actions.directory import EntitySpec
from gatepost.actions.merge import Taken
from gatepost.core import record
from gatepost.core.entity import EntityKind
from gatepost.core.event import ItemState, Push
from gatepost.core.record import End, EventRecord, Head, ItemRecord, Record
from gatepost.errors import GatepostError
from gatepost.testing import Kit
from tests.acceptance.command_line import GATEPOST_COMMAND, CommandLine
from tests.acceptance.transfer_helpers import assert_healthy, export_lines, import_lines


def change_line(lines: list[bytes], index: int, **fields: Any) -> list[bytes]:
    document = json.loads(lines[index]) | fields
    return [*lines[:index], json.dumps(document).encode(), *lines[index + 1 :]]


class TestBrokenLines:
    @pytest.fixture(scope="class")
    @classmethod
    def lines(cls) -> list[bytes]:
        with Kit() as kit:
            for name in ("admin", "husam", "ana", "ben"):
                kind = EntityKind.HUMAN if name in ("admin", "husam") else EntityKind.AGENT
                kit.store.call(directory.register, EntitySpec(name=name, kind=kind))
            kit.store.call(push.push_event, Push(to="ana", source="test", content="hello", sender="husam"))
            return export_lines(kit.store)

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda _: [], "this is not an export of Gatepost"),
            (lambda _: [b'{"hello": 1}'], "line 1: 'record' is missing"),
            (lambda lines: lines[1:], "this is not an export of Gatepost"),
            (lambda lines: change_line(lines, 0, format=2), "line 1: it was exported by another version of Gatepost"),
            (lambda lines: lines[:-1], "line 7 is the last, and not the end of an export: the rest is missing"),
            (lambda lines: [*lines[:3], *lines[4:]], "line 7: 7 lines should stand before it, not 6: some are missing"),
            (lambda lines: lines + lines, "line 9: another export begins here"),
            (lambda lines: [*lines, lines[1]], "line 9: the export has ended before it"),
            (lambda lines: [*lines[:2], b"{torn", *lines[3:]], "line 3: it is not JSON"),
            (lambda lines: [*lines[:2], b"[1]", *lines[3:]], "line 3: it is not a JSON object"),
            (lambda lines: [*lines[:2], b'{"record": "\xff"}', *lines[3:]], "line 3: it is not valid UTF-8"),
            (lambda lines: [*lines[:2], b"[" * 100_000, *lines[3:]], "line 3: it is not JSON"),
            (lambda lines: change_line(lines, 2, record="poem"), "line 3: there is no record 'poem'"),
            (
                lambda lines: change_line(lines, 2, kind="cat"),
                "line 3: 'kind' must be one of agent, human, service, not 'cat'",
            ),
            (lambda lines: change_line(lines, 2, name="Not A Name"), "line 3: 'Not A Name' is not a name"),
            (lambda lines: change_line(lines, 2, owner="nobody"), "line 3: nobody is called 'nobody'"),
            (lambda lines: change_line(lines, 2, aliases="x"), "line 3: 'aliases' must be a list, not 'x'"),
            (lambda lines: change_line(lines, 5, eventId="evt_1"), "line 6: 'evt_1' is not the id of an event"),
            (lambda lines: change_line(lines, 5, priority=9), "line 6: 9 is not a priority"),
            (lambda lines: change_line(lines, 5, type="poem"), "line 6: 'poem' is not a type of event"),
            (lambda lines: change_line(lines, 5, sender="nobody"), "line 6: nobody is called 'nobody'"),
            (lambda lines: change_line(lines, 5, content="x" * 300_000), "line 6: the content is 300000 bytes"),
            (lambda lines: change_line(lines, 5, content="\x00"), "line 6: 'content' has a NUL character in it"),
            (lambda lines: change_line(lines, 5, createdAt="soon"), "line 6: 'soon' is not a time"),
            (lambda lines: change_line(lines, 5, ref={"type": 1, "id": "x"}), "line 6: 'type' must be a string, not 1"),
            (lambda lines: change_line(lines, 5, hops=-1), "line 6: 'hops' must be a whole number, not -1"),
            (lambda lines: change_line(lines, 6, recipient="nobody"), "line 7: nobody is called 'nobody'"),
            (lambda lines: change_line(lines, 6, state="gone"), "line 7: 'gone' is not a state"),
            (lambda lines: change_line(lines, 6, state="dead"), "line 7: an item that is dead needs 'endedAt'"),
            (lambda lines: change_line(lines, 6, wakes=1), "line 7: 'wakes' must be true or false, not 1"),
            (
                lambda lines: change_line(lines, 6, dedupKey="k" * 600),
                "line 7: a dedup key has 1 to 512 characters, not 600",
            ),
            (
                lambda lines: change_line(lines, 6, eventId="evt_" + "0" * 32),
                f"line 7: the event 'evt_{'0' * 32}' does not stand before its item",
            ),
        ],
    )
    def test_are_named_and_nothing_of_their_chunk_is_stored(
        self, empty_cli: CommandLine, lines: list[bytes], change: Callable[[list[bytes]], list[bytes]], message: str
    ) -> None:
        broken_export = b"".join(line + b"\n" for line in change(lines))
        result = empty_cli("import", "-", stdin=broken_export)
        assert (result.code, result.out) == (2, "")
        assert result.error.startswith(message)
        if "is the last" in message:
            assert "hint: stored before that: 3 entities, 1 event, 1 item; importing it again" in result.err
        else:
            assert result.err.endswith("nothing new was stored\n")
            assert [row["name"] for row in empty_cli.run_ok("agent", "list", "--json").json] == []

    def test_after_a_chunk_that_is_stored(self, empty_cli: CommandLine, lines: list[bytes]) -> None:
        entity_lines = [lines[3].replace(b'"ana"', f'"a{number}"'.encode()) for number in range(300)]
        stdin = b"\n".join([*lines[:3], *entity_lines, *lines[5:7], b"{torn"])
        result = empty_cli("import", "-", stdin=stdin)
        assert (result.code, result.error) == (2, "line 306: it is not JSON")
        hint = "stored before that: 301 entities, 0 events, 0 items; importing it again stores nothing twice"
        assert f"hint: {hint}\n" in result.err
        assert empty_cli("import", "-", stdin=stdin).err.endswith("hint: nothing new was stored\n")
        assert len(empty_cli.run_ok("agent", "list", "--json").json) == 300
        assert empty_cli("doctor").code == 0

    def test_too_long(self, empty_cli: CommandLine, lines: list[bytes], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(record, "LONGEST", 1_000)
        result = empty_cli("import", "-", stdin=lines[0] + b"\n" + b"x" * 2_000)
        assert (result.code, result.error) == (2, "line 2 has over 1000 bytes")


class TestChunks:
    def build_records(self, events: int, items: int) -> list[Record]:
        event = EventRecord("evt_" + "0" * 32, 0, Push(to="", source="test"))
        item = ItemRecord(
            event=event.id,
            recipient="ana",
            state=ItemState.PENDING,
            key=None,
            expires_at=None,
            wakes=True,
            attempts=0,
            seen_at=None,
            ended_at=None,
            receipt=None,
        )
        event_records: list[Record] = [event, *[item] * items]
        body = event_records * events
        return [Head(0), *body, End(len(body) + 1)]

    def split_records(self, records: list[Record]) -> list[list[Record]]:
        return [[record for _, record in chunk] for chunk in transfer.chunks(enumerate(records, 1))]

    def test_an_event_and_its_items_stay_together(self) -> None:
        chunks = self.split_records(self.build_records(events=500, items=3))
        assert all(isinstance(chunk[0], EventRecord) for chunk in chunks)
        assert all(len(chunk) <= transfer.CHUNK + 3 for chunk in chunks)
        assert sum(map(len, chunks)) == 2_000

    def test_an_event_with_very_many_is_said_again(self) -> None:
        chunks = self.split_records(self.build_records(events=2, items=5_000))
        assert all(isinstance(chunk[0], EventRecord) for chunk in chunks)
        assert all(len(chunk) <= transfer.MOST for chunk in chunks)
        assert sum(isinstance(entry, ItemRecord) for chunk in chunks for entry in chunk) == 10_000

    def test_a_wide_event_is_stored_over_several_chunks(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(transfer, "MOST", 10)
        monkeypatch.setattr(transfer, "CHUNK", 5)
        with Kit() as source, Kit(clock=source.clock) as target:
            for number in range(40):
                source.store.call(directory.register, EntitySpec(name=f"a{number}", kind=EntityKind.AGENT, team="web"))
            source.store.call(push.push_event, Push(to="team:web", source="test", content="hello"))
            totals = import_lines(target.store, export_lines(source.store))
            assert totals == Taken(entities=40, events=1, items=40)
            assert_healthy(target.store)


class TestCommands:
    def test_there_and_back(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "first", "--as", "husam")
        cli.run_ok("inbox", "drain", "--to", "analyst", "--session", "s-1")
        cli.push("--to", "analyst", "second")
        cli.push("--broadcast", "all")
        result = cli.run_ok("export", "out.jsonl")
        assert result.err == "exported 4 entities, 3 events, 4 items\n"
        file = cli.cwd / "out.jsonl"
        assert file.stat().st_mode & 0o777 == 0o600
        assert [path.name for path in cli.cwd.iterdir()] == ["out.jsonl"]

        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "other")
        result = cli.run_ok("import", "out.jsonl")
        assert result.err.endswith(
            "imported 3 entities, 3 events, 4 items; 0 items were here before or are long done\n"
        )
        assert cli.run_ok("import", "out.jsonl", "--json").json == asdict(Taken(known=4))
        assert cli("doctor").code == 0
        assert cli.run_ok("inbox", "drain", "--to", "analyst").out.splitlines()[1:] == [
            '[Event: cli] "second"',
            '[Event: cli] "all"',
        ]

    def test_who_owns_whom_comes_back(self, cli: CommandLine) -> None:
        """Also an owner who was registered after what is theirs, who has retired, or who owns themself."""
        cli.run_ok("person", "add", "late")
        cli.run_ok("agent", "add", "scout")
        owners = {"analyst": "late", "quinn": "analyst", "scout": "scout"}
        for name, owner in owners.items():
            cli.run_ok("agent", "set", name, "--owner", owner)
        cli.run_ok("person", "retire", "late")
        cli.run_ok("export", "out.jsonl")
        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "other")
        cli.run_ok("import", "out.jsonl")
        assert {name: cli.run_ok("agent", "show", name, "--json").json["owner"] for name in owners} == owners

    def test_an_export_does_nothing_to_a_terminal(self, cli: CommandLine) -> None:
        """What JSON leaves as it is, C1, DEL and what turns text around, is escaped; read again, it is the same."""
        content = "".join(map(chr, (*range(1, 32), *range(0x7F, 0xA0), *range(0x2028, 0x202F)))) + "\u00e9"
        event = cli.push("--to", "analyst", content)
        export_text = cli.run_ok("export", "-").out
        assert [
            entry for entry in export_text if entry != "\n" and unicodedata.category(entry) in ("Cc", "Cf", "Zl", "Zp")
        ] == []
        records = [json.loads(entry) for entry in export_text.splitlines()]
        [event_record] = [entry for entry in records if entry["record"] == "event" and event in entry.values()]
        assert content in event_record.values()
        cli.run_ok("import", "-", stdin=export_text.encode())

    def test_an_export_does_not_replace_a_file_unasked(self, cli: CommandLine) -> None:
        (cli.cwd / "notes.txt").write_text("dear diary")
        result = cli("export", "notes.txt")
        assert (result.code, result.error) == (1, "'notes.txt' is there already")
        assert (cli.cwd / "notes.txt").read_text() == "dear diary"
        assert cli.run_ok("export", "notes.txt", "--force", "--json").json["entities"] == 4

    def test_an_export_that_fails_leaves_nothing(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        def raise_error(_: object) -> str:
            raise GatepostError("the disk is on fire")

        monkeypatch.setattr(record, "write", raise_error)
        assert cli("export", "out.jsonl").error == "the disk is on fire"
        assert list(cli.cwd.iterdir()) == []

    def test_through_a_pipe(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "hello")
        export_result = cli.run_process("export")
        assert export_result.out.splitlines()[-1] == '{"record":"end","lines":7}'
        other_environ = {"GATEPOST_HOME": str(cli.cwd.parent / "other")}
        import_result = cli.run_process("import", "-", "--json", stdin=export_result.out.encode(), **other_environ)
        assert json.loads(import_result.out)["items"] == 1

    def test_two_at_once(self, cli: CommandLine) -> None:
        for number in range(20):
            cli.push("--to", "team:web", f"number {number}")
        cli.run_ok("export", "out.jsonl")
        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "other")
        processes = [
            subprocess.Popen(
                [*GATEPOST_COMMAND, "import", "out.jsonl", "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | cli.environ,
                cwd=cli.cwd,
            )
            for _ in range(2)
        ]
        outputs = [process.communicate(timeout=60) for process in processes]
        assert [process.returncode for process in processes] == [0, 0], outputs
        assert sum(json.loads(out)["items"] for out, _ in outputs) == 20
        assert cli("doctor").code == 0
