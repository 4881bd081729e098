"""Bad input: one sentence, the right exit code, nothing stored."""

import ctypes
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from gatepost.core.entity import EntityKind
from tests.acceptance.office import PROGRAM, Office

TOO_MUCH = b"x" * (256 * 1024 + 1)


def stored(office: Office) -> int:
    with sqlite3.connect(office.database) as db:
        [count] = db.execute("SELECT count(*) FROM events").fetchone()
    db.close()
    return int(count)


PUSHES = [
    (["--to", "analst", "x"], "nobody is called 'analst'", "did you mean 'analyst'?"),
    (["--to", "nobody-like-that", "x"], "nobody is called 'nobody-like-that'", "`gatepost agent list` shows"),
    (["--to", "two words", "x"], "'two words' is not an address", "use a name"),
    (["--to", "team:sales", "x"], "nobody is in 'team:sales'", "`gatepost agent list` shows"),
    (["--bead", "bead-43", "x"], "nobody has the alias 'bead-43'", "`gatepost agent add NAME --alias ID`"),
    (["--bead", "analyst", "x"], "nobody has the alias 'analyst'", ""),
    (["x"], "no address is given, and no current agent is set", "give --to NAME, or set GATEPOST_AGENT"),
    (["--to", "", "x"], "--to is empty", "leave it out, or say who"),
    (["--bead", "", "x"], "--bead is empty", "leave it out, or say which"),
    (["--to", "analyst", "--as", "", "x"], "--as is empty", ""),
    (["--to", "analyst", "--broadcast", "x"], "give only one of --to, --bead, --session and --broadcast", ""),
    (["--to", "analyst", "--as", "nobody", "x"], "nobody is called 'nobody'", ""),
    (["--to", "analyst", "--priority", "urgent", "x"], "'urgent' is not a priority", "use 0 to 4"),
    (["--to", "analyst", "--priority", "5", "x"], "'5' is not a priority", "use 0 to 4"),
    (["--to", "analyst", "--ttl", "10", "x"], "'10' is not a duration", "write a number and a unit"),
    (["--to", "analyst", "--ttl", "-5m", "x"], "'-5m' is not a duration", "write a number and a unit"),
    (["--to", "analyst", "--ttl", "0s", "x"], "'0s' is not a usable duration", "it must be over zero"),
    (["--to", "analyst", "--type", "gossip", "x"], "'gossip' is not a type of event", "use one of space_message"),
    (["--to", "analyst", "--ref", "task", "x"], "'task' is not a reference", "write it as TYPE:ID"),
    (["--to", "analyst", "--data", "{bad"], "--data '{bad' is not JSON", "write it as"),
    (["--to", "analyst", "--data", '{"n": NaN}'], "--data '{\"n\": NaN}' is not JSON", ""),
    (["--to", "analyst", "--data", ""], "--data '' is not JSON", ""),
    (["--to", "analyst", "--data", '"\\u0000"'], "the data has a NUL character in it", ""),
    (["--to", "analyst", "--data", '"\\ud800"'], "the data is not valid Unicode", ""),
    (["--to", "analyst", "--data", "[" * 200_000], "nested", ""),
    (
        ["--to", "analyst", "--type", "plan", "--data", '{"planId": 7}'],
        "data.planId of a plan must be a string",
        "",
    ),
    (["--to", "analyst"], "there is nothing to push", "give TEXT"),
    (["--to", "analyst", " \n"], "the text is empty", ""),
    (["--to", "analyst", "-"], "the text is empty", "what wrote to stdin"),
    (["--to", "analyst", "-", "--data", "-"], "text and data cannot both be read from stdin", "--data @FILE"),
    (["--to", "analyst", "--dedup-key", "", "x"], "the dedup key is empty", "leave it out"),
    (["--to", "analyst", "--dedup-key", "k" * 513, "x"], "the dedup key has 513 characters", ""),
    (["--to", "analyst", "--dedup-key", "by:ann:k", "x"], "the dedup key 'by:ann:k' begins with 'by:'", "begin it"),
    (["--to", "analyst", "--subject", "s" * 1_001, "x"], "the subject has 1001 characters", ""),
    (["--to", "analyst", "--source", "", "x"], "an event needs a source", ""),
    (["--to", "analyst", "bad\udcff"], "TEXT is not valid UTF-8 at byte 4", ""),
    (
        ["--to", "analyst", "x" * (256 * 1024 + 1)],
        "the content is 262145 bytes, over the limit of 262144",
        "send a",
    ),
    (["--to", "analyst", "hello", "world"], "got unexpected extra argument(s) (world)", "put quotes around"),
    (["--tu", "analyst", "hello"], "no such option: --tu", "possible options: --to"),
    (["--to"], "option '--to' requires an argument", ""),
    (["--to", "analyst", "--to", "quinn", "hello"], "--to is given 2 times", "give it once"),
    (["--to", "analyst", "--to=analyst", "--to", "quinn", "hello"], "--to is given 3 times", "give it once"),
]


