"""
Keys that come before what they are for: before a view, a dialog or the answer of the gateway is there. All of them
arrive, in their order. Nothing here waits between two keys; what the page asks for comes when they are typed.
"""

import pytest

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.page.test_decisions import IS_ANSWERED
from tests.support.gateways.scripted_gateway import ScriptedGateway

HELLO = "Hello! Are you there?"
#: parts of addresses: the code of views, and what the gateway answers
CODE, ANSWERS = "/assets/", "/api/"
PACES = [pytest.param((), marks=by_night, id="at once"), pytest.param((CODE, ANSWERS), id="late")]


def press_early(page: Page, *keys: str, delayed: tuple[str, ...] = (CODE, ANSWERS)) -> None:
    """Press keys while nothing comes that the page asks for because of them."""
    for part in delayed:
        page.delay_requests(part)
    page.press(*keys)
    for part in delayed:
        page.release_requests(part)


def push_mail(gateway: ScriptedGateway, name: str, sender: str, *subjects: str) -> None:
    for subject in subjects:
        gateway.post("/inbox", to=name, source="test", type="mail", sender=sender, subject=subject, content="Well?")


def list_states(gateway: ScriptedGateway, name: str) -> dict[str, str]:
    return {item["subject"]: item["state"] for item in gateway.get(f"/inbox/{name}")["items"]}


@pytest.mark.parametrize("delayed", PACES)
def test_the_palette_takes_what_is_typed_after_its_key(open_page: PageOpener, delayed: tuple[str, ...]) -> None:
    page = open_page("/")
    press_early(page, "Control+k", *"go to plans", "Enter", "c", *"Weekly report", delayed=delayed)
    page.wait_for_path("/plans")
    page.wait_until("() => document.querySelector('dialog [name=name]')?.value === 'Weekly report'")


@pytest.mark.parametrize("delayed", PACES)
def test_what_is_typed_after_create_is_posted_in_the_new_space(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, delayed: tuple[str, ...]
) -> None:
    page = open_page("/spaces")
    page.click("main header button:has-text('New space')")
    press_early(page, *f"Room {tag}", "Enter", *HELLO, "Enter", *"Yes", delayed=delayed)
    page.wait_for(f"h1:has-text('Room {tag}')")
    page.wait_for(f".message:not(.is-sending):has-text('{HELLO}')")
    page.wait_until("() => document.querySelector('.composer textarea').value === 'Yes'")
    page.wait_for(".composer textarea:focus")
    assert gateway.list_messages(f"room-{tag}") == [("admin", HELLO)]


