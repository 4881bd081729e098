"""`gatepost decision` about an action."""

import json
import os
import pty
import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command_line import GATEPOST_COMMAND, WITHOUT_GATEWAY, CommandLine, CommandResult
from tests.support.waits import LAST_RESORT

EITHER_WAY = True

ARGS = {"to": "ben", "amount": 100}
ENCODED_ARGS = '{"to":"ben","amount":100}'
EDITED = 'accepted send_invoice with edited arguments {"amount":90}'
SEND_ARGS = ("Send it?", "--as", "analyst", "--of", "husam", "--action", "send_invoice", "--args", ENCODED_ARGS)


def ask_decision(cli: CommandLine, *words: str) -> str:
    return cli.run_ok("decision", "ask", *SEND_ARGS, *words).out.strip()


def read_hash(cli: CommandLine, decision: str) -> str:
    return str(cli.run_ok("decision", "show", decision, "--json").json["contextHash"])


def test_show_says_what_is_to_be_run_and_what_to_type(cli: CommandLine) -> None:
    decision = ask_decision(cli, "--allow", "ignore,accept, edit")
    result = cli.run_ok("decision", "show", decision)
    hash = read_hash(cli, decision)
    assert '\naction send_invoice\n  {\n    "to": "ben",\n    "amount": 100\n  }\n' in result.out
    assert [line.split(maxsplit=1) for line in result.out.splitlines()[-3:]] == [
        ["accept", "run it as it is"],
        ["edit", "run it with other arguments"],
        ["ignore", "do not run it"],
    ]
    assert result.err == (
        "\nto answer, run one of:\n"
        f"  gatepost decision answer {decision} accept --hash {hash}\n"
        f"  gatepost decision answer {decision} edit --args JSON --hash {hash}\n"
        f"  gatepost decision answer {decision} ignore --hash {hash}\n"
    )
    document = cli.run_ok("decision", "show", decision, "--json").json
    assert (document["action"], document["allow"]) == (
        {"name": "send_invoice", "args": ARGS},
        ["accept", "edit", "ignore"],
    )
    cli.run_ok("decision", "answer", decision, "ignore", "--as", "husam", "--hash", hash)
    assert cli.run_ok("decision", "show", decision).err == "", "nothing is to be typed any more"


@pytest.mark.parametrize(
    ("words", "outcome", "printed"),
    [
        (("accept",), f"accepted send_invoice with the arguments {ENCODED_ARGS}", f"accept\n{ENCODED_ARGS}\n"),
        (("edit", "--args", '{"amount": 90}'), EDITED, 'edit\n{"amount":90}\n'),
        (("edit", "--args", "@args.json"), EDITED, 'edit\n{"amount":90}\n'),
        (("edit", "--args", "-"), EDITED, 'edit\n{"amount":90}\n'),
        (("respond", "--text", "To\nwhom?"), 'responded to send_invoice: "To\\nwhom?"', "respond\nTo\nwhom?\n"),
        (("--text", "To whom?"), 'responded to send_invoice: "To whom?"', "respond\nTo whom?\n"),
        (("ignore",), "ignored send_invoice", "ignore\n"),
    ],
    ids=["accept", "edit", "edit by a file", "edit by stdin", "respond", "text alone", "ignore"],
)
def test_answers(cli: CommandLine, words: tuple[str, ...], outcome: str, printed: str) -> None:
    (cli.cwd / "args.json").write_text('{"amount": 90}')
    decision = ask_decision(cli)
    hash = read_hash(cli, decision)
    result = cli("decision", "answer", decision, *words, "--as", "husam", "--hash", hash, stdin=b'{"amount": 90}')
    assert result == CommandResult(0, f"{decision}\n", f"answered by husam: {outcome}; analyst gets the answer\n")
    assert cli("decision", "wait", decision) == CommandResult(0, printed, "")
    assert outcome in cli.run_ok("decision", "check", "--as", "analyst").out
    assert outcome in cli.run_ok("decision", "list", "--all").out
    [item] = cli.run_ok("inbox", "list", "--to", "analyst", "--json").json
    assert (item["data"]["action"], item["data"]["kind"]) == ("send_invoice", printed.partition("\n")[0])
    late_result = cli("decision", "answer", decision, "accept", "--as", "admin")
    assert (late_result.code, "was answered already by 'husam'" in late_result.error) == (1, True)


