"""The token of a bot on the command line: read from a file, stdin or a variable, and never shown."""

import stat

import pytest

from tests.support.command_line import CommandLine

TOKEN = "123456:AAFabcdefghijklmnopqrstuvwxyz"
ADD = ("trigger", "add", "desk", "--provider", "telegram")


def test_the_store_that_has_the_token_is_for_its_user_alone(empty_cli: CommandLine) -> None:
    (empty_cli.cwd / "token").write_text(f"{TOKEN}\n")
    empty_cli.run_ok("init")
    empty_cli.run_ok(*ADD, "--token", "@token")

    assert stat.S_IMODE(empty_cli.database.stat().st_mode) == 0o600
    assert TOKEN.encode() in b"".join(path.read_bytes() for path in empty_cli.home.glob("gatepost.db*"))


@pytest.mark.parametrize("token", ["@token", "-"])
def test_a_stored_token_is_in_no_output_and_no_export(cli: CommandLine, token: str) -> None:
    (cli.cwd / "token").write_text(f"{TOKEN}\n")
    added = cli.run_ok(*ADD, "--token", token, stdin=TOKEN.encode())
    outputs = [added, *(cli.run_ok("trigger", *rest, "--json") for rest in (("show", "desk"), ("list",)))]
    cli.run_ok("export", "out.jsonl")
    cli.run_ok("export", "all.jsonl", "--secrets")
    exports = [(cli.cwd / name).read_text() for name in ("out.jsonl", "all.jsonl")]

    for text in (*exports, *(output.out + output.err for output in outputs)):
        assert "desk" in text
        assert "AAFabc" not in text


def test_a_reference_is_shown_and_exported(cli: CommandLine) -> None:
    cli.run_ok(*ADD, "--token", "env:BOT_TOKEN")
    cli.run_ok("export", "out.jsonl")

    assert "env:BOT_TOKEN" in cli.run_ok("trigger", "show", "desk").out
    assert "env:BOT_TOKEN" in (cli.cwd / "out.jsonl").read_text()


def test_a_token_is_not_an_argument(cli: CommandLine) -> None:
    """It would be in the history of the shell, and in the list of processes."""
    refused = cli(*ADD, "--token", TOKEN)

    assert refused.code != 0
    assert "AAFabc" not in refused.out + refused.err
