"""Where the person is: titles that name what is shown, one heading, a focus that follows, numbers that lead on."""

import pytest

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.residents.model_server import Say
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night


def test_the_title_names_what_is_shown(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name, displayName=f"Ana {tag}")
    gateway.create_space(f"q4-{tag}", "admin", name)
    decision = gateway.post(
        "/decisions", asker=name, of=["admin"], question=f"Go {tag}?", options=[{"id": "y", "label": "Yes"}]
    )
    page = open_page("/spaces")
    page.wait_until("() => document.title === 'Spaces · Gatepost'")
    page.wait_for(f"main a[href='/spaces/q4-{tag}']")
    page.click(f"main a[href='/spaces/q4-{tag}']")
    page.wait_until("title => document.title === title", f"q4-{tag} · Spaces · Gatepost")
    page.call("goBack")
    page.wait_until("() => document.title === 'Spaces · Gatepost'")
    titles = {
        f"/agents/{name}": f"Ana {tag} · Agents · Gatepost",
        f"/decisions/{decision['id']}": f"Go {tag}? · Decisions · Gatepost",
        f"/inbox/{name}": f"Ana {tag} · Inbox · Gatepost",
        "/": "Gatepost",
        "/cost": "Cost · Gatepost",
    }
    for address, title in titles.items():
        page.open(address)
        page.wait_until("title => document.title === title", title)


def test_the_focus_follows_the_navigation(open_page: PageOpener) -> None:
    page = open_page("/")
    page.wait_for("main h1")
    is_within = "() => document.activeElement?.id === 'content'"
    page.click(".sidebar .nav-link[href='/agents']")
    page.wait_for("main h1:has-text('Agents')")
    page.wait_until(is_within)
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    page.type("go to plans")
    page.press("Enter")
    page.wait_for("main h1:has-text('Plans')")
    page.wait_until(is_within)
    page.evaluate("() => document.querySelector('.sidebar .nav-link').focus()")
    page.call("goBack")
    page.wait_for("main h1:has-text('Agents')")
    page.wait_until(is_within)


def test_the_focus_stays_in_the_list_that_it_is_in(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}")
    page = open_page(f"/agents/ana-{tag}")
    page.click(".agent-tabs a:has-text('Goals')")
    page.wait_for(".agent-tabs a[aria-current]:has-text('Goals')")
    assert page.evaluate("() => document.activeElement.textContent") == "Goals"


def test_an_address_has_one_first_heading(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    gateway.post_message(tag, "# Loud\n\n## Less loud", "admin")
    chat = gateway.post("/chat", channel="web", session=tag, content="# Hello", sender="admin")
    [entry] = [
        entry
        for entry in gateway.get("/shared-inbox", session=chat["sessionId"])["items"]
        if entry["kind"] == "user_prompt"
    ]
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".markdown h3:has-text('Loud')")
    page.wait_for(".markdown h4:has-text('Less loud')")
    assert page.count("h1") == 1
    for address in (f"/chat/{chat['sessionId']}", f"/shared/{entry['id']}"):
        page.open(address)
        page.wait_for(".markdown h3:has-text('Hello')")
        assert page.count("h1") == 1, address
    for address in ("/chat", "/shared"):
        page.open(address)
        page.wait_for_count("main .skeleton", 0)
        assert page.count("h1") == 1, address


def test_the_numbers_of_the_last_hour_lead_to_its_runs(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    scripts[name] = lambda _: Say("All is well.")
    gateway.create_resident(name)
    gateway.post("/inbox", to=name, source="test", content="How is it?")
    gateway.wait_for_runs(name, 1)
    page = open_page("/")
    page.wait_for(".figure[href^='/runs?since=']:has-text('tokens in the last hour')")
    page.click(".figure[href^='/runs?since=']:not(:has-text('tokens'))")
    page.wait_until("() => location.pathname === '/runs' && location.search.startsWith('?since=')")
    page.wait_for(f".run-row:has-text('{name}')")
    page.wait_for(".run-filters select:has-text('since')")
    page.open("/runs?since=2999-01-01T00:00:00Z")
    page.wait_for(".empty:has-text('No runs match')")
    page.click(".empty >> text=Show all runs")
    page.wait_for_path("/runs")
    page.wait_for(f".run-row:has-text('{name}')")


@pytest.mark.parametrize(
    ("address", "back"),
    [
        ("/inbox/admin/evt_nothing", "/inbox"),
        ("/agents/nobody-here", "/agents"),
        ("/spaces/no-such-space", "/spaces"),
        ("/decisions/dec_nothing", "/decisions"),
        ("/runs/run_nothing", "/runs"),
        ("/plans/plan_nothing", "/plans"),
        ("/triggers/no-such-trigger", "/triggers"),
        ("/ledger/0.0.999999", "/ledger"),
        ("/shared/no-such-entry", "/shared"),
    ],
)
def test_there_is_a_way_back_from_what_is_missing(address: str, back: str, open_page: PageOpener) -> None:
    open_page.expected_errors += ["404", "422"]
    page = open_page(address, viewport=PHONE, hasTouch=True)
    page.wait_for("main .empty:has-text('could not be loaded')")
    page.wait_for_count("main h1", 1)
    page.click("main .view-head :is(a, button).icon-button:has(svg):visible >> nth=0")
    page.wait_for_path(back)
