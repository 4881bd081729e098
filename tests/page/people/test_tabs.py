"""Several tabs of one browser: they share one stream, because a browser opens only 6 connections to a gateway."""

import pytest

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.page.test_spaces import LOST_CONNECTION, post
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: one more, and more than a browser opens connections
TAB_COUNTS = [1, pytest.param(7, marks=by_night)]


def count_streams(*pages: Page) -> int:
    """The streams of everything that these pages opened since this was last asked."""
    return sum(request.endswith("/api/stream") for page in pages for request in page.take_log().requests)


@pytest.mark.parametrize("tab_count", TAB_COUNTS)
def test_many_tabs_share_one_stream(gateway: ScriptedGateway, open_page: PageOpener, tag: str, tab_count: int) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    gateway.post_message(tag, "before", tag)
    page = open_page()
    page.call("clock.setFixedTime", 0)  # a tab that waits for this machine is not one that does not answer
    page.open(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    tabs = [page.open_tab(f"/spaces/{tag}") for _ in range(tab_count)]
    for tab in tabs:
        tab.wait_for(".sidebar .connection.is-live")
        tab.wait_for(".message:has-text('before')")
    gateway.post_message(tag, "to all", tag)
    for tab in (page, *tabs):
        tab.wait_for(".message:has-text('to all')")
    assert count_streams(page, *tabs) == 1
    page.call("close")
    gateway.post_message(tag, "to the others", tag)
    for tab in tabs:
        tab.wait_for(".message:has-text('to the others')")
        tab.wait_for(".sidebar .connection.is-live")
        assert tab.count(".message") == 3
    assert count_streams(*tabs) == 1


def test_a_tab_takes_the_stream_from_one_that_does_not_answer(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    tab = page.open_tab("/gates")
    tab.call("clock.install")
    tab.open(f"/spaces/{tag}")
    tab.wait_for(".sidebar .connection.is-live")
    page.evaluate("() => (BroadcastChannel.prototype.postMessage = () => undefined)")
    gateway.post_message(tag, "meanwhile", tag)
    page.wait_for(".message:has-text('meanwhile')")
    assert count_streams(tab) == 0
    tab.call("clock.fastForward", 20_000)
    tab.wait_for(".message:has-text('meanwhile')")
    assert count_streams(page, tab) == 2, "each has opened it once"
    gateway.post_message(tag, "afterwards", tag)
    for each in (page, tab):
        each.wait_for(".message:has-text('afterwards')")
        assert each.count(".message") == 2


@by_night
def test_a_browser_without_locks_closes_the_stream_of_a_hidden_tab(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    gateway.create_space(tag, "admin", tag)
    page = open_page()
    page.add_script("Object.defineProperty(navigator, 'locks', { value: undefined })")
    page.open(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    page.set_hidden(True)
    page.wait_for_count(".sidebar .connection.is-live", 0)
    gateway.post_message(tag, "meanwhile", tag)
    page.set_hidden(False)
    page.wait_for(".message:has-text('meanwhile')")
    page.wait_for(".sidebar .connection.is-live")
    assert count_streams(page) == 2


@by_night
def test_the_inbox_of_an_agent_is_not_followed_by_a_hidden_tab(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.post("/agents", name=tag)
    page = open_page()
    page.add_script(COUNT_OPEN_STREAMS)
    page.open(f"/inbox/{tag}")
    page.wait_until("() => window.openStreams === 2")
    page.set_hidden(True)
    page.wait_until("() => window.openStreams === 1")
    gateway.post("/inbox", to=tag, content=f"Note of {tag}")
    page.set_hidden(False)
    page.wait_for(f".item-row:has-text('Note of {tag}')")


@by_night
def test_messages_that_are_written_offline_arrive_in_order(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    open_page.expected_errors += LOST_CONNECTION
    gateway.create_space(tag, "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    page.set_offline(True)
    page.wait_for(".sidebar .connection:has-text('Connection lost')")
    texts = [f"Number {number}" for number in range(6)]
    for text in texts:
        post(page, text)
        page.wait_for(f".message.is-sending:has-text('{text}')")
    page.set_offline(False)
    for text in texts:
        page.wait_for(f".message:not(.is-sending):not(.is-failed):has-text('{text}')")
    assert [text for _, text in gateway.list_messages(tag)] == texts
    page.wait_for(".sidebar .connection.is-live")


#: counts the streams that are open now
COUNT_OPEN_STREAMS = """
    window.openStreams = 0;
    const send = window.fetch;
    window.fetch = async (input, init) => {
      const response = await send(input, init);
      if (response.headers.get("content-type")?.startsWith("text/event-stream")) {
        window.openStreams += 1;
        init.signal.addEventListener("abort", () => (window.openStreams -= 1), { once: true });
      }
      return response;
    };
"""
