"""The page without a mouse: every view and command by keys, and dialogs that give the focus back."""

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_every_view_of_the_navigation_has_keys(open_page: PageOpener) -> None:
    page = open_page("/nothing")
    links = page.evaluate(
        "() => [...document.querySelectorAll('.sidebar .nav-list a')].map((a) => [a.title, a.pathname])"
    )
    assert len(links) >= 10
    for title, path in links:
        first, second = title.removeprefix("Keys: ").split(" ")
        page.press(first, second)
        page.wait_for_path(path)
        page.wait_for(f".sidebar .nav-link[href='{path}'][aria-current=page]")


def test_the_palette_has_every_command(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin")
    page = open_page("/inbox")
    page.press("?")
    page.wait_for("dialog:has-text('Keyboard shortcuts')")
    keys = page.evaluate("() => [...document.querySelectorAll('.help-list dd')].map((element) => element.innerText)")
    assert {"Mark as done", "Reply", "Discard", "Go to Spaces", "Next item"} <= set(keys)
    page.press("Escape")
    page.wait_for_count("dialog", 0)
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    listed = page.evaluate("() => [...document.querySelectorAll('.palette-result .line-text')].map((e) => e.innerText)")
    movements = {"Next item", "Previous item", "Open the item", "Back to the list", "Every command"}
    assert set(keys) - movements <= set(listed)
    page.type(tag)
    page.wait_for(f".palette-result[aria-selected=true]:has-text('{tag}')")
    page.press("ArrowDown", "ArrowUp", "Enter")
    page.wait_for_count(".palette", 0)
    assert page.path in (f"/spaces/{tag}", f"/inbox/{tag}")
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    page.press("Escape")
    page.wait_for_count(".palette", 0)


@by_night
def test_a_dialog_keeps_the_focus_and_gives_it_back(open_page: PageOpener) -> None:
    page = open_page("/inbox")
    page.evaluate("() => document.querySelector('button[aria-label=\"Push an event\"]').focus()")
    page.press("Enter")
    page.wait_for("dialog textarea:focus")
    for _ in range(12):
        page.press("Tab")
        assert page.evaluate(
            "() => document.activeElement.closest('dialog') !== null || document.activeElement === document.body"
        )
    page.press("Escape")
    page.wait_for_count("dialog", 0)
    page.wait_for("button[aria-label='Push an event']:focus")


@by_night
def test_keys_are_left_to_fields(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    page = open_page(f"/spaces/{tag}")
    page.press("r")
    page.type("g i e # ?")
    assert page.path == f"/spaces/{tag}"
    assert page.evaluate("() => document.activeElement.value") == "g i e # ?"
    page.press("Escape")
    page.press("g", "d")
    page.wait_for_path("/decisions")
    page.call("goBack")
    page.wait_for_path(f"/spaces/{tag}")
    assert page.evaluate("() => document.querySelector('.composer textarea').value") == "g i e # ?", "the draft stays"


@by_night
def test_the_skip_link_leads_to_the_content(open_page: PageOpener) -> None:
    page = open_page("/agents")
    page.press("Tab")
    page.wait_for(".skip-link:focus")
    page.press("Enter")
    page.wait_for("main:focus")


@by_night
def test_on_a_phone_every_view_is_reached(open_page: PageOpener) -> None:
    page = open_page("/agents", viewport=PHONE, hasTouch=True)
    page.click(".bottom-bar a:has-text('Inbox')")
    page.wait_for_path("/inbox")
    assert not page.evaluate("() => document.querySelector('.sidebar').checkVisibility()"), "it is for wide windows"
    page.click(".bottom-bar button:has-text('More')")
    page.wait_for("dialog .nav-link:has-text('Agents')")
    page.press("Escape")
    page.wait_for_count("dialog", 0)
    page.click(".bottom-bar button:has-text('More')")
    page.click("dialog .nav-link:has-text('Gates')")
    page.wait_for_path("/gates")
    page.wait_for_count("dialog", 0)
    page.click(".top-bar button[aria-label='Commands and search']")
    page.wait_for(".palette input:focus")
    page.type("go to agents")
    page.click(".palette-result >> nth=0")
    page.wait_for_path("/agents")


@by_night
def test_lists_are_gone_through_by_keys(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    agent = f"ana-{tag}"
    gateway.post("/agents", name=agent, owner=tag)
    for space in (f"a-{tag}", f"b-{tag}"):
        gateway.create_space(space, tag, agent)
    decisions = [
        gateway.post(
            "/decisions", question=f"Which {number}?", asker=agent, of=[tag], options=[{"id": "y", "label": "Y"}]
        )
        for number in range(2)
    ]
    for decision in decisions:
        gateway.put(f"/decisions/{decision['id']}/answer", option="y", by=tag)
    plans = [gateway.post("/plans", owner=agent, name=f"P{n}", instruction="Look", cron="0 9 * * *") for n in range(2)]
    gateway.post("/mail", to=tag, sender="admin", text="One")
    lists = {
        "/spaces": "/spaces/",
        "/decisions?show=ended": "/decisions/",
        "/": "/inbox/",
    }
    page = open_page("/", person=tag)
    for address, beginning in lists.items():
        page.go(address)
        page.wait_for_count("main .skeleton", 0)
        page.press("j", "j", "k")
        page.wait_for("main .is-selected")
        page.press("Enter")
        page.wait_until("(beginning) => location.pathname.startsWith(beginning)", beginning)
    admin = open_page(f"/agents/{agent}/plans")
    admin.wait_for_count(".plan-row", 2)
    admin.press("j", "Enter")
    admin.wait_until("(ids) => ids.some((id) => location.pathname === `/plans/${id}`)", [plan["id"] for plan in plans])
