"""An agent is added, changed and retired without a terminal: a form, and beside it the same as JSON."""

from tests.page.chromium import PHONE, Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

RAW = "dialog .raw-document textarea"


def submit(page: Page) -> None:
    page.click("dialog .button.primary")


def test_an_agent_is_added_from_the_first_key_on(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(f"room-{tag}", "admin")
    page = open_page("/agents")
    page.press("c", *f"ana-{tag}")  # in a hurry: the dialog is not there yet
    page.wait_for("dialog [data-path=name]:focus")
    page.fill("dialog [data-path=displayName]", "Ana")
    page.fill("dialog [data-path=instructions]", "Answer briefly.")
    page.fill("dialog [data-path=team]", tag)
    page.fill("dialog [data-path=role]", "lead")
    page.fill("dialog [data-path='budget.tokens']", "200000")
    page.choose("dialog [data-path='budget.per']", "hour")
    page.click(f"dialog .choice:has-text('room-{tag}')")
    page.click("dialog .more-fields > summary")
    page.fill("dialog [data-path=aliases]", f"shop-{tag}, desk-{tag}")
    page.fill("dialog [data-path=tools]", '[{"name": "revenue", "execution": {"url": "https://crm.example.com/"}}]')
    page.fill("dialog [data-path='loop.maxSteps']", "7")
    assert page.find_violations() == []
    submit(page)
    page.wait_for_path(f"/agents/ana-{tag}")
    page.wait_for_count("dialog", 0)
    agent = gateway.get(f"/agents/ana-{tag}")
    assert (agent["displayName"], agent["team"], agent["role"], agent["owner"]) == ("Ana", tag, "lead", "admin")
    assert agent["aliases"] == sorted([f"shop-{tag}", f"desk-{tag}"])
    config = agent["config"]
    assert (config["model"]["provider"], config["instructions"]) == ("demo", "Answer briefly.")
    assert config["budget"] == {"tokens": 200_000, "cycles": None, "per": "hour"}
    assert ([tool["name"] for tool in config["tools"]], config["loop"]["maxSteps"]) == (["revenue"], 7)
    members = gateway.get(f"/spaces/room-{tag}/members")["items"]
    assert [member["name"] for member in members] == ["admin", f"ana-{tag}"]


def test_what_is_wrong_is_said_and_its_field_gets_the_focus(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name, displayName="Ana")
    open_page.expected_errors = ["422"]
    page = open_page(f"/agents/{name}")
    page.press("e")
    page.wait_for("dialog [data-path=displayName]:focus")
    page.fill("dialog [data-path='budget.tokens']", "0")
    submit(page)
    page.wait_for("dialog .notice:has-text('Budget.tokens: 0 is less than 1')")
    page.wait_for("dialog [data-path='budget.tokens']:focus")
    page.fill("dialog [data-path='budget.tokens']", "")
    text = page.evaluate("(selector) => document.querySelector(selector).value", RAW)
    page.fill(RAW, text.replace('"Ana"', '"Bea"').replace('"maxSteps": 20', '"maxSteps": 500'))
    page.wait_for("dialog .more-fields:not([open])")
    submit(page)
    page.wait_for("dialog [data-path='loop.maxSteps']:focus")
    assert gateway.get(f"/agents/{name}")["displayName"] == "Ana", "nothing has changed"
    page.fill("dialog [data-path='loop.maxSteps']", "50")
    submit(page)
    page.wait_for(".view-head:has-text('Bea')")
    agent = gateway.get(f"/agents/{name}")
    assert (agent["config"]["loop"]["maxSteps"], agent["config"]["budget"]) == (50, None)
    assert agent["config"]["instructions"] == f"You are {name}.", "what is not changed stays"


@by_night
def test_a_model_says_what_it_lacks_before_it_is_chosen(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    page = open_page("/agents")
    page.press("c", *f"ana-{tag}")
    page.wait_until(
        "() => [...document.querySelectorAll('dialog option')].some((option) => option.text.endsWith('(no key)'))"
    )
    page.choose("dialog [data-path=model]", "anthropic")
    page.wait_for("dialog .notice:has-text('ANTHROPIC_API_KEY is not set where the gateway runs')")
    page.fill("dialog [data-path='model.name']", "claude-sonnet-4-5")
    submit(page)
    page.wait_for(".notice.danger:has-text('ANTHROPIC_API_KEY is not set')")
    assert gateway.get(f"/agents/ana-{tag}")["config"]["model"]["name"] == "claude-sonnet-4-5"
    page.press("e")
    page.wait_for("dialog [data-path=displayName]:focus")
    page.choose("dialog [data-path=model]", "demo")
    submit(page)
    page.wait_for_count(".notice.danger", 0)


@by_night
def test_an_agent_is_retired_and_nothing_more_is_offered(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    page = open_page(f"/agents/{name}/about")
    page.click("main button:has-text('Retire this agent')")
    page.wait_for("dialog:has-text('nobody can have its name again')")
    page.press("Enter")
    page.wait_for(".view-head .badge:has-text('retired')")
    page.wait_for_count(".view-head button:has-text('Change')", 0)
    page.wait_for_count("main .agent-about button", 0)
    assert gateway.get(f"/agents/{name}")["retiredAt"] is not None


@by_night
def test_the_form_fits_a_phone(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}")
    page = open_page(f"/agents/ana-{tag}", viewport=PHONE)
    page.press("e")
    page.wait_for("dialog [data-path=displayName]:focus")
    assert not page.evaluate("() => document.querySelector('dialog').scrollWidth > innerWidth")
    assert page.find_violations() == []