@pytest.mark.parametrize(("words", "message", "hint"), PUSHES)
def test_a_push(office: Office, words: list[str], message: str, hint: str) -> None:
    ended = office("inbox", "push", *words)
    assert (ended.code, ended.out) == (2, "")
    assert message in ended.error
    assert hint in ended.err
    assert stored(office) == 0


@pytest.mark.parametrize(
    ("stdin", "message"),
    [
        (TOO_MUCH + b"\n\n", "stdin has over 262144 bytes, which is the limit"),
        (TOO_MUCH, "the content is 262145 bytes, over the limit of 262144"),
        (b"abc\xff\xfe", "stdin is not valid UTF-8 at byte 4"),
        (b"\xed\xa0\x80", "stdin is not valid UTF-8 at byte 1"),
        (b"a\x00b", "the content has a NUL character in it"),
    ],
)
def test_stdin(office: Office, stdin: bytes, message: str) -> None:
    ended = office("inbox", "push", "--to", "analyst", "-", stdin=stdin)
    assert (ended.code, ended.error) == (2, message)
    assert stored(office) == 0


def test_stdin_without_end_is_not_read_to_its_end(office: Office) -> None:
    with Path("/dev/zero").open("rb") as endless:
        ended = subprocess.run(
            [*PROGRAM, "inbox", "push", "--to", "analyst", "-"],
            stdin=endless,
            capture_output=True,
            env=os.environ | office.environ,
            timeout=60,
            check=False,
        )
    assert ended.returncode == 2
    assert ended.stderr.startswith(b"error: stdin has over 262144 bytes")


def test_data_that_is_too_large(office: Office, tmp_path: Path) -> None:
    (tmp_path / "large.json").write_text('"' + "x" * (1024 * 1024) + '"')
    ended = office("inbox", "push", "--to", "analyst", "--data", f"@{tmp_path}/large.json")
    assert (ended.code, ended.error) == (2, "the data is 1048578 bytes as JSON, over the limit of 1048576")
    (tmp_path / "larger.json").write_text('"' + "x" * (1024 * 1024 + 10) + '"')
    ended = office("inbox", "push", "--to", "analyst", "--data", f"@{tmp_path}/larger.json")
    assert "has over 1048576 bytes, which is the limit" in ended.error
    missing = office("inbox", "push", "--to", "analyst", "--data", "@missing.json")
    assert (missing.code, missing.error) == (3, "'missing.json' cannot be read: No such file or directory")
    assert stored(office) == 0


def test_a_limit_can_be_set(office: Office) -> None:
    ended = office("inbox", "push", "--to", "analyst", "12345", GATEPOST_LIMITS__CONTENT="4")
    assert (ended.code, ended.error) == (2, "the content is 5 bytes, over the limit of 4")


