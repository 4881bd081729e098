"""
`gatepost chat`: write to agents as a person, and read what they answer.

A command that waits looks at the session until everybody who got the text is done with it: their items are delivered
when their cycles end, and a reply is stored before that. What the built-in `user-agent` passes on is followed.
"""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Final

import msgspec
from click.exceptions import Exit
from msgspec import UNSET
from msgspec.structs import replace

from gatepost.channels.chat_api import ChatView, SendChat
from gatepost.channels.conversation import PASSED_REF
from gatepost.channels.shared_inbox.api import EntryKind, ListSharedEntries, SharedEntryView
from gatepost.cli import inputs, output
from gatepost.cli.command import build_request_verb
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, Timeout, argument, flag, option
from gatepost.core.escaping import escape_unsafe
from gatepost.core.quoting import render_name
from gatepost.core.times import SECOND, Duration, format_duration
from gatepost.errors import GatepostError, Invalid, NotFound
from gatepost.gates.decision_api import ShowDecision
from gatepost.inbox.event import ItemState
from gatepost.inbox.event_api import ShowEvent
from gatepost.inbox.item_api import ListItems
from gatepost.settings import Configuration

_RESET: Final = "/reset"
_QUIT: Final = ("/quit", "/exit")
_UNDER_WAY: Final = (ItemState.PENDING, ItemState.CLAIMED)
_MAX_ENTRIES: Final = 1_000
#: seconds between two looks at the session: few at first
_FIRST_PAUSE: Final = 0.1
_LONGEST_PAUSE: Final = 1.0
_NO_GATEWAY: Final = "no gateway runs here, so no resident answers now: `gatepost up` starts one"

_FIELDS: Final[dict[str, Any]] = {
    "content": argument("TEXT|-", "the text; - reads stdin; without it, a conversation begins", parse=inputs.read_text),
    "to": option("--to", "ADDRESS", "who gets it: a name or a team; by default whom the rules name"),
    "session": option("--session", "NAME", "another channel session of yours"),
    "reset": flag("--reset", "begin the channel session anew: earlier questions are not answered there any more"),
    "sender": option("--as", "NAME", "the person who writes; by default the administrator"),
    "channel": None,
}


def chat(
    request: SendChat,
    configuration: Configuration,
    wait: Annotated[bool, flag("--wait", "print the answers until everybody who got it is done")] = False,
    timeout: Timeout = None,
    json: JsonFlag = False,
) -> None:
    """
    Write to agents as a person, and read what they answer. A text that answers a question of the session, by the id or
    the label of an option or in words where these are allowed, is the answer; everything else is a prompt.

    Without TEXT it is a conversation: a line is sent, and the answers are printed, until the end of the input or
    Ctrl-C. `/reset` begins the session anew, `/quit` ends the conversation.

    With --wait it exits with 0 if there was an answer or a question, and with 1 if there was none.

    Examples:
      gatepost chat "How far is the report?" --to analyst --wait
      gatepost chat --as husam --session travel
      git diff | gatepost chat - --to reviewer --wait --for 5m
    """
    if timeout is not None and not wait:
        raise Invalid("--for needs --wait")
    is_conversation = not request.content and not request.reset
    if is_conversation and wait:
        raise Invalid("--wait needs TEXT", hint="without TEXT, every line is waited for")
    with connect(configuration) as connection:
        if is_conversation:
            _hold_conversation(connection, request, json=json)
        elif wait and not request.reset:
            _send_and_wait(connection, request, timeout, json=json)
        else:
            view = connection.send(request)
            output.done(msgspec.to_builtins(view), view.entry_id or view.session_id, _describe(view), json=json)


def _describe(view: ChatView) -> str:
    """Return what became of a text, in words."""
    if view.notice is not UNSET:
        return view.notice
    if view.unrouted is not UNSET:
        return (
            f"nobody gets it, and it is kept as {view.unrouted}: name who gets it with --to, add a rule with"
            " `gatepost trigger route add`, or make a team with `gatepost init --template viable-system`"
        )
    return f"in the session {view.session_id}"


def _send_and_wait(connection: CommandConnection, request: SendChat, timeout: Duration | None, *, json: bool) -> None:
    session = _Session(connection, json=json)
    view = session.send(request)
    if view.notice is not UNSET or view.unrouted is not UNSET:
        output.talk(_describe(view))
    if connection.store is not None:
        output.talk(_NO_GATEWAY)
    elif view.events:
        session.wait(timeout)
        if not session.printed_count:
            output.talk("nobody has answered" + (f" within {format_duration(timeout)}" if timeout is not None else ""))
    if not session.printed_count:
        raise Exit(1)


