"""Spaces: what is posted is answered live, and a lost connection loses and doubles nothing."""

from tests.page.cable import Cable
from tests.page.chromium import Page
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.residents.model_server import Answer, CompletionRequest, PausePoint, Say, Script, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: what the browser says of requests that fail
LOST_CONNECTION = ["net::ERR_"]


def answer_in_space(space: str, text: str, pause: PausePoint) -> Script:
    """Write an answer, and stop before it is sent until the test goes on."""

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results or "Both of you" not in request.inbox:
            return Say("Answered.")
        return [Use("enter_space", {"spaceId": space}), Use("send_message", {"text": text}), pause]

    return script


def post(page: Page, text: str) -> None:
    page.click(".composer textarea")
    page.type(text)
    page.press("Enter")


def test_two_agents_answer_live(gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str) -> None:
    pauses = {f"ana-{tag}": PausePoint(), f"ben-{tag}": PausePoint()}
    for name, pause in pauses.items():
        scripts[name] = answer_in_space(tag, f"The numbers of {name}", pause)
        gateway.create_resident(name, displayName=name.title())
    gateway.create_space(tag, "admin", *pauses)
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".empty")
    page.press("r")
    page.type("Both of you, say something")
    page.press("Enter")
    page.wait_for(".message:has-text('Both of you')")
    for name in pauses:
        page.wait_for(f".message.is-streaming:has-text('The numbers of {name}')")
        page.wait_for(f".thinking-agent:has-text('{name.title()}'):has-text('writes')")
    assert len(gateway.list_messages(tag)) == 1, "nothing of it is stored yet"
    for pause in pauses.values():
        pause.open()
    for name in pauses:
        page.wait_for(f".message:not(.is-streaming):has-text('The numbers of {name}')")
    page.wait_for_count(".message.is-streaming", 0)
    page.wait_for_count(".message", 3)
    page.wait_for_count(".thinking-agent", 0)
    page.click(f".message:has-text('ana-{tag}') .how-button")
    page.wait_for(".run-activity .tool-call:has-text('send_message')")


def test_an_unread_message_is_counted_until_it_is_read(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    page = open_page("/gates")
    link = f".space-list a:has-text('{tag}')"
    page.wait_for(link)
    gateway.post_message(tag, "Hello", tag)
    gateway.post_message(tag, "Are you there?", tag)
    page.wait_for(f"{link} .count:has-text('2')")
    page.click(link)
    page.wait_for(".unread-line")
    page.wait_for_count(f"{link} .count", 0)


def test_the_connection_is_lost_and_comes_back(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors += LOST_CONNECTION
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    gateway.post_message(tag, "before", tag)
    with Cable(gateway.gateway.url) as cable:
        page = open_page(f"/spaces/{tag}", url=cable.url)
        page.wait_for(".message:has-text('before')")
        page.wait_for(".sidebar .connection.is-live")
        page.set_offline(True)
        cable.cut()
        page.wait_for(".sidebar .connection:has-text('Connection lost')")
        gateway.post_message(tag, "meanwhile", tag)
        post(page, "written offline")
        page.wait_for(".message.is-sending:has-text('written offline')")
        assert "meanwhile" not in page.read(".history")
        cable.mend()
        page.set_offline(False)
        gateway.post_message(tag, "afterwards", tag)
        check_history(gateway, page, tag, {"before", "meanwhile", "written offline", "afterwards"})


def test_the_gateway_is_killed_and_comes_back(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors += LOST_CONNECTION
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    post(page, "before")
    page.wait_for(".message:not(.is-sending):has-text('before')")
    gateway.gateway.kill()
    page.wait_for(".sidebar .connection:has-text('Connection lost')")
    post(page, "written meanwhile")
    page.wait_for(".message.is-sending:has-text('written meanwhile')")
    gateway.gateway.start()
    gateway.post_message(tag, "afterwards", tag)
    check_history(gateway, page, tag, {"before", "written meanwhile", "afterwards"})


def check_history(gateway: ScriptedGateway, page: Page, space: str, texts: set[str]) -> None:
    """Wait until the page has each text, and check that it is there once, as in the store and in its order."""
    for text in texts:
        page.wait_for(f".message:not(.is-sending):not(.is-failed):has-text('{text}')")
    page.wait_for_count(".message", len(texts))
    stored = [text for _, text in gateway.list_messages(space)]
    assert sorted(stored) == sorted(texts)
    assert (
        page.evaluate("() => [...document.querySelectorAll('.message .markdown')].map(e => e.innerText.trim())")
        == stored
    )
    page.wait_for(".sidebar .connection.is-live")


@by_night
def test_a_space_is_created_with_its_members(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(f"mira-{tag}")
    page = open_page("/spaces")
    page.click("button:has-text('New space')")
    page.fill("dialog input >> nth=0", f"Room {tag}")
    page.click(f"dialog label:has-text('mira-{tag}')")
    page.click("dialog .button.primary")
    page.wait_for(f"h1:has-text('Room {tag}')")
    page.press("Escape", "m")  # out of the field to write in
    page.wait_for(f".members .member:has-text('mira-{tag}')")
    page.click(f".members button[aria-label='Remove mira-{tag}']")
    page.wait_for_count(".members .member", 1)
    page.choose(".members select", f"mira-{tag}")
    page.wait_for_count(".members .member", 2)


@by_night
def test_a_message_that_is_too_large_is_kept_for_its_writer(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    open_page.expected_errors += ["413", "422"]
    gateway.create_space(tag, "admin")
    page = open_page(f"/spaces/{tag}")
    page.fill(".composer textarea", "M" * 400_000)
    page.press("Enter")
    page.wait_for(".message.is-failed .notice")
    assert page.evaluate("() => document.querySelector('.history').scrollWidth <= innerWidth")
    page.click(".message.is-failed button:has-text('Discard')")
    page.wait_for_count(".message", 0)
    assert gateway.list_messages(tag) == []


@by_night
def test_a_table_and_a_list_keep_what_their_writer_has_chosen(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_space(tag, "admin")
    gateway.post_message(tag, "| what | count |\n|---|---:|\n| bags | 12 |\n\n3. roast\n4. pack", "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".markdown td[align=right]:has-text('12')")
    page.wait_for(".markdown ol[start='3']")
