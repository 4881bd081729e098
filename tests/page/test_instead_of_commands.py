"""What the page used to print as a command has a button: questions, gates, and what may disturb or wake somebody."""

from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_a_person_asks_for_a_decision(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira = f"mira-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    page = open_page("/decisions", person=tag)
    page.press("c", *mira, "Tab", *"Fish or rice?", "Tab", *"Fish")
    page.press("Enter")
    page.type("Rice")
    assert page.find_violations() == []
    page.click("dialog button:has-text('Ask')")
    page.wait_for(f".toast:has-text('{mira} is asked')")
    [decision] = gateway.get("/decisions", asker=tag)["items"]
    assert [option["label"] for option in decision["options"]] == ["Fish", "Rice"]
    assert (decision["asked"], decision["question"], decision["freeText"]) == ([mira], "Fish or rice?", False)


def test_a_gate_is_added(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.post("/agents", name=name)
    page = open_page("/gates")
    page.press("c", *name)
    page.fill("dialog [name=name]", "review")
    page.fill("dialog [name=instruction]", "Ask Mira first")
    assert page.find_violations() == []
    page.click("dialog button:has-text('Add the gate')")
    page.wait_for(f".gate-row:has-text('review'):has-text('{name}')")
    [gate] = gateway.get("/gates", owner=name)["items"]
    assert (gate["kind"], gate["instruction"], gate["madeBy"]) == ("human", "Ask Mira first", "admin")


def test_a_person_is_not_disturbed_for_a_while(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/", person=tag)
    page.click(".sidebar button[aria-label='What may disturb you']")
    page.wait_for("dialog select[name=level]:focus")
    page.press(*"Nothing", "Enter")
    page.click("dialog button:has-text('Save')")
    page.wait_for(".sidebar button[aria-label='Notices are held back']")
    assert gateway.get(f"/entities/{tag}")["attention"]["level"] == "do_not_disturb"


def test_an_agent_is_only_woken_by_what_is_critical(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    page = open_page(f"/agents/{name}/about")
    page.click("button:has-text('What may wake it')")
    page.call("selectOption", "dialog select[name=level]", "focus")
    assert page.find_violations() == []
    page.click("dialog button:has-text('Save')")
    page.wait_for(".facts .badge:has-text('focus')")
    assert gateway.get(f"/agents/{name}")["attention"]["level"] == "focus"
    page.go("/agents")
    page.wait_for(f".agent-card:has-text('{name}') .badge:has-text('focus')")
