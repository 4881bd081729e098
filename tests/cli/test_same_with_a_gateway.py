"""
Every command has the same result with a gateway as without one: the same output, the same messages, the same exit code.

There are two homes that are alike, and a gateway runs in one of them. `commands.txt` has every command with a normal
use and a usual mistake; each is run in both homes, and what it prints is compared. A command that is not there fails
the test. What a command prints is checked in the modules beside this one, by day in homes without a gateway.
"""

import json
import re
import shlex
import shutil
from dataclasses import dataclass, field
from difflib import unified_diff
from pathlib import Path
from string import Template
from typing import Any, Final

import click
import pytest

from gatepost import app, settings
from gatepost.channels import pairing_actions as pairing
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.core.policy import Policy
from gatepost.core.ports import Transaction
from gatepost.directory import key_actions as keys
from gatepost.directory.key_handlers import generate_secret
from tests.cli.bad_commands import BAD_COMMANDS
from tests.cli.test_bad_input import BAD_PUSHES, OTHER_BAD_COMMANDS
from tests.cli.test_gateway import list_answered_routes
from tests.cli.test_same_errors import REFUSED_COMMANDS
from tests.ledger.test_ledger_commands import PUBLIC_LEDGER, receive_requests
from tests.operations.access_cases import add_pairing
from tests.residents import resident_runs
from tests.support.collected_failures import CollectedFailures
from tests.support.command_homes import start_local_gateway
from tests.support.command_line import CommandLine, CommandResult
from tools.reference import list_commands

COMMANDS: Final = [
    path.removeprefix("gatepost ")
    for path, command in list_commands()
    if not isinstance(command, click.Group) or path == "gatepost inbox"
]
ALL_BAD_COMMANDS: Final = [
    *(["inbox", "push", *words] for words, _, _ in BAD_PUSHES),
    *(words for words, _, _ in OTHER_BAD_COMMANDS),
    *(words for words, _, _ in REFUSED_COMMANDS),
    *BAD_COMMANDS,
]
#: commands without a normal use in the file, and the tests that have one: some run until they are stopped, and others
#: are about the gateway itself
USED_ELSEWHERE: Final = {
    "inbox watch": "test_gateway.py: TestWatching",
    "space watch": "test_gateway.py: TestWatching",
    "inbox undo": "tests/snapshot/commands/inbox.txt: it has ten seconds",
    "courier": "test_courier.py: test_an_idle_guest_is_nudged_and_its_next_hook_shows_it_once",
    "sign-in": "test_sign_in.py: it needs a gateway",
    "up": "test_gateway.py: test_up_and_down",
    "init": "test_gateway.py: test_some_always_work_here",
    "doctor": "test_gateway.py: test_some_always_work_here",
    "export": "test_gateway.py: test_some_always_work_here",
    "import": "test_gateway.py: test_some_always_work_here",
}
#: a hook reports no mistakes: its host would stop the agent
COMMANDS_WITHOUT_MISTAKES: Final = {"hook"}
#: what is said only where no gateway runs
MESSAGES_WITHOUT_GATEWAY: Final = re.compile(r"^it is posted when a gateway runs: `gatepost up`\n", re.MULTILINE)
#: what is random or measured
MASKS: Final = [
    (re.compile(pattern), mask)
    for pattern, mask in (
        (r"\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z", "<time>"),
        (r"(?<= )\d+(?:\.\d+)?m?s +", "<age>  "),
        (r'(?<="durationMs": )\d+', "<age>"),
        (r"\b(sk|pk|lk)_[A-Za-z0-9_-]{8,}", r"<\1>"),
        # a push through a gateway has a key with which it can be sent again
        (r"dedup key +client:\w+\n", ""),
        (r'(?<="dedupKey": )("client:\w+"|"broadcast:\w+"|null)', "<key>"),
        # the local ledger: times, the JSON with these in base64, and hashes of it
        (r"\b\d{10}\.\d{9}\b", "<time>"),
        (r'(?<="message": )"[\w+/=]+"', "<message>"),
        (r'(?<=[hH]ash": )"[\w+/=]+"', "<hash>"),
    )
]
#: how many routes of the gateway the commands call at least
ROUTE_COUNTS: Final = {"local:": 100, PUBLIC_LEDGER: 5}

