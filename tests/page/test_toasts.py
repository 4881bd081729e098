"""Toasts: the last news, what can be undone and what failed; with the names that the page itself uses."""

from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night


def test_news_take_the_place_of_older_news(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    for subject in ("One", "Two", "Three", "Four"):
        gateway.post("/inbox", to=tag, source="test", subject=subject, content=subject)
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 4)
    page.press("#")
    page.wait_for(".toast:has-text('Discarded')")
    page.press("e", "e", "e")
    page.wait_for(".empty:has-text('All done')")
    page.wait_for(".toast:has-text('Done')")
    page.wait_for_count(".toast", 2)
    page.press("u")  # the last one, which is not that of the discarded item
    page.wait_for_count(".item-row", 1)
    page.press("u")
    page.wait_for(".item-row:has-text('One')")


def test_what_failed_again_is_said_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors.append("409 (Conflict)")
    gateway.post("/agents", name=tag)
    gateway.post("/inbox", to=tag, source="test", subject="Contested", content="Contested")
    page = open_page(f"/inbox/{tag}?state=all")
    page.wait_for(".item-row:has-text('pending')")
    gateway.post(f"/inbox/{tag}/claim", owner="another")
    page.press("#")
    page.wait_for(".toast.is-error")
    page.wait_for(".item-row:has-text('claimed')")
    page.press("#")
    page.wait_for(".toast.is-error .count:has-text('2')")
    page.wait_for_count(".toast", 1)


def test_a_toast_names_people_as_the_page_does(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name, label = f"buyer-{tag}", f"The Buyer {tag}"
    gateway.post("/agents", name=name, displayName=label)
    options = [{"id": "y", "label": "Yes"}]
    gateway.post("/decisions", question=f"Buy {tag}?", asker=name, of=["admin"], options=options)
    page = open_page("/decisions")
    page.click(f".decision:has-text('Buy {tag}?') >> button:has-text('Yes')")
    page.wait_for(f".toast:has-text('Answered {label}: Yes')")
    page.go(f"/inbox/{name}")
    page.press("c")
    page.wait_for("dialog textarea:focus")
    page.type("Look")
    page.click("dialog .button.primary")
    page.wait_for(f".toast:has-text('Pushed to {label}')")
