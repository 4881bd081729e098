"""
20, the gates: those of the session on whichever event they stand at, and on Stop the agent's own in the store.

What is to hold although nobody can look (`fail: closed`) is kept in the session's files each time it was seen shut. As
long as the store, or the list of session gates, is out of reach, what is kept there holds; and what is in the store is
kept from the beginning on, so that it holds also at the first stop.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final

from gatepost.errors import GatepostError, Unavailable
from gatepost.hooks import gates
from gatepost.hooks.chain import Handler
from gatepost.hooks.desk import Desk
from gatepost.hooks.gates import SessionGate, Standing
from gatepost.hooks.occasion import Occasion, Verdict, nothing
from gatepost.hooks.session import Held

#: the events on which what holds in the store is kept, before anything can hold
_BEGINNINGS: Final = ("SessionStart", "UserPromptSubmit")


def _handle(desk: Desk, occasion: Occasion, so_far: Verdict) -> Verdict | None:
    try:
        if occasion.event in _BEGINNINGS:
            _of_agent(desk)
        return None if occasion.event not in gates.HOOKS or so_far.continues else _looked(desk, occasion, so_far)
    except Exception as error:  # noqa: BLE001 (whatever it was, what is kept holds)
        desk.tell(f"the gates cannot be looked at: {str(error) or type(error).__name__}")
        kept = () if so_far.continues else desk.state.closed
        held = [one for one in kept if one.hook == occasion.event and not _marked(desk, one)]
        return Verdict(block="\n".join(_unlooked(one) for one in held) or None, closed=bool(held))


def _looked(desk: Desk, occasion: Occasion, so_far: Verdict) -> Verdict | None:
    shut = [each for each in _of_session(desk, occasion, so_far) if each.shut is not None]
    strict = [each for each in shut if not each.gate.soft]
    soft = [each for each in shut if each.gate.soft]
    reasons = [_explain(desk, occasion, each) for each in strict]
    closed = any(each.gate.closed for each in strict)
    if occasion.event == "Stop":
        held, holds = _of_agent(desk)
        reasons += held
        closed = closed or holds
    if not reasons and not soft:
        return None
    return Verdict(
        block="\n".join(reasons) or None,
        closed=closed,
        warnings=tuple(each.told for each in soft),
        printed=(lambda: _warned(desk, soft)) if soft else nothing,
    )


def _explain(desk: Desk, occasion: Occasion, standing: Standing) -> str:
    """Return why a gate holds; at a stop also the command that opens it, where a mark does and one can be made."""
    try:
        can_mark = occasion.event in ("Stop", "SubagentStop") and standing.gate in gates.registered(desk.home)
    except Unavailable:  # then `gate mark` cannot read the list either
        can_mark = False
    if not can_mark:
        return standing.told
    return f"{standing.told}. When it is done, run: {desk.write_command('gate', 'mark', standing.gate.name)}"


def _of_session(desk: Desk, occasion: Occasion, so_far: Verdict) -> Iterator[Standing]:
    """How the session gates stand, but for those that need not be looked at: they were warned of, or told of by now."""
    for gate in (*gates.BUILT_IN, *_registered(desk)):
        if gate.hook != occasion.event or (gate.soft and _was_warned(desk, gate)):
            continue
        if gate.name == "decision" and so_far.block is not None:
            continue
        yield gates.look(desk, gate, occasion.cwd)


def _registered(desk: Desk) -> tuple[SessionGate, ...]:
    """The session gates that were registered; for those that cannot be read, what is kept of them."""
    try:
        known, damaged = gates.readable(desk.home)
    except Unavailable as error:
        known, damaged = (), [error.message]
    for each in damaged:
        desk.tell(each)
    closed = (one for one in known if one.closed and not one.soft)
    now = [Held(name=one.name, hook=one.hook, instruction=one.hint, durable=False) for one in closed]
    if damaged:
        names = {one.name for one in known}
        lost = [held for held in desk.state.closed if not held.durable and held.name not in names]
        known += tuple(SessionGate(name=one.name, hook=one.hook, hint=one.instruction, closed=True) for one in lost)
        now += lost
    _keep(desk, now, durable=False)
    return known


def _of_agent(desk: Desk) -> tuple[list[str], bool]:
    """What holds the agent in the store, as it is told, and whether something of it holds in any case."""
    if desk.agent is None:
        return [], False
    try:
        found = gates.holding(desk, desk.agent)
        if not found:
            _keep(desk, (), durable=True)
            return [], False
        from gatepost.core.gate import Fail, instruction

        closed = [gate for gate in found if gate.fail is Fail.CLOSED]
        _keep(desk, (Held(name=gate.name, instruction=instruction([gate])) for gate in closed), durable=True)
        return [instruction(found)], bool(closed)
    except GatepostError:
        kept = [_unlooked(held) for held in desk.state.closed if held.durable]
        return kept, bool(kept)


def _marked(desk: Desk, held: Held) -> bool:
    try:
        return not held.durable and desk.session.marked(held.name)
    except OSError:
        return False


def _unlooked(held: Held) -> str:
    what = held.instruction if held.durable else f"{held.name}: {held.instruction or 'it is not marked'}"
    return f"{what} (it could not be looked at just now)"


def _keep(desk: Desk, closed: Iterable[Held], *, durable: bool) -> None:
    """Note what is to hold when nobody can look; what is noted already is not written again."""
    now = tuple(closed)
    if now == tuple(held for held in desk.state.closed if held.durable is durable):
        return
    with suppress(OSError):
        desk.remember(
            lambda state: state._replace(closed=(*(held for held in state.closed if held.durable is not durable), *now))
        )


def _was_warned(desk: Desk, gate: SessionGate) -> bool:
    try:
        return desk.session.warned(gate.name)
    except OSError:
        return True


def _warned(desk: Desk, soft: Iterable[Standing]) -> None:
    for each in soft if desk.can_warn else ():
        with suppress(OSError):
            desk.session.warn(each.gate.name)


handler = Handler(name="gates", priority=20, events=None, handle=_handle)