LINE: Final = re.compile(r"(?P<fails>! )?(?:(?P<name>\w+)=\$\((?P<kept>.*)\)|(?P<words>.*))")
VARIABLE: Final = re.compile(r"[A-Z_]+=")


@dataclass(frozen=True)
class CommandCase:
    """A line of the file."""

    text: str
    #: which ledger the homes have
    ledger: str
    is_mistake: bool
    words: str
    #: the name for what it prints
    name: str | None

    @property
    def command(self) -> str:
        """The command without its arguments."""
        words = [word for word in shlex.split(self.words) if not VARIABLE.match(word)]
        return next(" ".join(words[:count]) for count in (3, 2, 1) if " ".join(words[:count]) in COMMANDS)


def read_cases() -> list[CommandCase]:
    cases: list[CommandCase] = []
    ledger = ""
    for text in Path(__file__).with_name("commands.txt").read_text().splitlines():
        if text.startswith("["):
            ledger = text.strip("[]")
        elif text and not text.startswith("#"):
            match = LINE.fullmatch(text)
            assert match is not None, text
            words = match["kept"] or match["words"]
            cases.append(CommandCase(text, ledger, bool(match["fails"]), words, match["name"]))
    return cases


@dataclass
class Home:
    """A home, what commands have printed in it, and how that is made comparable."""

    cli: CommandLine
    values: dict[str, str]
    _ids: dict[str, str] = field(default_factory=dict)

    def run(self, case: CommandCase) -> CommandResult:
        words = shlex.split(Template(case.words).safe_substitute(self.values))
        environ: dict[str, str] = {}
        while VARIABLE.match(words[0]):
            name, _, environ[name] = words.pop(0).partition("=")
        stdin = b""
        if "<<<" in words:
            *words, _, text = words
            stdin = text.encode()
        self.cli.monkeypatch.chdir(self.cli.cwd)
        run = self.cli.run_process if words[0] == "hook" else self.cli  # a hook writes to the descriptor itself
        result = run(*words, stdin=stdin, **environ)
        if case.name is not None and result.code == 0:
            self.values[case.name] = find_id(result)
        return result

    def normalize(self, result: CommandResult) -> CommandResult:
        """Replace what is random or measured; an id is named by its place among all."""
        out, err = (self._mask(text) for text in (result.out, result.err))
        return CommandResult(result.code, out, err)

    def _mask(self, text: str) -> str:
        for pattern, mask in MASKS:
            text = pattern.sub(mask, text)
        text = text.replace(str(self.cli.home), "<home>").replace(str(self.cli.cwd), "<here>")
        return re.sub(r"\b([a-z]{2,8})_[0-9a-f]{32}\b", lambda match: self._name_id(match[0], match[1]), text)

    def _name_id(self, id: str, kind: str) -> str:
        return self._ids.setdefault(id, f"<{kind} {len(self._ids) + 1}>")


def find_id(result: CommandResult) -> str:
    """Return the id of the first object in JSON, else the first word."""
    try:
        document = json.loads(result.out)
    except ValueError:
        return result.out.split()[0]
    first = document[0] if isinstance(document, list) else document
    return str(first["id"])


