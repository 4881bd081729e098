"""Bad input: one sentence, the right exit code, nothing stored."""

import ctypes
import os
import shlex
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.directory.entity import EntityKind
from tests.support.collected_failures import CollectedFailures
from tests.support.command_line import GATEPOST_COMMAND, CommandLine
from tests.support.waits import LAST_RESORT

OVERSIZED_CONTENT = b"x" * (256 * 1024 + 1)


def count_events(cli: CommandLine) -> int:
    with sqlite3.connect(cli.database) as db:
        [count] = db.execute("SELECT count(*) FROM events").fetchone()
    db.close()
    return int(count)


BAD_PUSHES = [
    (["--to", "analst", "x"], "there is no entity 'analst'", "did you mean 'analyst'?"),
    (["--to", "nobody-like-that", "x"], "there is no entity 'nobody-like-that'", "`gatepost agent list` and"),
    (
        ["--to", "two words", "x"],
        "'two words' is not an address",
        "use the name or an alias",
    ),
    (["--to", "team:sales", "x"], "no entity is in 'team:sales'", "`gatepost agent list` shows"),
    (["--bead", "bead-43", "x"], "no entity has the alias 'bead-43'", "`gatepost agent add NAME --alias ID`"),
    (["--bead", "analyst", "x"], "no entity has the alias 'analyst'", ""),
    (["x"], "no address is given, and no current agent is set", "give --to NAME, or set GATEPOST_AGENT"),
    (["--to", "", "x"], "--to is empty", "leave it out, or give it a value"),
    (["--bead", "", "x"], "--bead is empty", "leave it out, or give it a value"),
    (["--to", "analyst", "--as", "", "x"], "--as is empty", ""),
    (["--to", "analyst", "--broadcast", "x"], "give only one of --to, --bead, --session and --broadcast", ""),
    (["--to", "analyst", "--as", "nobody", "x"], "there is no entity 'nobody'", ""),
    (["--to", "analyst", "--priority", "urgent", "x"], "'urgent' is not a priority", "use 0 to 4"),
    (["--to", "analyst", "--priority", "5", "x"], "'5' is not a priority", "use 0 to 4"),
    (["--to", "analyst", "--ttl", "10", "x"], "--ttl: '10' is not a duration", "write a number and a unit"),
    (["--to", "analyst", "--ttl", "-5m", "x"], "--ttl: '-5m' is not a duration", "write a number and a unit"),
    (["--to", "analyst", "--ttl", "0s", "x"], "--ttl: '0s' is not over zero", "use a duration over zero"),
    (["--to", "analyst", "--type", "gossip", "x"], "'gossip' is not a type of event", "use one of space_message"),
    (["--to", "analyst", "--ref", "task", "x"], "'task' is not a reference", "write it as TYPE:ID"),
    (["--to", "analyst", "--data", "{bad"], "--data: '{bad' is not JSON", "write it as"),
    (["--to", "analyst", "--data", '{"n": NaN}'], "--data: '{\"n\": NaN}' is not JSON", ""),
    (["--to", "analyst", "--data", ""], "--data is empty", ""),
    (["--to", "analyst", "--data", '"\\u0000"'], "the data has a NUL character in it", ""),
    (["--to", "analyst", "--data", '"\\ud800"'], "the value is not valid Unicode", ""),
    (["--to", "analyst", "--data", "[" * 200_000], "nested", ""),
    (
        ["--to", "analyst", "--type", "plan", "--data", '{"planId": 7}'],
        "data.planId of a plan must be a string",
        "",
    ),
    (["--to", "analyst"], "nothing to push", "give TEXT"),
    (["--to", "analyst", " \n"], "the text is empty", "give TEXT"),
    (["--to", "analyst", "-"], "stdin is empty", "the command that writes to it may have failed"),
    (["--to", "analyst", "-", "--data", "-"], "stdin can be read only once", "from a file: @FILE"),
    (["--to", "analyst", "--dedup-key", "", "x"], "--dedup-key is empty", "leave it out"),
    (["--to", "analyst", "--dedup-key", "k" * 513, "x"], "the dedup key has 513 characters", ""),
    (["--to", "analyst", "--dedup-key", "by:ann:k", "x"], "the dedup key 'by:ann:k' begins with 'by:'", "begin it"),
    (["--to", "analyst", "--subject", "s" * 1_001, "x"], "the subject has 1001 characters", ""),
    (["--to", "analyst", "--source", "", "x"], "--source is empty", ""),
    (["--to", "analyst", "bad\udcff"], "the text is not valid UTF-8 at byte 4", ""),
    (
        ["--to", "analyst", "x" * (256 * 1024 + 1)],
        "the content is 262145 bytes, over the limit of 262144",
        "send a",
    ),
    (
        ["--to", "analyst", "hello", "world"],
        "this command does not take the argument 'world'",
        "text with spaces needs quotes",
    ),
    (["--tu", "analyst", "hello"], "no such option '--tu'", "did you mean --to?"),
    (["--to"], "--to needs a value", ""),
    (["--to", "analyst", "--to", "quinn", "hello"], "--to is given 2 times", "give it once"),
    (["--to", "analyst", "--to=analyst", "--to", "quinn", "hello"], "--to is given 3 times", "give it once"),
]