OTHERS = [
    (["inbox", "show", "evt_1"], 2, "'evt_1' is not the id of an event"),
    (["inbox", "show", "run_" + "0" * 32], 2, f"'run_{'0' * 32}' is the id of a run, not of an event"),
    (["inbox", "show", "evt_" + "0" * 32], 1, f"there is no event 'evt_{'0' * 32}'"),
    (["inbox", "replay", "evt_" + "0" * 32], 1, f"there is no event 'evt_{'0' * 32}'"),
    (["inbox", "list", "--to", "analyst", "--all", "--dead"], 2, "give only one of --all, --delivered"),
    (["inbox", "list", "--to", "analyst", "--state", "gone"], 2, "'gone' is not a state"),
    (["inbox", "list", "--to", "analyst", "--limit", "0"], 2, "'0' is not a number for --limit"),
    (["inbox", "list", "--to", "analyst", "--limit", "many"], 2, "'many' is not a number for --limit"),
    (["inbox", "list", "--to", "analyst", "--since", "yesterday"], 2, "'yesterday' is not a time for --since"),
    (["inbox", "list", "--to", "analyst", "-n", "5", "--limit", "6"], 2, "--limit is given 2 times"),
    (["inbox", "list", "--to", "team:web"], 2, "'team:web' is not one entity"),
    (["inbox", "drain", "--to", "analyst", "--format", "xml"], 2, "'xml' is not a format"),
    (["inbox", "drain", "--to", "analyst", "--session", "s" * 201], 2, f"'{'s' * 60}' is not an owner of a claim"),
    (["inbox", "drain", "--to", "analyst", "--limit", "1001"], 2, "'1001' is not a number for --limit"),
    (["inbox", "drain", "--to", ""], 2, "--to is empty"),
    (["inbox", "drain", "--to", "analyst", "--session", ""], 2, "--session is empty"),
    (["inbox", "drane"], 2, "no such command 'drane'"),
    (["agent", "add", "Analyst"], 2, "'Analyst' is not a name"),
    (["agent", "add", "all"], 2, "'all' cannot be a name: it reads as the address of every agent"),
    (["agent", "add", "x", "--role", "lead"], 2, "a role ('lead') needs a team"),
    (["agent", "add", "x", "--alias", "team:x"], 2, "'team:x' is not an alias"),
    (["agent", "add", "x", "--display", "a\nb"], 2, "'a\\nb' is not a display name"),
    (["agent", "add", "x", "--owner", "nobody"], 2, "nobody is called 'nobody'"),
    (["agent", "add", "analyst"], 1, "the name 'analyst' is taken"),
    (["agent", "add"], 2, "missing argument 'NAME'"),
    (["agent", "show", "nobody"], 2, "nobody is called 'nobody'"),
    (["completion", "tcsh"], 2, "'tcsh' is not a shell known here"),
    (["import", "missing.jsonl"], 3, "'missing.jsonl' cannot be read: No such file or directory"),
    (["nonsense"], 2, "no such command 'nonsense'"),
]


#: what is to be said instead of an empty word
EMPTY = {
    "which": [
        ["agent", "add", "x", "--model", ""],
        ["agent", "set", "analyst", "--model", " "],
        ["inbox", "drain", "--to", "analyst", "--session", ""],
        ["space", "create", "Q4", "--id", ""],
        ["key", "create", "--trigger", ""],
        ["decision", "ask", "Ship?", "--text", "--as", "analyst", "--default", ""],
    ],
    "what": [["gate", "add", "ci", "--owner", "analyst", "--awaits", ""]],
    "where": [["up", "--host", ""]],
    "who": [["inbox", "list", "--to", ""], ["key", "create", "--agent", ""]],
}


@pytest.mark.parametrize(("asked", "words"), [(asked, words) for asked, each in EMPTY.items() for words in each])
def test_an_empty_word(office: Office, asked: str, words: list[str]) -> None:
    ended = office(*words)
    assert (ended.code, ended.out) == (2, "")
    assert ended.error.endswith(" is empty")
    assert ended.err.endswith(f"hint: leave it out, or say {asked}\n")
    assert stored(office) == 0


