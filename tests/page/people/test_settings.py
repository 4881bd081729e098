"""Settings: people are added, browsers and keys are revoked, and models say what they lack."""

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_a_person_is_added_and_a_key_is_revoked(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}", model={"name": "openai:gpt-5", "keyEnv": "NO_SUCH_KEY"})
    key = gateway.post("/keys", agent=f"ana-{tag}", name=f"laptop {tag}")
    page = open_page("/settings", reducedMotion="reduce")
    page.press("c", *f"husam-{tag}", "Enter")  # in a hurry: the dialog is not there yet
    page.wait_for(f"section[aria-label=People] .row:has-text('@husam-{tag}')")
    assert gateway.get(f"/entities/husam-{tag}")["kind"] == "human"
    page.wait_for("section[aria-label=Models] .row:has-text('NO_SUCH_KEY is not set')")
    page.wait_for("section[aria-label='Signed-in browsers'] .row:has-text('(you)')")
    assert page.find_violations() == []
    assert key["key"] not in page.read("main"), "only its prefix is shown"
    page.click(f"section[aria-label=Keys] button[aria-label='Revoke: {key['prefix']}']")
    page.wait_for("dialog:has-text('cannot be undone')")
    page.press("Enter")
    page.wait_for_count(f"section[aria-label=Keys] button[aria-label='Revoke: {key['prefix']}']", 0)
    revoked = next(other for other in gateway.get("/keys", limit=1000)["items"] if other["id"] == key["id"])
    assert revoked["revokedAt"] is not None
    page.resize(PHONE)
    assert not page.evaluate("() => document.documentElement.scrollWidth > innerWidth")
