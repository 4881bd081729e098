"""Decisions and gates: a person answers on the page, and the agent goes on."""

import json
import re

from tests.page.chromium import Page
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.page.page_clock import UNDO_TIME
from tests.residents.model_server import Answer, CompletionRequest, Say, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: an answer can be taken back for some seconds before it is sent
IS_ANSWERED = """(id) => {
    const request = new XMLHttpRequest();
    request.open("GET", `/api/decisions/${id}`, false);
    request.send();
    return JSON.parse(request.responseText).answers.length > 0;
}"""
OPTIONS = [{"id": "teal", "label": "Teal"}, {"id": "sand", "label": "Sand"}]


def send_answers(page: Page, *ids: str) -> None:
    """Let the time pass in which answers can be taken back, and wait until they have arrived."""
    page.pass_time(UNDO_TIME)
    for id in ids:
        page.wait_until(IS_ANSWERED, id)


def test_an_agent_asks_and_goes_on_with_the_answer(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:
            return Say("Done for now.")
        if "Paint it" in request.inbox:
            return Use("ask_decision", {"question": f"Which colour for {tag}?", "options": OPTIONS, "of": ["admin"]})
        if "[Decision" in request.inbox:
            answer = "Sand" if "Sand" in request.inbox or "sand" in request.inbox else request.inbox
            return [Use("enter_space", {"spaceId": tag}), Use("send_message", {"text": f"Painted in {answer}"})]
        return Say("Nothing.")

    scripts[name] = script
    gateway.create_resident(name)
    gateway.create_space(tag, "admin", name)
    page = open_page("/decisions")
    page.wait_for(".sidebar .connection.is-live")
    gateway.post_message(tag, "Paint it", "admin")
    card = f".decision:has-text('Which colour for {tag}')"
    page.wait_for(card)
    page.click(f"{card} >> button:has-text('Sand')")
    page.wait_for(".toast:has-text('Sand')")
    page.wait_for_count(card, 0)
    page.pass_time(UNDO_TIME)
    page.go(f"/spaces/{tag}")
    page.wait_for(".message:has-text('Painted in Sand')")


def test_a_decision_is_answered_by_keyboard(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    for question in ("First?", "Second?"):
        gateway.post("/decisions", question=question, asker=f"ana-{tag}", of=[tag], options=OPTIONS, freeText=True)
    page = open_page("/decisions", person=tag)
    page.wait_for_count(".decision", 2)
    page.press("j", "j")
    page.wait_for(".decision.is-selected:has-text('Second?')")
    page.press("r")
    page.wait_for(".decision-answers button:focus:has-text('Teal')")
    page.press("Tab", "Tab")
    page.wait_for("button:focus:has-text('Write an answer')")
    page.press("Enter")
    page.wait_for(".answer-form textarea:focus")
    page.type("Neither of them")
    page.press("Control+Enter")
    page.wait_for_count(".decision", 1)
    page.press("j", "r")
    page.wait_for(".decision-answers button:focus:has-text('Teal')")
    page.press("Enter")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    send_answers(page, *(decision["id"] for decision in gateway.get("/decisions", asker=f"ana-{tag}")["items"]))
    outcomes = {
        decision["question"]: (decision["answer"]["option"], decision["answer"]["text"], decision["answer"]["by"])
        for decision in gateway.get("/decisions", asker=f"ana-{tag}")["items"]
    }
    assert outcomes == {"First?": ("teal", None, tag), "Second?": (None, "Neither of them", tag)}


def test_an_action_is_approved_with_other_arguments(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    action = {"name": "refund_order", "args": {"order": 4711, "amount": 129}}
    decision = gateway.post("/decisions", question="Refund it?", asker=f"ana-{tag}", of=[tag], action=action)
    page = open_page(f"/decisions/{decision['id']}", person=tag)
    page.click("button:has-text('with other arguments')")
    page.click("button:has-text('Edit as JSON')")
    page.fill(".code-field", "not JSON")
    page.wait_for(".notice:has-text('not a JSON object')")
    page.fill(".code-field", '{"order": 4711, "amount": 100}')
    page.click("button:has-text('Send answer')")
    page.wait_for(".toast:has-text('Undo')")
    page.pass_time(UNDO_TIME)
    page.wait_for(".answer-row:has-text('answered')")
    assert gateway.get(f"/decisions/{decision['id']}")["answer"]["args"] == {"order": 4711, "amount": 100}


def test_arguments_are_changed_field_by_field(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    schema = {
        "type": "object",
        "properties": {
            "amount": {"type": "number", "description": "in euros"},
            "speed": {"type": "string", "enum": ["slow", "fast"]},
            "note": {"type": "string"},
        },
        "required": ["amount"],
    }
    tool = {"name": "refund", "description": "Pay back", "inputSchema": schema, "executionType": "external"}
    gateway.create_resident(name, tools=[tool])
    action = {"name": "refund", "args": {"amount": 12345678901234567890, "lines": [1, 2]}}
    id = gateway.post("/decisions", question="Refund?", asker=name, of=["admin"], action=action)["id"]
    page = open_page(f"/decisions/{id}")
    page.click("button:has-text('with other arguments')")
    page.wait_for(".answer-form .field:focus")
    page.fill(".label:has-text('amount') >> .field", "12 euros")
    page.wait_for(".notice:has-text('not a number')")
    assert page.evaluate("() => document.querySelector('.answer-form .primary').disabled")
    page.fill(".label:has-text('amount') >> .field", "12345678901234567891")
    page.choose(".label:has-text('speed') >> .field", "fast")
    page.fill(".label:has-text('lines') >> .field", "[1, 3]")
    assert page.find_violations() == []
    page.press("Control+Enter")
    page.wait_for_count(".answer-form", 0)
    send_answers(page, id)
    assert gateway.get(f"/decisions/{id}")["answer"]["args"] == {
        "amount": 12345678901234567891,
        "lines": [1, 3],
        "speed": "fast",
    }


def test_an_answer_is_taken_back(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    id = gateway.post("/decisions", question="Ship?", asker=f"ana-{tag}", of=[tag], options=OPTIONS)["id"]
    page = open_page("/decisions", person=tag)
    page.click("button:has-text('Teal')")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    page.click(".toast:has-text('Teal') button:has-text('Undo')")
    page.wait_for(".decision:has-text('Ship?')")
    page.click("button:has-text('Sand')")
    page.wait_for(".toast:has-text('Sand')")
    send_answers(page, id)
    assert gateway.get(f"/decisions/{id}")["answer"]["option"] == "sand"
    page.wait_for_count(".toast:has-text('Sand')", 0)  # the button ends with the time in which it works


def test_an_answer_goes_out_when_the_page_is_left(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    id = gateway.post("/decisions", question="Ship?", asker=f"ana-{tag}", of=[tag], options=OPTIONS)["id"]
    page = open_page("/decisions", person=tag)
    other = page.open_tab("/decisions?show=ended")
    page.evaluate("() => { window.setTimeout = () => 0; }")  # nothing goes out by the time alone
    page.click("button:has-text('Teal')")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    page.call("goto", "about:blank")
    other.wait_until(IS_ANSWERED, id)


def test_decisions_that_are_alike_are_answered_at_once(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    ids = [
        gateway.post(
            "/decisions",
            question=f"Pay {number}?",
            asker=f"ana-{tag}",
            of=[tag],
            action={"name": "pay", "args": {"number": number}},
        )["id"]
        for number in range(3)
    ]
    page = open_page("/decisions", person=tag)
    page.wait_for(".decision-alike:has-text('3 alike')")
    assert page.find_violations() == []
    page.click(".decision-alike button:has-text('All: ') >> nth=0")
    page.wait_for(".toast:has-text('Answered 3 decisions')")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    send_answers(page, *ids)
    for number, id in enumerate(ids):
        assert gateway.get(f"/decisions/{id}")["answer"]["args"] == {"number": number}


def test_a_decision_is_snoozed_and_shown_again(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    gateway.post("/decisions", question="Ship?", asker=f"ana-{tag}", of=[tag], options=OPTIONS)
    page = open_page("/decisions", person=tag)
    page.click("button[aria-label='Snooze the decision']")
    page.wait_for(".dialog .snooze-choice:focus")
    page.press("2")
    page.wait_for(".toast:has-text('Snoozed: tomorrow morning')")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    page.click(".tab:has-text('Snoozed')")
    page.click(".decision:has-text('Ship?') >> button:has-text('Show again')")
    page.wait_for_count(".decision", 0)
    page.click(".tab:has-text('For you')")
    page.wait_for(".decision:has-text('Ship?')")


def test_a_decision_is_answered_in_the_space(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    gateway.create_space(tag, tag, f"ana-{tag}")
    id = gateway.post("/decisions", question="Ship?", asker=f"ana-{tag}", of=[tag], options=OPTIONS)["id"]
    page = open_page(f"/spaces/{tag}", person=tag)
    page.wait_for(".space-decisions .decision:has-text('Ship?')")
    assert page.find_violations() == []
    page.click(".space-decisions button:has-text('Teal')")
    page.wait_for_count(".space-decisions", 0)
    send_answers(page, id)


def test_a_question_is_sent_back_and_refused(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    for question in ("Vague?", "Wrong?"):
        gateway.post("/decisions", question=question, asker=f"ana-{tag}", of=[tag], options=OPTIONS, freeText=True)
    page = open_page("/decisions", person=tag)
    page.click(".decision:has-text('Wrong?') >> button:has-text('Refuse')")
    page.wait_for_count(".decision", 1)
    page.click(".decision:has-text('Vague?') >> button:has-text('Send back')")
    page.fill(".answer-form textarea", "Say what it costs")
    page.click("button:has-text('Send answer')")
    page.wait_for_count(".decision .decision-answers", 0)
    send_answers(page, *(decision["id"] for decision in gateway.get("/decisions", asker=f"ana-{tag}")["items"]))
    statuses = {item["question"]: item["status"] for item in gateway.get("/decisions", asker=f"ana-{tag}")["items"]}
    assert statuses == {"Vague?": "revising", "Wrong?": "rejected"}
    page.go("/decisions?show=ended")
    page.wait_for(".gate-row:has-text('Wrong?')")


def test_a_gate_is_opened_on_the_page(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.post("/agents", name=f"ana-{tag}")
    gate = gateway.post("/gates", name=f"Legal {tag}", owner=f"ana-{tag}", awaits="admin", instruction="Wait for it.")
    page = open_page("/gates")
    page.click(f".gate-row:has-text('Legal {tag}')")
    page.wait_for_path(f"/gates/{gate['id']}")
    page.fill("input[aria-label=Reason]", "signed")
    page.press("Enter")
    page.wait_for(".toast:has-text('Gate resolved')")
    page.wait_for_count(f".gate-row:has-text('Legal {tag}') .badge:has-text('pending')", 0)
    assert gateway.get(f"/gates/{gate['id']}")["resolution"]["reason"] == "signed"


@by_night
def test_an_action_is_shown_in_words_and_as_json(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.create_resident(name)
    action = {"name": "refund", "args": {"order": 4698, "lines": [{"id": "a", "count": 2}], "note": ""}}
    decision = gateway.post("/decisions", asker=name, of=["admin"], question=f"Pay {tag}?", action=action, within="2h")
    page = open_page(f"/decisions/{decision['id']}")
    page.wait_for(".data-field:has-text('order'):has-text('4698')")
    page.wait_for(".data-entries > li .data-field:has-text('id'):has-text('a')")
    page.wait_for(".data-entries > li .data-field:has-text('count'):has-text('2')")
    page.wait_for(".decision-default:has-text('Without an answer in time')")
    assert page.read(".decision-answers").count("Refuse") == 0, "not to run it is one of the options"
    page.click("button[aria-label='Show as JSON']")
    page.wait_for(".data-view pre:has-text('\"order\": 4698')")
    page.open("/inbox")
    page.wait_for(f".item-row:has-text('Pay {tag}?')")
    assert "Action:" not in page.read(f".item-row:has-text('Pay {tag}?') .item-text")


@by_night
def test_an_argument_is_shown_and_sent_back_with_all_its_digits(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"
    gateway.post("/agents", name=name)
    args = {"account": 12345678901234567890, "amount": 1.5, "to": ["a", "b"]}
    action = {"name": "pay", "args": args}
    decision = gateway.post("/decisions", asker=name, of=["admin"], question=f"Pay {tag}?", action=action)["id"]
    page = open_page(f"/decisions/{decision}")
    page.wait_for(".data-field:has-text('account'):has-text('12345678901234567890')")
    page.click("button:has-text('Run it with other arguments')")
    page.click("button:has-text('Edit as JSON')")
    text = page.evaluate("() => document.querySelector('.code-field').value")
    assert json.loads(text) == args
    page.fill(".code-field", text.replace('"b"', '"c"'))
    page.click("button:has-text('Send answer')")
    page.wait_for(".answer-row")
    answer = gateway.get(f"/decisions/{decision}")["answer"]
    assert args | {"to": ["a", "c"]} in answer.values()


@by_night
def test_no_argument_looks_like_another_one(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"ana-{tag}"
    gateway.post("/agents", name=name)
    values = [True, "true", None, "null", "", '""', 7, "7", ["a, b", "c"], ["a", "b, c"], [], "[]", {}, "{}", " x", "x"]
    args = {f"field {index:02}": value for index, value in enumerate(values)}
    action = {"name": "send", "args": args}
    decision = gateway.post("/decisions", asker=name, of=["admin"], question=f"Send {tag}?", action=action)["id"]
    page = open_page(f"/decisions/{decision}")
    page.wait_for_count(".data-fields > .data-field", len(values))
    shown = page.evaluate("() => [...document.querySelectorAll('.data-field > dd')].map((value) => value.innerHTML)")
    texts = [re.sub(r"<li>", "|", html) for html in shown]
    assert len({re.sub(r"<[^>]*>", "", text) for text in texts}) == len(values), texts


@by_night
def test_escape_leaves_every_form_of_an_answer(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/agents", name=f"ana-{tag}")
    asked = {"asker": f"ana-{tag}", "of": [tag]}
    gateway.post("/decisions", **asked, question="Refund it?", action={"name": "refund", "args": {"amount": 129}})
    gateway.post("/decisions", **asked, question="Which one?", options=OPTIONS, freeText=True)
    page = open_page("/decisions", person=tag)
    for words, label in (
        ("Refund it?", "with other arguments"),
        ("Which one?", "Write an answer"),
        ("Which one?", "Send back"),
    ):
        button = f".decision:has-text('{words}') >> button:has-text('{label}')"
        page.click(button)
        page.wait_for(".answer-form .field:focus")
        page.press("Escape")
        page.wait_for_count(".answer-form", 0)
        page.wait_for(f"{button} >> :scope:focus")
    page.press("j")
    page.wait_for(".decision.is-selected")


def test_a_question_is_passed_on_to_somebody_else(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    mira, name = f"mira-{tag}", f"ana-{tag}"
    gateway.create_person(tag)
    gateway.create_person(mira)
    gateway.post("/agents", name=name)
    id = gateway.post("/decisions", question="Ship?", asker=name, of=[tag], options=OPTIONS)["id"]
    theirs = open_page("/decisions", person=mira)
    theirs.wait_for(".empty:has-text('Nothing waits for your decision')")
    page = open_page("/decisions", person=tag)
    page.click(".decision >> button[aria-label='Pass the decision on']")
    page.wait_for("dialog input[list]:focus")
    page.press(*mira, "Tab", *"You know the ship")
    assert page.find_violations() == []
    page.press("Tab", "Tab", "Enter")
    page.wait_for(f".toast:has-text('{mira} is asked now')")
    page.wait_for(".empty:has-text('Nothing waits for your decision')")
    theirs.wait_for(".decision:has-text('Ship?'):has-text('You know the ship')")
    theirs.click(".decision >> button:has-text('Teal')")
    send_answers(theirs)
    page.go(f"/decisions/{id}")
    page.wait_for(f".answer-row:has-text('{tag} delegated')")
    page.wait_for(f".answer-row:has-text('{mira} answered: Teal')")
    assert gateway.get(f"/decisions/{id}")["asked"] == [mira]
