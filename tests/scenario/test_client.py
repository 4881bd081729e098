"""Every verb of the client once, held against what the store says: the same nouns, and the same errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from gatepost import errors
from gatepost.actions import (
    decisions,
    directory,
    gates,
    inbox,
    inbox_items,
    keys,
    maintenance,
    pages,
    plans,
    spaces,
    triggers,
)
from gatepost.client import Client
from gatepost.core import dedup, wire
from gatepost.core.claim import RenderedBatch
from gatepost.core.decision import AnswerSpec, DecisionStatus, Option, Question
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import EventType, Item, ItemState, Priority, Push, PushResult, Ref, Route
from gatepost.core.gate import Ending, FailMode, GateKind, GateSpec
from gatepost.core.plan import PlanStatus
from gatepost.core.times import HOUR
from gatepost.core.webhook import Scheme
from gatepost.errors import GatepostError
from gatepost.handlers import pages as handler_pages
from gatepost.ports import Store, Transaction
from tests.gateways import GatewayThread, create_token

T = TypeVar("T")


@pytest.fixture
def store(gateway_thread: GatewayThread) -> Store:
    return gateway_thread.gateway.store


@pytest.fixture
async def client(gateway_thread: GatewayThread) -> AsyncIterator[Client]:
    async with Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as client:
        yield client


async def collect(results: AsyncIterator[T]) -> list[T]:
    return [result async for result in results]


def hide_arrival(item: Item) -> Item:
    """An item without what is never told of it."""
    return replace(item, event=replace(item.event, arrival=0))


def hide_number(entity: Entity) -> Entity:
    return replace(entity, number=0)


async def test_health(client: Client) -> None:
    assert (await client.health())["status"] == "ok"


async def test_push_and_read(client: Client, store: Store) -> None:
    push = Push(
        to="analyst",
        type=EventType.MAIL,
        source="tests",
        sender="husam",
        subject="Blocked",
        content="line\u2028separator \x85 \U0001f600",
        data={"mailId": "m_3"},
        priority=Priority.HIGH,
        key="mail:1",
        ttl=HOUR,
        ref=Ref("task", "0.0.1"),
        route=Route("telegram", "chat-1"),
        hops=2,
    )
    push_result = await client.push(push)
    [item] = store.query(inbox_items.show, push_result.event)
    assert (item.event.content, item.event.data, item.event.hops) == (push.content, push.data, 2)
    assert (item.event.ref, item.event.route, item.event.key) == (push.ref, push.route, "mail:1")
    assert (item.event.expires_at or 0) - item.event.created_at == HOUR
    assert await client.show(push_result.event) == [hide_arrival(item)]
    assert await client.peek("analyst") == [hide_arrival(item)]
    assert await collect(client.page("analyst", state=ItemState.PENDING, type=EventType.MAIL, sender="husam")) == [
        hide_arrival(item)
    ]
    assert await collect(client.page("analyst", until=item.event.created_at)) == []
    assert [delivery.duplicate for delivery in (await client.push(push)).deliveries] == [True]
    assert await client.account("analyst") == store.query(maintenance.list_accounts, "analyst")[0]


async def test_a_push_without_a_key_is_never_a_repeat(client: Client) -> None:
    push = Push(to="analyst", source="tests", content="again")
    first, second = await client.push(push), await client.push(push)
    assert first.event != second.event
    assert not first.deliveries[0].duplicate
    assert not second.deliveries[0].duplicate


async def test_an_alert_without_a_key_is_known_by_what_it_says(client: Client, store: Store) -> None:
    push = Push(to="analyst", type=EventType.ALERT, source="ci", content="main is red")
    [first], [second] = (push_result.deliveries for push_result in (await client.push(push), await client.push(push)))
    assert (first.duplicate, second.duplicate, second.event) == (False, True, first.event)
    [item] = store.query(inbox.page, "analyst")
    assert item.event.key == dedup.build_alert_key(push)


async def test_push_all(client: Client, store: Store) -> None:
    outcomes = await client.push_all(
        [
            Push(to="analyst", source="tests", content="one"),
            Push(to="analist", source="tests", content="two"),
            Push(to="*", source="tests", content="three"),
            Push(to="analyst", source="tests", key="k", content="four"),
            Push(to="analyst", source="tests", key="k", content="four"),
        ]
    )
    results = [outcome for outcome in outcomes if isinstance(outcome, PushResult)]
    [error] = [outcome for outcome in outcomes if isinstance(outcome, GatepostError)]
    assert isinstance(error, errors.UnknownAddress)
    assert (error.message, error.hint) == ("nobody is called 'analist'", "did you mean 'analyst'?")
    assert [[delivery.duplicate for delivery in outcome.deliveries] for outcome in results] == [
        [False],
        [],
        [False],
        [True],
    ]
    assert results[1].broadcast == 1
    assert [item.event.content for item in store.query(inbox.page, "analyst")] == ["one", "three", "four"]


async def test_all_inboxes_page_by_page(client: Client, store: Store) -> None:
    for number in range(3):
        await client.push(Push(to="*", source="tests", content=str(number)))
    all_items = [hide_arrival(item) for item in store.query(inbox.page)]
    assert len(all_items) == 9
    assert await collect(client.page()) == all_items
    assert await collect(client.page(limit=4)) == all_items[:4]


async def test_claim_ack_release_drain(client: Client, store: Store) -> None:
    events = [(await client.push(Push(to="analyst", source="tests", content=str(number)))).event for number in range(4)]
    batch = await client.claim("analyst", owner="s-1", limit=2, hold=HOUR)
    assert batch.claim is not None
    assert (batch.claim.deadline or 0) - batch.claim.taken_at == HOUR
    assert batch.text.startswith("INBOX (2 events, 2 more waiting, ")
    assert ([item.event.id for item in batch.items], batch.deferred_count) == (events[:2], 2)
    assert await client.release(batch.claim, failed=[events[0]]) == 2
    assert [item.attempts for item in store.query(inbox.page, "analyst")] == [1, 0, 0, 0]

    second_batch = await client.claim("analyst", owner="s-1", limit=1)
    assert second_batch.claim is not None
    assert await client.ack(second_batch.claim) == 1
    with pytest.raises(errors.Conflict, match="was acked already"):
        await client.ack(second_batch.claim)
    drained_batch = await client.drain("analyst", session="s-2", limit=2)
    assert [item.event.id for item in drained_batch.items] == events[1:3]
    assert drained_batch.claim is not None
    last_batch = await client.claim("analyst", owner="s-3")
    assert [item.event.id for item in last_batch.items] == events[3:]
    assert await client.claim("designer", owner="s-1") == RenderedBatch(claim=None, items=(), deferred_count=0, text="")


async def test_seen_replay_discard_done(client: Client, store: Store) -> None:
    event = (await client.push(Push(to="analyst", source="tests", content="hello"))).event
    assert await client.seen("analyst", [event]) == 1
    [discarded_item] = await client.discard(event)
    [stored_item] = store.query(inbox_items.show, event)
    assert (discarded_item.state, discarded_item.ended_at) == (ItemState.DISCARDED, stored_item.ended_at)
    [replayed_item] = await client.replay(event, "analyst")
    assert replayed_item == hide_arrival(store.query(inbox_items.show, event)[0])
    person_event = (await client.push(Push(to="husam", source="tests", content="sign"))).event
    finished_item = await client.done(person_event, "husam")
    assert (finished_item.state, finished_item) == (
        ItemState.DELIVERED,
        hide_arrival(store.query(inbox_items.show, person_event)[0]),
    )


async def test_people(client: Client, store: Store) -> None:
    entity = await client.register(
        "quinn", EntityKind.AGENT, display="Quinn", team="web", role="lead", owner="husam", aliases=["bead-1"]
    )
    assert entity == hide_number(store.query(directory.show, "quinn"))
    assert await client.entity("bead-1") == entity
    changed_entity = await client.change("quinn", display="Q", role=None)
    assert (changed_entity.display, changed_entity.team, changed_entity.role) == ("Q", "web", None)
    assert await collect(client.entities(team="web")) == [changed_entity]
    entities = [hide_number(entity_row) for entity_row in store.query(directory.page)]
    assert await collect(client.entities()) == entities
    assert await collect(client.entities(limit=2)) == entities[:2]
    await client.wake("quinn")
    assert await client.retire("quinn") == hide_number(store.query(directory.show, "quinn"))
    assert await collect(client.entities(kind=EntityKind.AGENT, team="web")) == []
    assert len(await collect(client.entities(team="web", retired=True))) == 1


async def test_spaces(client: Client, store: Store) -> None:
    space = await client.create_space("Side talk", members=["husam", "designer"])
    assert space == replace(store.query(spaces.show, "side-talk"), number=0)
    assert [row.id for row in await collect(client.spaces())] == ["q4-report", "side-talk"]
    assert [row.id for row in await collect(client.spaces(member="designer"))] == ["side-talk"]
    assert await client.space("side-talk") == space
    member = await client.join("side-talk", "developer")
    assert await client.members("side-talk") == store.query(spaces.list_members, "side-talk")
    assert member in await client.members("side-talk")
    messages = [await client.post("side-talk", text, sender="husam", data={"n": 1}) for text in "abc"]
    assert await client.read("side-talk") == messages == store.query(spaces.read, "side-talk")
    assert await client.read("side-talk", after_seq=1, limit=1) == messages[1:2]
    assert await client.read("side-talk", before_seq=2, member="designer") == messages[:1]
    with pytest.raises(errors.Refused, match="not a member"):
        await client.read("side-talk", member="analyst")
    assert (await client.mark_read("side-talk", 2, member="designer")).read_seq == 2
    assert await client.post("side-talk", "d", sender="husam", key="once") == await client.post(
        "side-talk", "d", sender="husam", key="once"
    )
    await client.leave("side-talk", "developer")
    assert [row.name for row in await client.members("side-talk")] == ["husam", "designer"]
    assert (await client.rename_space("side-talk", "Aside")).name == "Aside"
    assert (await client.archive_space("side-talk")).archived_at is not None


async def test_plans(client: Client, store: Store) -> None:
    plan = await client.set_plan(
        owner="analyst", name="Daily", instruction="Report", cron="0 9 * * 1-5", timeZone="Europe/Berlin", catchUp="all"
    )
    assert plan == replace(store.query(plans.show, plan.id), number=0)
    changed_plan = await client.set_plan(id=plan.id, runAfter="5 hours")
    assert (changed_plan.name, changed_plan.cron) == ("Daily", None)
    assert await client.plan(plan.id) == changed_plan
    assert await collect(client.plans(owner="analyst", status=PlanStatus.PENDING)) == [changed_plan]
    await client.delete_plan(plan.id)
    assert await collect(client.plans()) == []


async def test_gates(client: Client, store: Store) -> None:
    spec = GateSpec(
        name="Sign-off", owner="analyst", awaits="husam", waiters=("designer",), within=HOUR, fail=FailMode.CLOSED
    )
    gate = await client.add_gate(spec, by="admin")
    assert gate == replace(store.query(gates.show, gate.id), number=0, hops_at=0)
    assert (gate.deadline or 0) - gate.created_at == HOUR
    timer_spec = GateSpec(name="Later", kind=GateKind.TIMER, owner="analyst", deadline=gate.deadline)
    timer_gate = await client.add_gate(timer_spec)
    assert (timer_gate.deadline, timer_gate.made_by) == (gate.deadline, "admin")
    assert await collect(client.gates(waiter="designer", kind=GateKind.HUMAN, pending=True)) == [gate]
    assert await collect(client.gates(owner="analyst")) == [gate, timer_gate]
    gate_with_waiter = await client.add_waiter(gate.id, "developer", by="analyst")
    assert gate_with_waiter.waiters == ("designer", "developer")
    resolved_gate = await client.resolve_gate(gate.id, by="husam", reason="signed")
    assert resolved_gate == await client.gate(gate.id) == replace(store.query(gates.show, gate.id), number=0, hops_at=0)
    with pytest.raises(errors.Late, match="was resolved already by 'husam': 'signed'") as late_error:
        await client.withdraw_gate(gate.id)
    assert (late_error.value.winner["by"], late_error.value.winner["outcome"]) == ("husam", "resolved")
    withdrawn_gate = await client.withdraw_gate(timer_gate.id, reason="off")
    assert withdrawn_gate.resolution is not None
    assert (withdrawn_gate.resolution.ending, withdrawn_gate.resolution.by) == (Ending.WITHDRAWN, "admin")


async def test_decisions(client: Client, store: Store) -> None:
    question = Question(
        question="Ship it?",
        options=(Option(id="ship", label="Ship it", description="now"), Option(id="wait", label="Wait")),
        free_text=True,
        respondents=("husam", "designer"),
        urgency=Priority.HIGH,
        default="wait",
        within=HOUR,
        context="All tests pass",
        ref=Ref("task", "0.0.1"),
        session="s-1",
    )
    decision = await client.ask(question, by="analyst")
    assert decision == replace(store.query(decisions.show, decision.id), number=0)
    sent_back = await client.answer(
        decision.id, AnswerSpec(text="When?", again=True, context_hash=decision.context_hash), by="designer"
    )
    assert (sent_back.status, sent_back.answers[0].by) == (DecisionStatus.REVISING, "designer")
    revision = await client.revise(decision.id, replace(question, question="Ship it on Monday?"), by="analyst")
    assert (revision.iteration, revision.guidance, revision.question) == (2, "When?", "Ship it on Monday?")
    with pytest.raises(errors.Conflict, match="has changed since that was read"):
        await client.answer(decision.id, AnswerSpec(option="ship", context_hash=decision.context_hash), by="husam")
    answered_decision = await client.answer(decision.id, AnswerSpec(option="ship", text="go"), by="husam")
    assert (
        answered_decision
        == await client.decision(decision.id)
        == replace(store.query(decisions.show, decision.id), number=0)
    )
    with pytest.raises(errors.Late, match="was answered already by 'husam'") as late_error:
        await client.answer(decision.id, AnswerSpec(option="wait"), by="designer")
    assert (late_error.value.winner["option"], late_error.value.winner["text"]) == ("ship", "go")

    other_decision = await client.ask(Question(question="And then?", free_text=True), by="analyst")
    assert other_decision.respondents == ("admin",)
    assert await collect(client.decisions(asker="analyst", pending=True)) == [other_decision]
    assert await collect(client.decisions(asked="designer", session="s-1", since=decision.created_at)) == [
        answered_decision
    ]
    withdrawn_decision = await client.withdraw_decision(other_decision.id, by="analyst", reason="known & done")
    assert (withdrawn_decision.status, withdrawn_decision.answers[0].text) == (DecisionStatus.WITHDRAWN, "known & done")


async def test_triggers_and_keys(gateway_thread: GatewayThread, client: Client, store: Store) -> None:
    event = await client.trigger("analyst", "jira", {"issue": 1}, key="PROJ-1")
    assert await client.trigger("analyst", "jira", {"issue": 1}, key="PROJ-1") == event
    [item] = store.query(inbox_items.show, event)
    assert item.event.data["payload"] == {"issue": 1}

    hook = await client.add_trigger(
        "ci",
        scheme=Scheme.BEARER,
        secret="sixteen-chars-at-least",
        target="analyst",
        prompt="Look",
    )
    assert wire.write_trigger(hook) == wire.write_trigger(store.query(triggers.show, "ci"))
    assert not (await client.activate_trigger("ci", False)).active
    assert await collect(client.triggers()) == [await client.show_trigger("ci")]
    await client.delete_trigger("ci")
    assert await collect(client.triggers()) == []

    new_key = await client.create_key(agent="analyst", name="laptop")
    assert replace(store.query(keys.page)[-1], number=0) == new_key.key
    assert new_key.secret not in repr(new_key)
    async with Client(gateway_thread.base_url, key=new_key.secret) as caller:
        assert [item.event.id for item in await caller.peek("analyst")] == [event]
        with pytest.raises(errors.Refused):
            await caller.peek("designer")
    assert await collect(client.keys()) == [replace(key, number=0) for key in store.query(keys.page)]
    assert (await client.revoke_key(new_key.secret)).revoked_at is not None
    async with Client(gateway_thread.base_url, key=new_key.secret) as caller:
        with pytest.raises(errors.Unauthorized):
            await caller.peek("analyst")
    public_key = await client.create_key(public=True)
    async with Client(gateway_thread.base_url, public_key=public_key.secret, token=create_token("husam")) as husam:
        assert (await husam.post("q4-report", "hello")).sender == "husam"


async def test_watching(client: Client) -> None:
    first = await client.post("q4-report", "before", sender="husam")
    async with aclosing(client.watch_space("q4-report", after=0)) as all_messages:
        assert await anext(all_messages) == first
    space_ready, inbox_ready = asyncio.Event(), asyncio.Event()
    async with (
        aclosing(client.watch_space("q4-report", member="analyst", ready=space_ready.set)) as messages,
        aclosing(client.watch_inbox("analyst", ready=inbox_ready.set)) as items,
    ):
        message_task, item_task = asyncio.create_task(_read_next(messages)), asyncio.create_task(_read_next(items))
        await space_ready.wait()
        await inbox_ready.wait()
        message = await client.post("q4-report", "one\u2028line \x85", sender="husam")
        assert await message_task == message
        assert ((await item_task).event.content, (await item_task).recipient) == (message.content, "analyst")


async def test_a_watcher_who_is_no_member_any_more(client: Client) -> None:
    async with aclosing(client.watch_space("q4-report", member="designer")) as closed:
        with pytest.raises(errors.Refused, match="not a member"):
            await anext(closed)
    ready = asyncio.Event()
    async with aclosing(client.watch_space("q4-report", member="analyst", ready=ready.set)) as messages:
        read_task = asyncio.create_task(_read_next(messages))
        await ready.wait()
        await client.leave("q4-report", "analyst")
        await client.post("q4-report", "not for you", sender="husam")
        with pytest.raises(errors.Refused):
            await read_task


async def _read_next(results: AsyncIterator[T]) -> T:
    return await anext(results)


FAILING_CALLS: list[tuple[str, tuple[Any, ...], dict[str, Any], type[GatepostError]]] = [
    ("peek", ("two words",), {}, errors.Invalid),
    ("peek", ("team:web",), {}, errors.Invalid),
    ("peek", ("nobody",), {}, errors.UnknownAddress),
    ("show", ("evt_1",), {}, errors.Invalid),
    ("show", ("evt_" + "0" * 32,), {}, errors.NotFound),
    ("claim", ("husam",), {"owner": "x"}, errors.Refused),
    ("claim", ("analyst",), {"owner": ""}, errors.Invalid),
    ("register", ("analyst", EntityKind.AGENT), {}, errors.Conflict),
    ("register", ("An", EntityKind.AGENT), {}, errors.Invalid),
    ("space", ("nowhere",), {}, errors.NotFound),
    ("space", ("../x",), {}, errors.Invalid),
    ("post", ("q4-report", "x"), {"sender": "designer"}, errors.Refused),
    ("post", ("q4-report", "\ud800"), {"sender": "husam"}, errors.Invalid),
    ("post", ("q4-report", "x" * 280_000), {"sender": "husam"}, errors.TooLarge),
    ("post", ("q4-report", "x"), {"sender": "husam", "key": "\n"}, errors.Invalid),
    ("set_plan", (), {"owner": "analyst", "name": "x"}, errors.Invalid),
    ("plan", ("plan_" + "0" * 32,), {}, errors.NotFound),
    ("add_gate", (GateSpec(name=" ", owner="analyst"),), {}, errors.Invalid),
    ("add_gate", (GateSpec(name="x", owner="analyst"),), {"by": "designer"}, errors.Refused),
    ("gate", ("gate_" + "0" * 32,), {}, errors.NotFound),
    ("ask", (Question(question="?", free_text=True),), {}, errors.Invalid),
    (
        "ask",
        (Question(question="?", free_text=True, respondents=("nobody",)),),
        {"by": "analyst"},
        errors.UnknownAddress,
    ),
    ("answer", ("dec_" + "0" * 32, AnswerSpec(option="x")), {}, errors.NotFound),
    ("decision", ("gate_" + "0" * 32,), {}, errors.Invalid),
    ("revoke_key", ("sk_",), {}, errors.Invalid),
    ("revoke_key", ("key_a/b",), {}, errors.NotFound),
    ("show_trigger", ("no-such-thing",), {}, errors.NotFound),
    ("show_trigger", ("no such/thing",), {}, errors.Invalid),
]


@pytest.mark.parametrize(
    ("verb", "args", "kwargs", "kind"), FAILING_CALLS, ids=[f"{verb}-{n}" for n, (verb, *_) in enumerate(FAILING_CALLS)]
)
async def test_errors_come_back_as_what_they_were(
    client: Client, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[GatepostError]
) -> None:
    with pytest.raises(GatepostError) as error_info:
        await getattr(client, verb)(*args, **kwargs)
    assert error_info.type is kind


async def test_a_hint_comes_along(client: Client) -> None:
    with pytest.raises(errors.UnknownAddress) as error_info:
        await client.push(Push(to="analist", source="tests", content="x"))
    assert (error_info.value.message, error_info.value.hint) == (
        "nobody is called 'analist'",
        "did you mean 'analyst'?",
    )


async def test_an_idempotency_key_of_another_request(client: Client) -> None:
    await client.post("q4-report", "one", sender="husam", key="k")
    with pytest.raises(errors.Reused):
        await client.post("q4-report", "two", sender="husam", key="k")


async def test_it_goes_on_where_a_page_ends(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pages, handler_pages):
        monkeypatch.setattr(module, "PAGE_SIZE", 4_000)

    def fill(tx: Transaction) -> None:
        for _ in range(20):
            spaces.post(tx, "q4-report", sender="husam", content="x" * 500)

    store.call(fill)
    assert [message.seq for message in await client.read("q4-report", limit=18)] == [*range(3, 21)]
    assert [message.seq for message in await client.read("q4-report", after_seq=0, limit=18)] == [*range(1, 19)]
    assert len(await client.peek("analyst", limit=18)) == 18
    assert len(await collect(client.page("analyst"))) == 20
