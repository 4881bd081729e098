"""Hasty and heavy hands: keys that are pressed twice or held, and what is shown of it."""

from typing import Any, Final

import pytest

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night

#: press Ctrl+Enter in an element three times before anything is answered
SUBMIT_BY_KEYS: Final = """(selector) => {
    for (let count = 0; count < 3; count += 1) {
        const options = { key: "Enter", ctrlKey: true, bubbles: true, cancelable: true };
        document.querySelector(selector).dispatchEvent(new KeyboardEvent("keydown", options));
    }
}"""
#: submit the form of an element three times before anything is answered
SUBMIT_FORM: Final = """(selector) => {
    const button = document.querySelector(selector);
    for (let count = 0; count < 3; count += 1) button.form.requestSubmit();
}"""
#: count the answered loads of an inbox, and keep the answer of the second one until `release` is called
KEEP_SECOND_LOAD: Final = """(() => {
    const send = window.fetch;
    const gate = new Promise((resolve) => (window.release = resolve));
    window.loadCount = 0;
    window.fetch = async (input, init) => {
        const response = await send(input, init);
        if (!/[/]peek|newestFirst/.test(String(input))) return response;
        const body = await response.text();
        window.loadCount += 1;
        if (window.loadCount === 2) await gate;
        return new Response(body, response);
    };
})()"""


def push_items(gateway: ScriptedGateway, name: str, *subjects: str, **fields: Any) -> None:
    for subject in subjects:
        gateway.post("/inbox", to=name, source="test", subject=subject, content=f"About {subject}", **fields)


def count_requests(page: Page, method: str, part: str) -> int:
    requests = page.take_log().requests
    return sum(request.startswith(f"{method} ") and part in request for request in requests)


def read_subjects(page: Page) -> list[str]:
    subjects: list[str] = page.evaluate(
        "() => [...document.querySelectorAll('.item-row')].map((row) => row.innerText.match(/One|Two|Three|Four/)[0])"
    )
    return subjects


def test_a_reply_is_sent_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    push_items(gateway, tag, "One", sender=f"ana-{tag}", type="mail")
    page = open_page("/inbox", person=tag)
    page.wait_for(".item-row")
    page.press("r")
    page.wait_for(".answer-form textarea:focus")
    page.type("Thank you")
    page.evaluate(SUBMIT_BY_KEYS, ".answer-form textarea")
    page.wait_for_count(".answer-form", 0)
    assert [item["content"] for item in gateway.get(f"/inbox/ana-{tag}")["items"]] == ["Thank you"]
    assert count_requests(page, "POST", "/reply") == 1


def test_an_answer_is_sent_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    asked = {"question": "Which one?", "asker": f"ana-{tag}", "of": [tag], "freeText": True}
    decision = gateway.post("/decisions", **asked, options=[{"id": "a", "label": "This"}, {"id": "b", "label": "That"}])
    page = open_page(f"/decisions/{decision['id']}", person=tag)
    page.click(".decision-answers button:has-text('Write an answer')")
    page.wait_for(".answer-form textarea:focus")
    page.type("Neither")
    page.evaluate(SUBMIT_BY_KEYS, ".answer-form textarea")
    page.wait_for(".answer-row:has-text('Neither')")
    assert count_requests(page, "PUT", "/answer") == 1


def test_a_gate_is_resolved_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.post("/agents", name=f"ana-{tag}")
    gateway.post("/gates", name=f"Gate {tag}", owner=f"ana-{tag}", instruction="Wait")
    page = open_page("/gates")
    page.click(f".gate-row:has-text('Gate {tag}')")
    page.wait_for(".gate-more .button.primary")
    page.evaluate(SUBMIT_FORM, ".gate-more .button.primary")
    page.wait_for(".toast:has-text('Gate resolved')")
    assert count_requests(page, "PUT", "/resolution") == 1


def test_a_space_is_created_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    page = open_page("/spaces")
    page.click("main header button:has-text('New space')")
    page.wait_for("dialog input:focus")
    page.type(f"Hasty {tag}")
    page.evaluate(SUBMIT_FORM, "dialog .button.primary")
    page.wait_for_count("dialog", 0)
    page.wait_for(f"main h1:has-text('Hasty {tag}')")
    assert [space["name"] for space in gateway.get("/spaces")["items"]].count(f"Hasty {tag}") == 1


def test_an_event_is_pushed_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page(f"/inbox/{tag}")
    page.press("c")
    page.wait_for("dialog textarea:focus")
    page.type("By hand")
    page.evaluate(SUBMIT_FORM, "dialog .button.primary")
    page.wait_for(".item-row")
    page.wait_for_count("dialog", 0)
    assert len(gateway.get(f"/inbox/{tag}")["items"]) == 1


@pytest.mark.parametrize(
    ("path", "fields", "request_part"),
    [
        ("/plans", {"input[name=name]": "Twice", "textarea[name=instruction]": "Do it"}, "/plans"),
        ("/triggers", {"input[name=name]": "twice-hook"}, "/triggers"),
    ],
)
def test_a_form_in_a_dialog_is_sent_once(
    open_page: PageOpener, path: str, fields: dict[str, str], request_part: str, tag: str
) -> None:
    page = open_page(path)
    page.press("c")
    page.wait_for("dialog .button.primary")
    for selector, text in fields.items():
        page.fill(f"dialog {selector}", f"{text}-{tag}")
    page.evaluate(SUBMIT_FORM, "dialog .button.primary")
    page.wait_for_count("dialog form", 0)
    assert count_requests(page, "POST", request_part) == 1


