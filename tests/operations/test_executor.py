"""Operations on a store in this process, on a thread and in an event loop, with the same checks as over HTTP."""

import asyncio
import math
from collections.abc import Callable
from typing import Any, Protocol, TypeVar

import msgspec
import pytest

from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.directory.key_api import CreateKey
from gatepost.errors import Invalid, Refused, Reused, Unavailable, UnknownAddress
from gatepost.executor import AsyncExecutor, LocalExecutor
from gatepost.inbox.item_api import ListInbox
from gatepost.inbox.push.api import PushEvent, PushEvents, TriggerAgent
from gatepost.operations.access import ADMINISTRATOR, Caller, CallerKind
from gatepost.operations.operation import Request
from gatepost.residents.runs.api import ReplayRun
from gatepost.spaces.api import CreateSpace, ListSpaces, PostMessage
from gatepost.testing import Kit

R = TypeVar("R")


class Executor(Protocol):
    def send(self, request: Request[R], *, key: str | None = None) -> R: ...


class LoopExecutor:
    """Sends one request at a time in an event loop of its own."""

    def __init__(self, kit: Kit, caller: Caller) -> None:
        self._executor = AsyncExecutor(kit.store, caller)

    def send(self, request: Request[R], *, key: str | None = None) -> R:
        return asyncio.run(self._executor.send(request, key=key))


@pytest.fixture(params=["thread", "loop"])
def create_executor(request: pytest.FixtureRequest, kit: Kit) -> Callable[[Caller], Executor]:
    kit.store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
    kit.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT, aliases=["bead-42"]))
    kit.store.run_sync(directory.register, EntitySpec(name="designer", kind=EntityKind.AGENT))
    if request.param == "thread":
        return lambda caller: LocalExecutor(kit.store, caller)
    return lambda caller: LoopExecutor(kit, caller)


@pytest.fixture
def admin(create_executor: Callable[[Caller], Executor]) -> Executor:
    return create_executor(ADMINISTRATOR)


@pytest.fixture
def analyst(create_executor: Callable[[Caller], Executor]) -> Executor:
    return create_executor(Caller(CallerKind.ENTITY, "analyst"))


def test_a_request_is_answered_with_its_model(admin: Executor) -> None:
    space = admin.send(CreateSpace(name="Q4 report", members=("analyst",)))
    message = admin.send(PostMessage(id=space.id, content="hello", sender="analyst"))
    assert (message.space, message.seq, message.sender) == ("q4-report", 1, "analyst")


def test_an_entity_acts_as_itself(admin: Executor, analyst: Executor) -> None:
    admin.send(CreateSpace(name="Q4 report", members=("analyst",)))
    assert analyst.send(PostMessage(id="q4-report", content="hello")).sender == "analyst"
    assert [space.id for space in analyst.send(ListSpaces()).items] == ["q4-report"]
    with pytest.raises(Refused, match="this credential is 'analyst' and cannot act as 'designer'"):
        analyst.send(PostMessage(id="q4-report", content="hello", sender="designer"))


def test_a_name_in_the_path_may_be_an_alias(admin: Executor, analyst: Executor) -> None:
    admin.send(PushEvent(to="analyst", content="hello"))
    for executor in (admin, analyst):
        [item] = executor.send(ListInbox(name="bead-42")).items
        assert item.recipient == "analyst"


@pytest.mark.parametrize("name", ["designer", "nobody-here"])
def test_other_names_are_refused_alike(analyst: Executor, name: str) -> None:
    with pytest.raises(Refused, match=f"this credential is 'analyst' and cannot act as '{name}'"):
        analyst.send(ListInbox(name=name))


def test_the_administrator_is_told_that_a_name_is_unknown(admin: Executor) -> None:
    with pytest.raises(UnknownAddress):
        admin.send(ListInbox(name="nobody-here"))


def test_a_wrong_member_of_a_batch_does_not_spoil_the_others(admin: Executor) -> None:
    pushes: list[Any] = [{"to": "analyst"}, {"to": 5}, {"to": "nobody-here"}]
    outcomes = admin.send(PushEvents(pushes=tuple(msgspec.Raw(msgspec.json.encode(push)) for push in pushes))).items
    assert [outcome.status for outcome in outcomes] == [201, 422, 404]


