"""Much of everything: only what is seen is rendered, nothing is asked for twice, a stream is drawn once a frame."""

import sqlite3
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from bench.support.backlog import READER, Backlog, spread_evenly
from gatepost import app, settings
from gatepost.spaces import actions as spaces
from tests.page.chromium import Chromium, Page
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.residents.model_server import Answer, CompletionRequest, PausePoint, Say, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway

pytestmark = by_night

ITEMS = 50_000
MESSAGES = 10_000
SPACE = "archive"
MORE = " and more" * 40
#: rows that may be in the page, whatever is loaded
MAX_ROWS = 60
MAX_MESSAGES = 170


@pytest.fixture(scope="module")
def large_gateway(node: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedGateway]:
    """A gateway with an inbox of many items and a space of many messages, copied inside the database."""
    home = tmp_path_factory.mktemp("large") / "home"
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(home)})) as store:
        Backlog(store, f"sqlite:///{home}/gatepost.db", ITEMS, spread_evenly(10))
        store.run_sync(spaces.create, id=SPACE, name="Archive", members=["admin"])
        store.run_sync(spaces.post, SPACE, sender="admin", content="Message 1")
    with closing(sqlite3.connect(home / "gatepost.db")) as database, database:
        database.execute(
            f"""INSERT INTO messages (space, seq, id, sender, content, data, created_at)
            WITH RECURSIVE place (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM place WHERE n < {MESSAGES})
            SELECT space, n, 'msg_' || n, sender, 'Message ' || n || substr('{MORE}', 1, n % 7 * 50), data, created_at
            FROM place, messages WHERE seq = 1"""
        )
        database.execute("UPDATE spaces SET last_seq = ?", [MESSAGES])
    with run_scripted_gateway(home, Scripts()) as gateway:
        yield gateway


@pytest.fixture
def open_large_page(chromium: Chromium, large_gateway: ScriptedGateway) -> Iterator[PageOpener]:
    with ExitStack() as stack:
        opener = PageOpener(chromium, large_gateway, {}, stack)
        yield opener
        opener.check_logs()


def list_repeated(page: Page, words: str) -> list[str]:
    """The requests with these words that were sent more than once."""
    requests = [request for request in page.take_log().requests if words in request]
    assert len(requests) > 3, "pages were asked for"
    return sorted({request for request in requests if requests.count(request) > 1})


def test_an_inbox_of_50000_items(open_large_page: PageOpener) -> None:
    page = open_large_page(f"/inbox/{READER}")
    page.wait_for(".tab:has-text('Pending') .number:has-text('50,000')")
    page.wait_for(".item-row >> nth=0")
    page.wait_for(".sidebar .connection.is-live")
    page.take_log()
    size = 0
    for _ in range(8):
        page.evaluate(
            "() => { const list = document.querySelector('.virtual-list'); list.scrollTop = list.scrollHeight; }"
        )
        page.wait_until("(size) => Number(document.querySelector('.virtual-row:last-child').ariaSetSize) > size", size)
        size = int(page.evaluate("() => Number(document.querySelector('.virtual-row').ariaSetSize)"))
        assert page.count(".item-row") <= MAX_ROWS
    assert size > 5_000
    assert list_repeated(page, "/peek") == []
    page.evaluate("() => { document.querySelector('.virtual-list').scrollTop = 58 * 3000; }")
    page.wait_for(".virtual-row[aria-posinset='3001'] .item-row")
    page.press("j")
    page.wait_for(".item-row.is-selected")


def test_a_space_of_10000_messages(open_large_page: PageOpener) -> None:
    page = open_large_page(f"/spaces/{SPACE}")
    page.wait_for(f".history-row[data-seq='{MESSAGES}']")
    page.wait_for(".sidebar .connection.is-live")
    page.take_log()
    oldest = MESSAGES
    for _ in range(12):
        oldest = int(page.evaluate("() => Number(document.querySelector('.history-row').dataset.seq)"))
        page.evaluate("() => { document.querySelector('.history').scrollTop = 0; }")
        page.wait_until("(oldest) => Number(document.querySelector('.history-row').dataset.seq) < oldest", oldest)
        assert page.count(".message") <= MAX_MESSAGES
    assert oldest < MESSAGES - 400
    numbers = page.evaluate(
        "() => [...document.querySelectorAll('.history-row')].map((row) => Number(row.dataset.seq))"
    )
    assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "no message is missing or doubled"
    assert list_repeated(page, f"/spaces/{SPACE}/messages") == []
    page.click(".jump-button")
    page.wait_for(f".history-row[data-seq='{MESSAGES}']")
    assert page.count(".message") <= MAX_MESSAGES


def test_a_fast_stream_is_drawn_once_a_frame(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str
) -> None:
    pause = PausePoint()
    words = "word " * 200

    def script(request: CompletionRequest) -> Answer:
        if request.tool_results or "Write" not in request.inbox:
            return Say("Written.")
        return [Use("enter_space", {"spaceId": tag}), Use("send_message", {"text": words + "end"}), pause]

    scripts[f"ana-{tag}"] = script
    gateway.create_resident(f"ana-{tag}")
    gateway.create_space(tag, "admin", f"ana-{tag}")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".sidebar .connection.is-live")
    page.evaluate(
        """() => {
            window.drawings = 0;
            window.frameCount = 0;
            const options = { subtree: true, childList: true, characterData: true };
            new MutationObserver(() => (window.drawings += 1)).observe(document.querySelector("main"), options);
            const count = () => { window.frameCount += 1; requestAnimationFrame(count); };
            requestAnimationFrame(count);
        }"""
    )
    gateway.post_message(tag, "Write", "admin")
    page.wait_for(".message.is-streaming:has-text('end'), .message.is-streaming .show-all")
    drawings, frames = page.evaluate("() => [window.drawings, window.frameCount]")
    assert drawings <= 2 * frames + 20, "at most one for the message and one for who thinks"
    pause.open()
    page.wait_for_count(".message.is-streaming", 0)
    page.wait_for_count(".message", 2)
