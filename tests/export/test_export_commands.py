"""`gatepost export` and `gatepost import`."""

import json
import os
import subprocess
import unicodedata

import pytest

from gatepost import app, settings
from gatepost.cli import output
from gatepost.errors import GatepostError
from gatepost.export import export_actions as verbs
from tests.export.exports import let_own_itself
from tests.support.command_line import GATEPOST_COMMAND, CommandLine
from tests.support.processes.fork_server import ForkedProcess
from tests.support.waits import LAST_RESORT


def move(cli: CommandLine) -> None:
    """Go on in another home."""
    cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "other")


#: categories of characters that a terminal acts on or does not show
HIDDEN = ("Cc", "Cf", "Co", "Zl", "Zp")


class TestExport:
    def test_a_file_is_for_this_user_alone_and_says_how_much_is_in_it(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "hello")
        ended = cli.run_ok("export", "out.jsonl")
        assert ended.err == "exported 20 rows of 7 tables\n"
        assert (cli.cwd / "out.jsonl").stat().st_mode & 0o777 == 0o600
        assert [path.name for path in cli.cwd.iterdir()] == ["out.jsonl"]
        document = cli.run_ok("export", "out.jsonl", "--force", "--json").json
        assert document["file"] == "out.jsonl"
        assert (document["rows"]["entities"], document["rows"]["pending"], document["unreadable"]) == (4, 1, [])

    def test_says_how_far_it_is_if_it_takes_long(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(output, "PROGRESS_INTERVAL", 0.0)
        exported = cli.run_ok("export", "out.jsonl").err.splitlines()
        count = len((cli.cwd / "out.jsonl").read_bytes().splitlines())
        assert exported[:-1] == [
            "1 line exported so far",
            *(f"{number} lines exported so far" for number in range(2, count + 1)),
        ]
        move(cli)
        imported = cli.run_ok("import", "out.jsonl").err.splitlines()
        assert imported[0].startswith("1 line read so far (")
        assert f"{count} lines read so far (100 %)" in imported
        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "third")
        imported = cli.run_ok("import", "-", stdin=(cli.cwd / "out.jsonl").read_bytes()).err.splitlines()
        assert f"{count} lines read so far" in imported

    def test_does_nothing_to_a_terminal(self, cli: CommandLine) -> None:
        """What JSON leaves as it is and a terminal acts on or hides is escaped; read again, it is the same."""
        invisible = (*range(1, 32), *range(0x7F, 0xA0), *range(0x2028, 0x202F), 0xAD, 0xFFF9, 0xE0041, 0xF0000)
        content = "".join(map(chr, invisible)) + "\u00e9<b>"
        cli.push("--to", "analyst", content)
        exported = cli.run_ok("export", "-").out
        assert [one for one in exported if one != "\n" and unicodedata.category(one) in HIDDEN] == []
        assert [
            one["row"]["content"] for one in map(json.loads, exported.splitlines()) if one.get("table") == "events"
        ] == [content]

    def test_does_not_replace_a_file_unasked(self, cli: CommandLine) -> None:
        (cli.cwd / "notes.txt").write_text("dear diary")
        ended = cli("export", "notes.txt")
        assert (ended.code, ended.error) == (1, "'notes.txt' exists")
        assert (cli.cwd / "notes.txt").read_text() == "dear diary"
        cli.run_ok("export", "notes.txt", "--force")

    def test_replaces_no_link_and_no_device(self, cli: CommandLine) -> None:
        (cli.cwd / "link").symlink_to(cli.cwd / "elsewhere")
        os.mkfifo(cli.cwd / "pipe")
        for name in ("link", "pipe"):
            result = cli("export", name, "--force")
            assert (result.code, result.error) == (1, f"'{name}' is not a regular file")
        assert (cli.cwd / "link").is_symlink()
        assert (cli.cwd / "pipe").is_fifo()

    def test_that_fails_leaves_nothing(self, cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> None:
            raise GatepostError("the disk is on fire")

        monkeypatch.setattr(verbs, "export_store", fail)
        assert cli("export", "out.jsonl").error == "the disk is on fire"
        assert list(cli.cwd.iterdir()) == []

    def test_of_a_damaged_store_says_what_is_missing(self, cli: CommandLine) -> None:
        for number in range(60):
            cli.push("--to", "analyst", f"number {number} {'x' * 400}")
        file = bytearray(cli.database.read_bytes())
        start = file.index(b"number 30") // 4_096 * 4_096
        file[start : start + 4_096] = b"\xff" * 4_096
        cli.database.write_bytes(file)
        ended = cli("export", "out.jsonl")
        assert ended.code == 1
        assert "left out: events: rows after (" in ended.err
        move(cli)
        assert cli("import", "out.jsonl").error.endswith("and 'events' has no such row")
        imported = cli.run_ok("import", "out.jsonl", "--repair")
        assert "left out: line " in imported.err
        assert cli("doctor").code == 0
        left = cli.run_ok("inbox", "list", "--to", "analyst", "--json", "--limit", "1000").json
        assert 40 < len(left) < 60


class TestImport:
    def test_there_and_back(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "first", "--as", "husam")
        cli.run_ok("inbox", "drain", "--to", "analyst", "--session", "s-1")
        cli.push("--to", "analyst", "second")
        cli.push("--broadcast", "all")
        cli.run_ok("space", "create", "Q4 Report", "--member", "husam", "--member", "analyst")
        cli.run_ok("space", "post", "q4-report", "hello", "--as", "husam")
        exported = cli.run_ok("export", "out.jsonl").err
        move(cli)
        imported = cli.run_ok("import", "out.jsonl").err
        assert imported.splitlines()[-1] == exported.strip().replace("exported", "imported")
        assert cli("doctor").code == 0
        assert cli.run_ok("inbox", "drain", "--to", "analyst").out.splitlines()[1:] == [
            '[Event: cli] "second"',
            '[Event: cli] "all"',
            '[Q4 Report] Husam (human): "hello" (space q4-report, message 1)',
        ]

    def test_who_owns_whom_comes_back(self, cli: CommandLine) -> None:
        """Also an owner who was registered after what is theirs, who has retired, or who owns themself."""
        cli.run_ok("person", "add", "late")
        cli.run_ok("agent", "add", "scout")
        owners = {"analyst": "late", "quinn": "analyst", "scout": "scout"}
        for name in ("analyst", "quinn"):
            cli.run_ok("agent", "set", name, "--owner", owners[name])
        with app.prepare_store(settings.load(cli.environ)) as store:
            store.run_sync(let_own_itself, "scout")
        cli.run_ok("person", "retire", "late")
        cli.run_ok("export", "out.jsonl")
        move(cli)
        cli.run_ok("import", "out.jsonl")
        assert {name: cli.run_ok("agent", "show", name, "--json").json["owner"] for name in owners} == owners

    def test_a_store_that_was_opened_before_is_empty(self, cli: CommandLine) -> None:
        cli.run_ok("export", "out.jsonl")
        move(cli)
        cli.run_ok("doctor")
        assert cli.run_ok("import", "out.jsonl", "--json").json["rows"]["entities"] == 4

    def test_a_store_that_is_not_empty_is_left_alone(self, cli: CommandLine) -> None:
        cli.run_ok("export", "out.jsonl")
        ended = cli("import", "out.jsonl")
        assert (ended.code, ended.error) == (1, "the store is not empty: it has entities")
        assert "GATEPOST_STORE" in ended.err

    @pytest.mark.parametrize("text", [b"", b"{torn\n", b'{"odd": 1}\n'])
    def test_what_is_no_export_is_refused(self, empty_cli: CommandLine, text: bytes) -> None:
        ended = empty_cli("import", "-", stdin=text)
        assert (ended.code, ended.out) == (2, "")
        assert not empty_cli.database.exists()

    def test_through_a_pipe(self, cli: CommandLine) -> None:
        cli.push("--to", "analyst", "hello")
        exported = cli.run_process("export")
        assert json.loads(exported.out.splitlines()[-1])["end"]["pending"] == 1
        other = {"GATEPOST_HOME": str(cli.cwd.parent / "other")}
        imported = cli.run_process("import", "-", "--json", stdin=exported.out.encode(), **other)
        assert json.loads(imported.out)["rows"]["pending"] == 1

    def test_without_stdin(self, empty_cli: CommandLine) -> None:
        process = subprocess.run(
            [*GATEPOST_COMMAND, "import", "-"],
            env=os.environ | empty_cli.environ,
            cwd=empty_cli.cwd,
            capture_output=True,
            text=True,
            check=False,
            preexec_fn=lambda: os.close(0),
        )
        assert (process.returncode, process.stdout) == (3, "")
        assert process.stderr == "error: there is no stdin to read\nhint: name a file\n"

    def test_says_what_it_lets_others_do(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "jira", "--to", "analyst")
        cli.run_ok("key", "create", "--agent", "analyst")
        admin_key = cli.run_ok("key", "create").out.strip()
        cli.run_ok("export", "out.jsonl", "--secrets")
        move(cli)
        rights = [
            "an open trigger: 'jira'",
            f"a key of the administrator: {admin_key[:11]!r}",
            "keys of the kind 'agent': 1",
        ]
        *lines, last = cli.run_ok("import", "out.jsonl").err.splitlines()
        assert [line for line in lines if line.startswith("it has ")] == [f"it has {right}" for right in rights]
        assert last.startswith("imported ")
        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "third")
        assert cli.run_ok("import", "out.jsonl", "--json").json["rights"] == rights

    def test_refuses_a_right_that_was_put_into_the_file(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "jira", "--to", "analyst")
        cli.run_ok("export", "out.jsonl")
        file = cli.cwd / "out.jsonl"
        file.write_text(file.read_text().replace('"active":false', '"active":true'))
        move(cli)
        ended = cli("import", "out.jsonl")
        assert ended.code == 2
        assert ended.error.endswith(": the row has an open trigger: 'jira', and line 1 says that there are no secrets")
        assert cli.run_ok("trigger", "list", "--json").json == []
        assert cli.run_ok("agent", "list", "--json").json == []
        assert "left out: line " in cli.run_ok("import", "out.jsonl", "--repair").err

    def test_two_at_once(self, cli: CommandLine) -> None:
        for number in range(20):
            cli.push("--to", "team:web", f"number {number}")
        cli.run_ok("export", "out.jsonl")
        move(cli)
        both = [
            ForkedProcess(
                [*GATEPOST_COMMAND, "import", "out.jsonl", "--json"],
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=os.environ | cli.environ,
                cwd=cli.cwd,
            )
            for _ in range(2)
        ]
        ended = [process.communicate(timeout=LAST_RESORT) for process in both]
        assert sorted(process.returncode for process in both) == [0, 1], ended
        assert cli("doctor").code == 0
        assert len(cli.run_ok("inbox", "list", "--to", "quinn", "--json").json) == 20
