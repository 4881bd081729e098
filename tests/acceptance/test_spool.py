"""A session's spool, from the command line: who writes to it, and what a drain of it prints."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gatepost.hooks.session import Session, SessionState
from tests.acceptance.office import Office
from tests.servers import until
from tests.uplinks import running

SESSION = "5f0c2b1e"


@pytest.fixture
def guest(office: Office) -> Callable[..., Path]:
    """Somebody whose hooks have noted a session here; returns its spool."""

    def there(session: str = SESSION, agent: str = "analyst", state: str = "working") -> Path:
        noted = SessionState(agent=agent, host="claude", state=state, registered=True)
        Session(office.home, session).update(lambda _: noted)
        return office.home / "spool" / f"{session}.jsonl"

    return there


def line(content: str, **fields: object) -> str:
    return json.dumps({"id": content, "type": "alert", "source": "ci", "content": content, **fields}) + "\n"


def test_a_push_is_in_the_spool_of_the_recipients_sessions_and_is_read_from_there_once(
    office: Office, guest: Callable[..., Path]
) -> None:
    spool, over, other = guest(), guest("over", state="ended"), guest("other", agent="quinn")
    event = office.push("--to", "analyst", "--subject", "CI", "main is red")
    written = json.loads(spool.read_text())
    assert (written["id"], written["content"], written["priority"]) == (event, "main is red", 2)
    assert not over.exists()
    assert not other.exists()
    said = office.done("inbox", "drain", "--session", SESSION)
    assert said.out.splitlines()[1:] == ['[Event: cli] "CI" - "main is red"']
    assert (
        office.done("inbox", "list", "--to", "analyst", "--delivered", "--json").json[0]["receipt"]["owner"] == SESSION
    )
    again = office.done("inbox", "drain", "--session", SESSION, "--reconcile")
    assert (again.out, spool.read_text()) == ("", "")


def test_a_broadcast_is_in_every_spool_but_the_senders(office: Office, guest: Callable[..., Path]) -> None:
    spools = [guest(), guest("s-2"), guest("s-3", agent="quinn")]
    office.push("--broadcast", "--as", "quinn", "hello")
    assert [spool.exists() for spool in spools] == [True, True, False]


def test_the_pusher_finds_nothing_in_its_own_spool(office: Office, guest: Callable[..., Path]) -> None:
    own, other = guest(), guest("s-2")
    office.done("inbox", "push", "note to self", CLAUDE_CODE_SESSION_ID=SESSION)
    assert (own.exists(), other.exists()) == (False, True)
    assert "note to self" in office.done("inbox", "drain", "--session", SESSION, "--reconcile").out


def test_a_push_through_a_gateway_is_in_the_spool_but_for_the_pushers_own(
    office: Office, guest: Callable[..., Path]
) -> None:
    own, other = guest(), guest("s-2", agent="quinn")
    with running(office.home):
        office.done("inbox", "push", "note to self", CLAUDE_CODE_SESSION_ID=SESSION)
        event = office.done("inbox", "push", "--to", "quinn", "main is red", CLAUDE_CODE_SESSION_ID=SESSION).out
        until(lambda: other.exists() and event.strip() in other.read_text(), "it is in the spool")
        assert not own.exists()


def test_a_push_is_not_broken_by_a_spool_that_cannot_be_written(office: Office, guest: Callable[..., Path]) -> None:
    guest()
    (office.home / "spool").write_text("in the way")
    office.push("--to", "analyst", "main is red")
    said = office.done("inbox", "drain", "--session", SESSION, "--reconcile")
    assert "main is red" in said.out
    assert "cannot be used" in said.err


def test_without_the_store_the_spool_is_read_and_the_store_told_later(
    office: Office, guest: Callable[..., Path]
) -> None:
    guest()
    office.push("--to", "analyst", "main is red")
    away = "sqlite:////nowhere/gatepost.db"
    said = office.done("inbox", "drain", "--session", SESSION, "--reconcile", GATEPOST_STORE=away)
    assert "main is red" in said.out
    assert said.err.startswith("only the spool is read: ")
    assert office.done("inbox", "list", "--to", "analyst").out
    assert not office.done("inbox", "drain", "--session", SESSION, "--reconcile").out
    assert not office.done("inbox", "list", "--to", "analyst").out


def test_lines_of_others_are_read_and_what_cannot_be_is_kept(office: Office) -> None:
    spool = office.here / ".runtime" / "inject-queue" / f"{SESSION}.jsonl"
    spool.parent.mkdir(parents=True)
    spool.write_text(
        line("old")
        + "nonsense\n"
        + line("late", timestamp=1, ttl_seconds=1)
        + line("urgent", priority=0)
        + '{"id": "to'
    )
    path = ".runtime/inject-queue/<session>.jsonl"
    said = office.done("inbox", "drain", "--session", SESSION, "--format", "json", GATEPOST_SPOOL__PATH=path)
    assert [(item["content"], item["priority"], item["trust"]) for item in said.json] == [
        ("urgent", 0, "external"),
        ("old", 2, "external"),
    ]
    aside = Path(f"{spool}.aside")
    assert said.err.splitlines()[0] == f"2 lines of {str(spool)!r} cannot be read; see {str(aside)!r}"
    assert aside.read_text() == 'nonsense\n{"id": "to\n'
    assert spool.read_text() == ""


def test_a_long_line_is_shown_cut_and_kept_whole(office: Office) -> None:
    spool = office.home / "spool" / f"{SESSION}.jsonl"
    spool.parent.mkdir()
    spool.write_text(line("x" * 20_000))
    said = office.done("inbox", "drain", "--session", SESSION)
    assert len(said.out) < 9_000
    assert f"the rest: {spool}.aside)" in said.out
    assert json.loads(Path(f"{spool}.aside").read_text())["content"] == "x" * 20_000


def test_what_the_cap_leaves_over_waits_and_is_announced(office: Office) -> None:
    spool = office.home / "spool" / f"{SESSION}.jsonl"
    spool.parent.mkdir()
    spool.write_text("".join(line(f"n{number}", priority=0 if number > 22 else 2) for number in range(25)))
    first = office.done("inbox", "drain", "--session", SESSION).out.splitlines()
    assert first[0].startswith("INBOX (20 events, 5 more waiting, ")
    assert first[1].startswith('[Alert: ci] "n23"')
    second = office.done("inbox", "drain", "--session", SESSION).out.splitlines()
    assert first[1:] + second[1:] == [f'[Alert: ci] "n{n}" (external)' for n in (23, 24, *range(23))]


@pytest.mark.parametrize("session", ["../../escape", "/etc/passwd", "..", ".", "a/b\x00c", "x" * 5_000, "\n", "🦄"])
def test_no_session_gets_out_of_the_folder_of_spools(office: Office, session: str) -> None:
    before = {path for path in office.home.parent.rglob("*") if "spool" not in path.parts}
    said = office("inbox", "drain", "--session", session, "--reconcile", "--to", "analyst")
    assert (said.code, "Traceback" in said.err) == (2 if not session.strip() else 0, False)
    assert {path for path in office.home.parent.rglob("*") if "spool" not in path.parts} == before


@pytest.mark.parametrize(
    ("words", "path", "message"),
    [
        (["--reconcile"], "", "--reconcile is about the spool of a session"),
        (["--session", " "], "", "--session is empty"),
        (
            ["--session", SESSION],
            "spool/all.jsonl",
            "GATEPOST_SPOOL__PATH is wrong: 'spool/all.jsonl' is not the path of a spool",
        ),
    ],
)
def test_what_is_wrong_is_said(office: Office, words: list[str], path: str, message: str) -> None:
    said = office("inbox", "drain", *words, GATEPOST_SPOOL__PATH=path)
    assert (said.code, said.error) == (2, message)
