"""Drafts: what was written and not sent is there after a reload, until it was sent or its writer has signed out."""

import pytest

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: from now on, until a reload, nothing that is posted arrives
LOSE_POSTS = """() => {
  const send = window.fetch;
  window.fetch = (input, init) => (init?.method === "POST" ? new Promise(() => {}) : send(input, init));
}"""
#: press Enter in the composer; return what the tab keeps then
SEND = """() => {
  const enter = new KeyboardEvent("keydown", { key: "Enter", bubbles: true, cancelable: true });
  document.querySelector(".composer textarea").dispatchEvent(enter);
  return JSON.stringify({ ...sessionStorage });
}"""
#: waits until the field that matches a selector has a text
HAS_TEXT = "([selector, text]) => document.querySelector(selector)?.value === text"


def reload(page: Page) -> None:
    page.open(page.path)


def test_a_draft_survives_a_reload(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    gateway.create_space(f"other-{tag}", "admin")
    page = open_page(f"/spaces/{tag}")
    page.fill(".composer textarea", "Half a thought")
    reload(page)
    page.wait_until(HAS_TEXT, [".composer textarea", "Half a thought"])
    page.go(f"/spaces/other-{tag}")
    page.wait_until(HAS_TEXT, [".composer textarea", ""])
    page.go(f"/spaces/{tag}")
    page.click(".composer textarea")
    page.press("Enter")
    page.wait_for(".message:not(.is-sending):has-text('Half a thought')")
    reload(page)
    page.wait_for(".message:has-text('Half a thought')")
    page.wait_until(HAS_TEXT, [".composer textarea", ""])


def test_a_message_that_was_being_sent_is_sent_after_a_reload(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_space(tag, "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".composer textarea")
    page.evaluate(LOSE_POSTS)
    for text in ("First", "Second"):
        page.fill(".composer textarea", text)
        assert text in page.evaluate(SEND), "it is kept before anything is drawn"
        page.wait_for(f".message.is-sending:has-text('{text}')")
    assert gateway.list_messages(tag) == []
    reload(page)
    for text in ("First", "Second"):
        page.wait_for(f".message:not(.is-sending):not(.is-failed):has-text('{text}')")
    reload(page)
    page.wait_for_count(".message", 2)
    assert [text for _, text in gateway.list_messages(tag)] == ["First", "Second"]


@by_night
def test_a_message_that_was_refused_waits_after_a_reload(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    open_page.expected_errors += ["413", "422"]
    gateway.create_space(tag, "admin")
    page = open_page(f"/spaces/{tag}")
    page.fill(".composer textarea", "M" * 400_000)
    page.press("Enter")
    page.wait_for(".message.is-failed .notice")
    reload(page)
    page.wait_for(".message.is-failed .notice")
    page.click(".message.is-failed button:has-text('Discard')")
    page.wait_for_count(".message", 0)
    reload(page)
    page.wait_for(".composer textarea")
    page.wait_for_count(".message", 0)


@by_night
def test_a_reply_that_was_begun_survives_a_reload(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.create_person(f"mira-{tag}")
    gateway.post("/mail", to=tag, sender=f"mira-{tag}", subject="First", text="Are you there?")
    page = open_page("/inbox", person=tag)
    page.press("r")
    page.wait_for(".answer-form textarea:focus")
    page.type("I am")
    reload(page)
    page.wait_until(HAS_TEXT, [".answer-form textarea", "I am"])
    page.press("r")
    page.wait_for(".answer-form textarea:focus")
    page.press("Escape")
    page.wait_for_count(".answer-form textarea:focus", 0)
    page.wait_until(HAS_TEXT, [".answer-form textarea", "I am"])
    page.click(".answer-form button:has-text('Cancel')")
    page.wait_for_count(".answer-form", 0)
    page.press("r")
    page.wait_until(HAS_TEXT, [".answer-form textarea", ""])
    page.press("Escape")
    page.wait_for_count(".answer-form", 0)


@by_night
@pytest.mark.parametrize(
    ("button", "field"),
    [("Write an answer", ".answer-form textarea"), ("Send back", ".answer-form textarea")],
)
def test_an_answer_that_was_begun_survives_a_reload(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, button: str, field: str
) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    question = {"question": "Which one?", "asker": f"ana-{tag}", "of": [tag], "freeText": True}
    gateway.post("/decisions", **question, options=[{"id": "a", "label": "A"}])
    page = open_page("/decisions", person=tag)
    page.click(f"button:has-text('{button}')")
    page.fill(field, "Neither")
    reload(page)
    page.wait_until(HAS_TEXT, [field, "Neither"])
    page.click("button:has-text('Send answer')")
    page.wait_for_count(".answer-form", 0)


@by_night
def test_arguments_that_were_edited_survive_a_reload(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    action = {"name": "refund", "args": {"amount": 129}}
    gateway.post("/decisions", question="Refund it?", asker=f"ana-{tag}", of=[tag], action=action)
    page = open_page("/decisions", person=tag)
    page.click("button:has-text('with other arguments')")
    page.fill(".label:has-text('amount') >> .field", "100")
    reload(page)
    page.wait_until(HAS_TEXT, [".answer-form .field", "100"])


@by_night
def test_drafts_are_those_of_their_writer(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    page = open_page(f"/spaces/{tag}", person=tag)
    page.fill(".composer textarea", "Between us")
    page.click(".sidebar button[aria-label^='Sign out']")
    page.wait_for_path("/sign-in")
    assert (
        page.evaluate("() => JSON.stringify([{ ...sessionStorage }, { ...localStorage }]).includes('Between us')")
        is False
    )
