"""
Whatever gate is wished for, whatever is asked and answered: through a gateway the same comes of it as on the store, a
gate, a decision or an error, word for word.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any, Final, TypeVar, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st

from gatepost.actions import decisions, gates
from gatepost.app import open_store, register_administrator
from gatepost.client import Client
from gatepost.core import wire
from gatepost.core.decision import AnswerSpec, Decision, Option, Question
from gatepost.core.event import Priority, Ref
from gatepost.core.gate import AtDeadline, FailMode, Gate, GateKind, GateSpec
from gatepost.core.times import DAY, MAX_INSTANT, SECOND, parse_duration
from gatepost.errors import GatepostError, Late
from gatepost.ports import Store
from tests.gateways import furnish, served
from tests.property import texts as harmful

#: what each store has for itself, and when it happened
OWN: Final = re.compile(r"(dec|gate)_[0-9a-f]{32}")
THEN: Final = ("createdAt", "deadline", "at")


T = TypeVar("T")


def _can_be_sent(text: str) -> bool:
    """Half of a surrogate pair is no JSON; commands refuse it before."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


texts = harmful.texts.map(lambda text: "".join(filter(_can_be_sent, text)))
people = st.sampled_from(("analyst", "husam", "designer", "admin"))
names = people | st.sampled_from(("nobody", "team:web", "*", "")) | texts
lengths = st.builds(
    lambda number, unit: parse_duration(f"{number}{unit}"), st.integers(1, 999), st.sampled_from(("h", "d"))
)
instants = st.integers(0, MAX_INSTANT // SECOND).map(lambda seconds: seconds * SECOND)
ids = st.sampled_from(("ship", "wait", "a.b-c_1"))


@st.composite
def odd(draw: st.DrawFn, good: T, fields: dict[str, st.SearchStrategy[Any]]) -> T:
    """Something good of which up to three fields are anything."""
    chosen = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    return cast("T", replace(cast("Any", good), **{name: draw(fields[name]) for name in chosen}))


wishes = odd(
    GateSpec(name="Sign-off", owner="analyst", awaits="husam"),
    {
        "name": texts,
        "kind": st.sampled_from(GateKind),
        "owner": st.none() | names,
        "awaits": st.none() | st.sampled_from(("mail", "service:jira", "run:1", "pr:2@a/b", "true")) | texts,
        "instruction": texts,
        "waiters": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "deadline": st.none() | instants,
        "within": st.none() | lengths,
        "at_deadline": st.sampled_from(AtDeadline),
        "fail": st.sampled_from(FailMode),
    },
)
options = st.builds(Option, id=ids | texts, label=texts.map("x{}".format) | texts, description=texts)
questions = odd(
    Question(
        question="Ship it?",
        options=(Option(id="ship", label="Ship it"), Option(id="wait", label="Wait")),
        free_text=True,
        respondents=("husam", "designer"),
        within=DAY,
    ),
    {
        "question": texts,
        "options": st.lists(options, max_size=4).map(tuple),
        "free_text": st.booleans(),
        "of": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "urgency": st.sampled_from(Priority),
        "default": st.none() | ids | texts,
        "deadline": st.none() | instants,
        "within": st.none() | lengths,
        "context": st.none() | texts,
        "ref": st.none() | st.builds(Ref, texts, texts),
        "session": st.none() | texts,
    },
)
replies = odd(
    AnswerSpec(option="ship"),
    {
        "option": st.none() | ids | texts,
        "text": st.none() | texts,
        "again": st.booleans(),
        "reject": st.booleans(),
        "context_hash": st.none() | texts,
    },
)


class Both:
    """A store, and a gateway on another one that has the same in it."""

    def __init__(self, store: Store, client: Client, runner: asyncio.Runner) -> None:
        self._store = store
        self._client = client
        self._run = runner.run

    def alike(self, here: Callable[[Store], Any], there: Callable[[Client], Any]) -> tuple[Any, Any]:
        """Do something in both; return what came of it, which is the same."""
        near, far = _outcome(lambda: here(self._store)), _outcome(lambda: self._run(there(self._client)))
        assert _told(near) == _told(far)
        return near, far


def _outcome(act: Callable[[], Any]) -> Any:
    try:
        return act()
    except GatepostError as error:
        return error


def _told(outcome: Any) -> Any:
    """What can be compared of an outcome."""
    match outcome:
        case Gate():
            return _plain(wire.write_gate(outcome, outcome.created_at))
        case Decision():
            return _plain(wire.write_decision(outcome, outcome.created_at))
        case Late(winner=winner):
            return Late, _plain(outcome.message), _plain(winner)
        case GatepostError():
            return type(outcome), _plain(outcome.message), outcome.hint
        case _:
            raise AssertionError(outcome)


def _plain(value: Any) -> Any:
    match value:
        case dict():
            return {name: each is None if name in THEN else _plain(each) for name, each in value.items()}
        case list():
            return [_plain(each) for each in value]
        case str():
            return OWN.sub(r"\1_", value)
        case _:
            return value


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    folder = tmp_path_factory.mktemp("alike")
    store = open_store(f"sqlite:///{folder}/alone.db")
    with served(f"sqlite:///{folder}/office.db") as gateway, asyncio.Runner() as runner:
        store.migrate()
        register_administrator(store)
        for each in (store, gateway.gateway.store):
            furnish(each)
        client = Client(gateway.base, key=gateway.gateway.admin)
        yield Both(store, client, runner)
        runner.run(client.__aexit__(None, None, None))
    store.close()


@given(wish=wishes, by=people, ending=people, reason=texts)
def test_gates(both: Both, wish: GateSpec, by: str, ending: str, reason: str) -> None:
    made = both.alike(lambda store: store.call(gates.add, wish, by=by), lambda client: client.add_gate(wish, by=by))
    event(type(made[0]).__name__)
    if not isinstance(made[0], Gate):
        return
    for _ in range(2):  # the second is late
        both.alike(
            lambda store: store.call(gates.resolve, made[0].id, by=ending, reason=reason),
            lambda client: client.resolve_gate(made[1].id, by=ending, reason=reason),
        )


@given(question=questions, by=people, answers=st.lists(st.tuples(replies, people), min_size=1, max_size=3))
def test_decisions(both: Both, question: Question, by: str, answers: list[tuple[AnswerSpec, str]]) -> None:
    asked = both.alike(
        lambda store: store.call(decisions.ask, question, by=by), lambda client: client.ask(question, by=by)
    )
    event(type(asked[0]).__name__)
    if not isinstance(asked[0], Decision):
        return
    for reply, who in answers:
        both.alike(
            partial(_answered_here, asked[0].id, reply, who),
            partial(_answered_there, asked[1].id, reply, who),
        )
    both.alike(
        lambda store: store.call(decisions.revise, asked[0].id, question, by=by),
        lambda client: client.revise(asked[1].id, question, by=by),
    )


def _answered_here(id: str, reply: AnswerSpec, by: str, store: Store) -> Decision:
    return store.call(decisions.answer, id, reply, by=by)


async def _answered_there(id: str, reply: AnswerSpec, by: str, client: Client) -> Decision:
    return await client.answer(id, reply, by=by)
