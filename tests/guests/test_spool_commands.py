"""A session's spool, from the command line: who writes to it, and what a drain of it prints."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gatepost.guests.hooks.session_state import Session, SessionState
from tests.support.command_line import CommandLine
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.servers.private_servers import wait_until

SESSION = "5f0c2b1e"


@pytest.fixture
def create_guest(cli: CommandLine) -> Callable[..., Path]:
    """Somebody whose hooks have noted a session here; returns its spool."""

    def create_session(session: str = SESSION, agent: str = "analyst", state: str = "working") -> Path:
        session_state = SessionState(agent=agent, host="claude", state=state, registered=True)
        Session(cli.home, session).update(lambda _: session_state)
        return cli.home / "spool" / f"{session}.jsonl"

    return create_session


def build_line(content: str, **fields: object) -> str:
    return json.dumps({"id": content, "type": "alert", "source": "ci", "content": content, **fields}) + "\n"


def test_a_push_is_in_the_spool_of_the_recipients_sessions_and_is_read_from_there_once(
    cli: CommandLine, create_guest: Callable[..., Path]
) -> None:
    spool, ended_spool, other_spool = (
        create_guest(),
        create_guest("over", state="ended"),
        create_guest("other", agent="quinn"),
    )
    event = cli.push("--to", "analyst", "--subject", "CI", "main is red")
    spool_line = json.loads(spool.read_text())
    assert (spool_line["id"], spool_line["content"], spool_line["priority"]) == (event, "main is red", 2)
    assert not ended_spool.exists()
    assert not other_spool.exists()
    result = cli.run_ok("inbox", "drain", "--session", SESSION)
    assert result.out.splitlines()[1:] == ['[Event: cli] "CI" - "main is red"']
    assert (
        cli.run_ok("inbox", "list", "--to", "analyst", "--delivered", "--json").json[0]["receipt"]["owner"] == SESSION
    )
    second_result = cli.run_ok("inbox", "drain", "--session", SESSION, "--reconcile")
    assert (second_result.out, spool.read_text()) == ("", "")


def test_a_broadcast_is_in_every_spool_but_the_senders(cli: CommandLine, create_guest: Callable[..., Path]) -> None:
    spools = [create_guest(), create_guest("s-2"), create_guest("s-3", agent="quinn")]
    cli.push("--broadcast", "--as", "quinn", "hello")
    assert [spool.exists() for spool in spools] == [True, True, False]


def test_the_pusher_finds_nothing_in_its_own_spool(cli: CommandLine, create_guest: Callable[..., Path]) -> None:
    own_spool, other_spool = create_guest(), create_guest("s-2")
    cli.run_ok("inbox", "push", "note to self", CLAUDE_CODE_SESSION_ID=SESSION)
    assert (own_spool.exists(), other_spool.exists()) == (False, True)
    assert "note to self" in cli.run_ok("inbox", "drain", "--session", SESSION, "--reconcile").out


def test_a_push_through_a_gateway_is_in_the_spool_but_for_the_pushers_own(
    cli: CommandLine, create_guest: Callable[..., Path]
) -> None:
    own_spool, other_spool = create_guest(), create_guest("s-2", agent="quinn")
    with run_gateway_process(cli.home):
        cli.run_ok("inbox", "push", "note to self", CLAUDE_CODE_SESSION_ID=SESSION)
        event = cli.run_ok("inbox", "push", "--to", "quinn", "main is red", CLAUDE_CODE_SESSION_ID=SESSION).out
        wait_until(lambda: other_spool.exists() and event.strip() in other_spool.read_text(), "it is in the spool")
        assert not own_spool.exists()


def test_a_push_is_not_broken_by_a_spool_that_cannot_be_written(
    cli: CommandLine, create_guest: Callable[..., Path]
) -> None:
    create_guest()
    (cli.home / "spool").write_text("in the way")
    cli.push("--to", "analyst", "main is red")
    result = cli.run_ok("inbox", "drain", "--session", SESSION, "--reconcile")
    assert "main is red" in result.out
    assert "cannot be used" in result.err


def test_without_the_store_the_spool_is_read_and_the_store_told_later(
    cli: CommandLine, create_guest: Callable[..., Path]
) -> None:
    create_guest()
    cli.push("--to", "analyst", "main is red")
    unreachable_store = "sqlite:////nowhere/gatepost.db"
    result = cli.run_ok("inbox", "drain", "--session", SESSION, "--reconcile", GATEPOST_STORE=unreachable_store)
    assert "main is red" in result.out
    assert result.err.startswith("only the spool is read: ")
    assert cli.run_ok("inbox", "list", "--to", "analyst").out
    assert not cli.run_ok("inbox", "drain", "--session", SESSION, "--reconcile").out
    assert not cli.run_ok("inbox", "list", "--to", "analyst").out


def test_lines_of_others_are_read_and_what_cannot_be_is_kept(cli: CommandLine) -> None:
    spool = cli.cwd / ".runtime" / "inject-queue" / f"{SESSION}.jsonl"
    spool.parent.mkdir(parents=True)
    spool.write_text(
        build_line("old")
        + "nonsense\n"
        + build_line("late", timestamp=1, ttl_seconds=1)
        + build_line("urgent", priority=0)
        + '{"id": "to'
    )
    path = ".runtime/inject-queue/<session>.jsonl"
    result = cli.run_ok("inbox", "drain", "--session", SESSION, "--format", "json", GATEPOST_SPOOL__PATH=path)
    assert [(item["content"], item["priority"], item["trust"]) for item in result.json] == [
        ("urgent", 0, "external"),
        ("old", 2, "external"),
    ]
    aside_file = Path(f"{spool}.aside")
    assert result.err.splitlines()[0] == f"2 lines of {str(spool)!r} cannot be read; see {str(aside_file)!r}"
    assert aside_file.read_text() == 'nonsense\n{"id": "to\n'
    assert spool.read_text() == ""


def test_a_long_line_is_shown_cut_and_kept_whole(cli: CommandLine) -> None:
    spool = cli.home / "spool" / f"{SESSION}.jsonl"
    spool.parent.mkdir()
    spool.write_text(build_line("x" * 20_000))
    result = cli.run_ok("inbox", "drain", "--session", SESSION)
    assert len(result.out) < 9_000
    assert f"the rest: {spool}.aside)" in result.out
    assert json.loads(Path(f"{spool}.aside").read_text())["content"] == "x" * 20_000


def test_what_the_cap_leaves_over_waits_and_is_announced(cli: CommandLine) -> None:
    spool = cli.home / "spool" / f"{SESSION}.jsonl"
    spool.parent.mkdir()
    spool.write_text("".join(build_line(f"n{number}", priority=0 if number > 22 else 2) for number in range(25)))
    first = cli.run_ok("inbox", "drain", "--session", SESSION).out.splitlines()
    assert first[0].startswith("INBOX (20 events, 5 more waiting, ")
    assert first[1].startswith('[Alert: ci] "n23"')
    second = cli.run_ok("inbox", "drain", "--session", SESSION).out.splitlines()
    assert first[1:] + second[1:] == [f'[Alert: ci] "n{n}" (external)' for n in (23, 24, *range(23))]


@pytest.mark.parametrize("session", ["../../escape", "/etc/passwd", "..", ".", "a/b\x00c", "x" * 5_000, "\n", "🦄"])
def test_no_session_gets_out_of_the_folder_of_spools(cli: CommandLine, session: str) -> None:
    before = {path for path in cli.home.parent.rglob("*") if "spool" not in path.parts}
    result = cli("inbox", "drain", "--session", session, "--reconcile", "--to", "analyst")
    assert (result.code, "Traceback" in result.err) == (2 if not session.strip() else 0, False)
    assert {path for path in cli.home.parent.rglob("*") if "spool" not in path.parts} == before


@pytest.mark.parametrize(
    ("words", "path", "message"),
    [
        (["--reconcile"], "", "--reconcile is about the spool of a guest session"),
        (["--session", " "], "", "--session is empty"),
        (
            ["--session", SESSION],
            "spool/all.jsonl",
            "GATEPOST_SPOOL__PATH is wrong: 'spool/all.jsonl' is not the path of a spool",
        ),
    ],
)
def test_what_is_wrong_is_said(cli: CommandLine, words: list[str], path: str, message: str) -> None:
    result = cli("inbox", "drain", *words, GATEPOST_SPOOL__PATH=path)
    assert (result.code, result.error) == (2, message)
