"""
Whatever gate is wished for, whatever is asked and answered: through a gateway the same comes of it as on the store, a
gate, a decision or an error, word for word.
"""

import asyncio
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any, Final, TypeVar, cast

import pytest
from hypothesis import event, given
from hypothesis import strategies as st
from msgspec.structs import replace

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
from tests.gateways import create_entities, serve_gateway
from tests.property import texts as harmful

#: what each store has for itself, and when it happened
ID_PATTERN: Final = re.compile(r"(dec|gate)_[0-9a-f]{32}")
TIME_FIELDS: Final = ("createdAt", "deadline", "at")


T = TypeVar("T")


def _can_be_sent(text: str) -> bool:
    """Half of a surrogate pair is no JSON; commands refuse it before."""
    return not any("\ud800" <= letter <= "\udfff" for letter in text)


texts = harmful.texts.map(lambda text: "".join(filter(_can_be_sent, text)))
people = st.sampled_from(("analyst", "husam", "designer", "admin"))
names = people | st.sampled_from(("nobody", "team:web", "*", "")) | texts
durations = st.builds(
    lambda number, unit: parse_duration(f"{number}{unit}"), st.integers(1, 999), st.sampled_from(("h", "d"))
)
instants = st.integers(0, MAX_INSTANT // SECOND).map(lambda seconds: seconds * SECOND)
ids = st.sampled_from(("ship", "wait", "a.b-c_1"))


@st.composite
def draw_variation(draw: st.DrawFn, valid: T, fields: dict[str, st.SearchStrategy[Any]]) -> T:
    """Something good of which up to three fields are anything."""
    chosen_fields = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    return cast("T", replace(cast("Any", valid), **{name: draw(fields[name]) for name in chosen_fields}))


gate_specs = draw_variation(
    GateSpec(name="Sign-off", owner="analyst", awaits="husam"),
    {
        "name": texts,
        "kind": st.sampled_from(GateKind),
        "owner": st.none() | names,
        "awaits": st.none() | st.sampled_from(("mail", "service:jira", "run:1", "pr:2@a/b", "true")) | texts,
        "instruction": texts,
        "waiters": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "deadline": st.none() | instants,
        "within": st.none() | durations,
        "at_deadline": st.sampled_from(AtDeadline),
        "fail": st.sampled_from(FailMode),
    },
)
options = st.builds(Option, id=ids | texts, label=texts.map("x{}".format) | texts, description=texts)
questions = draw_variation(
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
        "respondents": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "urgency": st.sampled_from(Priority),
        "default": st.none() | ids | texts,
        "deadline": st.none() | instants,
        "within": st.none() | durations,
        "context": st.none() | texts,
        "ref": st.none() | st.builds(Ref, texts, texts),
        "session": st.none() | texts,
    },
)
replies = draw_variation(
    AnswerSpec(option="ship"),
    {
        "option": st.none() | ids | texts,
        "text": st.none() | texts,
        "again": st.booleans(),
        "reject": st.booleans(),
        "context_hash": st.none() | texts,
    },
)


class StoreAndGateway:
    """A store, and a gateway on another one that has the same in it."""

    def __init__(self, store: Store, client: Client, runner: asyncio.Runner) -> None:
        self._store = store
        self._client = client
        self._run = runner.run

    def assert_same(self, on_store: Callable[[Store], Any], on_client: Callable[[Client], Any]) -> tuple[Any, Any]:
        """Do something in both; return what came of it, which is the same."""
        store_outcome, client_outcome = (
            _run_action(lambda: on_store(self._store)),
            _run_action(lambda: self._run(on_client(self._client))),
        )
        assert _make_comparable(store_outcome) == _make_comparable(client_outcome)
        return store_outcome, client_outcome


def _run_action(action: Callable[[], Any]) -> Any:
    try:
        return action()
    except GatepostError as error:
        return error


def _make_comparable(outcome: Any) -> Any:
    """What can be compared of an outcome."""
    match outcome:
        case Gate():
            return _normalize(wire.write_gate(outcome, outcome.created_at))
        case Decision():
            return _normalize(wire.write_decision(outcome, outcome.created_at))
        case Late(winner=winner):
            return Late, _normalize(outcome.message), _normalize(winner)
        case GatepostError():
            return type(outcome), _normalize(outcome.message), outcome.hint
        case _:
            raise AssertionError(outcome)


def _normalize(value: Any) -> Any:
    match value:
        case dict():
            return {name: item is None if name in TIME_FIELDS else _normalize(item) for name, item in value.items()}
        case list():
            return [_normalize(item) for item in value]
        case str():
            return ID_PATTERN.sub(r"\1_", value)
        case _:
            return value


@pytest.fixture(scope="module")
def store_and_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreAndGateway]:
    folder = tmp_path_factory.mktemp("alike")
    store = open_store(f"sqlite:///{folder}/alone.db")
    with serve_gateway(f"sqlite:///{folder}/office.db") as gateway, asyncio.Runner() as runner:
        store.migrate()
        register_administrator(store)
        for target in (store, gateway.gateway.store):
            create_entities(target)
        client = Client(gateway.base_url, key=gateway.gateway.admin_key)
        yield StoreAndGateway(store, client, runner)
        runner.run(client.__aexit__(None, None, None))
    store.close()


@given(spec=gate_specs, by=people, resolver=people, reason=texts)
def test_gates(store_and_gateway: StoreAndGateway, spec: GateSpec, by: str, resolver: str, reason: str) -> None:
    outcomes = store_and_gateway.assert_same(
        lambda store: store.call(gates.add, spec, by=by), lambda client: client.add_gate(spec, by=by)
    )
    event(type(outcomes[0]).__name__)
    if not isinstance(outcomes[0], Gate):
        return
    for _ in range(2):  # the second is late
        store_and_gateway.assert_same(
            lambda store: store.call(gates.resolve, outcomes[0].id, by=resolver, reason=reason),
            lambda client: client.resolve_gate(outcomes[1].id, by=resolver, reason=reason),
        )


@given(question=questions, by=people, answers=st.lists(st.tuples(replies, people), min_size=1, max_size=3))
def test_decisions(
    store_and_gateway: StoreAndGateway, question: Question, by: str, answers: list[tuple[AnswerSpec, str]]
) -> None:
    outcomes = store_and_gateway.assert_same(
        lambda store: store.call(decisions.ask, question, by=by), lambda client: client.ask(question, by=by)
    )
    event(type(outcomes[0]).__name__)
    if not isinstance(outcomes[0], Decision):
        return
    for reply, responder in answers:
        store_and_gateway.assert_same(
            partial(_answer_in_store, outcomes[0].id, reply, responder),
            partial(_answer_by_client, outcomes[1].id, reply, responder),
        )
    store_and_gateway.assert_same(
        lambda store: store.call(decisions.revise, outcomes[0].id, question, by=by),
        lambda client: client.revise(outcomes[1].id, question, by=by),
    )


def _answer_in_store(id: str, reply: AnswerSpec, by: str, store: Store) -> Decision:
    return store.call(decisions.answer, id, reply, by=by)


async def _answer_by_client(id: str, reply: AnswerSpec, by: str, client: Client) -> Decision:
    return await client.answer(id, reply, by=by)
