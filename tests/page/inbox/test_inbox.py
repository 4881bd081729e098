"""The inbox: triage by keyboard, dead items, filters, and events that are pushed by hand."""

from concurrent.futures import ThreadPoolExecutor
from itertools import count
from threading import Event
from typing import Any

from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

SELECTED = ".item-row.is-selected"
IS_COUNTED = "(selector) => parseInt(document.querySelector(selector)?.textContent) > 0"


def push_items(gateway: ScriptedGateway, name: str, *subjects: str, **fields: Any) -> None:
    for subject in subjects:
        gateway.post("/inbox", to=name, source="test", subject=subject, content=f"About {subject}", **fields)


def count_items(gateway: ScriptedGateway, name: str) -> dict[str, Any]:
    account: dict[str, Any] = gateway.get(f"/inbox/{name}/account")
    return account


def test_triage_needs_no_mouse(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    push_items(gateway, tag, "One", "Two", "Three", "Four", "Five", sender=f"ana-{tag}", type="mail")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 5)
    page.press("j", "j", "k")
    page.wait_for(f"{SELECTED}:has-text('Two')")
    page.press("Enter")
    page.wait_for(".inbox-detail h2:has-text('Two')")
    page.wait_for(".inbox-detail .facts:has-text('Arrived'):not(:has-text('Id'))")
    page.wait_for(".inbox-detail .fold:not([open]):has-text('Technical details'):has-text('Id')")
    page.press("e")
    page.wait_for(".toast:has-text('Done')")
    page.wait_for(".inbox-detail h2:has-text('Three')")
    page.press("#")
    page.wait_for(".toast:has-text('Discarded')")
    page.wait_for(".inbox-detail h2:has-text('Four')")
    page.press("r")
    page.wait_for(".answer-form textarea:focus")
    page.type("Thank you")
    page.press("Control+Enter")
    page.wait_for(".toast:has-text('Reply sent')")
    page.wait_for_count(".answer-form", 0)
    page.press("Escape")
    page.wait_for_path("/inbox")
    page.wait_for_count(".item-row", 3)
    assert [item["content"] for item in gateway.get(f"/inbox/ana-{tag}")["items"]][-1:] == ["Thank you"]
    account = count_items(gateway, tag)
    assert (account["pending"], account["delivered"], account["discarded"]) == (3, 1, 1)
    page.click(".toast:has-text('Discarded') button:has-text('Undo')")
    page.wait_for(".virtual-row:nth-child(2) .item-row:has-text('Three')")
    page.wait_for(".tab:has-text('Pending') .number:text-is('4')")
    page.call("reload")
    page.wait_for_count(".item-row", 4)


