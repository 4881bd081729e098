"""The verbs, done here: on the store, without a gateway."""

import asyncio
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any, Final, Unpack, cast

from gatepost import app
from gatepost.actions import (
    agents,
    decisions,
    directory,
    endings,
    feed,
    gates,
    inbox,
    intake,
    journal,
    keys,
    plans,
    sessions,
    spaces,
    triggers,
    upkeep,
)
from gatepost.actions.directory import Changes, Newcomer
from gatepost.actions.endings import Looked
from gatepost.actions.inbox import Wanted
from gatepost.actions.triggers import NewTrigger
from gatepost.cli import output
from gatepost.cli.verbs import Ready
from gatepost.core import config as config_rules
from gatepost.core import plan as plan_rules
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
from gatepost.core.key import Kind as KeyKind
from gatepost.core.plan import Plan, Status
from gatepost.core.ring import Ring
from gatepost.core.run import Run
from gatepost.core.run import Status as RunStatus
from gatepost.core.space import Member, Message, Space
from gatepost.core.trigger import Trigger
from gatepost.core.wire import Document
from gatepost.errors import GatepostError
from gatepost.ports.bell import Bell
from gatepost.ports.store import Reader, Store
from gatepost.runtime import drain, keyring
from gatepost.settings import Configuration

#: seconds between two looks of whoever watches
_PAUSE: Final = 1.0
_PAGE: Final = 200


@contextmanager
def opened(configuration: Configuration) -> Iterator["Near"]:
    """The store that is set, made if there is none. Processes on this machine hear what is done with it."""
    bell = _bell(configuration)
    with app.opened(configuration, bell=bell, tell=output.talk) as store:
        yield Near(store, bell)


def _bell(configuration: Configuration) -> Bell:
    """
    Doorbells need no connection, so a command of a moment can ring them; whoever hears by other ways, looks. Guests of
    this machine find what is for them in their spools, but for the one in whose session this command was given.
    """
    carrier = app.configured_carrier(configuration, own=os.environ.get("CLAUDE_CODE_SESSION_ID"))
    if not configuration.settings.transport.startswith("socket:"):
        return carrier
    transport = app.configured_transport(configuration)

    def ring(rings: Sequence[Ring]) -> None:
        transport.send(rings)
        carrier(rings)

    return ring


