"""Which store a command works on, and which commands make one."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.support.command_homes import start_local_gateway
from tests.support.command_line import CommandLine

#: commands that read, or that are about something which must be there
NOT_FIRST: Sequence[Sequence[str]] = (
    ["agent", "list"],
    ["agent", "show", "analyst"],
    ["agent", "set", "analyst", "--display", "Ann"],
    ["agent", "retire", "analyst"],
    ["agent", "runs", "analyst"],
    ["agent", "usage"],
    ["channel", "list"],
    ["decision", "list"],
    ["decision", "answer", "dec_" + "0" * 32, "yes"],
    ["export", "out.jsonl"],
    ["gate", "list"],
    ["gate", "show", "gate_" + "0" * 32],
    ["inbox", "--as", "analyst"],
    ["inbox", "list", "--to", "analyst"],
    ["inbox", "peek", "--to", "analyst"],
    ["inbox", "drain", "--to", "analyst"],
    ["inbox", "watch", "--to", "analyst"],
    ["key", "list"],
    ["ledger", "topics"],
    ["ledger", "verify", "0.0.1001"],
    ["person", "list"],
    ["plan", "list"],
    ["space", "list"],
    ["space", "read", "q4"],
    ["space", "post", "q4", "--as", "analyst", "hello"],
    ["trigger", "list"],
    ["trigger", "route", "list"],
    ["work", "list"],
)


@pytest.mark.parametrize("words", NOT_FIRST, ids=" ".join)
def test_a_command_that_reads_makes_no_store(empty_cli: CommandLine, words: Sequence[str]) -> None:
    result = empty_cli(*words)
    assert (result.code, result.error) == (3, f"there is no store yet: sqlite:///{empty_cli.database}"), result
    assert "hint: `gatepost init` makes it; if yours is elsewhere, name its home in GATEPOST_HOME\n" in result.err
    assert not empty_cli.home.exists()
    assert not (empty_cli.cwd / "out.jsonl").exists()


def test_doctor_makes_no_store(empty_cli: CommandLine) -> None:
    result = empty_cli.run_ok("doctor")
    assert f"ok     store      sqlite:///{empty_cli.database}: none yet, `gatepost init` makes it\n" in result.out
    assert not empty_cli.home.exists()


def test_doctor_finds_a_store_that_cannot_be_made(empty_cli: CommandLine) -> None:
    result = empty_cli("doctor", GATEPOST_STORE="sqlite:////nowhere/at/all.db")
    assert result.code == 1
    assert "wrong  store      sqlite:////nowhere/at/all.db: there is no such folder\n" in result.out
    assert "hint: mkdir -p /nowhere/at, or change the setting `store`\n" in result.out


@pytest.mark.parametrize(
    "words",
    [["agent", "add", "analyst"], ["person", "add", "husam"], ["inbox", "push", "--to", "admin", "hello"], ["init"]],
    ids=" ".join,
)
def test_a_command_that_can_be_the_first_makes_a_store(empty_cli: CommandLine, words: Sequence[str]) -> None:
    empty_cli.run_ok(*words)
    assert empty_cli.database.exists()


@pytest.mark.parametrize(
    "words",
    [
        ["agent", "list"],
        ["agent", "add", "zoe"],
        ["inbox", "push", "--to", "admin", "hello"],
        ["inbox", "drain", "--session", "s1", "--reconcile"],
        ["export", "out.jsonl"],
        ["init"],
        ["up", "--port", "0"],
    ],
    ids=" ".join,
)
def test_beside_the_store_of_the_gateway_no_other_is_used(cli: CommandLine, words: Sequence[str]) -> None:
    with start_local_gateway(cli):
        result = cli(*words, GATEPOST_STORE="sqlite:///other.db")
        other_store = cli.cwd / "other.db"
        assert (result.code, result.error) == (
            1,
            f"the gateway of this home uses the store sqlite:///{cli.database}, and this command would use "
            f"sqlite:///{other_store}",
        )
        assert "hint: `store` is set here by: GATEPOST_STORE; set it as for the gateway" in result.err
        assert not other_store.exists()


def test_doctor_names_both_stores(cli: CommandLine) -> None:
    with start_local_gateway(cli):
        result = cli("doctor", GATEPOST_STORE="sqlite:///other.db")
        assert result.code == 1
        assert f"wrong  gateway    the gateway of this home uses the store sqlite:///{cli.database}, and" in result.out


def test_an_import_beside_the_store_of_the_gateway_warns(cli: CommandLine) -> None:
    with start_local_gateway(cli):
        cli.run_ok("export", "out.jsonl")
        result = cli.run_ok("import", "out.jsonl", GATEPOST_STORE="sqlite:///other.db")
    warning = f"warning: the gateway of this home uses the store sqlite:///{cli.database}, and sees nothing of this\n"
    assert warning in result.err


def test_the_store_of_the_gateway_has_several_paths(cli: CommandLine, tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(cli.home)
    with start_local_gateway(cli):
        assert "analyst" in cli.run_ok("agent", "list", GATEPOST_HOME=str(link)).out