def test_a_dead_item_is_replayed(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.post("/agents", name=tag)
    push_items(gateway, tag, "Poison")
    while batch := gateway.post(f"/inbox/{tag}/claim", owner="test")["claim"]:
        claim = {field: batch[field] for field in ("claimId", "owner", "fence")}
        [item] = gateway.get(f"/inbox/{tag}")["items"]
        gateway.post(f"/inbox/{tag}/release", **claim, failed=[item["eventId"]])
    assert count_items(gateway, tag)["dead"] == 1
    page = open_page(f"/inbox/{tag}")
    page.wait_for(".empty")
    page.click(".tab:has-text('Dead')")
    page.wait_for(".item-row:has-text('Poison')")
    page.press("j", "Enter")
    page.wait_for(".notice:has-text('is dead')")
    page.press("z")
    page.wait_for(".toast:has-text('Pending again')")
    page.wait_for_count(".item-row", 0)
    account = count_items(gateway, tag)
    assert (account["dead"], account["pending"]) == (0, 1)
    page.click(".tab:has-text('Pending')")
    page.wait_for(".item-row:has-text('Poison')")


@by_night
def test_what_fails_is_shown_as_it_is(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors.append("409 (Conflict)")
    gateway.post("/agents", name=tag)
    push_items(gateway, tag, "Contested")
    page = open_page(f"/inbox/{tag}?state=all")
    page.wait_for(".item-row:has-text('Contested'):has-text('pending')")
    gateway.post(f"/inbox/{tag}/claim", owner="another")
    page.press("#")
    page.wait_for(".toast.is-error")
    page.wait_for(".item-row:has-text('Contested'):has-text('claimed')")


@by_night
def test_new_items_come_by_themselves_in_their_place(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "Usual")
    page = open_page("/inbox", person=tag)
    page.wait_for(".item-row:has-text('Usual')")
    page.wait_for(".sidebar .connection.is-live")
    push_items(gateway, tag, "Burning", priority="critical", type="alert")
    page.wait_for(".virtual-row:nth-child(1):has-text('Burning')")
    page.wait_for(".sidebar .nav-link:has-text('Inbox') .count:has-text('2')")


@by_night
def test_filters_are_in_the_address(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "Needle", type="alert")
    push_items(gateway, tag, "Hay")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.click("button[aria-label=Filter]")
    page.fill("input[aria-label=Words]", "needle")
    page.press("Enter")
    page.wait_for_count(".item-row", 1)
    page.choose("select[aria-label=Type]", "mail")
    page.wait_for(".empty:has-text('No items match')")
    assert page.path == "/inbox?text=needle&type=mail"
    page.choose("select[aria-label=Type]", "alert")
    page.open(page.path)
    page.wait_for(".item-row:has-text('Needle')")


@by_night
def test_an_event_is_pushed_by_hand(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page(f"/inbox/{tag}")
    page.press("c")
    page.wait_for("dialog textarea:focus")
    page.type("By hand")
    page.choose("dialog select[name=priority]", "high")
    page.click("dialog .button.primary")
    page.wait_for(f".toast:has-text('Pushed to {tag}')")
    page.wait_for(".item-row:has-text('By hand') .priority.level-1")


@by_night
def test_the_magnifier_leads_into_its_field(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "Needle", "Hay")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 2)
    page.click("button[aria-label=Filter]")
    page.wait_for("input[aria-label=Words]:focus")
    page.type("needle")
    page.press("Enter")
    page.wait_for_count(".item-row", 1)
    page.open(page.path)
    page.wait_for("input[aria-label=Words]")
    page.wait_for_count("input[aria-label=Words]:focus", 0)  # keys are for the list, until somebody wants to search
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    page.type("search the items")
    page.press("Enter")
    page.wait_for("input[aria-label=Words]:focus")
    page.press("Escape")
    page.wait_for_count("input[aria-label=Words]:focus", 0)
    page.press("j", "Enter")
    page.wait_for(".inbox-detail h2:has-text('Needle')")


@by_night
def test_a_reply_is_read_with_what_it_replies_to(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira = f"mira-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    gateway.post("/mail", to=tag, sender=mira, subject="Menu", text="Fish or rice?")
    page = open_page("/inbox", person=tag)
    page.press("Enter", "r")
    page.wait_for(".answer-form textarea:focus")
    page.type("Rice, please")
    page.press("Control+Enter")
    page.wait_for(".thread li:has-text('Rice, please'):has-text('You')")
    page.wait_for_count(".thread li", 1)  # the item itself is above
    page.call("reload")
    page.wait_for(".thread li:has-text('Rice, please')")

    reader = open_page("/inbox", person=mira)
    reader.wait_for(".item-row:has-text('Rice, please')")
    reader.press("Enter")
    reader.wait_for(".thread li:has-text('Fish or rice?'):has-text('You')")
    stranger = open_page(f"/inbox/{mira}")  # the administrator, in the inbox of somebody else
    stranger.press("Enter")
    stranger.wait_for(f".thread li:has-text('Fish or rice?'):has-text('{mira}')")


@by_night
def test_a_note_is_read_with_the_others(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira = f"mira-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    gateway.post("/work", type="task", id=tag, title="Kitchen", madeBy=mira)
    gateway.post(f"/work/task/{tag}/notes", note="The oven is cold", notify=[tag], sender=mira)
    page = open_page("/inbox", person=tag)
    page.press("Enter", "r")
    page.wait_for(".answer-form textarea:focus")
    page.type("I call somebody")
    page.press("Control+Enter")
    page.wait_for(".thread li:has-text('I call somebody'):has-text('You')")
    page.wait_for_count(".thread li", 1)


@by_night
def test_what_comes_without_a_pause_is_counted_meanwhile(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    is_counted = Event()

    def push() -> None:
        for number in count():
            if is_counted.is_set():
                return
            gateway.post("/inbox", to=tag, source="test", type="alert", subject=f"Alert {number}")

    page = open_page(person=tag)
    page.add_script("window.setInterval = () => 0")  # it is not asked for now and then either
    page.open("/")
    page.wait_for(".sidebar .connection.is-live")
    with ThreadPoolExecutor(1) as pool:
        pushing = pool.submit(push)
        try:
            page.wait_until(IS_COUNTED, ".summary [href='/inbox'] .figure-value")
        finally:
            is_counted.set()
        pushing.result()