def test_a_push(cli: CommandLine) -> None:
    with CollectedFailures() as failures:
        for words, message, hint in BAD_PUSHES:
            with failures.check(shlex.join(words)[:100]):
                result = cli("inbox", "push", *words)
                assert (result.code, result.out) == (2, "")
                assert message in result.error
                assert hint in result.err
                assert count_events(cli) == 0


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (OVERSIZED_CONTENT + b"\n\n", "the content is 262146 bytes, over the limit of 262144"),
        (OVERSIZED_CONTENT, "the content is 262145 bytes, over the limit of 262144"),
        (b"abc\xff\xfe", "stdin is not valid UTF-8 at byte 4"),
        (b"\xed\xa0\x80", "stdin is not valid UTF-8 at byte 1"),
        (b"a\x00b", "the content has a NUL character in it"),
    ],
)
def test_stdin(cli: CommandLine, stdin: bytes, message: str) -> None:
    result = cli("inbox", "push", "--to", "analyst", "-", stdin=stdin)
    assert (result.code, result.error) == (2, message)
    assert count_events(cli) == 0


def test_stdin_without_end_is_not_read_to_its_end(cli: CommandLine) -> None:
    with Path("/dev/zero").open("rb") as stream:
        result = subprocess.run(
            [*GATEPOST_COMMAND, "inbox", "push", "--to", "analyst", "-"],
            stdin=stream,
            capture_output=True,
            env=os.environ | cli.environ,
            timeout=LAST_RESORT,
            check=False,
        )
    assert result.returncode == 2
    assert result.stderr == b"error: stdin has more than 4194304 bytes, which is the limit\nhint: shorten it\n"


