"""Whatever handlers do, the chain asks them in order, one after the other, and says what they said."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given, strategies as st

from gatepost.guests.hooks.handler_chain import Handler, Wait, run_handlers
from gatepost.guests.hooks.hook_context import HookContext
from gatepost.guests.hooks.hook_events import HookEvent, Verdict
from tests.guests.hook_guest import HookGuest, run_to_end

EVENTS = ("Stop", "PostToolUse")
BEHAVIOURS = ("nothing", "blocks", "shows", "warns", "raises", "exits", "babbles", "ends")


@dataclass
class HandlerRecorder:
    """What handlers were asked, and what became of what they took."""

    called_names: list[str] = field(default_factory=list)
    printed_counts: Counter[str] = field(default_factory=Counter)
    unprinted_counts: Counter[str] = field(default_factory=Counter)

    def build_handler(
        self, name: str, priority: int, events: frozenset[str] | None, behaviour: str, wait_count: int
    ) -> Handler:
        remaining = wait_count

        def handle(ctx: HookContext, event: HookEvent, result: Verdict) -> Verdict | Wait | None:
            nonlocal remaining
            if remaining:
                remaining -= 1
                return Wait(agent="ann", until=ctx.started_at)
            self.called_names.append(name)
            match behaviour:
                case "raises":
                    raise RuntimeError(name)
                case "exits":
                    raise SystemExit(name)
                case "babbles":
                    return "a verdict"  # type: ignore[return-value]
                case "blocks":
                    return Verdict(block=name)
                case "warns":
                    return Verdict(warnings=(name,))
                case "ends":
                    return Verdict(final=True)
                case "shows":
                    return Verdict(
                        context=name,
                        printed=self._count_call(self.printed_counts, name),
                        unprinted=self._count_call(self.unprinted_counts, name),
                    )
                case _:
                    return None

        return Handler(name=name, priority=priority, events=events, handle=handle)

    def _count_call(self, counter: Counter[str], name: str) -> Callable[[], None]:
        return lambda: counter.update([name])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.none() | st.frozensets(st.sampled_from(EVENTS)),
            st.sampled_from(BEHAVIOURS),
            st.integers(0, 2),
        ),
        max_size=8,
    ),
    st.sampled_from(EVENTS),
)
def test_handlers_are_asked_in_order_and_heard(
    specs: list[tuple[int, frozenset[str] | None, str, int]], event: str
) -> None:
    recorder = HandlerRecorder()
    handlers = {f"h{index}": (recorder.build_handler(f"h{index}", *spec), spec) for index, spec in enumerate(specs)}
    with TemporaryDirectory() as home:
        ctx = HookGuest(Path(home)).create_context()
        handler_run = run_handlers([spec[0] for spec in handlers.values()], ctx, HookEvent(host="claude", name=event))
        waits: list[Wait] = []
        verdict = run_to_end(handler_run, waits.append)
    expected_names = sorted(
        (name for name, (_, spec) in handlers.items() if spec[1] is None or event in spec[1]),
        key=lambda name: (handlers[name][1][0], name),
    )
    behaviours = {name: spec[2] for name, (_, spec) in handlers.items()}
    last = next(
        (index for index, name in enumerate(expected_names) if behaviours[name] == "ends"), len(expected_names) - 1
    )
    expected_names = expected_names[: last + 1]
    assert recorder.called_names == expected_names
    assert len(waits) == sum(handlers[name][1][3] for name in expected_names)

    def list_with_behaviour(behaviour: str) -> list[str]:
        return [name for name in expected_names if behaviours[name] == behaviour]

    failed_names = [name for name in expected_names if behaviours[name] in ("raises", "exits", "babbles")]
    assert [f"{name!r} failed" for name in failed_names] == [
        note.split("handler ")[1].split(":")[0] for note in ctx.notes
    ]
    assert verdict.block == ("\n".join(list_with_behaviour("blocks")) or None)
    assert verdict.warnings == tuple(list_with_behaviour("warns"))
    assert not recorder.printed_counts
    if list_with_behaviour("blocks"):
        assert verdict.context is None
        assert recorder.unprinted_counts == Counter(list_with_behaviour("shows"))
        verdict.printed()
        assert not recorder.printed_counts, "what was given back is not taken after all"
    else:
        assert verdict.context == ("\n".join(list_with_behaviour("shows")) or None)
        assert not recorder.unprinted_counts
        verdict.printed()
        assert recorder.printed_counts == Counter(list_with_behaviour("shows"))


def test_a_chain_that_is_left_gives_back_what_it_took(tmp_path: Path) -> None:
    recorder = HandlerRecorder()
    handlers = [
        recorder.build_handler("takes", 10, None, "shows", 0),
        recorder.build_handler("waits", 20, None, "nothing", 1),
    ]
    handler_run = run_handlers(handlers, HookGuest(tmp_path).create_context(), HookEvent(host="claude", name="Stop"))
    next(handler_run)
    handler_run.close()
    assert recorder.unprinted_counts == Counter(["takes"])
    assert not recorder.printed_counts
