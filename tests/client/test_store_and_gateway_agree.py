"""
Whatever gate is wished for, whatever is asked and answered: through a gateway the same comes of it as on the store, a
gate, a decision or an error, word for word. `test_clients_agree.py` sends every operation; this test sends few of them,
with texts, names and times that are often wrong.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, TypeVar, cast

import pytest
from hypothesis import event, given, strategies as st
from msgspec import to_builtins
from msgspec.structs import replace

from gatepost.app import open_store, register_administrator
from gatepost.client import LocalClient, SyncClient
from gatepost.core.times import MAX_INSTANT, SECOND, format_rfc3339
from gatepost.errors import GatepostError, Late
from gatepost.gates.decision_api import AnswerDecision, AskDecision, DecisionView, OptionSpec, ReviseDecision
from gatepost.gates.gate import AtDeadline, FailMode, GateKind
from gatepost.gates.gate_api import AddGate, GateView, ResolveGate
from gatepost.inbox.event_api import RefSpec
from gatepost.operations.operation import Request
from tests.support import texts as harmful
from tests.support.gateways.local_gateways import create_entities, serve_gateway

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
durations = st.builds("{}{}".format, st.integers(1, 999), st.sampled_from(("h", "d")))
instants = st.integers(0, MAX_INSTANT // SECOND).map(lambda seconds: format_rfc3339(seconds * SECOND))
ids = st.sampled_from(("ship", "wait", "a.b-c_1"))


@st.composite
def draw_variation(draw: st.DrawFn, valid: T, fields: dict[str, st.SearchStrategy[Any]]) -> T:
    """Something good of which up to three fields are anything."""
    chosen_fields = draw(st.lists(st.sampled_from(sorted(fields)), max_size=3, unique=True))
    return cast("T", replace(cast("Any", valid), **{name: draw(fields[name]) for name in chosen_fields}))


gate_requests = draw_variation(
    AddGate(name="Sign-off", owner="analyst", awaits="husam"),
    {
        "name": texts,
        "kind": st.sampled_from(GateKind),
        "owner": st.none() | names,
        "made_by": people,
        "awaits": st.none() | st.sampled_from(("mail", "service:jira", "run:1", "pr:2@a/b", "true")) | texts,
        "instruction": texts,
        "waiters": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "deadline": st.none() | instants | texts,
        "within": st.none() | durations | texts,
        "at_deadline": st.sampled_from(AtDeadline),
        "fail": st.sampled_from(FailMode),
    },
)
options = st.builds(OptionSpec, id=ids | texts, label=texts.map("x{}".format) | texts, description=texts)
questions = draw_variation(
    AskDecision(
        question="Ship it?",
        options=(OptionSpec(id="ship", label="Ship it"), OptionSpec(id="wait", label="Wait")),
        free_text=True,
        of=("husam", "designer"),
        within="1d",
    ),
    {
        "question": texts,
        "options": st.lists(options, max_size=4).map(tuple),
        "free_text": st.booleans(),
        "of": st.lists(people, max_size=3).map(tuple) | st.lists(names, max_size=2).map(tuple),
        "urgency": st.integers(-1, 5) | texts,
        "default": st.none() | ids | texts,
        "deadline": st.none() | instants | texts,
        "within": st.none() | durations | texts,
        "context": st.none() | texts,
        "ref": st.none() | st.builds(RefSpec, type=texts, id=texts),
        "session": st.none() | texts,
    },
)
answers = draw_variation(
    AnswerDecision(id="", option="ship"),
    {
        "option": st.none() | ids | texts,
        "text": st.none() | texts,
        "again": st.booleans(),
        "reject": st.booleans(),
        "context_hash": st.none() | texts,
        "by": people,
    },
)


class StoreAndGateway:
    """A store, and a gateway on another one that has the same in it."""

    def __init__(self, local: LocalClient, remote: SyncClient) -> None:
        self._clients = (local, remote)

    def assert_same(self, *requests: Request[Any]) -> tuple[Any, Any]:
        """Send a request to both, or to each its own; return the outcomes, which are the same."""
        local_request, remote_request = requests * 2 if len(requests) == 1 else requests
        local, remote = self._clients
        outcomes = _send(local, local_request), _send(remote, remote_request)
        assert _make_comparable(outcomes[0]) == _make_comparable(outcomes[1])
        return outcomes


def _send(client: LocalClient | SyncClient, request: Request[Any]) -> Any:
    try:
        return client.send(request)
    except GatepostError as error:
        return error


def _make_comparable(outcome: Any) -> Any:
    """What can be compared of an outcome."""
    match outcome:
        case GateView() | DecisionView():
            return _normalize(to_builtins(outcome))
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
        case list() | tuple():
            return [_normalize(item) for item in value]
        case str():
            return ID_PATTERN.sub(r"\1_", value)
        case _:
            return value


@pytest.fixture(scope="module")
def store_and_gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StoreAndGateway]:
    folder = tmp_path_factory.mktemp("alike")
    store = open_store(f"sqlite:///{folder}/alone.db")
    with serve_gateway(f"sqlite:///{folder}/office.db") as gateway:
        store.migrate()
        register_administrator(store)
        for target in (store, gateway.gateway.store):
            create_entities(target)
        with SyncClient(gateway.base_url, key=gateway.gateway.admin_key) as remote:
            yield StoreAndGateway(LocalClient(store), remote)
    store.close()


@given(request=gate_requests, resolver=people, reason=texts)
def test_gates(store_and_gateway: StoreAndGateway, request: AddGate, resolver: str, reason: str) -> None:
    gates = store_and_gateway.assert_same(request)
    event(type(gates[0]).__name__)
    if not isinstance(gates[0], GateView):
        return
    for _ in range(2):  # the second is late
        store_and_gateway.assert_same(*(ResolveGate(id=gate.id, by=resolver, reason=reason) for gate in gates))


@given(question=questions, asker=people, replies=st.lists(answers, min_size=1, max_size=3))
def test_decisions(
    store_and_gateway: StoreAndGateway, question: AskDecision, asker: str, replies: list[AnswerDecision]
) -> None:
    question = replace(question, asker=asker)
    decisions = store_and_gateway.assert_same(question)
    event(type(decisions[0]).__name__)
    if not isinstance(decisions[0], DecisionView):
        return
    for reply in replies:
        store_and_gateway.assert_same(*(replace(reply, id=decision.id) for decision in decisions))
    fields = {name: getattr(question, name) for name in ReviseDecision.__struct_fields__ if name != "id"}
    store_and_gateway.assert_same(*(ReviseDecision(id=decision.id, **fields) for decision in decisions))
