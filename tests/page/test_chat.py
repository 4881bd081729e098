"""The chat and the shared inbox: a person talks to an agent on the page, and answers what it asks there."""

from tests.page.conftest import PageOpener, Scripts
from tests.page.page_clock import UNDO_TIME
from tests.residents.model_server import Answer, CompletionRequest, Say, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway


def test_an_agent_answers_on_the_page(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results:
            return Say("Answered.")
        [item] = [item for item in gateway.get(f"/inbox/{name}")["items"] if item["type"] == "channel"]
        return Use("reply", {"event": item["eventId"], "text": "It is **half** done"})

    scripts[name] = script
    gateway.create_resident(name, displayName=f"Ana {tag}")
    page = open_page("/chat")
    page.click(f".partner:has-text('Ana {tag}')")
    page.wait_for(".composer textarea, .chat-composer textarea")
    page.press("r")
    page.type("How far is it?")
    page.press("Enter")
    page.wait_for(".chat-entry.user_prompt:has-text('How far is it?')")
    page.wait_for(".chat-entry:not(.user_prompt) strong:has-text('half')")
    page.wait_for_count(".chat-entry", 2)
    page.press("Escape", "s")
    page.wait_for(".shared .item-row:has-text('How far is it?')")
    page.wait_for(".shared .item-row:has-text('half')")


def test_a_question_in_a_chat_is_the_card_of_everywhere(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    name = f"ana-{tag}"

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results or "[Decision" in request.inbox:
            return Say("Asked.")
        [item] = [item for item in gateway.get(f"/inbox/{name}")["items"] if item["type"] == "channel"]
        action = {"name": "refund_order", "args": {"amount": 129}}
        return Use("ask_decision", {"event": item["eventId"], "question": "Refund it?", "action": action})

    scripts[name] = script
    gateway.create_resident(name, displayName=f"Ana {tag}")
    page = open_page("/chat")
    page.click(f".partner:has-text('Ana {tag}')")
    page.press("r")
    page.type("Refund order 4711")
    page.press("Enter")
    card = ".chat-entry .decision:has-text('Refund it?')"
    page.wait_for(f"{card} code:has-text('refund_order')")
    page.wait_for(f"{card}:has-text('129')")
    page.wait_for(f"{card} button[aria-label='Pass the decision on']")
    assert page.find_violations() == []
    page.click(f"{card} >> button:has-text('run it as it is')")
    page.pass_time(UNDO_TIME)
    page.wait_for(".question-end")
