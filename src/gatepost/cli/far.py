"""The verbs, done by a gateway: through the client, a request at a time."""

import asyncio
import signal
import time
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any, Final, TypeVar, Unpack

from gatepost.actions.directory import ADMINISTRATOR, Newcomer
from gatepost.actions.inbox import Wanted
from gatepost.actions.triggers import NewTrigger
from gatepost.cli.verbs import Ready
from gatepost.client import Client
from gatepost.core import wire
from gatepost.core.account import Account
from gatepost.core.agent import Resident
from gatepost.core.claim import Taken
from gatepost.core.decision import Decision, Question, Reply
from gatepost.core.entity import Entity, Kind
from gatepost.core.event import Item, Push, Pushed
from gatepost.core.gate import Gate, GateKind, GateWish
from gatepost.core.guest import GuestSession
from gatepost.core.instants import Instant
from gatepost.core.key import Key
from gatepost.core.plan import Plan, Status
from gatepost.core.run import Run
from gatepost.core.run import Status as RunStatus
from gatepost.core.space import Member, Message, Space
from gatepost.core.trigger import Trigger
from gatepost.core.wire import Document
from gatepost.errors import GatepostError, Unauthorized
from gatepost.runtime import keyring

#: seconds in which a gateway that lives answers
_PROMPT: Final = 5.0
#: seconds in which one that is just restarting is back
_PATIENCE: Final = 15.0
#: the most that a page of HTTP has
_MOST: Final = 1_000

T = TypeVar("T")


@contextmanager
def reached(url: str, home: Path) -> Iterator["Far | None"]:
    """The gateway at a URL, with the key of its home; None if no gateway answers there."""
    try:
        with asyncio.Runner() as runner:
            if not runner.run(_answers(url)):
                yield None
                return
            client = Client(url, key=keyring.administrator(home), patience=_PATIENCE)
            try:
                yield Far(client, runner)
            finally:
                runner.run(client.__aexit__(None, None, None))
    except Unauthorized:
        raise Unauthorized(
            f"the gateway at {url} does not know the key in {str(home / keyring.ADMIN_KEY)!r}",
            hint=f"if the key was revoked, {keyring.ANEW}; else `gatepost up` makes this one good",
        ) from None


async def _answers(url: str) -> bool:
    """Whether a gateway is there: asked without a key, it wants to know who we are, and needs no store for that."""
    async with Client(url, patience=0, timeout=_PROMPT) as client:
        try:
            await client.entity(ADMINISTRATOR)
        except Unauthorized:
            return True
        except GatepostError:
            return False
    return False


