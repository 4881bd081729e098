"""Agents and runs: live state, why an agent woke and what it did, and a run that is replayed and compared."""

from contextlib import ExitStack
from pathlib import Path

from tests.page.chromium import PHONE, Chromium
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.page.page_clock import UNDO_TIME
from tests.residents.model_server import Answer, CompletionRequest, PausePoint, Say, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway


def test_a_run_explains_itself(gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str) -> None:
    name, pause = f"ana-{tag}", PausePoint()

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:
            return [pause, Say("Remembered the date.")]
        return Use("remember", {"key": "due", "value": "The report is due on Fridays"})

    scripts[name] = script
    gateway.create_resident(name, displayName="Ana Lyst", team=tag)
    page = open_page(f"/agents?team={tag}")
    page.wait_for(".agent-card:has-text('Ana Lyst'):has-text('No runs yet')")
    page.wait_for(".sidebar .connection.is-live")
    gateway.post("/inbox", to=name, source="calendar", content="Look at the date")
    page.wait_for(".agent-card:has-text('thinking')")
    page.press("j", "Enter")
    page.wait_for(".run-row .badge:has-text('running')")
    page.press("j", "Enter")
    page.wait_for(".turn.is-live")
    pause.open()
    page.wait_for(".turns >> text=Remembered the date.")
    page.wait_for_count(".turn.is-live", 0)
    page.wait_for(".turns >> text=Look at the date")
    page.wait_for(".waterfall-row:has-text('remember')")
    page.wait_for_count(".waterfall-row", 4)
    page.go(f"/agents/{name}/memories")
    page.wait_for("text=The report is due on Fridays")


