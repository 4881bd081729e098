"""
The first day of somebody new, in the browser only, from an empty home: two agents that answer, a space, a decision, a
plan, a webhook that wakes an agent, a budget, and Claude Code, which is connected by the command that is copied: by day
a session that does as it does, by night the real program. The clicks are counted: `docs/page.md` says how many.
"""

import os
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import httpx2
import pytest

from tests.page.agents.test_connect import connect_claude, read_command, run_copied
from tests.page.chromium import Chromium, Page
from tests.page.conftest import PageOpener, Scripts
from tests.page.page_clock import CONNECT_INTERVAL, UNDO_TIME
from tests.programs import cache
from tests.programs.model import ScriptedModel
from tests.programs.programs import ClaudeCode
from tests.residents.model_server import Say
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway

DOCS = Path(__file__).parents[3] / "docs" / "page.md"


class Visitor:
    """Somebody who clicks and types, and counts the clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    def click(self, selector: str) -> None:
        self.page.click(selector)
        self.clicks += 1

    def open_view(self, title: str) -> None:
        self.click(f".sidebar .nav-list a:has-text('{title}')")


def add_agent(visitor: Visitor, gateway: ScriptedGateway, name: str, budget: str = "") -> None:
    page = visitor.page
    visitor.open_view("Agents")
    visitor.click("main header button:has-text('New agent')")
    page.wait_for("dialog [data-path=name]:focus")
    page.type(name)
    page.choose("dialog [data-path=model]", "openai")
    page.fill("dialog [data-path='model.name']", name)
    page.fill("dialog [data-path='budget.tokens']", budget)
    visitor.click("dialog .more-fields > summary")
    page.fill("dialog [data-path='model.baseUrl']", gateway.model_server.url)
    visitor.click("dialog button:has-text('Add the agent')")
    page.wait_for_path(f"/agents/{name}")


#: runs the copied command and the program, which has its session afterwards
Connect = Callable[[str], None]


def test_the_first_day_of_somebody_new(node: Path, chromium: Chromium, tmp_path: Path, scripts: Scripts) -> None:
    def connect(command: str) -> None:
        session = connect_claude(command, tmp_path)
        session.start()
        session.submit_prompt("What is new?")

    spend_first_day(chromium, tmp_path, scripts, connect)


@pytest.mark.nightly
@pytest.mark.hosts
def test_the_first_day_with_the_real_claude_code(
    node: Path, chromium: Chromium, tmp_path: Path, scripts: Scripts
) -> None:
    if not cache.is_installed():
        pytest.skip("NOT CHECKED: the programs of npm are not installed; `make test-hosts` installs them")
    with ScriptedModel() as model:
        program = ClaudeCode(tmp_path / "user", tmp_path / "project", model.url)
        (tmp_path / "claude").symlink_to(program.build_program()[0])
        program.environ["PATH"] = os.pathsep.join([str(tmp_path), program.environ["PATH"]])

        def connect(command: str) -> None:
            run_copied(command, program.home, program.environ)
            assert program.run("What is new?").code == 0

        spend_first_day(chromium, tmp_path, scripts, connect)
        assert not model.errors
        assert [exchange.shown_text.count("Main is red") for exchange in model.exchanges] == [1]


def spend_first_day(chromium: Chromium, tmp_path: Path, scripts: Scripts, connect: Connect) -> None:
    scripts["ana"], scripts["bob"] = (lambda _: Say("Seen."), lambda _: Say("Noted."))
    with run_scripted_gateway(tmp_path / "home", scripts) as gateway, ExitStack() as stack:
        opener = PageOpener(chromium, gateway, {}, stack)
        page = opener("/")
        visitor = Visitor(page)
        add_agent(visitor, gateway, "ana", budget="500000")
        add_agent(visitor, gateway, "bob")
        assert gateway.get("/agents/ana")["config"]["budget"] == {"tokens": 500_000, "cycles": None, "per": "day"}

        visitor.open_view("Spaces")
        visitor.click("main header button:has-text('New space')")
        page.wait_for("dialog input:focus")
        page.type("Office")
        visitor.click("dialog .choice:has-text('ana')")
        visitor.click("dialog .choice:has-text('bob')")
        visitor.click("dialog button:has-text('Create')")
        page.wait_for(".composer textarea:focus")
        page.type("Hello")
        page.press("Enter")
        gateway.wait_for_runs("ana", 1)
        gateway.wait_for_runs("bob", 1)

        question = {"question": "Ship it?", "asker": "ana", "of": ["admin"]}
        gateway.post("/decisions", **question, options=[{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}])
        visitor.open_view("Home")
        visitor.click(".home .decision:has-text('Ship it?') >> button:has-text('Yes')")
        page.wait_for(".toast:has-text('Yes')")
        page.pass_time(UNDO_TIME)
        page.wait_for_count(".home .decision button:has-text('Yes')", 0)

        visitor.open_view("Plans")
        page.press("c")
        page.wait_for("dialog input[name=name]:focus")
        page.type("Report")
        page.fill("dialog textarea[name=instruction]", "Write the report")
        visitor.click("dialog .button.primary")
        page.wait_for_count("dialog", 0)
        assert [plan["name"] for plan in gateway.get("/plans")["items"]] == ["Report"]

        visitor.open_view("Triggers")
        page.press("c")
        page.wait_for("dialog input[name=name]:focus")
        page.type("shop")
        page.fill("dialog input[name=target]", "bob")
        visitor.click("dialog .button.primary")
        page.wait_for_count("dialog .secret-row", 3)
        codes = "() => [...document.querySelectorAll('dialog .secret-row code')].map((code) => code.textContent)"
        address, secret, _ = page.evaluate(codes)
        visitor.click("dialog button:has-text('Done')")
        answer = httpx2.post(address, json={"order": 7}, headers={"x-secret-key": secret})
        assert answer.status_code < 300, answer.text
        runs = gateway.wait_for_runs("bob", 2)
        assert runs[-1]["cause"] == "service"

        visitor.open_view("Agents")
        visitor.click("main header button:has-text('Connect')")
        page.wait_for("dialog input:focus")
        page.type("claude")
        page.press("Enter")
        command = read_command(page)
        gateway.post("/inbox", to="claude", source="test", subject="Main is red")
        connect(command)
        page.pass_time(CONNECT_INTERVAL)
        page.wait_for("dialog [role=status]:has-text('is here: seen')")
        visitor.click("dialog button:has-text('Done')")
        page.wait_for(".guest-session:has-text('Claude Code')")
        page.wait_for(".delivery:has-text('Main is red') .badge:has-text('read: proved')")
        opener.check_logs()
    assert f"takes {visitor.clicks} clicks" in DOCS.read_text(), visitor.clicks
