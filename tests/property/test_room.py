"""
Whatever waits and whatever other handlers say, a host shows all of it: no text is longer than 10,000 bytes, and each
item that counts as shown is in the text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gatepost.hooks import chain, visit, wire
from gatepost.hooks.chain import Handler
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict
from tests.visits import Guest, finished

LETTERS = ["x", "<", "\\", "\xe9", "\u5bdf", "\U0001f680", "\U000e0041"]
items = st.lists(st.tuples(st.sampled_from(LETTERS), st.sampled_from([1, 200, 700, 3_000])), min_size=1, max_size=14)
says = st.tuples(st.sampled_from(LETTERS), st.sampled_from([0, 1, 700, 2_500, 12_000]))


def speak(name: str, priority: int, text: str) -> Handler:
    """Make a handler that always says this."""

    def handle(desk: HookContext, occasion: HookEvent, so_far: Verdict) -> Verdict:
        return Verdict(context=text)

    return Handler(name=name, priority=priority, events=None, handle=handle)


def find_strings(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        for inner in value.values():
            yield from find_strings(inner)
    elif isinstance(value, str):
        yield value


@given(
    host=st.sampled_from(wire.HOSTS),
    event=st.sampled_from(["SessionStart", "UserPromptSubmit", "PostToolUse", "Stop"]),
    items=items,
    before=says,
    after=says,
    wrap=st.booleans(),
)
@example(host="codex", event="Stop", items=[("\u5bdf", 700)] * 12, before=("x", 0), after=("x", 0), wrap=True)
@example(host="claude", event="Stop", items=[("\U0001f680", 700)] * 12, before=("x", 0), after=("x", 0), wrap=False)
def test_what_counts_as_shown_is_in_the_text_and_the_text_fits(
    host: str, event: str, items: list[tuple[str, int]], before: tuple[str, int], after: tuple[str, int], wrap: bool
) -> None:
    with TemporaryDirectory() as home:
        guest = Guest(Path(home))
        guest.spooled(*(f"#{number}# {letter * length}" for number, (letter, length) in enumerate(items)))
        first, last = speak("first", 25, before[0] * before[1]), speak("last", 35, after[0] * after[1])
        occasion = HookEvent(host=host, name=event, session=guest.id, cwd=home)
        verdict = finished(visit.handle_event(guest.desk(), occasion, (*chain.BUILT_IN, first, last)))
        answer = wire.render(occasion, verdict, wrap=wrap)
        verdict.printed()
        left = {entry.content.split()[0] for entry in guest.spool.peek(guest.id)}
    texts = list(find_strings(json.loads(answer.stdout or "{}")))
    for text in texts:
        assert len(text.encode()) <= 10_000
        assert len(text.encode("utf-16-le")) // 2 <= 10_000
    for number in range(len(items)):
        assert f"#{number}#" in left or any(f"#{number}# " in text for text in texts)
    if wire.can_show(occasion) and len((before[0] * before[1]).encode()) < 8_000:
        assert len(left) < len(items), "there was room for something"
    assert all(text.startswith("<sys") == text.endswith("</system-reminder>") for text in texts)


@pytest.mark.parametrize("letter", ["\u5bdf", "\U0001f680"])
def test_twelve_items_that_are_long_in_bytes_are_shown_in_several_batches(tmp_path: Path, letter: str) -> None:
    guest = Guest(tmp_path)
    guest.spooled(*(f"#{number}# {letter * 400}" for number in range(12)))
    shown: list[str] = []
    for _ in range(12):
        context = guest.hook("UserPromptSubmit").context
        if context is None:
            break
        assert len(context.encode()) <= 9_000
        shown += [line.split('"#')[1].split("#")[0] for line in context.splitlines()[1:]]
        guest.hook("PreToolUse")  # the model has answered, so this batch is not shown again
    assert shown == [str(number) for number in range(12)]


def test_without_room_the_inbox_waits_and_stderr_says_so(tmp_path: Path) -> None:
    guest = Guest(tmp_path, handlers=(*chain.BUILT_IN, speak("loud", 25, "x" * 8_500)))
    guest.spooled("tea")
    assert "tea" not in (guest.hook("PostToolUse").context or "")
    assert "other handlers leave no room for the inbox, so it waits" in guest.notes
    assert [entry.content for entry in guest.spool.peek(guest.id)] == ["tea"]
