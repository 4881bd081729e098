"""Two people use one browser: no tab shows or keeps what was of the one who was signed in before."""

import httpx2
import pytest

from tests.page.chromium import LAST_RESORT, PHONE, Page, sign_in
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway


def build_link(gateway: ScriptedGateway, person: str) -> str:
    return gateway.gateway.url + str(gateway.post("/sign-in/links", name=person)["path"])


def revoke_cookies(gateway: ScriptedGateway, person: str) -> None:
    for key in gateway.get("/keys")["items"]:
        if key["kind"] == "page" and key["entity"] == person:
            gateway.delete(f"/keys/{key['id']}")


def paste_link(page: Page, link: str) -> None:
    page.wait_for("h1:has-text('Sign in to Gatepost')")
    page.fill("input[name=link]", link)
    page.press("Enter")


@pytest.fixture
def people(gateway: ScriptedGateway, tag: str) -> tuple[str, str]:
    names = (f"{tag}-mira", f"{tag}-omar")
    for name in names:
        gateway.create_person(name)
    gateway.create_space(f"{tag}-space", *names)
    return names


@by_night
def test_who_signs_in_in_place_finds_nothing_of_the_one_before(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, people: tuple[str, str]
) -> None:
    open_page.expected_errors.append("401 (Unauthorized)")
    mira, omar = people
    page = open_page(f"/spaces/{tag}-space", person=mira)
    page.fill(".composer textarea", "a secret of mira")
    page.evaluate("() => { window.isOld = true; }")
    revoke_cookies(gateway, mira)
    page.press("Escape")
    page.evaluate("() => document.activeElement.blur()")
    page.press("g", "d")
    paste_link(page, build_link(gateway, omar))
    page.wait_for(f".sidebar .person:has-text('{omar}')")
    assert page.evaluate("() => window.isOld") is None, "the page was loaded anew"
    page.evaluate(
        "(path) => { history.pushState(null, '', path); dispatchEvent(new PopStateEvent('popstate')); }",
        f"/spaces/{tag}-space",
    )
    page.wait_for(".composer textarea")
    assert page.evaluate("() => document.querySelector('.composer textarea').value") == ""
    gateway.post_message(f"{tag}-space", "for all of us", mira)
    page.wait_for(".message:has-text('for all of us')")


@by_night
def test_another_tab_follows_who_is_signed_in(
    gateway: ScriptedGateway, open_page: PageOpener, people: tuple[str, str]
) -> None:
    open_page.expected_errors += ["401 (Unauthorized)", "403 (Forbidden)"]
    mira, omar = people
    page = open_page("/inbox", person=mira)
    page.wait_for(f".sidebar .person:has-text('{mira}')")
    page.evaluate(
        """async (token) => {
            const headers = { "content-type": "application/json", "x-gatepost-page": "1" };
            const body = JSON.stringify({ token, replace: true });
            await fetch("/api/sign-in", { method: "POST", headers, body });
            window.dispatchEvent(new Event("focus"));
        }""",
        build_link(gateway, omar).partition("#")[2],
    )
    page.wait_for(f".sidebar .person:has-text('{omar}')")
    assert page.path == "/inbox"


def test_another_tab_is_told_of_a_sign_in_and_of_a_sign_out(
    gateway: ScriptedGateway, open_page: PageOpener, people: tuple[str, str]
) -> None:
    open_page.expected_errors += ["401 (Unauthorized)", "403 (Forbidden)", "409 (Conflict)"]
    mira, omar = people
    page = open_page("/inbox", person=mira)
    tab = page.open_tab("/sign-in" + build_link(gateway, omar).partition("/sign-in")[2])
    tab.click("button:has-text('Sign in as')")
    tab.wait_for(f".sidebar .person:has-text('{omar}')")
    page.wait_for(f".sidebar .person:has-text('{omar}')")
    tab.click(".sidebar button[aria-label='Sign out']")
    tab.wait_for_path("/sign-in")
    page.wait_for("h1:has-text('Sign in to Gatepost')")
    assert page.count(".shell") == 0


@by_night
def test_a_refusal_shows_that_another_is_signed_in(
    gateway: ScriptedGateway, open_page: PageOpener, people: tuple[str, str]
) -> None:
    open_page.expected_errors += ["401 (Unauthorized)", "403 (Forbidden)"]
    mira, omar = people
    page = open_page("/inbox", person=mira)
    page.replace_cookie(sign_in(gateway.gateway.url, gateway.gateway.admin_key, omar))
    page.press("g", "i", "r")
    page.wait_for(f".sidebar .person:has-text('{omar}')")


@by_night
def test_a_sign_out_that_failed_says_so(
    gateway: ScriptedGateway, open_page: PageOpener, people: tuple[str, str]
) -> None:
    open_page.expected_errors += ["ERR_INTERNET_DISCONNECTED", "Failed to load"]
    page = open_page("/inbox", person=people[0])
    page.set_offline(True)
    page.click(".sidebar button[aria-label='Sign out']")
    page.wait_for(".toast.is-error:has-text('still be signed in')")
    page.set_offline(False)
    assert page.path == "/inbox"
    page.click(".sidebar button[aria-label='Sign out']")
    page.wait_for_path("/sign-in")


@by_night
def test_a_phone_has_the_button_too(open_page: PageOpener, people: tuple[str, str]) -> None:
    page = open_page("/inbox", person=people[0], viewport=PHONE)
    page.click(".bottom-bar button:has-text('More')")
    page.click("dialog button[aria-label='Sign out']")
    page.wait_for_path("/sign-in")


def test_a_link_of_another_person_asks_first(
    gateway: ScriptedGateway, open_page: PageOpener, people: tuple[str, str]
) -> None:
    open_page.expected_errors.append("409 (Conflict)")
    mira, omar = people
    link = build_link(gateway, omar)
    page = open_page("/inbox", person=mira)
    page.call("goto", link)
    page.wait_for(f"#question:has-text('You are signed in as {mira}. Sign in as {omar} instead?')")
    assert page.find_violations() == []
    page.click("button:has-text('Stay signed in')")
    page.wait_for(f".sidebar .person:has-text('{mira}')")
    page.call("goto", link)
    page.click(f"button:has-text('Sign in as {omar}')")
    page.wait_for(f".sidebar .person:has-text('{omar}')")
    page.call("goto", build_link(gateway, omar))
    page.wait_for(f".sidebar .person:has-text('{omar}')")  # the same person is not asked


def test_the_gateway_takes_no_other_port_of_its_address_for_its_own(
    gateway: ScriptedGateway, people: tuple[str, str]
) -> None:
    url = gateway.gateway.url
    cookie = sign_in(url, gateway.gateway.admin_key, people[0])
    for port in ("", ":1", ":3000"):
        headers = {"cookie": cookie, "x-gatepost-page": "1", "origin": f"http://127.0.0.1{port}"}
        with httpx2.Client(base_url=url, headers=headers, timeout=LAST_RESORT) as client:
            assert client.get("/api/caller").status_code == 403, port
            assert client.delete("/api/sign-in").status_code == 403, port