def prepare_home(cli: CommandLine, ledger: str) -> dict[str, str]:
    """Give a home what no command can make; return the names of that."""
    bot = TriggerSpec(name="desk", provider="telegram", secret="7:a-token-of-a-bot", target="analyst")
    with app.prepare_store(settings.load(cli.environ)) as store:
        resident_runs.create_resident(store)
        past_run = resident_runs.begin_run(store)
        resident_runs.finish_run(store, past_run)
        run = resident_runs.begin_run(store)
        store.run_sync(triggers.add, bot)
        values = {
            "none": "0" * 32,
            "past": past_run.run_id,
            "run": run.run_id,
            "code": store.run_sync(request_pairing, 66),
            "second_code": store.run_sync(request_pairing, 67),
            "pairing": store.run_sync(add_pairing, "68", is_approved=True),
        }
        if ledger == PUBLIC_LEDGER:
            store.run_sync(receive_requests, "quinn", "husam")
    return values


def request_pairing(tx: Transaction, user: int) -> str:
    """Ask to be let in, as a user of the bot; return the code."""
    desk = triggers.show(tx, "desk")
    code = pairing.request(tx, desk, chat=str(user), user_id=str(user), display="Eve", random_bits=user**9)
    assert code is not None
    return code


@pytest.fixture
def make_homes(cli: CommandLine, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Any:
    def make(ledger: str) -> list[Home]:
        cli.environ["GATEPOST_LEDGER"] = ledger
        values = prepare_home(cli, ledger)
        homes: list[Home] = []
        for number in range(2):
            home, cwd = tmp_path / f"home-{number}", tmp_path / f"here-{number}"
            shutil.copytree(cli.home, home)
            cwd.mkdir()
            environ = cli.environ | {"GATEPOST_HOME": str(home)}
            copy = CommandLine(home, cwd, cli.monkeypatch, capsys, environ)
            homes.append(Home(copy, values | {"here": str(cwd)}))
        with app.prepare_store(settings.load(homes[0].cli.environ)) as store:  # a gateway makes one in the other home
            store.run_sync(keys.create, kind="admin", secret=generate_secret())
        return homes

    return make


def test_every_command_is_in_the_file() -> None:
    cases = read_cases()
    used = {case.command for case in cases if not case.is_mistake}
    assert sorted({*COMMANDS} - used) == sorted(USED_ELSEWHERE), "these need a normal use in commands.txt"
    mistaken = {case.command for case in cases if case.is_mistake}
    assert {*COMMANDS} - mistaken == COMMANDS_WITHOUT_MISTAKES, "these need a mistake in commands.txt"


@pytest.mark.parametrize("ledger", ROUTE_COUNTS)
def test_commands_have_the_same_results(make_homes: Any, ledger: str) -> None:
    alone, served = make_homes(ledger)
    with start_local_gateway(served.cli, policy=Policy(ledger=ledger)) as gateway, CollectedFailures() as failures:
        for case in read_cases():
            if case.ledger != ledger:
                continue
            result, served_result = alone.run(case), served.run(case)
            with failures.check(case.text):
                if case.is_mistake:
                    assert result.code in (1, 2, 3), result
                    assert result.error
                else:
                    assert result.code == 0, result
                assert_same(alone.normalize(result), served.normalize(served_result))
    assert len(list_answered_routes(gateway)) >= ROUTE_COUNTS[ledger], "these commands went through it"


def test_bad_words_are_answered_alike(make_homes: Any) -> None:
    alone, served = make_homes("local:")
    with start_local_gateway(served.cli), CollectedFailures() as failures:
        for words in ALL_BAD_COMMANDS:
            with failures.check(shlex.join(words)[:200]):
                result = alone.cli(*words)
                assert result.code in (1, 2, 3)
                assert result.error
                assert_same(result, served.cli(*words))


def assert_same(alone: CommandResult, served: CommandResult) -> None:
    expected = CommandResult(alone.code, alone.out, MESSAGES_WITHOUT_GATEWAY.sub("", alone.err))
    if served != expected:
        before, after = (
            f"exit code {result.code}\n{result.out}{result.err}".splitlines() for result in (expected, served)
        )
        lines = unified_diff(before, after, "without a gateway", "with a gateway", lineterm="", n=1)
        raise AssertionError("\n".join(lines))