def test_revise(cli: CommandLine) -> None:
    decision = ask_decision(cli)
    hash = read_hash(cli, decision)
    cli.run_ok("decision", "answer", decision, "--text", "Less", "--again", "--as", "husam", "--hash", hash)
    words = ("And so?", "--action", "send_invoice", "--args", '{"amount": 50}', "--allow", "accept")
    revision = cli.run_ok("decision", "revise", decision, *words, "--as", "analyst", "--json").json
    assert (revision["action"]["args"], revision["allow"], revision["guidance"]) == ({"amount": 50}, ["accept"], "Less")
    refusal = cli("decision", "answer", decision, "edit", "--args", "{}", "--as", "husam")
    assert (refusal.code, refusal.err) == (
        2,
        "error: 'edit' is not an option of this decision\nhint: give OPTION (accept)\n",
    )
    cli.run_ok("decision", "answer", decision, "accept", "--as", "husam", "--hash", revision["contextHash"])
    rounds = cli.run_ok("decision", "show", decision).out.splitlines()[-2:]
    assert rounds[0].endswith('"Less"')
    assert rounds[1].endswith('accept  {"amount":50}')


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (("--action", "x", "--args", "[]"), "--args: [] is not a JSON object"),
        (("--action", "x", "--args", "amount=90"), "--args: 'amount=90' is not JSON"),
        (("--action", "x", "--args", ""), "--args is empty"),
        (("--action", ""), "--action is empty"),
        (("--action", "x\ny"), "'x\\ny' is not the name of an action"),
        (("--action", "x", "--allow", "approve"), "--allow: 'approve' is not a kind of answer to an action"),
        (("--action", "x", "--allow", "accept,"), "--allow: '' is not a kind of answer to an action"),
        (("--action", "x", "--option", "yes"), "--option cannot be combined with --action"),
        (("--action", "x", "--text"), "--text cannot be combined with --action"),
        (("--action", "x", "--default", "edit", "--within", "1h"), "'edit' cannot be the default: "),
        (("--text", "--args", "{}"), "--args needs --action"),
        (("--text", "--allow", "accept"), "--allow needs --action"),
    ],
)
def test_what_cannot_be_asked(cli: CommandLine, words: tuple[str, ...], error: str) -> None:
    result = cli("decision", "ask", "Send it?", "--as", "analyst", *words)
    assert (result.code, result.error[: len(error)]) == (2, error)
    assert cli.run_ok("decision", "list", "--json").json == []


@pytest.mark.parametrize(
    ("words", "error", "hint"),
    [
        (("accept", "--args", "{}"), "--args cannot be combined with the answer 'accept'", "use edit to change them"),
        (("accept", "--text", "go"), "--text cannot be combined with the answer 'accept'", "leave it out"),
        (("edit",), "the edited arguments are missing", "give --args JSON: all arguments, as a JSON object"),
        (("ignore",), "'ignore' is not an option of this decision", "give OPTION (accept, edit)"),
        (("--args", "{}"), "--args needs the answer 'edit' to an action", "give OPTION edit, too"),
    ],
)
def test_what_is_no_answer(cli: CommandLine, words: tuple[str, ...], error: str, hint: str) -> None:
    decision = ask_decision(cli, "--allow", "accept,edit")
    result = cli("decision", "answer", decision, *words, "--as", "husam")
    assert result == CommandResult(2, "", f"error: {error}\nhint: {hint}\n")


def test_what_is_too_large(cli: CommandLine, tmp_path: Path) -> None:
    file = tmp_path / "large.json"
    file.write_text(json.dumps({"a": "x" * 70_000}))
    result = cli("decision", "ask", "Send it?", "--action", "x", "--args", f"@{file}", "--as", "analyst")
    assert (result.code, result.error) == (2, "the args object is 70008 bytes as JSON, over the limit of 65536")