def _hold_conversation(connection: CommandConnection, request: SendChat, *, json: bool) -> None:
    """Send each line of the input, and print the answers to it before the next one is read."""
    session = _Session(connection, json=json, has_names=True)
    if connection.store is not None:
        output.talk(_NO_GATEWAY)
    for line in _read_lines():
        text = line.strip()
        if text in _QUIT:
            return
        if not text:
            session.print_new()
            continue
        try:
            is_reset = text == _RESET
            view = session.send(replace(request, content="" if is_reset else text, reset=is_reset))
        except GatepostError as error:  # the conversation goes on
            output.fail(error.message, error.hint)
            continue
        if view.notice is not UNSET or view.unrouted is not UNSET:
            output.talk(_describe(view))
        elif is_reset:
            output.talk(f"the session begins anew as {view.session_id}")
        if connection.store is None and not is_reset:
            session.wait(None)
        else:
            session.print_new()


def _read_lines() -> Iterator[str]:
    is_terminal = sys.stdin.isatty()
    while True:
        if is_terminal:
            print("> ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            return
        yield line


@dataclass
class _Session:
    """What is printed of a session, and what is waited for."""

    connection: CommandConnection
    json: bool
    #: whether it is said who answers
    has_names: bool = False
    id: str = ""
    printed_count: int = 0
    #: the events whose recipients are not done yet
    events: list[str] = field(default_factory=list)
    _last_seq: int = 0

    def send(self, request: SendChat) -> ChatView:
        if not self.id:
            entries = self.connection.send(ListSharedEntries(newest=True, limit=1)).items
            self._last_seq = entries[-1].seq if entries else 0
        view = self.connection.send(request)
        self.id, self.events = view.session_id, list(view.events)
        return view

    def wait(self, timeout: Duration | None) -> None:
        """Print the answers until nobody is at work on the events any more, or the time is over."""
        end = time.monotonic() + timeout / SECOND if timeout is not None else None
        pause = _FIRST_PAUSE
        while True:
            # A reply is stored before its cycle ends: in this order, none is missed.
            is_over = not self._list_under_way()
            self.print_new()
            if is_over or (end is not None and time.monotonic() >= end):
                return
            time.sleep(pause if end is None else max(0.0, min(pause, end - time.monotonic())))
            pause = min(_LONGEST_PAUSE, pause * 1.5)

    def _list_under_way(self) -> list[str]:
        """Return the events that somebody has not read yet, or works on; those that were passed on are followed."""
        under_way: list[str] = []
        waiting, self.events = self.events, under_way
        while waiting:
            event = waiting.pop()
            try:
                recipients = self.connection.send(ShowEvent(id=event)).recipients
            except NotFound:  # it was done long ago
                continue
            if any(recipient.state in _UNDER_WAY for recipient in recipients):
                under_way.append(event)
            else:
                passed = self.connection.send(ListItems(ref=f"{PASSED_REF}:{event}", limit=100)).items
                waiting += dict.fromkeys(item.event_id for item in passed)
        return under_way

    def print_new(self) -> None:
        """Print what systems wrote since the last look."""
        if not self.id:
            return
        request = ListSharedEntries(channel="cli", session=self.id, after=self._last_seq)
        for entry in self.connection.list_all(request, _MAX_ENTRIES):
            self._last_seq = entry.seq
            if entry.kind is not EntryKind.USER_PROMPT:
                self._print(entry)
                self.printed_count += 1

    def _print(self, entry: SharedEntryView) -> None:
        if self.json:
            output.live(msgspec.to_builtins(entry))
            return
        name = f"{render_name(entry.sender or '')}: " if self.has_names else ""
        lines = [escape_unsafe(line) for line in f"{name}{entry.content}".splitlines()]
        if entry.kind is EntryKind.SYSTEM_QUESTION and entry.decision is not None:
            lines += self._list_options(entry.decision)
        output.live("\n".join(lines))

    def _list_options(self, decision: str) -> Sequence[str]:
        view = self.connection.send(ShowDecision(id=decision))
        lines = [
            f"  {escape_unsafe(option.id)}: {escape_unsafe(option.label)}"
            + (f" ({escape_unsafe(option.description)})" if option.description else "")
            for option in view.options
        ]
        return [*lines, "  (or answer in your own words)"] if view.free_text and view.options else lines


commands = [build_request_verb("chat", SendChat, _FIELDS, chat, "Write to agents as a person, and read the answers.")]
