"""Providers of other packages on the command line, in a gateway, and inside a program."""

import ast
import asyncio
import importlib
from pathlib import Path
from typing import Final

import pytest

from gatepost import Gatepost, channels
from gatepost.channels.triggers.api import AddTrigger
from gatepost.residents.background.function_agent import AgentContext, EventBatch
from tests.support.command_line import CommandLine
from tests.support.waits import LAST_RESORT

EITHER_WAY = True
EXAMPLE: Final = Path(__file__).parents[2] / "examples" / "mailbox"

BELL: Final = """
import asyncio
from gatepost.channels.provider import ServiceEvent

class Bell:
    receives, sends = True, False
    def check_options(self, options):
        if "exit" in options:
            raise SystemExit("bye")
    async def receive(self, trigger, intake):
        await intake.take(ServiceEvent(id="1", payload={"door": trigger.options["door"]}, kind="ring"))
        await intake.take(ServiceEvent(id="1", payload={"door": "again"}, kind="ring"))
        await asyncio.Event().wait()
    async def send(self, trigger, message): raise NotImplementedError
"""


@pytest.fixture
def packages(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two packages with providers that work, and one with three that do not, installed for this test."""
    folder = tmp_path / "packages"
    for package, entry_points in (
        ("gatepost_mailbox", "mailbox = gatepost_mailbox:Mailbox"),
        ("gatepost_bell", "bell = gatepost_bell:Bell"),
        ("gatepost_broken", "broken = gatepost_nothing:Nothing\nwebhook = gatepost_bell:Bell\nodd = pathlib:PurePath"),
    ):
        info = folder / f"{package}-1.0.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (info / "entry_points.txt").write_text(f"[gatepost.providers]\n{entry_points}\n")
    (folder / "gatepost_bell.py").write_text(BELL)
    for part in ("in", "out"):
        (folder / "letters" / part).mkdir(parents=True)
    monkeypatch.syspath_prepend(str(folder))
    monkeypatch.syspath_prepend(str(EXAMPLE))
    return folder


def test_a_trigger_of_a_package_is_added_shown_and_changed(cli: CommandLine, packages: Path) -> None:
    cli.run_ok("trigger", "add", "desk", "--provider", "mailbox", "--options", '{"folder": "/letters"}')
    shown = cli.run_ok("trigger", "show", "desk", "--json").json
    assert (shown["provider"], shown["options"]) == ("mailbox", {"folder": "/letters"})
    assert "problem" not in shown
    refused = cli("trigger", "set", "desk", "--options", "{}")
    assert (refused.code, refused.error) == (2, "--options: a mailbox needs a folder")
    cli.run_ok("trigger", "set", "desk", "--options", '{"folder": "/other"}')
    assert '{"folder":"/other"}' in cli.run_ok("trigger", "show", "desk").out
    assert "open" in cli.run_ok("trigger", "list").out.splitlines()[-1]


def test_a_provider_that_is_not_there_is_refused_with_those_that_are(cli: CommandLine, packages: Path) -> None:
    refused = cli("trigger", "add", "desk", "--provider", "pigeon")
    assert (refused.code, refused.error) == (2, "--provider: 'pigeon' is not installed")
    assert "webhook, telegram, cron, service, bell, mailbox" in refused.err
    broken = cli("trigger", "add", "desk", "--provider", "broken")
    assert broken.error == "--provider: gatepost_nothing:Nothing cannot be loaded: No module named 'gatepost_nothing'"
    assert cli("trigger", "add", "desk", "--provider", "odd").code == 2
    assert cli.run_ok("trigger", "list").out == ""


def test_a_provider_that_exits_is_an_error(cli: CommandLine, packages: Path) -> None:
    refused = cli("trigger", "add", "door", "--provider", "bell", "--options", '{"exit": 1}')
    assert (refused.code, refused.error) == (2, "--options: bell cannot use them: bye")
    assert cli.run_ok("trigger", "list").out == ""


def test_options_are_for_packages(cli: CommandLine) -> None:
    refused = cli("trigger", "add", "jira", "--to", "analyst", "--options", '{"a": 1}')
    assert (refused.code, refused.error) == (2, "a trigger of 'webhook' has no options")


def test_a_package_that_is_gone_is_said(cli: CommandLine, packages: Path) -> None:
    cli.run_ok("trigger", "add", "desk", "--provider", "mailbox", "--options", '{"folder": "/letters"}')
    (packages / "gatepost_mailbox-1.0.dist-info" / "entry_points.txt").unlink()
    assert "no provider" in cli.run_ok("trigger", "list").out.splitlines()[-1]
    problem = "no installed package has the provider 'mailbox'"
    assert cli.run_ok("trigger", "show", "desk", "--json").json["problem"] == problem
    checked = cli("doctor")
    assert checked.code == 1
    assert f"{problem}, which the trigger 'desk' needs" in checked.out
    assert "gatepost_nothing:Nothing cannot be loaded" in checked.out
    assert "'webhook' is built in" in checked.out
    cli.run_ok("trigger", "disable", "desk")
    assert cli("trigger", "enable", "desk").error == "provider: 'mailbox' is not installed"


async def test_a_program_reads_and_sends_on_channels(packages: Path, tmp_path: Path) -> None:
    post = Gatepost(f"sqlite:///{tmp_path}/office.db", channels=True)
    rung = asyncio.Event()

    @post.agent("analyst")
    async def analyst(batch: EventBatch, me: AgentContext) -> None:
        rung.set()

    async with post:
        options = {"door": "front"}
        await post.send(AddTrigger(name="bell", provider="bell", target="analyst", options=options))
        async with asyncio.timeout(LAST_RESORT):
            await rung.wait()
        await post.until_idle()
        [item] = await post.inbox("analyst")
    assert (item.event.type, item.event.source) == ("service", "bell")
    assert item.event.route is not None
    assert (item.event.route.channel, item.event.route.session) == ("bell", "bell")
    assert isinstance(item.event.data, dict)
    assert item.event.data["payload"] == {"door": "front"}


def test_a_channel_moves_into_gatepost_unchanged(
    cli: CommandLine, packages: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is one folder that imports the port and nothing else of Gatepost; only its entry point names another place."""
    source = (EXAMPLE / "gatepost_mailbox.py").read_text()
    imports = [node.module for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ImportFrom)]
    assert [module for module in imports if module and module.startswith("gatepost")] == ["gatepost.channels.provider"]
    room = packages / "channels" / "mailbox"
    room.mkdir(parents=True)
    (room / "__init__.py").write_text(source)
    monkeypatch.setattr(channels, "__path__", [*channels.__path__, str(room.parent)])
    importlib.invalidate_caches()
    entry_points = packages / "gatepost_mailbox-1.0.dist-info" / "entry_points.txt"
    entry_points.write_text("[gatepost.providers]\nmailbox = gatepost.channels.mailbox:Mailbox\n")
    cli.run_ok("trigger", "add", "desk", "--provider", "mailbox", "--options", '{"folder": "/letters"}')
    assert cli("trigger", "set", "desk", "--options", "{}").error == "--options: a mailbox needs a folder"
    assert importlib.import_module("gatepost.channels.mailbox").Mailbox.__module__ == "gatepost.channels.mailbox"