def test_a_trigger_key_triggers_its_agent(create_executor: Callable[[Caller], Executor]) -> None:
    executor = create_executor(Caller(CallerKind.TRIGGER, "analyst"))
    assert not executor.send(TriggerAgent(name="analyst", service_name="jira")).duplicate
    with pytest.raises(Refused, match="this key can only trigger 'analyst'"):
        executor.send(TriggerAgent(name="designer", service_name="jira"))
    with pytest.raises(Refused, match="this key can only trigger 'analyst'"):
        executor.send(ListSpaces())


@pytest.mark.parametrize(
    "request_",
    [
        PushEvent(to=5),  # type: ignore[arg-type]
        PushEvent(to="analyst", data={"size": math.nan}),
        PushEvent(to="analyst", data=[1, (math.inf,)]),
        ListInbox(name="analyst", limit=0),
        CreateKey(agent=""),
        CreateKey(trigger=""),
    ],
)
def test_a_struct_checks_nothing_so_the_executor_does(admin: Executor, request_: Any) -> None:
    with pytest.raises(Invalid):
        admin.send(request_)
    assert admin.send(ListInbox(name="analyst")).items == []


def test_a_repeat_with_the_same_key_gets_the_first_answer(kit: Kit, admin: Executor) -> None:
    admin.send(CreateSpace(name="Q4 report", members=("analyst",)))
    post = PostMessage(id="q4-report", content="hello", sender="analyst")
    first = admin.send(post, key="k-1")
    kit.clock.advance("1s")
    assert admin.send(post, key="k-1") == first
    assert admin.send(post, key="k-2").seq == 2
    with pytest.raises(Reused, match="the idempotency key 'k-1' was used for another request"):
        admin.send(PostMessage(id="q4-report", content="goodbye", sender="analyst"), key="k-1")


def test_keys_belong_to_their_caller_and_operation(admin: Executor, analyst: Executor) -> None:
    for space in ("one", "two"):
        admin.send(CreateSpace(name=space, members=("analyst",)))
    for executor in (admin, analyst):
        for space in ("one", "two"):
            executor.send(PostMessage(id=space, content="hello", sender="analyst"), key="k-1")
    assert [space.last_seq for space in admin.send(ListSpaces()).items] == [2, 2]


def test_the_key_of_a_push_is_its_dedup_key(admin: Executor) -> None:
    results = [admin.send(PushEvent(to="analyst", content="hello"), key="k-1") for _ in range(2)]
    assert [delivery.duplicate for result in results for delivery in result.recipients] == [False, True]


@pytest.mark.parametrize("key", ["", " k", "k" * 256, "é", "a\nb"])
def test_a_wrong_key_is_refused(admin: Executor, key: str) -> None:
    with pytest.raises(Invalid, match="is not an idempotency key"):
        admin.send(PushEvent(to="analyst"), key=key)


def test_a_request_that_takes_no_key_refuses_one(admin: Executor) -> None:
    with pytest.raises(Invalid, match="ListSpaces takes no idempotency key"):
        admin.send(ListSpaces(), key="k-1")


def test_some_operations_need_a_gateway(admin: Executor) -> None:
    with pytest.raises(
        Unavailable, match="ReplayRun needs a gateway, and cannot be done on the store alone"
    ) as refusal:
        admin.send(ReplayRun(id="run_1", model="demo"))
    assert refusal.value.hint == "start one with `gatepost up`, and send the request with Client or SyncClient"


async def test_callers_of_one_loop_share_commits(kit: Kit) -> None:
    kit.store.run_sync(directory.register, EntitySpec(name="analyst", kind=EntityKind.AGENT))
    executor, commit_count = AsyncExecutor(kit.store), kit.store.commit_count
    await asyncio.gather(*(executor.send(PushEvent(to="analyst", content=str(number))) for number in range(50)))
    assert len((await executor.send(ListInbox(name="analyst"))).items) == 50
    assert kit.store.commit_count - commit_count < 25