class Near:
    def __init__(self, store: Store, bell: Bell) -> None:
        self._store = store
        self._bell = bell
        #: how far `end_due` has looked for events
        self._looked: Looked | None = None

    def now(self) -> Instant:
        return self._store.look(lambda reader: reader.now)

    def push(self, wish: Push) -> Pushed:
        return self._store.call(intake.push, wish)

    def page(self, name: str | None, *, limit: int, **wanted: Unpack[Wanted]) -> list[Item]:
        return self._store.look(inbox.page, name, limit=limit, **wanted)

    def peek(self, name: str, *, limit: int) -> list[Item]:
        return self._store.look(inbox.peek, name, limit=limit)

    def show(self, event: str) -> list[Item]:
        return self._store.look(inbox.show, event)

    def drain(self, name: str, *, owner: str, write: Callable[[Taken], None], cap: int, budget: int) -> Taken:
        batch = drain.drain(
            self._store, name, owner=owner, write=lambda taken: write(Taken.of(taken)), cap=cap, budget=budget
        )
        drain.sweep(self._store)
        return Taken.of(batch)

    def replay(self, event: str, name: str | None) -> list[Item]:
        return self._store.call(inbox.replay, event, name)

    def discard(self, event: str, name: str | None) -> list[Item]:
        return self._store.call(inbox.discard, event, name)

    def done(self, event: str, name: str) -> Item:
        return self._store.call(inbox.done, name, event)

    def watch_inbox(self, name: str, *, ready: Ready) -> Iterator[Item]:
        position = self._store.look(feed.here)
        self._store.look(directory.find, name)
        ready()
        while True:
            page = self._store.look(feed.of_inbox, name, after=position, limit=_PAGE)
            position = page.position
            yield from (item for item, _ in page.entries)
            if len(page.entries) < _PAGE:
                time.sleep(_PAUSE)

    def register(self, newcomer: Newcomer) -> Entity:
        return self._store.call(directory.register, newcomer)

    def session(self, id: str) -> GuestSession:
        return self._store.look(sessions.find, id)

    def entity(self, name: str) -> Entity:
        return self._store.look(directory.show, name)

    def entities(self, kind: Kind, *, team: str | None, retired: bool, limit: int) -> list[Entity]:
        return self._store.look(directory.page, kind=kind, team=team, retired=retired, limit=limit)

    def account(self, name: str) -> Account:
        [account] = self._store.look(upkeep.accounts, name)
        return account

    def retire(self, name: str) -> Entity:
        return self._store.call(directory.retire, name)

    def wake(self, agent: str) -> None:
        self._bell([Ring(self._store.look(directory.find, agent).name, "wake")])

    def agent(self, name: str) -> tuple[Entity, Resident | None]:
        return self._store.look(_agent, name)

    def settle(self, newcomer: Newcomer, config: Mapping[str, Any]) -> None:
        self._store.call(agents.settle, newcomer, config_rules.parse(dict(config)))

    def change_agent(self, name: str, fields: Mapping[str, Any]) -> None:
        known = {"displayName": "display", "team": "team", "role": "role", "owner": "owner"}
        changes = cast("Changes", {known[field]: value for field, value in fields.items() if field in known})
        config = {field: value for field, value in fields.items() if field not in known}
        self._store.call(agents.change, name, changes, config)

    def pause(self, name: str) -> None:
        self._store.call(agents.pause, name)

    def resume(self, name: str) -> None:
        self._store.call(agents.resume, name)

    def runs(self, *, agent: str, status: RunStatus | None, limit: int) -> list[Run]:
        return self._store.look(journal.page, agent=agent, status=status, limit=limit)

    def mind(self, name: str) -> Document:
        found = self._store.look(journal.mind, name)
        return wire.mind(name, found.carried, found.turns, found.tokens)

    def replay_run(self, id: str, model: str) -> Document:
        return asyncio.run(self._replayed(id, model))

    async def _replayed(self, id: str, name: str) -> Document:
        from gatepost.runtime.replay import replay

        choice = config_rules.parse({"model": name}).model
        async with app.means(self._store, lambda _: None) as means:
            model = await means.model(choice)
            told = await replay(self._store, id, model)
        return wire.replayed(id, model.name, original=told.original, replayed=told.replayed, same=told.same)

    def create_space(self, name: str, *, id: str | None, members: Sequence[str]) -> Space:
        return self._store.call(spaces.create, name=name, id=id, members=members)

    def spaces(self, *, member: str | None, limit: int) -> list[Space]:
        return self._store.look(spaces.page, as_=member, limit=limit)

    def space(self, id: str) -> Space:
        return self._store.look(spaces.show, id)

    def members(self, id: str) -> list[Member]:
        return self._store.look(spaces.members, id)

    def join(self, id: str, name: str) -> Member:
        return self._store.call(spaces.join, id, name)

    def leave(self, id: str, name: str) -> None:
        self._store.call(spaces.leave, id, name)

    def post(self, id: str, *, sender: str, content: str) -> Message:
        return self._store.call(spaces.post, id, sender=sender, content=content)

    def read(self, id: str, *, member: str | None, after: int | None, limit: int) -> list[Message]:
        return self._store.look(spaces.read, id, as_=member, after_seq=after, limit=limit)

    def mark_read(self, id: str, *, member: str, seq: int) -> None:
        self._store.call(spaces.mark_read, id, member, seq)

    def watch_space(self, id: str, *, member: str | None, ready: Ready) -> Iterator[Message]:
        last = self._store.look(spaces.show, id, as_=member).last_seq
        ready()
        while True:
            found = self.read(id, member=member, after=last, limit=_PAGE)
            yield from found
            if len(found) < _PAGE:
                time.sleep(_PAUSE)
            last = found[-1].seq if found else last

    def set_plan(self, fields: Mapping[str, str], *, id: str | None, owner: str | None, by: str | None) -> Plan:
        wish = plan_rules.read({**fields, "id": id})
        return self._store.call(plans.set, owner, wish, by=by)

    def plans(self, *, owner: str | None, status: Status | None, limit: int) -> list[Plan]:
        return self._store.look(plans.page, owner, status=status, limit=limit)

    def delete_plan(self, id: str) -> None:
        self._store.call(plans.delete, id)

    def add_gate(self, wish: GateWish, *, by: str | None) -> Gate:
        return self._store.call(gates.add, wish, by=by)

    def gate(self, id: str) -> Gate:
        return self._store.look(gates.show, id)

    def gates(
        self, *, owner: str | None, waiter: str | None, kind: GateKind | None, pending: bool | None, limit: int
    ) -> list[Gate]:
        return self._store.look(gates.page, owner=owner, waiter=waiter, kind=kind, pending=pending, limit=limit)

    def resolve_gate(self, id: str, *, by: str | None, reason: str) -> Gate:
        return self._store.call(gates.resolve, id, by=by, reason=reason)

    def withdraw_gate(self, id: str, *, by: str | None, reason: str) -> Gate:
        return self._store.call(gates.withdraw, id, by=by, reason=reason)

    def add_waiter(self, id: str, name: str, *, by: str | None) -> Gate:
        return self._store.call(gates.add_waiter, id, name, by=by)

    def end_due(self) -> None:
        """Without a gateway somebody has to; what cannot be ended keeps nobody from waiting for something else."""
        with suppress(GatepostError):
            while self._unsettled() and self._store.call(endings.settle, last=self._looked):
                pass

    def _unsettled(self) -> bool:
        due = self._store.look(endings.next_due)
        self._looked = self._store.look(endings.came, self._looked)
        return bool(self._looked.met) or (due is not None and due <= self.now())

    def ask(self, question: Question, *, by: str | None) -> Decision:
        return self._store.call(decisions.ask, question, by=by)

    def decision(self, id: str) -> Decision:
        return self._store.look(decisions.show, id)

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
        return self._store.look(
            decisions.page, asker=asker, asked=asked, session=session, pending=pending, since=since, limit=limit
        )

    def answer(self, id: str, reply: Reply, *, by: str | None) -> Decision:
        return self._store.call(decisions.answer, id, reply, by=by)

    def revise(self, id: str, question: Question, *, by: str | None) -> Decision:
        return self._store.call(decisions.revise, id, question, by=by)

    def withdraw_decision(self, id: str, *, by: str | None, reason: str) -> Decision:
        return self._store.call(decisions.withdraw, id, by=by, reason=reason)

    def create_key(self, *, agent: str | None, trigger: str | None, public: bool, name: str) -> tuple[Key, str]:
        kind: KeyKind = "agent" if agent else "trigger" if trigger else "public" if public else "admin"
        secret = keyring.new_secret(public=public)
        made = self._store.call(keys.create, kind=kind, secret=secret, entity=agent or trigger, name=name)
        return made, secret

    def keys(self, *, limit: int) -> list[Key]:
        return self._store.look(keys.page, limit=limit)

    def revoke_key(self, id: str) -> Key:
        return self._store.call(keys.revoke, id)

    def add_trigger(self, wish: NewTrigger) -> Trigger:
        return self._store.call(triggers.add, wish)

    def triggers(self, *, limit: int) -> list[Trigger]:
        return self._store.look(triggers.page, limit=limit)

    def trigger(self, name: str) -> Trigger:
        return self._store.look(triggers.show, name)

    def activate_trigger(self, name: str, *, active: bool) -> Trigger:
        return self._store.call(triggers.set_active, name, active)

    def delete_trigger(self, name: str) -> None:
        self._store.call(triggers.delete, name)


def _agent(reader: Reader, name: str) -> tuple[Entity, Resident | None]:
    found = agents.of_kind(directory.show(reader, name))
    return found, agents.show(reader, found.name)
