"""Whatever handlers do, the chain asks them in order, one after the other, and says what they said."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import given
from hypothesis import strategies as st

from gatepost.hooks.chain import Handler, Wait, run_handlers
from gatepost.hooks.context import HookContext
from gatepost.hooks.events import HookEvent, Verdict
from tests.visits import Guest, finished

EVENTS = ("Stop", "PostToolUse")
HABITS = ("nothing", "blocks", "shows", "warns", "raises", "exits", "babbles", "ends")


@dataclass
class Scene:
    """What handlers were asked, and what became of what they took."""

    asked: list[str] = field(default_factory=list)
    printed: Counter[str] = field(default_factory=Counter)
    unprinted: Counter[str] = field(default_factory=Counter)

    def handler(self, name: str, priority: int, events: frozenset[str] | None, habit: str, waits: int) -> Handler:
        left = waits

        def handle(desk: HookContext, occasion: HookEvent, so_far: Verdict) -> Verdict | Wait | None:
            nonlocal left
            if left:
                left -= 1
                return Wait(agent="ann", until=desk.started_at)
            self.asked.append(name)
            match habit:
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
                        printed=self._counting(self.printed, name),
                        unprinted=self._counting(self.unprinted, name),
                    )
                case _:
                    return None

        return Handler(name=name, priority=priority, events=events, handle=handle)

    def _counting(self, counter: Counter[str], name: str) -> Callable[[], None]:
        return lambda: counter.update([name])


@given(
    st.lists(
        st.tuples(
            st.integers(0, 50),
            st.none() | st.frozensets(st.sampled_from(EVENTS)),
            st.sampled_from(HABITS),
            st.integers(0, 2),
        ),
        max_size=8,
    ),
    st.sampled_from(EVENTS),
)
def test_handlers_are_asked_in_order_and_heard(
    given: list[tuple[int, frozenset[str] | None, str, int]], event: str
) -> None:
    scene = Scene()
    handlers = {f"h{at}": (scene.handler(f"h{at}", *each), each) for at, each in enumerate(given)}
    with TemporaryDirectory() as home:
        desk = Guest(Path(home)).desk()
        running = run_handlers([each[0] for each in handlers.values()], desk, HookEvent(host="claude", name=event))
        waits: list[Wait] = []
        verdict = finished(running, waits.append)
    meant = sorted(
        (name for name, (_, each) in handlers.items() if each[1] is None or event in each[1]),
        key=lambda name: (handlers[name][1][0], name),
    )
    habit = {name: each[2] for name, (_, each) in handlers.items()}
    last = next((at for at, name in enumerate(meant) if habit[name] == "ends"), len(meant) - 1)
    meant = meant[: last + 1]
    assert scene.asked == meant
    assert len(waits) == sum(handlers[name][1][3] for name in meant)

    def did(what: str) -> list[str]:
        return [name for name in meant if habit[name] == what]

    failed = [name for name in meant if habit[name] in ("raises", "exits", "babbles")]
    assert [f"{name!r} failed" for name in failed] == [note.split("handler ")[1].split(":")[0] for note in desk.notes]
    assert verdict.block == ("\n".join(did("blocks")) or None)
    assert verdict.warnings == tuple(did("warns"))
    assert not scene.printed
    if did("blocks"):
        assert verdict.context is None
        assert scene.unprinted == Counter(did("shows"))
        verdict.printed()
        assert not scene.printed, "what was given back is not taken after all"
    else:
        assert verdict.context == ("\n".join(did("shows")) or None)
        assert not scene.unprinted
        verdict.printed()
        assert scene.printed == Counter(did("shows"))


def test_a_chain_that_is_left_gives_back_what_it_took(tmp_path: Path) -> None:
    scene = Scene()
    handlers = [scene.handler("takes", 10, None, "shows", 0), scene.handler("waits", 20, None, "nothing", 1)]
    running = run_handlers(handlers, Guest(tmp_path).desk(), HookEvent(host="claude", name="Stop"))
    next(running)
    running.close()
    assert scene.unprinted == Counter(["takes"])
    assert not scene.printed
