"""A person signs in by the one-time link, once; a used link is refused; who signs out is out."""

from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_a_link_signs_in_once(gateway: ScriptedGateway, open_page: PageOpener) -> None:
    path = gateway.post("/sign-in/links")["path"]
    page = open_page.open_stranger()
    page.call("goto", path)
    page.wait_for(".shell")
    assert page.path == "/"
    assert page.evaluate("() => document.cookie") == "", "no script reads the cookie"
    open_page.expected_errors.append("401 (Unauthorized)")
    other_page = open_page.open_stranger()
    other_page.call("goto", path)
    other_page.wait_for("#problem:has-text('link')")
    assert path.partition("#")[2] not in other_page.path
    other_page.call("goto", "/inbox")
    other_page.wait_for("h1:has-text('Sign in to Gatepost')")
    assert other_page.count(".shell") == 0


@by_night
def test_a_link_can_be_pasted(gateway: ScriptedGateway, open_page: PageOpener) -> None:
    open_page.expected_errors.append("401 (Unauthorized)")
    page = open_page.open_stranger()
    page.call("goto", "/decisions")
    page.fill("input[name=link]", "lk_wrong")
    page.press("Enter")
    page.wait_for("[role=alert]")
    page.fill("input[name=link]", gateway.gateway.url + gateway.post("/sign-in/links")["path"])
    page.press("Enter")
    page.wait_for(".shell h1:has-text('Decisions')")
    assert page.path == "/decisions", "the address that was asked for"


def test_who_signs_out_sees_nothing_any_more(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors.append("401 (Unauthorized)")
    gateway.create_person(tag)
    page = open_page("/inbox", person=tag)
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    page.type("sign out")
    page.wait_for(".palette-result[aria-selected=true]:has-text('Sign out')")
    page.press("Enter")
    page.wait_for_path("/sign-in")
    page.call("goto", "/inbox")
    page.wait_for("h1:has-text('Sign in to Gatepost')")


@by_night
def test_a_sign_in_that_was_revoked_ends_in_the_open_page(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    open_page.expected_errors.append("401 (Unauthorized)")
    gateway.create_person(tag)
    page = open_page("/inbox", person=tag)
    [key] = [key for key in gateway.get("/keys")["items"] if key["kind"] == "page" and key["entity"] == tag]
    gateway.delete(f"/keys/{key['id']}")
    page.press("g", "d")
    page.wait_for("h1:has-text('Sign in to Gatepost')")
    page.wait_for("[role=alert]:has-text('sign-in has ended')")
