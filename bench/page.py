"""
The page while 10 agents write in 10 spaces at once, 20 tokens a second each: how much of one core its main thread uses.
And while 100 alerts a second come into the inbox that it shows: how long its main thread does nothing else.

A real Chromium shows one of the spaces, and all of them in the navigation; the tokens come from a model server through
residents, the gateway and the one stream of the page. The figure is the time that the main thread was busy (scripts,
styles, layout, painting, as the browser counts it) for each second. The floor is a page that computes all the time, in
the same browser. A task of the main thread that is longer than 50 ms is one that a person can notice, and the browser
reports it; the figure of the second row is the longest, 0 if there was none. Its floor is a task of 50 ms, as reported.

Without Node.js and the browser (`make test` installs both) there is no row.
"""

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.support.measurement import FULL, TINY, Effort, measure_in_turns
from bench.support.table import Row, Unit, at_most, millis
from tests.page import chromium as browsers
from tests.page.chromium import Chromium, Page
from tests.residents.model_server import Answer, CompletionRequest, Finish, Part, PausePoint, Say, Use, Verbatim
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway

SPACES: Final = 10
TOKENS_PER_SECOND: Final = 20
#: tokens of one message: more than are written while it is measured
TOKENS: Final = 4_000
busy: Final = Unit(" s/s", 1, 3)
ALERTS_PER_SECOND: Final = 100
#: what the browser reports as a long task, in seconds
LONG_TASK: Final = 0.05
#: keep the reports of long tasks, in milliseconds
OBSERVE: Final = """() => {
    window.longTasks = [];
    const add = (entries) => longTasks.push(...entries.map(({ duration }) => duration));
    window.observer = new PerformanceObserver((list) => add(list.getEntries()));
    observer.observe({ type: "longtask" });
    window.takeLongest = () => (add(observer.takeRecords()), Math.max(0, ...longTasks.splice(0)) / 1000);
}"""
#: return the longest since this was last asked, when the browser had the time to report it
TAKE_LONGEST: Final = "() => new Promise((resolve) => setTimeout(() => resolve(takeLongest()), 100))"
COMPUTE: Final = """(length) => new Promise((resolve) => setTimeout(() => {
    for (const end = performance.now() + length; performance.now() < end; );
    resolve();
}))"""


class Beat(PausePoint):
    """The pause between two tokens."""

    def wait_until_open(self) -> None:
        time.sleep(1 / TOKENS_PER_SECOND)


def main(effort: Effort = FULL) -> Iterator[Row]:
    node = browsers.find_node()
    if node is None:
        print("  the browser is not installed: run `make test`", file=sys.stderr)
        return
    seconds = 0.5 if effort is TINY else 2.0
    with (
        Chromium.start(node) as chromium,
        _run_writing_office() as office,
        _open_space(chromium, office) as page,
        chromium.open_page(office.gateway.url) as other_page,
    ):

        def compute() -> float:
            before = other_page.read_busy_time()
            other_page.evaluate("(end) => { end += Date.now(); while (Date.now() < end); }", seconds * 1000)
            return (other_page.read_busy_time() - before) / seconds

        def show() -> float:
            before, start = page.read_busy_time(), time.perf_counter()
            time.sleep(seconds)
            return (page.read_busy_time() - before) / (time.perf_counter() - start)

        yield Row(
            claim=f"the page, while {SPACES} agents write {TOKENS_PER_SECOND} tokens a second each in {SPACES} spaces",
            door="the page of a gateway",
            floor="one core",
            measurement=measure_in_turns(compute, show, effort.untargeted_rounds),
            unit=busy,
            target=at_most(1.0),
        )
        assert page.count(".message.is-streaming") == 1, "it was written to the end"
    with Chromium.start(node) as chromium, TemporaryDirectory(prefix="gatepost-bench-") as folder:
        yield _measure_alerts(chromium, Path(folder), effort, seconds)


def _measure_alerts(chromium: Chromium, folder: Path, effort: Effort, seconds: float) -> Row:
    with (
        run_scripted_gateway(folder / "home", {}) as office,
        chromium.open_page(office.gateway.url, browsers.sign_in(office.gateway.url, office.gateway.admin_key)) as page,
        chromium.open_page(office.gateway.url) as other_page,
    ):
        numbers = count()

        def compute() -> float:
            other_page.evaluate(COMPUTE, LONG_TASK * 1000)
            return float(other_page.evaluate(TAKE_LONGEST))

        def receive() -> float:
            start = time.perf_counter()
            for number in range(int(seconds * ALERTS_PER_SECOND)):
                office.post("/inbox", to="admin", source="bench", type="alert", subject=f"Alert {next(numbers)}")
                time.sleep(max(0.0, start + number / ALERTS_PER_SECOND - time.perf_counter()))
            return float(page.evaluate(TAKE_LONGEST))

        page.open("/inbox?state=all")
        page.wait_for(".sidebar .connection.is-live")
        for each_page in (page, other_page):
            each_page.evaluate(OBSERVE)
        return Row(
            claim=f"the page, while {ALERTS_PER_SECOND} alerts a second come: its longest task of more than 50 ms",
            door="the page of a gateway",
            floor="a task of 50 ms",
            measurement=measure_in_turns(compute, receive, effort.untargeted_rounds),
            unit=millis,
            target=at_most(1.0),
        )


@contextmanager
def _run_writing_office() -> Iterator[ScriptedGateway]:
    """Spaces in which a resident each has begun to write."""
    names = [f"writer-{number}" for number in range(SPACES)]
    with (
        TemporaryDirectory(prefix="gatepost-bench-") as folder,
        run_scripted_gateway(Path(folder) / "home", dict.fromkeys(names, _write_slowly)) as office,
    ):
        for name in names:
            office.create_resident(name)
            office.create_space(name, "admin", name)
        for name in names:
            office.post_message(name, "Write a long story", "admin")
        yield office


@contextmanager
def _open_space(chromium: Chromium, office: ScriptedGateway) -> Iterator[Page]:
    cookie = browsers.sign_in(office.gateway.url, office.gateway.admin_key)
    with chromium.open_page(office.gateway.url, cookie) as page:
        page.open("/spaces/writer-0")
        page.wait_for(".message.is-streaming")
        page.wait_for_count(".space-list .dots", SPACES)
        yield page


def _write_slowly(request: CompletionRequest) -> Answer:
    """Send a message token by token. The arguments of `Use` have no pauses, so these are chunks of their own."""
    if request.tool_results:
        return Say("Written.")
    parts: list[Part] = [Use("enter_space", {"spaceId": request.model}), _build_piece("send_message", '{"text": "')]
    for number in range(TOKENS):
        parts += [Beat(), _build_piece(None, f" word{number}" + ("\\n\\n" if number % 60 == 59 else ""))]
    return [*parts, _build_piece(None, '"}'), Finish("tool_calls")]


def _build_piece(tool: str | None, arguments: str) -> Verbatim:
    head = {} if tool is None else {"id": "call_story", "type": "function"}
    function = {"arguments": arguments} if tool is None else {"name": tool, "arguments": arguments}
    delta = {"tool_calls": [{"index": 1, **head, "function": function}]}
    choice = {"index": 0, "delta": delta, "finish_reason": None, "logprobs": None}
    chunk = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "story"}
    return Verbatim(json.dumps({**chunk, "choices": [choice]}))