class Far:
    def __init__(self, client: Client, runner: asyncio.Runner) -> None:
        self._client = client
        self._run = runner.run
        self._loop = runner.get_loop()

    def now(self) -> Instant:
        return time.time_ns() // 1_000

    def push(self, wish: Push) -> Pushed:
        return self._run(self._client.push(wish))

    def page(self, name: str | None, *, limit: int, **wanted: Unpack[Wanted]) -> list[Item]:
        return self._all(self._client.page(name, limit=limit, **wanted))

    def peek(self, name: str, *, limit: int) -> list[Item]:
        return self._run(self._client.peek(name, limit=min(limit, _MOST)))

    def show(self, event: str) -> list[Item]:
        return self._run(self._client.show(event))

    def drain(self, name: str, *, owner: str, write: Callable[[Taken], None], cap: int, budget: int) -> Taken:
        taken = self._run(self._client.claim(name, owner=owner, limit=cap, budget=budget))
        if taken.claim is None:
            return taken
        try:
            write(taken)
        except BaseException:
            with suppress(GatepostError):
                self._run(self._client.release(taken.claim))
            raise
        self._run(self._client.ack(taken.claim))
        return taken

    def replay(self, event: str, name: str | None) -> list[Item]:
        return self._run(self._client.replay(event, name))

    def discard(self, event: str, name: str | None) -> list[Item]:
        return self._run(self._client.discard(event, name))

    def done(self, event: str, name: str) -> Item:
        return self._run(self._client.done(event, name))

    def watch_inbox(self, name: str, *, ready: Ready) -> Iterator[Item]:
        return self._each(self._client.watch_inbox(name, ready=_once(ready)))

    def register(self, newcomer: Newcomer) -> Entity:
        return self._run(
            self._client.register(
                newcomer.name,
                newcomer.kind,
                display=newcomer.display,
                team=newcomer.team,
                role=newcomer.role,
                owner=newcomer.owner,
                aliases=newcomer.aliases,
            )
        )

    def session(self, id: str) -> GuestSession:
        return self._run(self._client.session(id))

    def entity(self, name: str) -> Entity:
        return self._run(self._client.entity(name))

    def entities(self, kind: Kind, *, team: str | None, retired: bool, limit: int) -> list[Entity]:
        return self._all(self._client.entities(kind=kind, team=team, retired=retired, limit=limit))

    def account(self, name: str) -> Account:
        return self._run(self._client.account(name))

    def retire(self, name: str) -> Entity:
        return self._run(self._client.retire(name))

    def wake(self, agent: str) -> None:
        self._run(self._client.wake(agent))

    def agent(self, name: str) -> tuple[Entity, Resident | None]:
        return self._run(self._client.agent(name))

    def settle(self, newcomer: Newcomer, config: Mapping[str, Any]) -> None:
        self._run(
            self._client.settle(
                newcomer.name,
                config,
                display=newcomer.display,
                team=newcomer.team,
                role=newcomer.role,
                owner=newcomer.owner,
                aliases=newcomer.aliases,
            )
        )

    def change_agent(self, name: str, fields: Mapping[str, Any]) -> None:
        self._run(self._client.change_agent(name, fields))

    def pause(self, name: str) -> None:
        self._run(self._client.pause(name))

    def resume(self, name: str) -> None:
        self._run(self._client.resume(name))

    def runs(self, *, agent: str, status: RunStatus | None, limit: int) -> list[Run]:
        return self._all(self._client.runs(agent=agent, status=status, limit=limit))

    def mind(self, name: str) -> Document:
        found = self._run(self._client.mind(name))
        return wire.mind(name, found.carried, found.turns, found.tokens)

    def replay_run(self, id: str, model: str) -> Document:
        told = self._run(self._client.replay_run(id, model))
        return wire.replayed(id, told.model, original=told.original, replayed=told.replayed, same=told.same)

    def create_space(self, name: str, *, id: str | None, members: Sequence[str]) -> Space:
        return self._run(self._client.create_space(name, id=id, members=members))

    def spaces(self, *, member: str | None, limit: int) -> list[Space]:
        return self._all(self._client.spaces(member=member, limit=limit))

    def space(self, id: str) -> Space:
        return self._run(self._client.space(id))

    def members(self, id: str) -> list[Member]:
        return self._run(self._client.members(id))

    def join(self, id: str, name: str) -> Member:
        return self._run(self._client.join(id, name))

    def leave(self, id: str, name: str) -> None:
        self._run(self._client.leave(id, name))

    def post(self, id: str, *, sender: str, content: str) -> Message:
        return self._run(self._client.post(id, content, sender=sender))

    def read(self, id: str, *, member: str | None, after: int | None, limit: int) -> list[Message]:
        return self._run(self._client.read(id, member=member, after_seq=after, limit=limit))

    def mark_read(self, id: str, *, member: str, seq: int) -> None:
        self._run(self._client.mark_read(id, seq, member=member))

    def watch_space(self, id: str, *, member: str | None, ready: Ready) -> Iterator[Message]:
        return self._each(self._client.watch_space(id, member=member, ready=_once(ready)))

    def set_plan(self, fields: Mapping[str, str], *, id: str | None, owner: str | None, by: str | None) -> Plan:
        return self._run(self._client.set_plan(id=id, owner=owner, by=by, **fields))

    def plans(self, *, owner: str | None, status: Status | None, limit: int) -> list[Plan]:
        return self._all(self._client.plans(owner=owner, status=status, limit=limit))

    def delete_plan(self, id: str) -> None:
        self._run(self._client.delete_plan(id))

    def add_gate(self, wish: GateWish, *, by: str | None) -> Gate:
        return self._run(self._client.add_gate(wish, by=by))

    def gate(self, id: str) -> Gate:
        return self._run(self._client.gate(id))

    def gates(
        self, *, owner: str | None, waiter: str | None, kind: GateKind | None, pending: bool | None, limit: int
    ) -> list[Gate]:
        return self._all(self._client.gates(owner=owner, waiter=waiter, kind=kind, pending=pending, limit=limit))

    def resolve_gate(self, id: str, *, by: str | None, reason: str) -> Gate:
        return self._run(self._client.resolve_gate(id, by=by, reason=reason))

    def withdraw_gate(self, id: str, *, by: str | None, reason: str) -> Gate:
        return self._run(self._client.withdraw_gate(id, by=by, reason=reason))

    def add_waiter(self, id: str, name: str, *, by: str | None) -> Gate:
        return self._run(self._client.add_waiter(id, name, by=by))

    def end_due(self) -> None:
        pass

    def ask(self, question: Question, *, by: str | None) -> Decision:
        return self._run(self._client.ask(question, by=by))

    def decision(self, id: str) -> Decision:
        return self._run(self._client.decision(id))

    def decisions(
        self,
        *,
        asker: str | None,
        asked: str | None,
        session: str | None,
        pending: bool | None,
        since: Instant | None,
        limit: int,
    ) -> list[Decision]:
        found = self._client.decisions(
            asker=asker, asked=asked, session=session, pending=pending, since=since, limit=limit
        )
        return self._all(found)

    def answer(self, id: str, reply: Reply, *, by: str | None) -> Decision:
        return self._run(self._client.answer(id, reply, by=by))

    def revise(self, id: str, question: Question, *, by: str | None) -> Decision:
        return self._run(self._client.revise(id, question, by=by))

    def withdraw_decision(self, id: str, *, by: str | None, reason: str) -> Decision:
        return self._run(self._client.withdraw_decision(id, by=by, reason=reason))

    def create_key(self, *, agent: str | None, trigger: str | None, public: bool, name: str) -> tuple[Key, str]:
        made = self._run(self._client.create_key(agent=agent, trigger=trigger, public=public, name=name))
        return made.key, made.secret

    def keys(self, *, limit: int) -> list[Key]:
        return self._all(self._client.keys(limit=limit))

    def revoke_key(self, id: str) -> Key:
        return self._run(self._client.revoke_key(id))

    def add_trigger(self, wish: NewTrigger) -> Trigger:
        return self._run(
            self._client.add_trigger(
                wish.name,
                scheme=wish.scheme,
                secret=wish.secret,
                target=wish.target,
                prompt=wish.prompt,
                owner=wish.owner,
            )
        )

    def triggers(self, *, limit: int) -> list[Trigger]:
        return self._all(self._client.triggers(limit=limit))

    def trigger(self, name: str) -> Trigger:
        return self._run(self._client.show_trigger(name))

    def activate_trigger(self, name: str, *, active: bool) -> Trigger:
        return self._run(self._client.activate_trigger(name, active))

    def delete_trigger(self, name: str) -> None:
        self._run(self._client.delete_trigger(name))

    def _all(self, found: AsyncIterator[T]) -> list[T]:
        async def read() -> list[T]:
            return [each async for each in found]

        return self._run(read())

    def _each(self, stream: AsyncGenerator[T]) -> Iterator[T]:
        """What a stream brings, as it comes, until somebody interrupts."""
        stop = asyncio.Event()

        async def following() -> T:
            return await anext(stream)

        async def brought() -> list[T]:
            """The next one; nothing when it was interrupted."""
            coming, stopping = asyncio.create_task(following()), asyncio.create_task(stop.wait())
            await asyncio.wait([coming, stopping], return_when=asyncio.FIRST_COMPLETED)
            stopping.cancel()
            if coming.done():
                return [coming.result()]
            coming.cancel()
            await asyncio.wait([coming])
            return []

        with _noticed(self._loop, stop):
            try:
                while found := self._run(brought()):
                    yield from found
            finally:
                self._run(stream.aclose())
        raise KeyboardInterrupt


@contextmanager
def _noticed(loop: asyncio.AbstractEventLoop, stop: asyncio.Event) -> Iterator[None]:
    """
    While entered, an interrupt sets `stop` instead of being raised wherever we are, which may be between two steps of
    asyncio, where nobody would clear up. A second one is raised.
    """
    noticed = False

    def notice(number: int, frame: FrameType | None) -> None:
        nonlocal noticed
        if noticed:
            signal.default_int_handler(number, frame)
        noticed = True
        loop.call_soon_threadsafe(stop.set)

    before = signal.signal(signal.SIGINT, notice)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _once(ready: Ready) -> Ready:
    """Called for the first time only: a stream that stands again has missed nothing."""
    called = False

    def first() -> None:
        nonlocal called
        if not called:
            called = True
            ready()

    return first