@pytest.mark.parametrize(("words", "code", "message"), OTHERS)
def test_other_commands(office: Office, words: list[str], code: int, message: str) -> None:
    ended = office(*words)
    assert (ended.code, ended.out) == (code, "")
    assert ended.error.startswith(message)
    assert [each["name"] for each in office.done("agent", "list", "--json").json] == ["analyst", "quinn"]


def as_anybody() -> None:
    """Root may write what is read-only: take that right away from the program that is started next."""
    if os.getuid() == 0:
        for right in (1, 2, 3):  # CAP_DAC_OVERRIDE, CAP_DAC_READ_SEARCH, CAP_FOWNER
            ctypes.CDLL(None).prctl(24, right, 0, 0, 0)  # PR_CAPBSET_DROP


class TestTheStore:
    def test_is_not_a_database(self, gatepost: Office) -> None:
        (gatepost.here / "notes.txt").write_text("dear diary\n" * 100)
        ended = gatepost("agent", "list", GATEPOST_STORE="sqlite:///notes.txt")
        assert (ended.code, ended.error) == (3, f"the store '{gatepost.here}/notes.txt' is not a database")
        assert (gatepost.here / "notes.txt").read_text() == "dear diary\n" * 100

    def test_belongs_to_another_program(self, gatepost: Office) -> None:
        foreign = gatepost.here / "foreign.db"
        with sqlite3.connect(foreign) as db:
            db.execute("CREATE TABLE diary (entry TEXT)")
        db.close()
        before = foreign.read_bytes()
        ended = gatepost("agent", "list", GATEPOST_STORE="sqlite:///foreign.db")
        assert (ended.code, ended.error) == (3, f"'{foreign}' is a database of another program")
        assert foreign.read_bytes() == before

    def test_is_damaged(self, office: Office) -> None:
        pages = office.database.read_bytes()
        office.database.write_bytes(pages[:4096] + b"\xde\xad" * 2048 + pages[8192:])
        ended = office("inbox", "push", "--to", "analyst", "x")
        assert (ended.code, ended.error) == (3, f"the store '{office.database}' is damaged")
        sick = office("doctor")
        assert sick.code == 1
        assert "wrong" in sick.out
        assert "Traceback" not in sick.err

    def test_is_cut_off(self, office: Office) -> None:
        office.database.write_bytes(office.database.read_bytes()[:5000])
        ended = office("inbox", "push", "--to", "analyst", "x")
        assert ended.code == 3
        assert str(office.database) in ended.error

    def test_has_a_newer_schema(self, office: Office) -> None:
        with sqlite3.connect(office.database) as db:
            db.execute("UPDATE schema_version SET version = 999, oldest = 999")
        db.close()
        ended = office("inbox", "list", "--to", "analyst")
        assert ended.code == 3
        assert "the store has schema 999" in ended.error
        assert "upgrade gatepost" in ended.err

    def test_is_in_a_folder_that_is_not_there(self, gatepost: Office) -> None:
        ended = gatepost("agent", "list", GATEPOST_STORE="sqlite:///nowhere/gatepost.db")
        assert (ended.code, ended.error) == (3, f"the store '{gatepost.here}/nowhere/gatepost.db' cannot be opened")

    def test_is_a_folder(self, gatepost: Office) -> None:
        ended = gatepost("agent", "list", GATEPOST_STORE=f"sqlite:///{gatepost.here}")
        assert (ended.code, ended.error) == (3, f"the store '{gatepost.here}' cannot be opened")

    @pytest.mark.parametrize("url", ["sqlite://gatepost.db", "sqlite:///", "mysql://a:xyzzy@b/c", "gatepost.db"])
    def test_is_not_a_url_of_one(self, gatepost: Office, url: str) -> None:
        ended = gatepost("agent", "list", GATEPOST_STORE=url)
        assert ended.code == 2
        assert ended.error
        assert "xyzzy" not in ended.err

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
    def test_password_is_never_shown(self, gatepost: Office, url: str, code: int) -> None:
        for words in (["agent", "list"], ["config", "show"], ["config", "show", "--json"], ["doctor"], ["init"]):
            ended = gatepost(*words, GATEPOST_STORE=url, GATEPOST_DEBUG="1")
            assert ended.code in (code, 0, 1), ended
            assert "zzy" not in ended.out + ended.err
        assert gatepost("agent", "list", GATEPOST_STORE=url).code == code


