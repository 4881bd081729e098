"""
The time from a push until the model of an idle agent program is asked: of Claude Code, Codex and OpenCode in terminals,
with a gateway, and of Claude Code on a SQLite store alone.

The floor is the program's own start of a turn: from Enter in its terminal until the same model is asked. Both have our
hook of the prompt in them. The model is a scripted one; `make test-hosts` installs the programs from npm, and a program
that is not installed is not measured.
"""

import select
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from bench.support.measurement import FULL, Effort, measure_in_turns
from bench.support.table import Row, Target, at_most, millis
from gatepost.client import SyncClient
from gatepost.inbox.push.api import PushEvent
from tests.programs import cache
from tests.programs.guest import Guest
from tests.programs.model import DONE, Reply, ScriptedModel
from tests.programs.protocols import Request
from tests.programs.terminal import ENTER, Terminal
from tests.programs.waking import KINDS, WakingGuest
from tests.support.gateways.gateway_process import run_gateway_process

_WITHOUT_GATEWAY: Final = "SQLite alone, which is looked at every 3 s"
#: the programs, and the most that a wake may take compared with a prompt: on two busy cores a second with a gateway,
#: and four seconds without one
_SETUPS: Final = (
    ("claude", "with a gateway", at_most(1.5)),
    ("codex", "with a gateway", at_most(6)),
    ("opencode", "with a gateway", at_most(3)),
    ("claude", _WITHOUT_GATEWAY, at_most(6)),
)
#: seconds for which a program redraws its box after a key
_TYPING_TIME: Final = 0.5
_TIMEOUT: Final = 60.0


def main(effort: Effort = FULL) -> Iterator[Row]:
    if not cache.is_installed() or cache.find_node() is None:
        print("NOT MEASURED: the programs of npm are not installed; `make test-hosts` installs them", file=sys.stderr)
        return
    for kind, place, target in _SETUPS:
        yield _measure_row(kind, place, target, effort)


def _measure_row(kind: str, place: str, target: Target, effort: Effort) -> Row:
    waking_class = KINDS[kind]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="gatepost-bench-")))
        model = stack.enter_context(ScriptedModel(limit=10 * effort.rounds + 10))
        guest = Guest.create(
            waking_class.program_class(folder / "user", folder / "project", model.url), model, folder / "home"
        )
        ann = waking_class(guest, place)
        stack.callback(ann.resources.close)
        client = None
        if place != _WITHOUT_GATEWAY:
            gateway = stack.enter_context(run_gateway_process(guest.home))
            client = stack.enter_context(SyncClient(gateway.url, key=gateway.admin_key))
        terminal = ann.start()
        return Row(
            claim=f"{ann.title}, idle in a terminal: from a push until the model is asked, {place}",
            door="`gatepost inbox push`" if client is None else "`POST /api/inbox`",
            floor="from Enter until it is asked",
            measurement=measure_in_turns(
                partial(_measure_prompt, ann, terminal), partial(_measure_wake, ann, client), effort.untargeted_rounds
            ),
            unit=millis,
            target=target,
        )


def _measure_prompt(ann: WakingGuest, terminal: Terminal) -> float:
    ann.wait_until_idle()
    ann.type(terminal, "Go on.")
    select.select([], [], [], _TYPING_TIME)
    return _measure_until_asked(ann.guest.model, lambda: terminal.type(ENTER))


def _measure_wake(ann: WakingGuest, client: SyncClient | None) -> float:
    ann.wait_until_idle()
    if client is None:
        return _measure_until_asked(ann.guest.model, lambda: ann.guest.push("wake up"))
    push = PushEvent(to="ann", content="wake up")
    return _measure_until_asked(ann.guest.model, lambda: client.send(push))


def _measure_until_asked(model: ScriptedModel, begin: Callable[[], object]) -> float:
    """Return the seconds from the beginning until the model gets its next request."""
    asked_at: list[float] = []
    is_asked = threading.Event()

    def answer(_: Request) -> Reply:
        asked_at.append(time.perf_counter())
        is_asked.set()
        return DONE

    model.script = answer
    start = time.perf_counter()
    begin()
    assert is_asked.wait(_TIMEOUT), "the model was not asked"
    return asked_at[0] - start
