"""Nudging: whom, when, what it says, and by which ways."""

import asyncio
import json
import threading
from collections.abc import Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler, HTTPServer
from itertools import count, pairwise
from pathlib import Path
from typing import Any

import pytest

from gatepost.errors import Invalid, Unavailable
from gatepost.gates.command_runner import ShellCommands
from gatepost.guests.nudge_background import CommandNudge, FileNudge, Nudger, render_nudge, wait_for_nudge
from gatepost.guests.session import Guest
from gatepost.inbox.event import Event, EventType, Priority
from gatepost.residents.remote_tools.http_tools import UrlNudge
from tests.support.waits import LAST_RESORT

GUEST = Guest(session="s/1", agent="ann", is_idle=True)
TEXT = "Inbox: 1 event waits: [Event: ci] \"$(touch pwned); 'main' is red\""

NUMBERS = count(1)


def build_event(content: str = "main is red", **fields: Any) -> Event:
    defaults: dict[str, Any] = {
        "id": f"evt_{next(NUMBERS)}",
        "type": EventType.EVENT,
        "source": "ci",
        "content": content,
        "created_at": 0,
    }
    return Event(**defaults | fields)


class NudgeScene:
    """A session, its spool and its nudges, at a time that stands still."""

    def __init__(self) -> None:
        self.now = 1_000.0
        self.has_waiting = True
        self.is_broken = False
        self.attempts = 0
        self.nudges: list[str] = []
        #: the ids of what was read by another way
        self.read_ids: set[str] = set()
        #: the least urgent priority that wakes the agent
        self.max_priority = Priority.FYI
        self.nudger = Nudger(self._nudge, self._list_waiting, self._may_wake, clock=lambda: self.now)

    async def _list_waiting(self, session: str) -> set[str]:
        return {f"evt_{number}" for number in range(1, 1_000)} - self.read_ids if self.has_waiting else set()

    async def _may_wake(self, priority: int) -> bool:
        return priority <= self.max_priority

    async def _nudge(self, guest: Guest, text: str) -> None:
        self.attempts += 1
        if self.is_broken:
            raise Unavailable("nobody there")
        self.nudges.append(text)

    async def send_due(self, *, idle: bool = True, noted: int = 1) -> int:
        """Look at the session as its hooks noted it; return how many nudges there were."""
        before = len(self.nudges)
        await self.nudger.send_due({"s1": Guest(session="s1", agent="ann", is_idle=idle, revision=noted)})
        return len(self.nudges) - before


async def test_a_nudge_stays_owed_until_the_agent_is_idle_or_has_read() -> None:
    scene = NudgeScene()
    scene.nudger.schedule("s1", [build_event()])
    assert await scene.send_due(idle=False) == 0
    assert await scene.send_due(idle=True, noted=2) == 1
    assert await scene.send_due(idle=True, noted=3) == 0
    scene.nudger.schedule("s1", [build_event()])
    scene.has_waiting = False
    assert await scene.send_due(noted=4) == 0
    scene.has_waiting = True
    assert await scene.send_due(noted=5) == 0


async def test_attention_keeps_nudges_back_and_loses_none() -> None:
    scene = NudgeScene()
    scene.max_priority = Priority.CRITICAL
    scene.nudger.schedule("s1", [build_event()])
    assert await scene.send_due() == 0
    scene.now += 5
    scene.nudger.schedule("s1", [build_event("fire", priority=Priority.CRITICAL)])
    assert await scene.send_due(noted=2) == 1
    scene.nudger.schedule("s1", [build_event("tea")])
    assert await scene.send_due(noted=3) == 0
    scene.now += 5
    scene.max_priority = Priority.FYI
    assert await scene.send_due(noted=3) == 1


async def test_an_agent_that_does_not_react_is_nudged_again_only_after_a_while() -> None:
    scene = NudgeScene()
    scene.nudger.schedule("s1", [build_event()])
    assert await scene.send_due() == 1
    scene.nudger.schedule("s1", [build_event("more")])
    assert await scene.send_due() == 0
    scene.now += 59
    assert await scene.send_due() == 0
    scene.now += 1
    assert await scene.send_due() == 1
    scene.nudger.schedule("s1", [build_event("and more")])
    assert await scene.send_due(noted=2) == 1