def test_a_held_key_acts_once_and_moves_on(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two", "Three", "Four", "Five")
    page = open_page("/inbox", person=tag)
    page.wait_for_count(".item-row", 5)
    for _ in range(3):
        page.call("keyboard.down", "j")
    page.call("keyboard.up", "j")
    page.wait_for(".item-row.is-selected:has-text('Four')")
    for _ in range(3):
        page.call("keyboard.down", "e")
    page.call("keyboard.up", "e")
    page.wait_for(".toast:has-text('Done')")
    page.wait_for_count(".item-row", 4)
    assert gateway.get(f"/inbox/{tag}/account")["pending"] == 4


def test_the_tabs_of_the_inbox_count_what_is_done(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    push_items(gateway, tag, "One", "Two", "Three")
    page = open_page("/inbox", person=tag)
    page.wait_for(".tab:has-text('Pending') .number:text-is('3')")
    page.press("e")
    page.wait_for(".tab:has-text('Pending') .number:text-is('2')")
    page.wait_for(".tab:has-text('Done') .number:text-is('1')")
    page.wait_for(".sidebar .connection.is-live")
    push_items(gateway, tag, "Four")
    page.wait_for(".tab:has-text('Pending') .number:text-is('3')")


def test_the_tabs_of_the_inbox_of_an_agent_count_as_well(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.post("/agents", name=tag)
    push_items(gateway, tag, "One", "Two", "Three")
    page = open_page(f"/inbox/{tag}")
    page.wait_for(".tab:has-text('Pending') .number:text-is('3')")
    page.press("#")
    page.wait_for(".tab:has-text('Pending') .number:text-is('2')")


@pytest.mark.parametrize(
    ("query", "subjects"), [("", ["One", "Two", "Three"]), ("?text=about", ["Three", "Two", "One"])]
)
def test_what_fails_comes_back_in_its_place(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, query: str, subjects: list[str]
) -> None:
    open_page.expected_errors.append("409 (Conflict)")
    gateway.post("/agents", name=tag)
    push_items(gateway, tag, "One", "Two", "Three")
    page = open_page(f"/inbox/{tag}{query}")
    page.wait_for_count(".item-row", 3)
    gateway.post(f"/inbox/{tag}/claim", owner="another")
    page.delay_requests("/discard")
    page.delay_requests(f"/inbox/{tag}")
    for count in (2, 1, 0):
        page.press("#")
        page.wait_for_count(".item-row", count)
    page.release_requests("/discard")
    page.wait_for_count(".toast.is-error", 3)
    page.wait_for_count(".item-row", 3)
    assert read_subjects(page) == subjects
    page.release_requests(f"/inbox/{tag}")
    page.wait_for_count(".item-row", 0)  # they are claimed


@pytest.mark.parametrize(
    ("query", "subjects"), [("", ["Two", "Three", "Four"]), ("?text=about", ["Four", "Three", "Two"])]
)
def test_a_late_load_brings_nothing_back(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, query: str, subjects: list[str]
) -> None:
    gateway.post("/agents", name=tag)
    push_items(gateway, tag, "One", "Two", "Three")
    page = open_page()
    page.add_script(KEEP_SECOND_LOAD)
    page.open(f"/inbox/{tag}{query}")
    page.wait_for_count(".item-row", 3)
    page.set_hidden(True)
    page.set_hidden(False)  # the stream opens again, and the inbox is loaded again
    page.wait_until("() => window.loadCount === 2")
    page.click(".item-row:has-text('One')")
    page.press("#")
    page.wait_for(".toast:has-text('Discarded')")
    push_items(gateway, tag, "Four")
    page.evaluate("() => window.release()")
    page.wait_for(".item-row:has-text('Four')")
    page.wait_for_frames()
    assert read_subjects(page) == subjects


def test_a_link_in_a_chart_does_not_load_the_page_again(open_page: PageOpener) -> None:
    page = open_page("/agents")
    page.evaluate(
        """() => {
            window.isSamePage = true;
            const chart = "<svg width=200 height=40><a href='/plans?show=all'><text y=20>Chart</text></a></svg>";
            document.querySelector("main").insertAdjacentHTML("afterbegin", chart);
        }"""
    )
    page.click("main svg text:has-text('Chart')")
    page.wait_for_path("/plans?show=all")
    page.wait_for("main h1:has-text('Plans')")
    assert page.evaluate("() => window.isSamePage === true")


def test_a_space_that_is_scrolled_up_is_not_read(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    for number in range(40):
        gateway.post_message(tag, f"Message {number}\n\nwith two lines", "admin")
    page = open_page(f"/spaces/{tag}", person=tag)
    page.wait_for(".message:has-text('Message 39')")
    unread = f".sidebar a[href='/spaces/{tag}'] .count"
    page.wait_for_count(unread, 0)
    page.wait_for(".sidebar .connection.is-live")
    page.evaluate("() => document.querySelector('.history').scrollTo(0, 0)")
    page.wait_for(".jump-button")
    gateway.post_message(tag, "Unread", "admin")
    page.wait_for_count(".message:has-text('Unread')", 1)
    page.wait_for(unread)
    page.take_log()
    page.evaluate("() => document.dispatchEvent(new Event('visibilitychange'))")
    page.wait_for_frames()
    assert count_requests(page, "PATCH", "/read") == 0
    page.wait_for(unread)
    page.click(".jump-button")
    page.wait_for_count(unread, 0)


def test_the_filter_of_time_is_named_by_its_words(open_page: PageOpener) -> None:
    page = open_page("/items?since=2026-01-01T00:00:00Z")
    page.wait_for(".items-filters .button")
    assert page.find_violations("label-content-name-mismatch") == []
