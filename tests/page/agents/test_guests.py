"""The page of a guest: the sessions of its program, what it was shown there, and whether that was proved."""

import json
import os
import shlex
import sys
from pathlib import Path

from tests.guests.claude_code import ClaudeCodeSession
from tests.page.conftest import PageOpener
from tests.page.page_clock import SESSION_INTERVAL
from tests.support.gateways.scripted_gateway import ScriptedGateway

EVENTS = ("SessionStart", "UserPromptSubmit", "PostToolUse", "Stop", "SessionEnd")


def open_session(gateway: ScriptedGateway, folder: Path, agent: str) -> ClaudeCodeSession:
    """A session in a host whose settings have our hooks."""
    command = [sys.executable, "-m", "gatepost.cli.main", "hook"]
    hooks = {event: [{"hooks": [{"command": shlex.join([*command, event, "--agent", agent])}]}] for event in EVENTS}
    settings = folder / "settings.json"
    settings.write_text(json.dumps({"hooks": hooks}))
    environ = {**os.environ, "GATEPOST_HOME": str(gateway.gateway.home)}
    return ClaudeCodeSession(settings, folder, session_id=f"session-{agent}", environ=environ)


def test_a_guest_shows_its_sessions_and_what_it_has_read(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, tmp_path: Path
) -> None:
    name = f"guest-{tag}"
    gateway.post("/agents", name=name)
    page = open_page(f"/agents/{name}")
    page.wait_for(".empty:has-text('No session yet')")
    page.wait_for("[aria-labelledby=shown]:has-text('Nothing yet')")
    gateway.post("/inbox", to=name, source="test", subject="Main is red")
    session = open_session(gateway, tmp_path, name)
    session.start()
    page.pass_time(SESSION_INTERVAL)
    page.wait_for(".guest-session:has-text('Claude Code'):has-text('waits for its person'):has-text('seen')")
    page.wait_for(".delivery:has-text('Main is red') .badge:has-text('not proved yet')")
    page.go("/agents")
    page.wait_for(f".agent-card:has-text('{name}') .badge:has-text('reads at its next turn')")
    page.go(f"/agents/{name}/about")
    page.wait_for(".facts:has-text('Reachable') .badge:has-text('reads at its next turn, since') time")
    page.go("/mail")
    page.press("c", *name)
    page.wait_for("dialog .badge:has-text('reads at its next turn, since')")
    assert page.find_violations() == []
    page.press("Escape")
    page.go(f"/agents/{name}")
    session.submit_prompt("What is new?")
    page.pass_time(SESSION_INTERVAL)
    page.wait_for(".delivery:has-text('Main is red') .badge:has-text('read: proved')")
    session.end()
    page.pass_time(SESSION_INTERVAL)
    page.wait_for(".guest-session .badge:has-text('ended')")
    assert page.find_violations() == []
