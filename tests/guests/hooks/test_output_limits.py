"""
Whatever waits and whatever other handlers say, a host shows all of it: no text is longer than 10,000 bytes, and each
item that counts as shown is in the text.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import example, given, strategies as st

from gatepost.guests.hooks import dialects as wire, handler_chain as chain
from gatepost.guests.hooks.handler_chain import Handler
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from tests.guests.hook_guest import HookGuest, run_to_end

LETTERS = ["x", "<", "\\", "\xe9", "\u5bdf", "\U0001f680", "\U000e0041"]
items = st.lists(st.tuples(st.sampled_from(LETTERS), st.sampled_from([1, 200, 700, 3_000])), min_size=1, max_size=14)
texts = st.tuples(st.sampled_from(LETTERS), st.sampled_from([0, 1, 700, 2_500, 12_000]))


def build_speaker(name: str, priority: int, text: str) -> Handler:
    """Make a handler that always says this."""

    def handle(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict:
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
    before=texts,
    after=texts,
    wrap=st.booleans(),
)
@example(host="codex", event="Stop", items=[("\u5bdf", 700)] * 12, before=("x", 0), after=("x", 0), wrap=True)
@example(host="claude", event="Stop", items=[("\U0001f680", 700)] * 12, before=("x", 0), after=("x", 0), wrap=False)
def test_what_counts_as_shown_is_in_the_text_and_the_text_fits(
    host: str, event: str, items: list[tuple[str, int]], before: tuple[str, int], after: tuple[str, int], wrap: bool
) -> None:
    with TemporaryDirectory() as home:
        guest = HookGuest(Path(home))
        guest.append_lines(*(f"#{number}# {letter * length}" for number, (letter, length) in enumerate(items)))
        first, last = build_speaker("first", 25, before[0] * before[1]), build_speaker("last", 35, after[0] * after[1])
        hook_event = HookEvent(host=host, name=event, session=guest.session_id, cwd=home)
        verdict = run_to_end(chain.handle_event(guest.create_context(), hook_event, (*chain.BUILT_IN, first, last)))
        output = wire.render(hook_event, verdict, wrap=wrap)
        verdict.printed()
        remaining = {spool_line.content.split()[0] for spool_line in guest.spool.peek(guest.session_id)}
    texts = list(find_strings(json.loads(output.stdout or "{}")))
    for text in texts:
        assert len(text.encode()) <= 10_000
        assert len(text.encode("utf-16-le")) // 2 <= 10_000
    for number in range(len(items)):
        assert f"#{number}#" in remaining or any(f"#{number}# " in text for text in texts)
    if wire.can_show(hook_event) and len((before[0] * before[1]).encode()) < 8_000:
        assert len(remaining) < len(items), "there was room for something"
    assert all(text.startswith("<sys") == text.endswith("</system-reminder>") for text in texts)


@pytest.mark.parametrize("letter", ["\u5bdf", "\U0001f680"])
def test_twelve_items_that_are_long_in_bytes_are_shown_in_several_batches(tmp_path: Path, letter: str) -> None:
    guest = HookGuest(tmp_path)
    guest.append_lines(*(f"#{number}# {letter * 400}" for number in range(12)))
    shown_numbers: list[str] = []
    for _ in range(12):
        context = guest.run_hook("UserPromptSubmit").context
        if context is None:
            break
        assert len(context.encode()) <= 9_000
        shown_numbers += [line.split('"#')[1].split("#")[0] for line in context.splitlines()[1:]]
        guest.run_hook("PreToolUse")  # the model has answered, so this batch is not shown again
    assert shown_numbers == [str(number) for number in range(12)]


def test_without_room_the_inbox_waits_and_stderr_says_so(tmp_path: Path) -> None:
    guest = HookGuest(tmp_path, handlers=(*chain.BUILT_IN, build_speaker("loud", 25, "x" * 8_500)))
    guest.append_lines("tea")
    assert "tea" not in (guest.run_hook("PostToolUse").context or "")
    assert "other handlers leave no room for the inbox, so it waits" in guest.notes
    assert [spool_line.content for spool_line in guest.spool.peek(guest.session_id)] == ["tea"]
