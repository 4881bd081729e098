"""Settings: people are added, browsers and keys are revoked, and models say what they lack."""

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_a_person_is_added_and_a_key_is_revoked(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}", model={"name": "openai:gpt-5", "keyEnv": "NO_SUCH_KEY"})
    key = gateway.post("/keys", agent=f"ana-{tag}", name=f"laptop {tag}")
    page = open_page("/settings")
    page.press("c", *f"husam-{tag}", "Enter")  # in a hurry: the dialog is not there yet
    page.wait_for(f"section[aria-label=People] .row:has-text('@husam-{tag}')")
    assert gateway.get(f"/entities/husam-{tag}")["kind"] == "human"
    page.wait_for("section[aria-label='Signed-in browsers'] .row:has-text('(you)')")
    assert page.find_violations() == []
    assert key["key"] not in page.read("main"), "only its prefix is shown"
    page.click(f"section[aria-label=Keys] button[aria-label='Revoke: {key['prefix']}']")
    page.wait_for("dialog:has-text('cannot be undone')")
    page.press("Enter")
    page.wait_for_count(f"section[aria-label=Keys] button[aria-label='Revoke: {key['prefix']}']", 0)
    revoked = next(other for other in gateway.get("/keys", limit=1000)["items"] if other["id"] == key["id"])
    assert revoked["revokedAt"] is not None
    page.press("2")
    page.wait_for("section[aria-label=Models] .row:has-text('NO_SUCH_KEY is not set')")
    assert page.find_violations() == []
    page.resize(PHONE)
    assert not page.evaluate("() => document.documentElement.scrollWidth > innerWidth")


def test_a_key_and_a_link_are_made_and_shown_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/settings")
    page.click(f"section[aria-label=People] .row:has-text('@{tag}') >> button:has-text('Sign-in link')")
    page.wait_for("dialog .secret-row:has-text('/sign-in')")
    assert page.find_violations() == []
    page.press("Enter")
    page.click("section[aria-label=Keys] >> button:has-text('New key')")
    page.wait_for("dialog input[list]:focus")
    page.press(*tag, "Tab", *"laptop", "Enter")
    page.wait_for("dialog .secret-row code")
    page.press("Enter")
    page.wait_for("section[aria-label=Keys] .row:has-text('laptop')")
    assert [key["entity"] for key in gateway.get("/keys", limit=1000)["items"] if key["name"] == "laptop"] == [tag]


def test_a_person_is_renamed_and_retired(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/settings")
    page.click(f"section[aria-label=People] .row:has-text('@{tag}') >> button:has-text('Rename')")
    page.press("Control+a", *f"Omar {tag}", "Enter")
    page.wait_for(f"section[aria-label=People] .row:has-text('Omar {tag}')")
    page.click(f"button[aria-label='Retire: {tag}']")
    page.wait_for("dialog:has-text('receive nothing more')")
    page.press("Enter")
    page.wait_for_count(f"section[aria-label=People] .row:has-text('@{tag}')", 0)
    assert gateway.get(f"/entities/{tag}")["retiredAt"] is not None


def test_every_setting_has_its_value_and_the_line_that_sets_it(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    file = gateway.gateway.home / "gatepost.toml"
    page = open_page("/settings/values")
    page.wait_for("section[aria-label='How long items are kept'] .setting:has-text('inbox.remember')")
    page.fill("input[type=search]", "dedup key")
    page.wait_for_count(".setting", 1)
    page.click(".setting summary")
    page.wait_for(".setting pre:has-text('remember = \"1d\"')")
    page.wait_for(".setting:has-text('GATEPOST_INBOX__REMEMBER')")
    assert page.find_violations() == []
    before = file.read_text() if file.exists() else None
    file.write_text(f'{before or ""}\n[inbox]\nremember = "3d"\n')
    try:
        page.call("reload")
        page.wait_for(".setting:has-text('inbox.remember') .badge:has-text('3d after a restart')")
    finally:
        file.write_text(before or "")
    page.resize(PHONE)
    assert not page.evaluate("() => document.documentElement.scrollWidth > innerWidth")


def test_integrations_say_what_is_missing(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/triggers", name=f"ci-{tag}", provider="webhook", scheme="header", secret="s" * 32, target="admin")
    page = open_page("/settings/integrations")
    page.wait_for(f"section[aria-label=Webhooks] .row:has-text('ci-{tag}') .badge:has-text('enabled')")
    page.wait_for("section[aria-label=Ledger] .badge:has-text('on this machine')")
    page.wait_for("section[aria-label='Voice messages'] .badge:has-text('off')")
    assert page.find_violations() == []
    page.press("4")
    page.wait_for("section[aria-label='What is sent'] .setting:has-text('channel.notify')")
    page.wait_for(f"section[aria-label='Chats of people'] .row:has-text('{tag}'):has-text('only on this page')")
    assert page.find_violations() == []
    page.open("/triggers?new=telegram")
    page.wait_for("dialog input[name=token]")