async def test_one_that_fails_is_tried_again_with_growing_pauses() -> None:
    scene = NudgeScene()
    scene.is_broken = True
    scene.nudger.schedule("s1", [build_event()])
    times = []
    for _ in range(300):
        before = scene.attempts
        await scene.send_due()
        times += [scene.now] if scene.attempts > before else []
        scene.now += 1
    pauses = [later - earlier for earlier, later in pairwise(times)]
    assert pauses[:5] == [4, 8, 16, 32, 60]
    assert set(pauses[5:]) <= {60}
    scene.is_broken = False
    scene.now += 60
    assert await scene.send_due() == 1


async def test_what_comes_while_it_is_nudged_is_owed_too() -> None:
    scene = NudgeScene()

    async def nudge_slowly(guest: Guest, text: str) -> None:
        scene.nudges.append(text)
        if len(scene.nudges) == 1:
            nudger.schedule("s1", [build_event("meanwhile")])

    nudger = Nudger(nudge_slowly, scene._list_waiting, clock=lambda: scene.now)
    nudger.schedule("s1", [build_event()])
    for noted in (1, 2, 3):
        await nudger.send_due({"s1": Guest(session="s1", agent="ann", is_idle=True, revision=noted)})
    assert len(scene.nudges) == 2


async def test_what_wakes_nobody_is_no_reason_nor_what_it_was_nudged_for() -> None:
    scene = NudgeScene()
    scene.nudger.schedule("s1", [build_event(wakes=False)])
    assert await scene.send_due() == 0
    events = [build_event("a"), build_event("b", priority=Priority.CRITICAL), build_event("c", wakes=False)]
    scene.nudger.schedule("s1", events)
    scene.nudger.schedule("s1", events)
    assert await scene.send_due() == 1
    scene.nudger.schedule("s1", events)
    assert await scene.send_due(noted=2) == 0
    assert scene.nudges == ['Inbox: 2 events wait, the first: [Event: ci] "b"']


async def test_it_names_only_what_is_still_to_be_read() -> None:
    """The agent, or another of its sessions, may have read it between the line and the nudge."""
    scene = NudgeScene()
    first, second, third = build_event("first", priority=Priority.HIGH), build_event("second"), build_event("third")
    scene.nudger.schedule("s1", [first, second, third])
    assert await scene.send_due(idle=False) == 0
    scene.read_ids = {first.id}
    assert await scene.send_due(noted=2) == 1
    scene.nudger.schedule("s1", [last := build_event("last")])
    scene.read_ids |= {last.id}
    assert await scene.send_due(noted=3) == 0
    assert scene.nudges == ['Inbox: 2 events wait, the first: [Event: ci] "second"']


def test_it_is_one_short_line_whatever_came() -> None:
    message = render_nudge(build_event("line\nline\u2028" * 10_000, source="<x>\n"), 1)
    assert len(message.splitlines()) == 1
    assert len(message) < 250
    assert "<" not in message


async def test_a_command_has_the_text_as_an_argument_and_on_stdin_and_runs_none_of_it(tmp_path: Path) -> None:
    command = 'printf "%s\\n" "$1" > arguments; printf "%s" "$2" > session; cat > stdin'
    await CommandNudge(ShellCommands(tmp_path), command, timeout=LAST_RESORT)(GUEST, TEXT)
    contents = await asyncio.to_thread(lambda: {file.name: file.read_text() for file in tmp_path.iterdir()})
    assert contents == {"arguments": f"{TEXT}\n", "stdin": f"{TEXT}\n", "session": "s/1"}


@pytest.mark.parametrize(
    ("command", "session", "error"),
    [
        ("echo no such pane >&2; exit 3", "s1", "ended with 3: no such pane"),
        ("nosuchcommand", "s1", "ended with 127: .*nosuchcommand"),
        ("exec sleep 60", "s1", "longer than 0.05 s"),
        ("true", "\x00", "cannot be run"),
    ],
)
async def test_a_command_that_fails_says_how(command: str, session: str, error: str) -> None:
    limit = 0.05 if "sleep" in command else LAST_RESORT
    with pytest.raises(Unavailable, match=error):
        await CommandNudge(ShellCommands(), command, timeout=limit)(Guest(session=session, agent="ann"), TEXT)


