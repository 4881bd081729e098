"""Everything answers as it was recorded, but for what is listed. `record.py` says what the oracle is."""

from typing import Any, Final

import pytest

from gatepost.handlers.executor import load_operations
from tests.gateways import list_operations
from tests.oracle import record
from tests.oracle.commands import build_commands
from tests.oracle.corpus import build_corpus
from tests.oracle.differences import COMMANDS, LIST_FILE, REQUESTS, Record, compare, read_differences, summarize
from tests.oracle.replay import replay
from tests.oracle.shell import run_commands
from tools import reference

RECORDED = {"GET /a": {"status": 200, "media": "application/json", "body": {"name": "a"}}}
REFUSED_ANSWERS = {
    "GET /a": {"status": 403, "media": "application/problem+json", "body": {"type": "refused", "status": 403}}
}
ENTRY = '[[difference]]\nreason = "rights come first"\ncases = ["GET /a"]\n'

#: what came after the record: it has no earlier answers
NEW_TAGS: Final = frozenset(
    (
        *("mail", "work", "ledger", "connections", "routes", "chat", "shared_inbox", "telegram", "channels"),
        *("overview", "usage", "fires", "history", "accounts", "sign_in"),
    )
)
NEW_ROUTES: Final = frozenset(("POST /api/triggers/{name}/test",))
NEW_COMMANDS: Final = frozenset(
    (
        *("send", "reply", "note", "inbox sent", "inbox thread"),
        *("work add", "work list", "work show", "work event", "work notes"),
        *("ledger topics", "ledger messages", "ledger export", "ledger verify", "ledger profile", "ledger sync"),
        *("ledger requests", "ledger connections", "ledger connect", "ledger accept", "ledger refuse", "ledger close"),
        *("chat", "inbox shared", "channel list", "channel pair", "channel sessions", "channel unpair"),
        *("trigger set", "trigger test", "trigger dead", "trigger replay"),
        *("sign-in", "agent usage", "agent budgets", "plan next", "plan fires", "trigger fires"),
        *("plan show", "plan enable", "plan disable"),
        *(f"trigger route {verb}" for verb in ("add", "set", "list", "show", "enable", "disable", "delete")),
    )
)


def test_every_operation_has_a_case() -> None:
    new_routes = {operation.route for operation in load_operations() if operation.tag in NEW_TAGS} | NEW_ROUTES
    assert {case.route for case in build_corpus()} - {None} == set(list_operations()) - new_routes


def test_every_command_has_a_case() -> None:
    paths = [
        path.removeprefix("gatepost ")
        for path, command in reference.list_commands()
        if not hasattr(command, "list_commands")
    ]
    command_words = [f"{command.words} " for command in build_commands()]
    recorded_paths = [path for path in paths if path not in NEW_COMMANDS]
    assert [path for path in recorded_paths if not any(words.startswith(f"{path} ") for words in command_words)] == []


def test_requests_are_answered_as_recorded() -> None:
    _check(REQUESTS, replay(build_corpus()))


def test_commands_end_as_recorded() -> None:
    _check(COMMANDS, run_commands(build_commands()))


def _check(recorded: Record, answers: dict[str, Any]) -> None:
    faults = compare(recorded.read(), answers, read_differences(LIST_FILE.read_text(encoding="utf-8")))
    assert not faults, f"{len(faults)} differ:\n" + "\n".join(faults)


def test_what_is_listed_is_a_case() -> None:
    case_ids = {*REQUESTS.read(), *COMMANDS.read()}
    assert set(read_differences(LIST_FILE.read_text(encoding="utf-8"))) <= case_ids


def test_a_difference_that_is_not_listed_is_a_fault() -> None:
    [fault] = compare(RECORDED, REFUSED_ANSWERS, {})
    assert "status: 200 -> 403" in fault


@pytest.mark.parametrize(
    "expected",
    ["status = 403", 'type = "refused"', f'fingerprint = "{summarize(REFUSED_ANSWERS["GET /a"])["fingerprint"]}"'],
)
def test_a_listed_difference_is_none(expected: str) -> None:
    assert compare(RECORDED, REFUSED_ANSWERS, read_differences(ENTRY + expected)) == []


def test_a_listed_difference_that_does_not_occur_is_a_fault() -> None:
    [fault] = compare(RECORDED, RECORDED, read_differences(ENTRY + "status = 403"))
    assert "is none" in fault


def test_a_difference_that_is_another_than_listed_is_a_fault() -> None:
    [fault] = compare(RECORDED, REFUSED_ANSWERS, read_differences(ENTRY + "status = 404"))
    assert "not as listed" in fault


def test_a_case_that_is_new_or_gone_is_a_fault() -> None:
    new, gone = compare(RECORDED, {"GET /b": RECORDED["GET /a"]}, {})
    assert new.startswith("GET /b: is not in the record")
    assert gone.startswith("GET /a: is in the record")


@pytest.mark.parametrize("entry", ['[[difference]]\ncases = ["GET /a"]\nstatus = 1', ENTRY, ENTRY + "colour = 1"])
def test_a_difference_needs_a_reason_and_what_is_expected(entry: str) -> None:
    with pytest.raises(ValueError, match="a difference needs"):
        read_differences(entry)


def test_a_record_is_not_written_over(capsys: pytest.CaptureFixture[str]) -> None:
    before = REQUESTS.path.stat().st_mtime_ns
    assert record.main([]) == 2
    assert "exists" in capsys.readouterr().err
    assert REQUESTS.path.stat().st_mtime_ns == before