@by_night
def test_the_button_does_as_enter_does(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    page = open_page("/spaces")
    page.click("main header button:has-text('New space')")
    page.type(f"Room {tag}")
    page.delay_requests(ANSWERS)
    page.click("dialog button:has-text('Create')")
    page.press(*HELLO, "Enter")
    page.release_requests(ANSWERS)
    page.wait_for(f".message:not(.is-sending):has-text('{HELLO}')")
    assert gateway.list_messages(f"room-{tag}") == [("admin", HELLO)]


def test_an_inbox_is_gone_through_before_it_is_there(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    push_mail(gateway, tag, f"ana-{tag}", "One", "Two", "Three")
    page = open_page("/", person=tag)
    press_early(page, "g", "i", "j", "r", *"Thank you", "Control+Enter", "e", "e")
    page.wait_for(".inbox-detail h2:has-text('One')")
    page.wait_for_count(".item-row", 1)
    page.wait_for(".tab:has-text('Done') .number:text-is('2')")
    assert list_states(gateway, tag) == {"One": "pending", "Two": "delivered", "Three": "delivered"}
    assert [item["content"] for item in gateway.get(f"/inbox/ana-{tag}")["items"]] == ["Thank you"]


@by_night
def test_keys_come_before_the_page_knows_whose_it_is(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    push_mail(gateway, tag, f"ana-{tag}", "One", "Two")
    page = open_page(person=tag)
    page.delay_requests(ANSWERS)
    page.call("goto", "/agents")
    page.press("g", "i", "j", "Enter", "e")
    page.release_requests(ANSWERS)
    page.wait_for(".inbox-detail h2:has-text('One')")
    page.wait_for(".toast:has-text('Done')")
    assert list_states(gateway, tag) == {"One": "pending", "Two": "delivered"}


@by_night
def test_a_decision_is_answered_before_it_is_there(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    asked = {"asker": f"ana-{tag}", "of": [tag], "options": [{"id": "y", "label": "Yes"}, {"id": "n", "label": "No"}]}
    for question in ("First?", "Second?"):
        gateway.post("/decisions", question=question, freeText=True, **asked)
    page = open_page("/", person=tag)
    press_early(page, "g", "d", "j", "r", "Enter")
    page.wait_for_count(".decision", 1)
    page.click("button:has-text('Write an answer')")
    press_early(page, *"Neither", "Control+Enter", "g", "i")
    page.wait_for_path("/inbox")
    for decision in gateway.get("/decisions", asker=f"ana-{tag}")["items"]:
        page.wait_until(IS_ANSWERED, decision["id"])
    answers = {item["question"]: item["answer"] for item in gateway.get("/decisions", asker=f"ana-{tag}")["items"]}
    assert (answers["First?"]["option"], answers["Second?"]["text"]) == ("y", "Neither")


@by_night
def test_a_conversation_is_begun_at_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.create_resident(f"ana-{tag}")
    page = open_page("/chat", person=tag)
    page.delay_requests(ANSWERS)
    page.click(f".partner:has-text('ana-{tag}')")
    page.press(*HELLO, "Enter", *"Anybody?", "Enter", *"Well")
    page.release_requests(ANSWERS)
    page.wait_for_count(".chat-entry.user_prompt:not(.is-sending)", 2)
    page.wait_until("() => document.querySelector('.composer textarea').value === 'Well'")
    page.wait_for(".composer textarea:focus")
    prompts = [entry for entry in gateway.get("/shared-inbox")["items"] if entry["sender"] == tag]
    assert sorted(entry["content"] for entry in prompts) == ["Anybody?", HELLO]


@by_night
def test_keys_in_a_row_select_another_name(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    for name in (f"{tag}-one", f"{tag}-two"):
        gateway.create_person(name)
    page = open_page(f"/spaces/{tag}")
    press_early(page, "r", *f"@{tag}-", "ArrowDown", "Enter", *"hello", delayed=())
    page.wait_until("(text) => document.querySelector('.composer textarea').value === text", f"@{tag}-two hello")


@by_night
def test_a_view_that_does_not_come_keeps_nobody(open_page: PageOpener) -> None:
    page = open_page("/agents")
    page.delay_requests("/assets/inbox")
    page.press("g", "i", "g", "d")
    page.wait_for("main h1:has-text('Decisions')")
    page.press("?")
    page.wait_for("dialog:has-text('Keyboard shortcuts')")
    page.release_requests("/assets/inbox")


@by_night
def test_who_clicks_elsewhere_has_changed_their_mind(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    asked = {"asker": f"ana-{tag}", "of": [tag], "options": [{"id": "y", "label": "Yes"}]}
    for question in ("First?", "Second?"):
        gateway.post("/decisions", question=question, **asked)
    page = open_page("/inbox", person=tag)
    page.delay_requests("/assets/agents")
    page.press("g", "a", "j", "Enter")
    page.click(".sidebar .nav-link[href='/decisions']")
    page.release_requests("/assets/agents")
    page.wait_for_count(".decision", 2)
    page.press("j")
    page.wait_for(".decision.is-selected:has-text('First?')")
    assert page.path == "/decisions"


@by_night
def test_a_form_that_was_refused_gets_nothing(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors.append("409 (Conflict)")
    gateway.create_person(tag)
    gateway.post("/triggers", name=tag, target=tag, secret="a-secret-of-at-least-thirty-two-characters")
    page = open_page("/triggers")
    press_early(page, "c", *tag, "Enter", *"and so on")
    page.wait_for("dialog [role=alert]")
    page.press("!")
    page.wait_until("(value) => document.querySelector('dialog [name=name]').value === value", f"{tag}!")


@by_night
def test_enter_twice_does_not_close_what_is_shown_once(open_page: PageOpener, tag: str) -> None:
    page = open_page("/triggers")
    press_early(page, "c", *f"hook-{tag}", "Enter", "Enter", "x", "Enter")
    page.wait_for("dialog:has-text('The secret is not shown again') button:focus:has-text('Done')")
    page.press("x")
    page.wait_for("dialog:has-text('The secret is not shown again')")