@by_night
def test_a_run_is_replayed_and_compared(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    scripts[name] = lambda _: Say("All is well.")
    gateway.create_resident(name)
    gateway.post("/inbox", to=name, source="test", content="How is it?")
    [run] = gateway.wait_for_runs(name, 1)
    page = open_page(f"/runs/{run['id']}")
    page.wait_for(".turns >> text=All is well.")
    page.press("z")
    page.wait_for(".replay input:focus")
    page.press("Enter")
    page.wait_for(".replay .notice:has-text('demo')")
    page.wait_for_count(".compare > div", 2)
    assert len(gateway.list_runs(name)) == 1, "nothing was stored"


@by_night
def test_an_agent_is_paused_and_resumed(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    page = open_page(f"/agents/{name}")
    page.press("p")
    page.wait_for(".view-head .badge:has-text('paused')")
    assert gateway.get(f"/agents/{name}")["paused"]
    page.press("p")
    page.wait_for_count(".view-head .badge:has-text('paused')", 0)
    page.press("6")
    page.wait_for(f".agent-about >> text=You are {name}.")
    page.press("i")
    page.wait_for_path(f"/inbox/{name}")


def test_home_shows_what_needs_the_person(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    page = open_page("/", person=tag)
    page.wait_for(".empty:has-text('Nothing needs you')")
    page.wait_for(".sidebar .connection.is-live")
    gateway.post("/decisions", question="Ship it?", asker=f"ana-{tag}", of=[tag], options=[{"id": "y", "label": "Yes"}])
    gateway.post("/inbox", to=tag, type="alert", priority="high", source="ci", subject="The build is red")
    page.wait_for(".home .decision:has-text('Ship it?')")
    page.wait_for(".home-row:has-text('The build is red')")
    page.wait_for(".figure:has-text('to decide') .figure-value:has-text('1')")
    page.click(".home .decision:has-text('Ship it?') >> button:has-text('Yes')")
    page.wait_for(".toast:has-text('Yes')")
    page.pass_time(UNDO_TIME)
    page.wait_for_count(".home .decision", 0)
    page.click(".figure:has-text('alert')")
    page.wait_for_path("/inbox?type=alert")
    page.wait_for(".item-row:has-text('The build is red')")


@by_night
def test_on_a_phone_the_words_of_a_run_stay_together(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    scripts[name] = lambda _: Say("All is well.")
    gateway.create_resident(name, displayName=f"Ana of the front desk {tag}")
    gateway.post("/inbox", to=name, source="test", content="How is it?")
    [run] = gateway.wait_for_runs(name, 1)
    page = open_page(f"/runs/{run['id']}", viewport=PHONE)
    page.wait_for(".turn-title:has-text('It thought')")
    broken = "() => [...document.querySelectorAll('.turn-title')].filter((title) => title.offsetHeight > 30).length"
    assert page.evaluate(broken) == 0
    page.open("/runs")
    page.wait_for(f".run-row .agent-name:has-text('{tag}')")
    narrow = "() => Math.min(...[...document.querySelectorAll('.run-row .agent-name')].map((e) => e.offsetWidth))"
    assert page.evaluate(narrow) > 30, "the name is there, whatever else is"


@by_night
def test_the_plans_of_an_agent_are_in_words(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    plan = gateway.post("/plans", owner=name, name="Report", instruction="Write it", cron="0 9 * * 1-5")
    gateway.post("/plans", owner=name, name="Rest", instruction="Rest", cron="30 18 * * *", active=False)
    page = open_page(f"/agents/{name}/plans")
    page.wait_for("main .row:has-text('Report'):has-text('on weekdays at 09:00'):not(:has-text('pending')) time")
    page.wait_for("main .row:has-text('Rest'):has-text('every day at 18:30') .badge:text-is('disabled')")
    page.click("main .row:has-text('Report')")
    page.wait_for_path(f"/plans/{plan['id']}")


@by_night
def test_a_guest_is_shown_without_what_only_residents_have(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"guest-{tag}"
    gateway.create_person(tag)
    gateway.post("/agents", name=name, owner=tag)
    for person in ("admin", tag):
        page = open_page(f"/agents/{name}", person=person)
        page.wait_for("main .empty:has-text('No session yet')")
        shown = page.evaluate("() => document.querySelector('main').innerText")
        page.open(f"/agents/{name}/about")
        page.wait_for("main .facts:has-text('runs elsewhere')")
        shown += page.evaluate("() => document.querySelector('main').innerText")
        for word in ("wake", "woken", "Runs", "Mind", "Memories", "Goals", "tokens"):
            assert word not in shown, shown
        page.press("w", "p")  # they are for residents
        page.press("Control+k")
        page.wait_for(".palette input:focus")
        page.type("this agent")
        titles = "() => [...document.querySelectorAll('.palette-result .line-text')].map((e) => e.innerText)"
        assert {"Wake this agent", "Pause this agent"}.isdisjoint(page.evaluate(titles))
        page.press("Escape")
        page.open(f"/agents/{name}/mind")  # an old address
        page.wait_for("main .empty:has-text('No session yet')")


@by_night
def test_home_shows_a_person_what_agents_wrote_to_them(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    gateway.create_person(tag)
    gateway.create_resident(name, displayName=f"Ana {tag}")
    gateway.create_space(tag, tag, name)
    gateway.post_message(tag, "The report is ready", name)
    page = open_page("/", person=tag)
    page.wait_for(f".home-row:has-text('Ana {tag}'):has-text('The report is ready')")


@by_night
def test_the_first_agent_is_added_without_a_terminal(
    node: Path, chromium: Chromium, tmp_path: Path, scripts: Scripts
) -> None:
    with run_scripted_gateway(tmp_path / "home", scripts) as empty, ExitStack() as stack:
        opener = PageOpener(chromium, empty, {}, stack)
        page = opener("/")
        page.wait_for(".empty:has-text('Add your first agent')")
        assert "gatepost agent add" not in page.read("main")
        page.click("main button:has-text('Add')")
        page.wait_for_path("/chat")
        page.click(".partner:has-text('helper')")
        page.wait_for(".composer textarea:focus")
        page.type("Hello")
        page.press("Enter")
        page.wait_for_count(".message:not(.is-sending)", 2)
        assert empty.get("/agents/helper")["config"]["model"]["provider"] == "demo"
        opener.check_logs()


def test_an_agent_says_what_its_model_lacks(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name, model={"name": "openai:gpt-5", "keyEnv": "NO_SUCH_KEY"})
    page = open_page(f"/agents/{name}")
    page.wait_for(".notice.danger:has-text('NO_SUCH_KEY is not set, so the demo replaces openai:gpt-5')")
    page.wait_for(".notice.danger code:has-text('set NO_SUCH_KEY where the gateway runs, and start it again')")


@by_night
def test_an_agent_says_that_its_budget_is_used_up(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    scripts[name] = lambda _: Say("All is well.")
    gateway.create_resident(name, budget={"cycles": 1, "per": "day"})
    for content in ("One", "Two"):
        gateway.post("/inbox", to=name, source="test", content=content)
        gateway.wait_for_runs(name, 1)
    page = open_page(f"/agents/{name}")
    page.wait_for(".view-head .badge:has-text('budget used up until')")
    page.press("w")
    page.wait_for(".toast.is-error:has-text('its budget is used up')")
    page.click("button:has-text('Raise the budget')")
    page.wait_for("dialog [data-path='budget.tokens']")
    page.press("Escape", "m")
    page.wait_until("() => location.pathname.startsWith('/chat/web-main')")
