"""The chat and the shared inbox: a person talks to an agent on the page, and answers what it asks there."""

from tests.page.conftest import PageOpener, Scripts
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