class RecordingHandler(BaseHTTPRequestHandler):
    requests: list[tuple[str, Any]]

    def do_POST(self) -> None:
        self.requests.append((self.path, json.loads(self.rfile.read(int(self.headers["content-length"])))))
        self.send_response(503 if self.path == "/busy" else 200)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        pass


@pytest.fixture
def web() -> Iterator[tuple[str, list[tuple[str, Any]]]]:
    requests: list[tuple[str, Any]] = []
    with HTTPServer(("127.0.0.1", 0), type("Handler", (RecordingHandler,), {"requests": requests})) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}", requests
        finally:
            server.shutdown()
            thread.join()


def build_url_nudge(url: str, *, private: bool = True) -> UrlNudge:
    return UrlNudge(url, allow_private=private, timeout=LAST_RESORT)


async def test_a_url_is_sent_json_and_refused_where_it_must_not_go(web: tuple[str, list[tuple[str, Any]]]) -> None:
    base, requests = web
    await build_url_nudge(f"{base}/nudge")(GUEST, TEXT)
    assert requests == [("/nudge", {"message": TEXT, "agent": "ann", "session": "s/1"})]
    with pytest.raises(Unavailable, match="the answer was 503"):
        await build_url_nudge(f"{base}/busy")(GUEST, TEXT)
    with pytest.raises(Unavailable, match=r"courier\.allow_private"):
        await build_url_nudge(f"{base}/nudge", private=False)(GUEST, TEXT)
    with pytest.raises(Unavailable, match="never called"):
        await build_url_nudge("http://169.254.169.254/")(GUEST, TEXT)
    assert len(requests) == 2


@pytest.mark.parametrize("url", ["http://", "ftp://example.org/", "http://[::1", "https:///x"])
def test_what_is_no_url_is_refused_at_once(url: str) -> None:
    with pytest.raises(Invalid, match="is not a URL to nudge by"):
        build_url_nudge(url)


def test_who_waits_for_a_file_is_woken_by_it_once(tmp_path: Path) -> None:
    nudge = FileNudge(tmp_path)
    waiting_results = iter([False, True])
    rounds: list[int] = []

    def pause() -> None:
        rounds.append(len(rounds))
        asyncio.run(nudge(GUEST, f"number {len(rounds)}"))

    message = wait_for_nudge(
        tmp_path, GUEST.session, has_waiting=lambda: next(waiting_results), is_over=lambda: False, sleep=pause
    )
    assert message == "number 2"  # when the first came, all had been read
    assert rounds == [0, 1]
    over_results = iter([False, True])
    assert (
        wait_for_nudge(
            tmp_path, "s/1", has_waiting=lambda: True, is_over=lambda: next(over_results), sleep=lambda: None
        )
        is None
    )
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["rewake.lock", "s%2F1"]


def test_only_one_waits_for_a_session(tmp_path: Path) -> None:
    results: list[str | None] = []

    def pause() -> None:
        wait = partial(wait_for_nudge, tmp_path, has_waiting=lambda: True, is_over=lambda: bool(results))
        results.append(wait("s1", sleep=lambda: pytest.fail("it waits too")))
        asyncio.run(FileNudge(tmp_path)(Guest(session="s1", agent="ann"), "wake up"))

    assert wait_for_nudge(tmp_path, "s1", has_waiting=lambda: True, is_over=lambda: False, sleep=pause) == "wake up"
    assert results == [None]


async def test_a_file_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    (tmp_path / "sessions").write_text("in the way")
    with pytest.raises(Unavailable, match="cannot be written"):
        await FileNudge(tmp_path / "sessions")(GUEST, TEXT)
    with pytest.raises(Unavailable, match="cannot be used"):
        wait_for_nudge(tmp_path / "sessions", "s1", has_waiting=lambda: True, is_over=lambda: True)
