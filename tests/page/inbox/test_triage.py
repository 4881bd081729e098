"""Triage in the page: many items at once, those alike as one row, snoozed items, and "done" that is taken back."""

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.page.inbox.test_inbox import SELECTED, count_items, push_items
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

MANY = 2_000


def push_alerts(gateway: ScriptedGateway, name: str, count: int) -> None:
    pushes = [
        {"to": name, "source": "ci", "type": "alert", "content": f"Build {number} failed"} for number in range(count)
    ]
    for start in range(0, count, 1_000):
        gateway.post("/inbox/batch", pushes=pushes[start : start + 1_000])


def test_two_thousand_alike_cost_two_keys(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_alerts(gateway, tag, MANY)
    push_items(gateway, tag, "Precious")
    page = open_page("/inbox", person=tag)
    page.press("a", "e")
    page.wait_for(f".toast:has-text('{MANY:,} items done')")
    page.wait_for_count(".item-group", 1)
    page.wait_for(".item-group:has-text('Precious')")
    account = count_items(gateway, tag)
    assert (account["pending"], account["delivered"]) == (1, MANY)
    page.click(".toast button:has-text('Undo')")
    page.wait_for(f".item-group:has-text('{MANY:,} like this')")
    account = count_items(gateway, tag)
    assert (account["pending"], account["delivered"], account["balanced"]) == (MANY + 1, 0, True)
    assert page.find_violations() == []


def test_several_are_marked_and_done(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two", "Three", "Four", "Five")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 5)
    page.press("j", "Shift+J", "Shift+J", "x")
    page.wait_for(".triage-bar:has-text('2 items')")
    page.press("x")
    page.wait_for(".triage-bar:has-text('3 items')")
    assert page.find_violations() == []
    page.press("e")
    page.wait_for(".toast:has-text('3 items done')")
    page.wait_for_count(".item-row", 2)
    page.press("*")
    page.wait_for(".triage-bar:has-text('All 2')")
    push_items(gateway, tag, "Too late")
    page.wait_for(".item-row:has-text('Too late')")
    page.press("#")
    page.wait_for(".toast:has-text('2 items discarded')")
    page.wait_for_count(".item-row", 1)
    page.wait_for(".item-row:has-text('Too late')")
    account = count_items(gateway, tag)
    assert (account["pending"], account["delivered"], account["discarded"]) == (1, 3, 2)


def test_done_is_taken_back(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.press("e")
    page.wait_for_count(".item-row", 1)
    page.click(".toast:has-text('Done') button:has-text('Undo')")
    page.wait_for_count(".item-row", 2)
    page.wait_for(".tab:has-text('Pending') .number:text-is('2')")
    assert count_items(gateway, tag)["delivered"] == 0


def test_an_item_is_snoozed_until_something_happens(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "Later", "Now")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.press("h")
    page.wait_for(".dialog .snooze-choice:focus")
    assert page.find_violations() == []
    page.click(".snooze-choice:has-text('Until the next event')")
    page.wait_for(".toast:has-text('1 item snoozed: until the next event')")
    page.wait_for_count(".item-row", 1)
    page.wait_for(".tab:has-text('Pending') .number:text-is('1')")
    page.click(".tab:has-text('Snoozed')")
    page.wait_for(".item-row:has-text('Later')")
    page.press("j", "Enter")
    page.wait_for(".inbox-detail .notice:has-text('or until the next event from test')")
    page.press("Escape")
    page.open("/inbox")
    push_items(gateway, tag, "News")
    page.wait_for_count(".item-row", 3)
    page.wait_for(".tab:has-text('Snoozed') .number:text-is('0')")


@by_night
def test_snoozed_items_are_shown_again_by_hand(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.press("*", "h", "1")
    page.wait_for(".toast:has-text('2 items snoozed: in 3 hours')")
    page.wait_for(".empty:has-text('All done')")
    page.wait_for_count(".sidebar .nav-link:has-text('Inbox') .count", 0)
    page.open("/inbox?state=snoozed")
    page.wait_for_count(".item-row", 2)
    page.press("j", "h")
    page.wait_for(".toast:has-text('1 item shown again')")
    page.wait_for_count(".item-row", 1)
    page.open("/inbox")
    page.wait_for_count(".item-row", 1)


@by_night
def test_triage_works_with_a_thumb(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_alerts(gateway, tag, 3)
    page = open_page("/inbox?view=alike", person=tag, viewport=PHONE)
    page.wait_for(".item-group:has-text('3 like this')")
    assert page.evaluate("() => document.documentElement.scrollWidth") == PHONE["width"]
    page.click(".item-group button[aria-label^='Mark all']")
    page.wait_for(".empty:has-text('All done')")


@by_night
def test_what_another_tab_has_done_goes_here_too(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.wait_for(".sidebar .connection.is-live")
    items = gateway.get(f"/inbox/{tag}")["items"]
    gateway.post(f"/inbox/{tag}/done", events=[items[0]["eventId"]])
    page.wait_for_count(".item-row", 1)
    page.wait_for(f"{SELECTED}:has-text('Two')")