class TestTheWorkingDirectory:
    """It was removed while a shell was in it."""

    @pytest.fixture(autouse=True)
    def gone(self, office: Office) -> None:
        (office.here / "gone").mkdir()
        os.chdir(office.here / "gone")
        (office.here / "gone").rmdir()

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
    def test_is_needed_and_gone(self, office: Office, words: list[str]) -> None:
        ended = office(*words, GATEPOST_HOME="")
        assert (ended.code, ended.out) == (3, "")
        assert ended.error.startswith("the working directory is gone")
        assert "hint: go to a folder that is there" in ended.err

    @pytest.mark.parametrize("words", [["gate", "status"], ["gate", "check"], ["hooks", "status"]])
    def test_is_needed_though_the_home_is_known(self, office: Office, words: list[str]) -> None:
        session = ["--session", "s-1"] if words[0] == "gate" else []
        ended = office(*words, *session)
        assert (ended.code, ended.error) == (3, "the working directory is gone")
        assert ended.err.endswith("hint: go to a folder that is there\n")

    def test_is_not_needed_to_make_a_home_that_is_named(self, office: Office, tmp_path: Path) -> None:
        office.done("init", GATEPOST_HOME=str(tmp_path / "named"))
        assert (tmp_path / "named" / "gatepost.db").exists()


class TestTheHome:
    def test_is_a_file(self, gatepost: Office) -> None:
        gatepost.home.touch()
        ended = gatepost("agent", "list")
        assert (ended.code, ended.error) == (3, f"the folder '{gatepost.home}' cannot be made: File exists")
        assert gatepost("init").code == 3
        assert gatepost("doctor").code == 1

    def test_is_below_a_file(self, gatepost: Office) -> None:
        gatepost.home.touch()
        ended = gatepost("agent", "list", GATEPOST_HOME=f"{gatepost.home}/deep")
        assert (ended.code, ended.error) == (3, f"the folder '{gatepost.home}/deep' cannot be made: Not a directory")

    @pytest.mark.skipif(sys.platform != "linux" and os.getuid() == 0, reason="root may write what is read-only")
    @pytest.mark.parametrize("words", [["agent", "add", "x"], ["init"], ["inbox", "drain", "--to", "analyst"]])
    def test_is_read_only(self, office: Office, words: list[str]) -> None:
        office.database.chmod(0o444)
        office.home.chmod(0o555)
        before = office.database.read_bytes()
        ended = subprocess.run(
            [*PROGRAM, *words],
            capture_output=True,
            env=os.environ | office.environ,
            cwd=office.here,
            timeout=60,
            preexec_fn=as_anybody,
            check=False,
        )
        office.home.chmod(0o755)
        assert ended.returncode == 3, ended
        first, *rest = ended.stderr.decode().splitlines()
        assert first.startswith("error: ")
        assert len(rest) <= 1
        assert office.database.read_bytes() == before


def test_an_unexpected_error_is_one_sentence_too(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("oh, postgresql://ana:xyzzy@db")

    monkeypatch.setattr("gatepost.actions.push.push_event", broken)
    ended = office("inbox", "push", "--to", "analyst", "x")
    assert ended.code == 1
    assert ended.error == "something went wrong inside: ZeroDivisionError: oh, postgresql://ana:***@db"
    told = office("inbox", "push", "--to", "analyst", "x", GATEPOST_DEBUG="1")
    assert "Traceback" in told.err
    assert "xyzzy" not in told.err


def test_kinds_have_words() -> None:
    from gatepost.cli.entities import _WORDS

    assert set(_WORDS) == set(EntityKind)