def test_data_that_is_too_large(cli: CommandLine, tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text('"' + "x" * (1024 * 1024) + '"')
    result = cli("inbox", "push", "--to", "analyst", "--data", f"@{tmp_path}/large.json")
    assert (result.code, result.error) == (2, "the data is 1048578 bytes as JSON, over the limit of 1048576")
    (tmp_path / "larger.json").write_text('"' + "x" * (1024 * 1024 + 10) + '"')
    result = cli("inbox", "push", "--to", "analyst", "--data", f"@{tmp_path}/larger.json")
    assert "the data is 1048588 bytes as JSON, over the limit of 1048576" in result.error
    missing_result = cli("inbox", "push", "--to", "analyst", "--data", "@missing.json")
    assert (missing_result.code, missing_result.error) == (
        2,
        "--data: 'missing.json' cannot be read: No such file or directory",
    )
    assert count_events(cli) == 0


def test_a_limit_can_be_set(cli: CommandLine) -> None:
    result = cli("inbox", "push", "--to", "analyst", "12345", GATEPOST_LIMITS__CONTENT="4")
    assert (result.code, result.error) == (2, "the content is 5 bytes, over the limit of 4")


OTHER_BAD_COMMANDS = [
    (["inbox", "show", "evt_1"], 2, "'evt_1' is not the id of an event"),
    (["inbox", "show", "run_" + "0" * 32], 2, f"'run_{'0' * 32}' is the id of a run, not of an event"),
    (["inbox", "show", "evt_" + "0" * 32], 1, f"there is no event 'evt_{'0' * 32}'"),
    (["inbox", "replay", "evt_" + "0" * 32], 1, f"there is no event 'evt_{'0' * 32}'"),
    (["inbox", "list", "--to", "analyst", "--all", "--dead"], 2, "give only one of --all, --delivered"),
    (["inbox", "list", "--to", "analyst", "--state", "gone"], 2, "--state: 'gone' is not one of pending, "),
    (["inbox", "list", "--to", "analyst", "--limit", "0"], 2, "--limit: '0' is not a number"),
    (["inbox", "list", "--to", "analyst", "--limit", "many"], 2, "--limit: 'many' is not a number"),
    (["inbox", "list", "--to", "analyst", "--since", "yesterday"], 2, "--since: 'yesterday' is not a time"),
    (["inbox", "list", "--to", "analyst", "--since", "2026-02-18"], 2, "--since: '2026-02-18' has no time zone"),
    (["inbox", "list", "--to", "analyst", "-n", "5", "--limit", "6"], 2, "--limit is given 2 times"),
    (["inbox", "list", "--to", "team:web"], 2, "'team:web' is not one entity"),
    (["inbox", "drain", "--to", "analyst", "--format", "xml"], 2, "--format: 'xml' is not one of text, json"),
    (["inbox", "drain", "--to", "analyst", "--session", "s" * 201], 2, f"'{'s' * 59}…' is not an owner of a claim"),
    (["inbox", "drain", "--to", "analyst", "--limit", "1001"], 2, "--limit: '1001' is not a number"),
    (["inbox", "drain", "--to", ""], 2, "--to is empty"),
    (["inbox", "drain", "--to", "analyst", "--session", ""], 2, "--session is empty"),
    (["inbox", "drane"], 2, "no such command 'drane'"),
    (["agent", "add", "Analyst"], 2, "'Analyst' is not a name"),
    (["agent", "add", "all"], 2, "'all' cannot be a name: it reads as the address of every agent"),
    (["agent", "add", "x", "--role", "lead"], 2, "a role ('lead') needs a team"),
    (["agent", "add", "x", "--alias", "team:x"], 2, "'team:x' is not an alias"),
    (["agent", "add", "x", "--display", "a\nb"], 2, "'a\\nb' is not a display name"),
    (["agent", "add", "x", "--owner", "nobody"], 2, "there is no entity 'nobody'"),
    (["agent", "add", "analyst"], 1, "the name 'analyst' is taken"),
    (["agent", "add"], 2, "NAME is missing"),
    (["agent", "show", "nobody"], 2, "there is no entity 'nobody'"),
    (["completion", "tcsh"], 2, "'tcsh' is not one of bash, zsh, fish, powershell"),
    (["import", ""], 2, "the name of a file is empty"),
    (["import", "missing.jsonl"], 2, "'missing.jsonl' cannot be read: No such file or directory"),
    (["nonsense"], 2, "no such command 'nonsense'"),
]


#: what is to be said instead of an empty word
COMMANDS_WITH_EMPTY_OPTION = [
    ["agent", "add", "x", "--model", ""],
    ["agent", "set", "analyst", "--model", " "],
    ["inbox", "drain", "--to", "analyst", "--session", ""],
    ["space", "create", "Q4", "--id", ""],
    ["key", "create", "--trigger", ""],
    ["decision", "ask", "Ship?", "--text", "--as", "analyst", "--default", ""],
    ["gate", "add", "ci", "--owner", "analyst", "--awaits", ""],
    ["up", "--host", ""],
    ["inbox", "list", "--to", ""],
    ["key", "create", "--agent", ""],
]


@pytest.mark.parametrize("words", COMMANDS_WITH_EMPTY_OPTION)
def test_an_empty_option(cli: CommandLine, words: list[str]) -> None:
    result = cli(*words)
    assert (result.code, result.out) == (2, "")
    assert result.error.endswith(" is empty")
    assert result.err.endswith("hint: leave it out, or give it a value\n")
    assert count_events(cli) == 0


def test_other_commands(cli: CommandLine) -> None:
    with CollectedFailures() as failures:
        for words, code, message in OTHER_BAD_COMMANDS:
            with failures.check(shlex.join(words)[:100]):
                result = cli(*words)
                assert (result.code, result.out) == (code, "")
                assert result.error.startswith(message)
                assert [row["name"] for row in cli.run_ok("agent", "list", "--json").json] == ["analyst", "quinn"]


def drop_root_rights() -> None:
    """Root may write what is read-only: take that right away from the program that is started next."""
    if os.getuid() == 0:
        for capability in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            ctypes.CDLL(None).prctl(24, capability, 0, 0, 0)  # PR_CAPBSET_DROP


class TestTheStore:
    def test_is_not_a_database(self, empty_cli: CommandLine) -> None:
        (empty_cli.cwd / "notes.txt").write_text("dear diary\n" * 100)
        result = empty_cli("agent", "list", GATEPOST_STORE="sqlite:///notes.txt")
        assert (result.code, result.error) == (3, f"the store '{empty_cli.cwd}/notes.txt' is not a database")
        assert (empty_cli.cwd / "notes.txt").read_text() == "dear diary\n" * 100

    def test_belongs_to_another_program(self, empty_cli: CommandLine) -> None:
        foreign_file = empty_cli.cwd / "foreign.db"
        with sqlite3.connect(foreign_file) as db:
            db.execute("CREATE TABLE diary (entry TEXT)")
        db.close()
        before = foreign_file.read_bytes()
        result = empty_cli("agent", "list", GATEPOST_STORE="sqlite:///foreign.db")
        assert (result.code, result.error) == (3, f"'{foreign_file}' is a database of another program")
        assert foreign_file.read_bytes() == before

    def test_is_damaged(self, cli: CommandLine) -> None:
        pages = cli.database.read_bytes()
        cli.database.write_bytes(pages[:4096] + b"\xde\xad" * 2048 + pages[8192:])
        result = cli("inbox", "push", "--to", "analyst", "x")
        assert (result.code, result.error) == (3, f"the store '{cli.database}' is damaged")
        doctor_result = cli("doctor")
        assert doctor_result.code == 1
        assert "wrong" in doctor_result.out
        assert "Traceback" not in doctor_result.err

    def test_is_cut_off(self, cli: CommandLine) -> None:
        cli.database.write_bytes(cli.database.read_bytes()[:5000])
        result = cli("inbox", "push", "--to", "analyst", "x")
        assert result.code == 3
        assert str(cli.database) in result.error

    def test_has_a_newer_schema(self, cli: CommandLine) -> None:
        with sqlite3.connect(cli.database) as db:
            db.execute("UPDATE schema_version SET version = 999, oldest = 999")
        db.close()
        result = cli("inbox", "list", "--to", "analyst")
        assert result.code == 3
        assert "the store has schema 999" in result.error
        assert "upgrade gatepost" in result.err

    def test_is_in_a_folder_that_is_not_there(self, empty_cli: CommandLine) -> None:
        result = empty_cli("agent", "add", "x", GATEPOST_STORE="sqlite:///nowhere/gatepost.db")
        assert (result.code, result.error) == (3, f"the store '{empty_cli.cwd}/nowhere/gatepost.db' cannot be opened")

    def test_is_a_folder(self, empty_cli: CommandLine) -> None:
        result = empty_cli("agent", "list", GATEPOST_STORE=f"sqlite:///{empty_cli.cwd}")
        assert (result.code, result.error) == (3, f"the store '{empty_cli.cwd}' cannot be opened")

    @pytest.mark.parametrize("url", ["sqlite://gatepost.db", "sqlite:///", "mysql://a:xyzzy@b/c", "gatepost.db"])
    def test_is_not_a_url_of_one(self, empty_cli: CommandLine, url: str) -> None:
        result = empty_cli("agent", "list", GATEPOST_STORE=url)
        assert result.code == 2
        assert result.error
        assert "xyzzy" not in result.err

    @pytest.mark.parametrize(
        ("url", "code"),
        [
            ("postgresql://ana:xyzzy@127.0.0.1:1/gatepost", 3),
            ("postgresql://ana:xy/zzy@127.0.0.1:1/gatepost", 2),
            ("postgresql://ana:xy@zzy@127.0.0.1:1/gatepost", 2),
            ("postgresql://ana:xyzzy%zz@127.0.0.1:1/gatepost", 2),
            ("postgresql://127.0.0.1:xyzzy/gatepost", 2),
            ("postgresql://ana:xyzzy@127.0.0.1:1,[::1]:1/gatepost", 3),
            ("postgresql://127.0.0.1:1/gatepost?user=ana&password=xyzzy", 3),
        ],
    )
    def test_password_is_never_shown(self, empty_cli: CommandLine, url: str, code: int) -> None:
        for words in (["agent", "list"], ["config", "show"], ["config", "show", "--json"], ["doctor"], ["init"]):
            result = empty_cli(*words, GATEPOST_STORE=url, GATEPOST_DEBUG="1")
            assert result.code in (code, 0, 1), result
            assert "zzy" not in result.out + result.err
        assert empty_cli("agent", "list", GATEPOST_STORE=url).code == code


class TestTheWorkingDirectory:
    """It was removed while a shell was in it."""

    @pytest.fixture(autouse=True)
    def remove_cwd(self, cli: CommandLine) -> None:
        (cli.cwd / "gone").mkdir()
        os.chdir(cli.cwd / "gone")
        (cli.cwd / "gone").rmdir()

    @pytest.mark.parametrize(
        "words",
        [
            ["init"],
            ["hooks", "status"],
            ["hooks", "install"],
            ["hooks", "uninstall", "--host", "codex", "--file", "hooks.json"],
            ["agent", "list"],
        ],
    )
    def test_is_needed_and_gone(self, cli: CommandLine, words: list[str]) -> None:
        result = cli(*words, GATEPOST_HOME="")
        assert (result.code, result.out) == (3, "")
        assert result.error.startswith("the working directory is gone")
        assert "hint: go to a folder that is there" in result.err

    @pytest.mark.parametrize("words", [["gate", "status"], ["gate", "check"], ["hooks", "status"]])
    def test_is_needed_though_the_home_is_known(self, cli: CommandLine, words: list[str]) -> None:
        session = ["--session", "s-1"] if words[0] == "gate" else []
        result = cli(*words, *session)
        assert (result.code, result.error) == (3, "the working directory is gone")
        assert result.err.endswith("hint: go to a folder that is there\n")

    def test_is_not_needed_to_make_a_home_that_is_named(self, cli: CommandLine, tmp_path: Path) -> None:
        cli.run_ok("init", GATEPOST_HOME=str(tmp_path / "named"))
        assert (tmp_path / "named" / "gatepost.db").exists()


class TestTheHome:
    def test_is_a_file(self, empty_cli: CommandLine) -> None:
        empty_cli.home.touch()
        result = empty_cli("agent", "add", "x")
        assert (result.code, result.error) == (3, f"the folder '{empty_cli.home}' cannot be made: File exists")
        assert empty_cli("init").code == 3
        assert empty_cli("doctor").code == 1

    def test_is_below_a_file(self, empty_cli: CommandLine) -> None:
        empty_cli.home.touch()
        result = empty_cli("agent", "add", "x", GATEPOST_HOME=f"{empty_cli.home}/deep")
        assert (result.code, result.error) == (3, f"the folder '{empty_cli.home}/deep' cannot be made: Not a directory")

    @pytest.mark.skipif(sys.platform != "linux" and os.getuid() == 0, reason="root may write what is read-only")
    @pytest.mark.parametrize("words", [["agent", "add", "x"], ["init"], ["inbox", "drain", "--to", "analyst"]])
    def test_is_read_only(self, cli: CommandLine, words: list[str]) -> None:
        cli.database.chmod(0o444)
        cli.home.chmod(0o555)
        before = cli.database.read_bytes()
        result = subprocess.run(
            [*GATEPOST_COMMAND, *words],
            capture_output=True,
            env=os.environ | cli.environ,
            cwd=cli.cwd,
            timeout=LAST_RESORT,
            preexec_fn=drop_root_rights,
            check=False,
        )
        cli.home.chmod(0o755)
        assert result.returncode == 3, result
        first, *rest = result.stderr.decode().splitlines()
        assert first.startswith("error: ")
        assert len(rest) <= 1
        assert cli.database.read_bytes() == before


def test_an_unexpected_error_is_one_sentence_too(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    def raise_error(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh, postgresql://ana:xyzzy@db")

    monkeypatch.setattr("gatepost.inbox.push.handlers.build_push", raise_error)
    result = cli("inbox", "push", "--to", "analyst", "x")
    assert result.code == 1
    assert result.error == "internal error: ZeroDivisionError: oh, postgresql://ana:***@db"
    debug_result = cli("inbox", "push", "--to", "analyst", "x", GATEPOST_DEBUG="1")
    assert "Traceback" in debug_result.err
    assert "xyzzy" not in debug_result.err


def test_kinds_have_words() -> None:
    assert [kind.phrase for kind in EntityKind] == ["an agent", "a person", "a service"]
