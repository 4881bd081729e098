"""Mistakes that people make at a terminal: the same plain sentence with a gateway and without one."""

import socket

import pytest

from gatepost.gateway import serve
from tests.acceptance.command_line import CommandLine

EITHER_WAY = True

NOT_UTF8 = b"x\xff".decode(errors="surrogateescape")


@pytest.mark.parametrize(
    ("words", "code", "error", "hint"),
    [
        (["agent", "list", "web"], 2, "this command does not take the argument 'web'", "options begin with --"),
        (["--json", "agent", "list"], 2, "no such option '--json'", "write options after the command"),
        (["agent", "list", "--team"], 2, "--team needs a value", ""),
        (["space", "post", "q4"], 2, "TEXT is missing", "`gatepost space post --help` explains it"),
        (["decision", "answer", "", "yes"], 2, "'' is not the id of a decision", "such an id is dec_ and 32 digits"),
        (["gate", "show", "a/b"], 2, "'a/b' is not the id of a gate", "such an id is gate_ and 32 digits"),
        (["inbox", "show", "evt_42"], 2, "'evt_42' is not the id of an event", "such an id is evt_ and 32 digits"),
        (["key", "revoke", "a/b"], 2, "id: 'a/b' is not a name or an id", ""),
        (["inbox", "push", "--session", "a/b", "x"], 2, "id: 'a/b' is not a name or an id", ""),
        (["agent", "list", "--team", NOT_UTF8], 2, "--team is not valid UTF-8", "convert it first"),
        (["agent", "runs", "analyst", "--status", NOT_UTF8], 2, "--status is not valid UTF-8", ""),
        (["key", "revoke", NOT_UTF8], 2, "KEY is not valid UTF-8", ""),
        (["agent", "pause", "husam"], 1, "'husam' is a person, not an agent", ""),
        (["agent", "show", "husam"], 1, "'husam' is a person, not an agent", ""),
        (["export", "--json"], 2, "--json needs a FILE", "an export to stdout is JSON lines already"),
        (["up", "--host", "ü..b"], 3, "'ü..b' cannot be resolved to an address", "listen on 127.0.0.1"),
    ],
)
def test_one_sentence_that_helps(cli: CommandLine, words: list[str], code: int, error: str, hint: str) -> None:
    result = cli(*words)
    assert (result.code, result.out, result.error) == (code, "", error)
    assert hint in result.err


@pytest.mark.parametrize(
    ("words", "usage"),
    [
        (["agent", "list", "--colour", "--help"], "gatepost agent list [OPTIONS]"),
        (["agent", "list", "-h", "--colour"], "gatepost agent list [OPTIONS]"),
        (["agent", "add", "one", "two", "--help"], "gatepost agent add [OPTIONS] NAME"),
        (["inbox", "push", "--to", "a", "--to", "b", "--help"], "gatepost inbox push [OPTIONS] [TEXT|-]"),
        (["agent", "--colour", "--help"], "gatepost agent [OPTIONS] COMMAND [ARGS]..."),
        (["--colour", "--help"], "gatepost [OPTIONS] [COMMAND] [ARGS]..."),
    ],
)
def test_help_is_printed_beside_words_that_are_wrong(cli: CommandLine, words: list[str], usage: str) -> None:
    result = cli.run_ok(*words)
    assert (result.out.splitlines()[0], result.err) == (f"Usage: {usage}", "")


def test_help_behind_two_dashes_is_an_argument(cli: CommandLine) -> None:
    assert cli("agent", "list", "--colour", "--", "--help").error == "no such option '--colour'"


def test_words_cannot_act_on_a_terminal(cli: CommandLine) -> None:
    assert "\x1b" not in cli("agent", "list", "\x1b[31mx\u202e").err
    assert "\x1b" not in cli("agent", "show", "\x1b[31mx").err


@pytest.mark.parametrize("variables", [{}, {"COMP_WORDS": "gatepost", "COMP_CWORD": "x"}])
def test_completion_without_the_variables_of_a_shell_says_nothing(cli: CommandLine, variables: dict[str, str]) -> None:
    cli.environ |= {"_GATEPOST_COMPLETE": "bash_complete", **variables}
    result = cli("agent", "list")
    assert (result.code, result.out, result.err) == (1, "", "")


@pytest.mark.parametrize("url", ["postgresql:u:S3kret@h/db", "postgresql://u:S3kret P@127.0.0.1:1/db"])
def test_a_password_is_masked_in_a_url_that_is_wrong(cli: CommandLine, url: str) -> None:
    result = cli("config", "show", GATEPOST_STORE=url)
    assert "S3kret" not in result.out + result.err
    assert " P@" not in result.out + result.err


def test_help_shows_values_as_they_are_typed(cli: CommandLine) -> None:
    assert "openai:NAME, anthropic:NAME" in " ".join(cli.run_ok("agent", "add", "--help").out.split())
    assert "[default: normal]" in cli.run_ok("inbox", "push", "--help").out


def test_a_gateway_whose_port_is_taken_begins_no_work(cli: CommandLine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(serve, "open_gateway", lambda _: pytest.fail("the gateway began before it had its port"))
    with socket.create_server(("127.0.0.1", 0)) as other_program:
        port = other_program.getsockname()[1]
        result = cli("up", "--port", str(port))
    assert (result.code, result.error) == (3, f"cannot listen on 127.0.0.1:{port}: Address already in use")
