"""Mail: written, forwarded and followed on the page."""

from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_mail_is_written_and_seen_to_be_read(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira = f"mira-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    page = open_page("/mail", person=tag)
    page.press("c")
    page.wait_for("dialog input[list]:focus")
    page.press(*mira, "Tab", *"Menu", "Tab", *"Fish or rice?")
    page.wait_for("dialog textarea:focus")
    page.call("reload")
    page.wait_for(".empty")
    page.press("c")
    page.wait_until("() => document.querySelector('dialog textarea')?.value === 'Fish or rice?'")
    assert page.find_violations() == []
    page.press("Control+Enter")
    page.wait_for(".mail-row:has-text('Menu'):has-text('pending')")
    [item] = gateway.get(f"/inbox/{mira}")["items"]
    assert (item["subject"], item["content"], item["sender"]) == ("Menu", "Fish or rice?", tag)
    gateway.post(f"/events/{item['eventId']}/reply", text="Noodles", sender=mira)
    gateway.post(f"/events/{item['eventId']}/done", name=mira)
    page.set_hidden(True)
    page.set_hidden(False)  # who comes back sees it as it is now
    page.wait_for(".mail-row:has-text('Menu'):has-text('read')")
    page.press("j", "Enter")
    page.wait_for(f".reader-row:has-text('{mira}'):has-text('read')")
    page.wait_for(".thread li:has-text('Noodles')")
    assert page.find_violations() == []


def test_an_item_is_forwarded(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira = f"mira-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    gateway.post("/inbox", to=tag, source="ci", type="alert", content="The build failed")
    page = open_page("/inbox", person=tag)
    page.press("Enter")
    page.click(".inbox-detail button:has-text('Forward')")
    page.wait_for("dialog input[list]:focus")
    page.type(mira)
    page.press("Control+Enter")
    page.wait_for(f".toast:has-text('Sent to {mira}')")
    [item] = gateway.get(f"/inbox/{mira}")["items"]
    assert item["subject"] == "Fwd: The build failed"
    assert "ci wrote:\n> The build failed" in item["content"]


def test_older_mail_is_shown_when_asked_for(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    for number in range(101):
        gateway.post("/mail", to="admin", sender=tag, subject=f"Report {number}", text="All is well")
    page = open_page("/mail", person=tag)
    page.wait_for_count(".mail-row", 100)
    page.click("button:has-text('Older mail')")
    page.wait_for_count(".mail-row", 101)
    page.wait_for_count("button:has-text('Older mail')", 0)