@WITHOUT_GATEWAY
def test_the_default_counts_without_a_gateway(cli: CommandLine) -> None:
    result = cli.run_ok("decision", "ask", *SEND_ARGS, "--within", "1ms", "--default", "accept", "--wait")
    assert result.out == 'accept\n{"to":"ben","amount":100}\n'


class TestSwappedArguments:
    """The asker changes the arguments after they were shown."""

    LARGE = ("Send it?", "--action", "send_invoice", "--args", '{"amount": 9000}', "--as", "analyst")

    def swap(self, cli: CommandLine, decision: str) -> None:
        cli.run_ok("decision", "revise", decision, *self.LARGE)

    def test_a_script_needs_the_hash_of_what_it_has_read(self, cli: CommandLine) -> None:
        decision = ask_decision(cli)
        answer = ("decision", "answer", decision, "accept", "--as", "husam")
        assert cli(*answer) == CommandResult(
            2,
            "",
            "error: an answer to an action needs --hash, the hash of the question that was read\n"
            f"hint: `gatepost decision show {decision}` shows its arguments and its hash\n",
        )
        hash = read_hash(cli, decision)
        self.swap(cli, decision)
        swapped = cli(*answer, "--hash", hash)
        assert (swapped.code, swapped.error) == (1, f"the decision {decision!r} has changed since that was read")
        cli.run_ok(*answer, "--hash", read_hash(cli, decision))

    @WITHOUT_GATEWAY
    @pytest.mark.parametrize(
        ("typed", "is_swapped", "code", "end"),
        [
            ("y", False, 0, "accepted send_invoice with the arguments"),
            ("n", False, 1, "nothing was answered"),
            ("", False, 1, "nothing was answered"),
            ("y", True, 1, "has changed since that was read"),
        ],
    )
    def test_a_person_is_shown_them_and_asked(
        self, cli: CommandLine, typed: str, is_swapped: bool, code: int, end: str
    ) -> None:
        decision = ask_decision(cli)
        words = ("decision", "answer", decision, "accept", "--as", "husam")
        meanwhile = (lambda: self.swap(cli, decision)) if is_swapped else (lambda: None)
        actual_code, screen = run_at_terminal(cli, words, typed, meanwhile)
        assert (actual_code, end in screen) == (code, True), screen
        assert re.search(r'action send_invoice\s+\{\s+"to": "ben",\s+"amount": 100\s+\}\s+Is this what', screen)
        assert cli.run_ok("decision", "show", decision, "--json").json["status"] == ("pending" if code else "answered")

    @WITHOUT_GATEWAY
    def test_a_person_is_not_asked_about_a_plain_question(self, cli: CommandLine) -> None:
        ask = ("decision", "ask", "Ship?", "--as", "analyst", "--of", "husam", "--option", "yes")
        decision = cli.run_ok(*ask).out.strip()
        words = ("decision", "answer", decision, "yes", "--as", "husam")
        assert run_at_terminal(cli, words)[0] == 0


def run_at_terminal(
    cli: CommandLine, words: tuple[str, ...], typed: str | None = None, meanwhile: Callable[[], None] = lambda: None
) -> tuple[int, str]:
    """Run a command at a terminal, and type at its question; return its exit code, and what the screen shows."""
    master, slave = pty.openpty()
    environ = os.environ | cli.environ
    with subprocess.Popen(
        [*GATEPOST_COMMAND, *words], stdin=slave, stdout=slave, stderr=slave, env=environ, cwd=cli.cwd
    ) as process:
        os.close(slave)
        screen = b""
        try:
            while part := os.read(master, 4096):
                screen += part
                if typed is not None and screen.rstrip().endswith(b"[y/N]:"):
                    meanwhile()
                    os.write(master, typed.encode() + b"\n")
                    typed = None
        except OSError:  # the terminal is closed with the last process in it
            pass
        os.close(master)
        code = process.wait(LAST_RESORT)
    return code, screen.decode()
