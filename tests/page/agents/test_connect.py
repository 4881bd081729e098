"""An agent program is connected by the one command that the page shows: it is run as copied, in another folder."""

import os
import shlex
import subprocess
from collections.abc import Mapping
from pathlib import Path

from tests.guests.claude_code import ClaudeCodeSession
from tests.page.chromium import PHONE, Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.page.page_clock import CONNECT_INTERVAL
from tests.support.gateways.scripted_gateway import ScriptedGateway


def run_copied(command: str, user: Path, environ: Mapping[str, str]) -> None:
    """Run a command as a person pastes it in their home."""
    result = subprocess.run(["sh", "-c", command], cwd=user, env=environ, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert not list(user.rglob("*.db")), "no second store"


def connect_claude(command: str, folder: Path) -> ClaudeCodeSession:
    """Run a command where Claude Code is installed; return a session of that."""
    user, programs = folder / "user", folder / "bin"
    for path in (user, programs):
        path.mkdir()
    claude = programs / "claude"
    claude.write_text("#!/bin/sh\necho '2.1.325 (Claude Code)'\n")
    claude.chmod(0o755)
    environ = {name: value for name, value in os.environ.items() if not name.startswith(("GATEPOST_", "CLAUDE"))}
    environ |= {"HOME": str(user), "PATH": f"{programs}:/usr/bin:/bin"}
    run_copied(command, user, environ)
    return ClaudeCodeSession(user / ".claude/settings.json", user, session_id=f"s-{folder.name}", environ=environ)


def read_command(page: Page) -> str:
    page.wait_for("dialog .copied code:has-text('setup --host claude')")
    return page.read("dialog .copied code")


def test_a_program_is_connected_by_the_command_that_is_copied(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, tmp_path: Path
) -> None:
    name = f"quinn-{tag}"
    page = open_page("/agents", permissions=["clipboard-read", "clipboard-write"])
    page.press("n", *name, "Enter")  # in a hurry: no dialog is there yet
    command = read_command(page)
    page.wait_for("dialog [role=status]:has-text('Waiting for its first hook')")
    assert page.find_violations() == []
    program, *words = shlex.split(command)
    assert Path(program).is_absolute()
    assert words[-4:] == ["--agent", name, "--home", str(gateway.gateway.home)]
    page.click("dialog button[aria-label=Copy]")
    page.wait_for(".toast:has-text('Copied')")
    assert page.evaluate("() => navigator.clipboard.readText()") == command
    session = connect_claude(command, tmp_path)
    gateway.post("/inbox", to=name, source="test", subject="Main is red")
    session.start()
    page.pass_time(CONNECT_INTERVAL)
    page.wait_for("dialog [role=status]:has-text('Claude Code'):has-text('is here: seen')")
    session.submit_prompt("What is new?")
    assert "Main is red" in "".join(session.contexts)
    page.click("dialog button:has-text('Done')")
    page.wait_for_path(f"/agents/{name}")
    page.wait_for(".delivery:has-text('Main is red') .badge:has-text('read: proved')")


@by_night
def test_a_program_of_one_s_own_gets_a_key_that_is_shown_once(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"own-{tag}"
    gateway.post("/agents", name=name)
    gateway.post("/inbox", to=name, source="test", content="Main is red")
    page = open_page(f"/agents/{name}", viewport=PHONE)
    page.press("n")
    page.wait_for("dialog select:focus")
    page.choose("dialog select", "own")
    page.click("dialog button:has-text('Make a key')")
    page.wait_for("dialog .copied code:has-text('curl')")
    assert page.find_violations() == []
    assert not page.evaluate("() => document.querySelector('dialog').scrollWidth > innerWidth")
    result = subprocess.run(["sh", "-c", page.read("dialog .copied code")], capture_output=True, text=True, check=True)
    assert "Main is red" in result.stdout
    page.choose("dialog select", "mcp")
    page.wait_for("dialog .copied code:has-text('GATEPOST_HOME')")
