"""Persons other than the administrator: they see what concerns them, and plain words where they may not look."""

import pytest

from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

HIDDEN_ADDRESSES = [
    "/routes",
    "/unrouted",
    "/channels",
    "/channels/pairing",
    "/cost",
    "/cost/runs",
    "/health",
    "/items",
    "/runs",
    "/inbox/admin",
]
OPEN_ADDRESSES = ["/plans", "/triggers", "/channels/sessions", "/shared", "/ledger", "/inbox", "/gates"]


def test_addresses_of_the_administrator_say_so(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/", person=tag)
    for address in HIDDEN_ADDRESSES:
        page.go(address)
        page.wait_for("main .empty:has-text('Only the administrator sees this')")
        assert page.count("h1") == 1, address
    for address in OPEN_ADDRESSES:
        page.go(address)
        page.wait_for_count("main .skeleton", 0)
        assert "administrator" not in page.read("main"), address
        assert page.count("main .empty .icon-alert") == 0, address


def test_the_navigation_and_the_palette_offer_what_the_person_may_see(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    gateway.create_resident(f"ana-{tag}")
    page = open_page("/triggers", person=tag)
    page.wait_for(".sidebar .connection.is-live")
    for title in ("Cost", "Health"):
        assert page.count(f".sidebar .nav-link[href='/{title.lower()}']") == 0
    assert page.count(".sidebar .nav-link[href='/ledger']") == 1
    page.press("Control+k")
    page.wait_for(f".palette-result:has-text('Agent'):has-text('ana-{tag}')")
    offered = page.read(".palette-results")
    assert "Go to Ledger" in offered
    assert "Go to Cost" not in offered
    assert f"Inbox of{tag}" in offered
    assert "Inbox ofana" not in offered
    page.press("Escape")
    page.wait_for_count(".palette", 0)

    administrator = open_page("/")
    administrator.wait_for(".sidebar .nav-link[href='/cost']")


@by_night
def test_a_person_sees_who_an_agent_is(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_person(tag)
    gateway.create_resident(name, displayName="Ana Lyst", team=f"team-{tag}", role="numbers")
    gateway.create_space(f"both-{tag}", tag, name)
    gateway.create_space(f"other-{tag}", "admin", name)
    page = open_page(f"/agents?team=team-{tag}", person=tag)
    page.wait_for(".agent-card")
    assert page.count("a[href='/runs']") == 0
    page.press("j", "Enter")
    page.wait_for_path(f"/agents/{name}")
    page.wait_for(f".facts a:has-text('both-{tag}')")
    text = page.read("main")
    for words in ("Ana Lyst", f"team-{tag}", "numbers", "asleep", "Only its owner and the administrator see its runs"):
        assert words in text
    assert f"other-{tag}" not in text
    assert page.count("main button") == 0, "nothing that the person may not do is offered"
    page.open(f"/agents/{name}/mind")
    page.wait_for("main:has-text('Only its owner and the administrator see its runs and its mind')")


def test_an_owner_sees_what_its_agent_does_and_is_offered_no_change(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    gateway.create_person(tag)
    gateway.create_person(f"other-{tag}")
    gateway.create_resident(name, owner=tag)
    gateway.create_space(f"desk-{tag}", "admin", name)
    gateway.post_message(f"desk-{tag}", "Anything new?", "admin")
    page = open_page(f"/agents/{name}", person=tag)
    page.wait_for(".run-row")
    assert page.count("main button") == 0
    for place, tab in ((2, "mind"), (3, "memories"), (4, "goals"), (5, "about")):
        page.press(str(place))
        page.wait_for_path(f"/agents/{name}/{tab}")
        page.wait_for_count("main .skeleton", 0)
        assert page.count("main .empty .icon-alert") == 0, tab
    page.press("1")
    page.wait_for(".run-row")
    page.press("j", "Enter")
    page.wait_for(".turns .turn:has-text('Nothing is to be done.')")
    assert page.count(".view-head button") == 0, "cancel and replay are for the administrator"
    [run] = gateway.list_runs(name)
    open_page.expected_errors.append("404")
    other_page = open_page(f"/runs/{run['id']}", person=f"other-{tag}")
    other_page.wait_for("main .empty:has-text('there is no run')")


@by_night
def test_a_person_is_offered_no_change_of_a_space(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/spaces", person=tag)
    page.wait_for(".empty:has-text('no spaces')")
    assert page.count("main button") == 0
    gateway.create_space(tag, tag, "admin")
    page.open(f"/spaces/{tag}")
    page.click(".members-button")
    page.wait_for_count(".member", 2)
    assert page.count(".add-member") == 0
    page.wait_for_count(".member-remove", 1)
    page.press("Control+k")
    page.wait_for(".palette-result:has-text('Show members')")
    assert "Create a space" not in page.read(".palette-results")
    page.press("Escape")
    page.click(".member-remove[aria-label='Leave this space']")
    page.click(".dialog button:has-text('Leave')")
    page.wait_for_path("/spaces")
    assert tag not in [member["name"] for member in gateway.get(f"/spaces/{tag}/members")["items"]]


@by_night
def test_a_gate_that_the_person_cannot_see(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_person(tag)
    gateway.create_resident(name)
    decision = gateway.post("/decisions", asker=name, of=[tag], question="Go?", options=[{"id": "y", "label": "Yes"}])
    page = open_page(f"/decisions/{decision['id']}", person=tag)
    page.wait_for(".decision:has-text('Go?')")
    page.wait_for(".facts:has-text('Asked')")
    assert page.count("a[href^='/gates/']") == 0
    open_page.expected_errors.append("404")
    page.open(f"/gates/{decision['gate']}")
    page.wait_for("main .notice:has-text('You cannot see this gate')")

    administrator = open_page(f"/decisions/{decision['id']}")
    administrator.wait_for(f".facts a[href='/gates/{decision['gate']}']")


@by_night
@pytest.mark.parametrize("part", ["memories", "about"])
def test_the_administrator_sees_all_of_an_agent(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, part: str
) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    page = open_page(f"/agents/{name}/{part}")
    page.wait_for(f".agent-tabs a[aria-current]:has-text('{part.title()}')")
