"""The client for event loops, operation by operation: its answers are those of the store, and so are its errors."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing
from typing import Any, TypeVar

import pytest
from msgspec.structs import replace

from gatepost import errors
from gatepost.channels.triggers.api import AddTrigger, ChangeTrigger, DeleteTrigger, ListTriggers, ShowTrigger
from gatepost.channels.webhooks.verification import Scheme
from gatepost.client import Client, LocalClient
from gatepost.core.ports import Store, Transaction
from gatepost.core.times import HOUR, parse_instant
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import ChangeEntity, ListEntities, RegisterEntity, RetireEntity, ShowEntity
from gatepost.directory.key_api import CreateKey, ListKeys, RevokeKey
from gatepost.gates.decision import DecisionStatus
from gatepost.gates.decision_api import (
    AnswerDecision,
    AskDecision,
    ListDecisions,
    OptionSpec,
    ReviseDecision,
    ShowDecision,
    WithdrawDecision,
)
from gatepost.gates.gate import Ending, FailMode, GateKind
from gatepost.gates.gate_api import AddGate, AddWaiter, ListGates, ResolveGate, ShowGate
from gatepost.gateway.health_api import ShowHealth
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Event, EventType, ItemState, Push, Ref, Route
from gatepost.inbox.event_api import DiscardEvent, ItemView, MarkDone, RefSpec, ReplayEvent, ShowEvent
from gatepost.inbox.item_api import (
    AckClaim,
    BatchView,
    ClaimBatch,
    DrainInbox,
    ListInbox,
    ListItems,
    MarkSeen,
    PeekInbox,
    ReleaseClaim,
    ShowAccount,
    WatchInbox,
)
from gatepost.inbox.push import dedup_keys as dedup
from gatepost.inbox.push.api import PushEvent, PushEvents, PushRoute, TriggerAgent
from gatepost.operations import pagination as handler_pages
from gatepost.operations.operation import Request
from gatepost.plans.api import ChangePlan, CreatePlan, DeletePlan, ListPlans, ShowPlan
from gatepost.plans.plan import CatchUp, PlanStatus
from gatepost.residents.agent_api import WakeAgent
from gatepost.spaces import actions as spaces
from gatepost.spaces.api import (
    AddMember,
    ArchiveSpace,
    CreateSpace,
    ListMembers,
    ListSpaces,
    MarkRead,
    PostMessage,
    ReadMessages,
    RemoveMember,
    RenameSpace,
    ShowSpace,
    WatchSpace,
)
from tests.support.gateways.local_gateways import GatewayThread, create_token

R = TypeVar("R")
T = TypeVar("T")


@pytest.fixture
def store(gateway_thread: GatewayThread) -> Store:
    return gateway_thread.gateway.store


@pytest.fixture
def local(store: Store) -> LocalClient:
    return LocalClient(store)


@pytest.fixture
async def client(gateway_thread: GatewayThread) -> AsyncIterator[Client]:
    async with Client(gateway_thread.base_url, key=gateway_thread.gateway.admin_key) as client:
        yield client


async def collect(results: AsyncIterator[T]) -> list[T]:
    return [result async for result in results]


async def push(client: Client, to: str, content: str) -> str:
    return (await client.send(PushEvent(to=to, content=content))).event_id or ""


def hide_arrival(event: Event) -> Event:
    """An event without what is never told of it."""
    return replace(event, arrival=0)


def build_end(kind: type[Request[R]], batch: BatchView, **fields: Any) -> Request[R]:
    """The ack or the release of a batch."""
    claim = batch.claim
    assert claim is not None
    return kind(name=claim.recipient, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence, **fields)


async def test_health(client: Client) -> None:
    assert (await client.send(ShowHealth())).status == "ok"


async def test_push_and_read(client: Client, store: Store, local: LocalClient) -> None:
    request = PushEvent(
        to="analyst",
        type=EventType.MAIL,
        source="tests",
        sender="husam",
        subject="Blocked",
        content="line\u2028separator \x85 \U0001f600",
        data={"mailId": "m_3"},
        priority="high",
        dedup_key="mail:1",
        ttl="1h",
        ref=RefSpec(type="task", id="0.0.1"),
        route=PushRoute(channel="telegram", session_id="chat-1"),
        hops=2,
    )
    event_id = (await client.send(request)).event_id or ""
    [item] = store.read_sync(inbox_items.show, event_id)
    assert (item.event.content, item.event.data, item.event.hops) == (request.content, request.data, 2)
    assert (item.event.ref, item.event.route, item.event.dedup_key) == (
        Ref("task", "0.0.1"),
        Route("telegram", "chat-1"),
        "mail:1",
    )
    assert (item.event.expires_at or 0) - item.event.created_at == HOUR
    assert (await client.send(ShowEvent(id=event_id))).to_event() == hide_arrival(item.event)
    view = ItemView.of(item)
    assert await collect(client.list_all(PeekInbox(name="analyst"))) == [view]
    mail = ListInbox(name="analyst", state=ItemState.PENDING, type=EventType.MAIL, sender="husam", ref="task:0.0.1")
    assert await collect(client.list_all(mail)) == [view]
    assert await collect(client.list_all(ListInbox(name="analyst", until=view.created_at))) == []
    assert [recipient.duplicate for recipient in (await client.send(request)).recipients] == [True]
    assert await client.send(ShowAccount(name="analyst")) == local.send(ShowAccount(name="analyst"))


async def test_a_push_without_a_key_is_never_a_repeat(client: Client) -> None:
    request = PushEvent(to="analyst", content="again")
    first, second = await client.send(request), await client.send(request)
    assert first.event_id != second.event_id
    assert not first.recipients[0].duplicate
    assert not second.recipients[0].duplicate


async def test_an_alert_without_a_key_is_known_by_what_it_says(client: Client, store: Store) -> None:
    request = PushEvent(to="analyst", type=EventType.ALERT, source="ci", content="main is red")
    [first], [second] = [(await client.send(request)).recipients for _ in range(2)]
    assert (first.duplicate, second.duplicate, second.event_id) == (False, True, first.event_id)
    [item] = store.read_sync(inbox.list_page, "analyst")
    assert item.event.dedup_key == dedup.build_alert_key(
        Push(to="analyst", type=EventType.ALERT, source="ci", content="main is red")
    )


async def test_many_pushes_in_one_request(client: Client, store: Store) -> None:
    request = PushEvents.of(
        [
            PushEvent(to="analyst", content="one"),
            PushEvent(to="analist", content="two"),
            PushEvent(to="*", content="three"),
            PushEvent(to="analyst", dedup_key="k", content="four"),
            PushEvent(to="analyst", dedup_key="k", content="four"),
        ]
    )
    outcomes = (await client.send(request)).items
    assert [outcome.status for outcome in outcomes] == [201, 404, 201, 201, 201]
    assert (outcomes[1].detail, outcomes[1].hint) == ("there is no entity 'analist'", "did you mean 'analyst'?")
    duplicates = [
        [recipient.duplicate for recipient in outcome.recipients] for outcome in outcomes if outcome.recipients
    ]
    assert duplicates == [[False], [False], [True]]
    assert outcomes[2].broadcast == 1
    assert [item.event.content for item in store.read_sync(inbox.list_page, "analyst")] == ["one", "three", "four"]


async def test_all_inboxes_page_by_page(client: Client, store: Store) -> None:
    for number in range(3):
        await push(client, "*", str(number))
    all_items = [ItemView.of(item) for item in store.read_sync(inbox.list_page)]
    assert len(all_items) == 9
    assert await collect(client.list_all(ListItems())) == all_items
    assert await collect(client.list_all(ListItems(), limit=4)) == all_items[:4]


async def test_claim_ack_release_drain(client: Client, store: Store) -> None:
    events = [await push(client, "analyst", str(number)) for number in range(4)]
    batch = await client.send(ClaimBatch(name="analyst", owner="s-1", limit=2, hold="1h"))
    assert batch.claim is not None
    assert parse_instant(batch.claim.deadline or "") - parse_instant(batch.claim.taken_at) == HOUR
    assert batch.text.startswith("INBOX (2 events, 2 more waiting, ")
    assert ([item.event_id for item in batch.items], batch.held) == (events[:2], 2)
    assert (await client.send(build_end(ReleaseClaim, batch, failed=(events[0],)))).released == 2
    assert [item.attempts for item in store.read_sync(inbox.list_page, "analyst")] == [1, 0, 0, 0]

    second_batch = await client.send(ClaimBatch(name="analyst", owner="s-1", limit=1))
    assert (await client.send(build_end(AckClaim, second_batch))).delivered == 1
    with pytest.raises(errors.Conflict, match="was acked already"):
        await client.send(build_end(AckClaim, second_batch))
    drained_batch = await client.send(DrainInbox(name="analyst", session="s-2", limit=2))
    assert [item.event_id for item in drained_batch.items] == events[1:3]
    assert drained_batch.claim is not None
    last_batch = await client.send(ClaimBatch(name="analyst", owner="s-3"))
    assert [item.event_id for item in last_batch.items] == events[3:]
    empty_batch = await client.send(ClaimBatch(name="designer", owner="s-1"))
    assert empty_batch == BatchView(claim=None, items=[], held=0, text="")


async def test_seen_replay_discard_done(client: Client, local: LocalClient) -> None:
    event = await push(client, "analyst", "hello")
    assert (await client.send(MarkSeen(name="analyst", events=(event,)))).seen == 1
    [discarded_item] = (await client.send(DiscardEvent(id=event))).items
    [stored_recipient] = local.send(ShowEvent(id=event)).recipients
    assert (discarded_item.state, discarded_item.ended_at) == (ItemState.DISCARDED, stored_recipient.ended_at)
    [replayed_item] = (await client.send(ReplayEvent(id=event, name="analyst"))).items
    assert [replayed_item] == list(local.list_all(PeekInbox(name="analyst")))
    person_event = await push(client, "husam", "sign")
    [finished_item] = (await client.send(MarkDone(id=person_event, name="husam"))).items
    assert [finished_item] == list(local.list_all(ListInbox(name="husam", state=ItemState.DELIVERED)))


async def test_entities(client: Client, local: LocalClient) -> None:
    entity = await client.send(
        RegisterEntity(
            name="quinn",
            kind=EntityKind.AGENT,
            display_name="Quinn",
            team="web",
            role="lead",
            owner="husam",
            aliases=("bead-1",),
        )
    )
    assert entity == local.send(ShowEntity(name="quinn")) == await client.send(ShowEntity(name="bead-1"))
    changed_entity = await client.send(ChangeEntity(name="quinn", display_name="Q", role=None))
    assert (changed_entity.display_name, changed_entity.team, changed_entity.role) == ("Q", "web", None)
    assert await collect(client.list_all(ListEntities(team="web"))) == [changed_entity]
    entities = list(local.list_all(ListEntities()))
    assert await collect(client.list_all(ListEntities())) == entities
    assert await collect(client.list_all(ListEntities(), limit=2)) == entities[:2]
    assert (await client.send(WakeAgent(name="bead-1"))).name == "quinn"
    assert await client.send(RetireEntity(name="quinn")) == local.send(ShowEntity(name="quinn"))
    assert await collect(client.list_all(ListEntities(kind=EntityKind.AGENT, team="web"))) == []
    assert len(await collect(client.list_all(ListEntities(team="web", retired=True)))) == 1


async def test_spaces(client: Client, local: LocalClient) -> None:
    space = await client.send(CreateSpace(name="Side talk", members=("husam", "designer")))
    show = ShowSpace(id="side-talk")
    assert await client.send(show) == local.send(show)
    assert [member.name for member in space.members] == ["husam", "designer"]
    assert [row.id for row in await collect(client.list_all(ListSpaces()))] == ["q4-report", "side-talk"]
    assert [row.id for row in await collect(client.list_all(ListSpaces(member="designer")))] == ["side-talk"]
    member = await client.send(AddMember(id="side-talk", name="developer"))
    members = (await client.send(ListMembers(id="side-talk"))).items
    assert members == local.send(ListMembers(id="side-talk")).items
    assert member in members
    messages = [
        await client.send(PostMessage(id="side-talk", content=text, sender="husam", data={"n": 1})) for text in "abc"
    ]
    read = ReadMessages(id="side-talk")
    assert (await client.send(read)).items == messages == local.send(read).items
    assert (await client.send(replace(read, after_seq=1, limit=1))).items == messages[1:2]
    assert (await client.send(replace(read, before_seq=2, member="designer"))).items == messages[:1]
    with pytest.raises(errors.Refused, match="not a member"):
        await client.send(replace(read, member="analyst"))
    assert (await client.send(MarkRead(id="side-talk", seq=2, name="designer"))).read_seq == 2
    post = PostMessage(id="side-talk", content="d", sender="husam")
    assert await client.send(post, key="once") == await client.send(post, key="once")
    await client.send(RemoveMember(id="side-talk", name="developer"))
    assert [row.name for row in (await client.send(ListMembers(id="side-talk"))).items] == ["husam", "designer"]
    assert (await client.send(RenameSpace(id="side-talk", name="Aside"))).name == "Aside"
    assert (await client.send(ArchiveSpace(id="side-talk"))).archived_at is not None


async def test_plans(client: Client, local: LocalClient) -> None:
    plan = await client.send(
        CreatePlan(
            owner="analyst",
            name="Daily",
            instruction="Report",
            cron="0 9 * * 1-5",
            time_zone="Europe/Berlin",
            catch_up=CatchUp.ALL,
        )
    )
    assert plan == local.send(ShowPlan(id=plan.id))
    changed_plan = await client.send(ChangePlan(id=plan.id, run_after="5 hours"))
    assert (changed_plan.name, changed_plan.cron) == ("Daily", None)
    assert await client.send(ShowPlan(id=plan.id)) == changed_plan
    pending = ListPlans(owner="analyst", status=PlanStatus.PENDING)
    assert await collect(client.list_all(pending)) == [changed_plan]
    await client.send(DeletePlan(id=plan.id))
    assert await collect(client.list_all(ListPlans())) == []


async def test_gates(client: Client, local: LocalClient) -> None:
    gate = await client.send(
        AddGate(
            name="Sign-off",
            owner="analyst",
            awaits="husam",
            waiters=("designer",),
            within="1h",
            fail=FailMode.CLOSED,
            made_by="admin",
        )
    )
    assert gate == local.send(ShowGate(id=gate.id))
    assert parse_instant(gate.deadline or "") - parse_instant(gate.created_at) == HOUR
    timer_gate = await client.send(AddGate(name="Later", kind=GateKind.TIMER, owner="analyst", deadline=gate.deadline))
    assert (timer_gate.deadline, timer_gate.made_by) == (gate.deadline, "admin")
    human_gates = ListGates(waiter="designer", kind=GateKind.HUMAN, pending=True)
    assert await collect(client.list_all(human_gates)) == [gate]
    assert await collect(client.list_all(ListGates(owner="analyst"))) == [gate, timer_gate]
    gate_with_waiter = await client.send(AddWaiter(id=gate.id, name="developer", by="analyst"))
    assert gate_with_waiter.waiters == ("designer", "developer")
    resolved_gate = await client.send(ResolveGate(id=gate.id, by="husam", reason="signed"))
    assert resolved_gate == await client.send(ShowGate(id=gate.id)) == local.send(ShowGate(id=gate.id))
    with pytest.raises(errors.Late, match="was resolved already by 'husam': 'signed'") as late_error:
        await client.send(ResolveGate(id=gate.id, withdraw=True))
    assert (late_error.value.winner["by"], late_error.value.winner["outcome"]) == ("husam", "resolved")
    withdrawn_gate = await client.send(ResolveGate(id=timer_gate.id, withdraw=True, reason="off"))
    assert withdrawn_gate.resolution is not None
    assert (withdrawn_gate.resolution.ending, withdrawn_gate.resolution.by) == (Ending.WITHDRAWN, "admin")


async def test_decisions(client: Client, local: LocalClient) -> None:
    options = (OptionSpec(id="ship", label="Ship it", description="now"), OptionSpec(id="wait", label="Wait"))
    question = AskDecision(
        question="Ship it?",
        options=options,
        free_text=True,
        of=("husam", "designer"),
        urgency="high",
        default="wait",
        within="1h",
        context="All tests pass",
        ref=RefSpec(type="task", id="0.0.1"),
        session="s-1",
        asker="analyst",
    )
    decision = await client.send(question)
    show = ShowDecision(id=decision.id)
    assert decision == local.send(show)
    sent_back = await client.send(
        AnswerDecision(id=decision.id, text="When?", again=True, context_hash=decision.context_hash, by="designer")
    )
    assert (sent_back.status, sent_back.answers[0].by) == (DecisionStatus.REVISING, "designer")
    revision = await client.send(
        ReviseDecision(id=decision.id, question="Ship it on Monday?", options=options, within="1h", asker="analyst")
    )
    assert (revision.iteration, revision.guidance, revision.question) == (2, "When?", "Ship it on Monday?")
    answer = AnswerDecision(id=decision.id, option="ship", by="husam")
    with pytest.raises(errors.Conflict, match="has changed since that was read"):
        await client.send(replace(answer, context_hash=decision.context_hash))
    answered_decision = await client.send(replace(answer, text="go"))
    assert answered_decision == await client.send(show) == local.send(show)
    with pytest.raises(errors.Late, match="was answered already by 'husam'") as late_error:
        await client.send(AnswerDecision(id=decision.id, option="wait", by="designer"))
    assert (late_error.value.winner["option"], late_error.value.winner["text"]) == ("ship", "go")

    other_decision = await client.send(AskDecision(question="And then?", free_text=True, asker="analyst"))
    assert other_decision.asked == ("admin",)
    assert await collect(client.list_all(ListDecisions(asker="analyst", pending=True))) == [other_decision]
    answered = ListDecisions(asked="designer", session="s-1", since=decision.created_at)
    assert await collect(client.list_all(answered)) == [answered_decision]
    withdrawn_decision = await client.send(WithdrawDecision(id=other_decision.id, by="analyst", reason="known & done"))
    assert (withdrawn_decision.status, withdrawn_decision.answers[0].text) == (DecisionStatus.WITHDRAWN, "known & done")


async def test_triggers_and_keys(gateway_thread: GatewayThread, client: Client, store: Store) -> None:
    call = TriggerAgent(name="analyst", service_name="jira", payload={"issue": 1})
    event = (await client.send(call, key="PROJ-1")).event_id
    assert (await client.send(call, key="PROJ-1")).event_id == event
    [item] = store.read_sync(inbox_items.show, event)
    assert item.event.data["payload"] == {"issue": 1}

    trigger = await client.send(
        AddTrigger(name="ci", scheme=Scheme.BEARER, secret="sixteen-chars-at-least", target="analyst", prompt="Look")
    )
    assert trigger == await client.send(ShowTrigger(name="ci")) == LocalClient(store).send(ShowTrigger(name="ci"))
    assert not (await client.send(ChangeTrigger(name="ci", active=False))).active
    assert await collect(client.list_all(ListTriggers())) == [await client.send(ShowTrigger(name="ci"))]
    await client.send(DeleteTrigger(name="ci"))
    assert await collect(client.list_all(ListTriggers())) == []

    new_key = await client.send(CreateKey(agent="analyst", name="laptop"))
    assert new_key.key not in repr(new_key)
    async with Client(gateway_thread.base_url, key=new_key.key) as caller:
        assert [item.event_id for item in (await caller.send(PeekInbox(name="analyst"))).items] == [event]
        with pytest.raises(errors.Refused):
            await caller.send(PeekInbox(name="designer"))
    assert await collect(client.list_all(ListKeys())) == list(LocalClient(store).list_all(ListKeys()))
    assert (await client.send(RevokeKey(id=new_key.key))).revoked_at is not None
    async with Client(gateway_thread.base_url, key=new_key.key) as caller:
        with pytest.raises(errors.Unauthorized):
            await caller.send(PeekInbox(name="analyst"))
    public_key = await client.send(CreateKey(public=True))
    async with Client(gateway_thread.base_url, public_key=public_key.key, token=create_token("husam")) as husam:
        assert (await husam.send(PostMessage(id="q4-report", content="hello"))).sender == "husam"


async def test_watching(client: Client) -> None:
    first = await client.send(PostMessage(id="q4-report", content="before", sender="husam"))
    async with aclosing(client.stream(WatchSpace(id="q4-report", after="0"))) as all_messages:
        assert await anext(all_messages) == first
    space_ready, inbox_ready = asyncio.Event(), asyncio.Event()
    space = WatchSpace(id="q4-report", member="analyst")
    async with (
        aclosing(client.stream(space, on_connect=space_ready.set)) as messages,
        aclosing(client.stream(WatchInbox(name="analyst"), on_connect=inbox_ready.set)) as items,
    ):
        message_task, item_task = asyncio.create_task(_read_next(messages)), asyncio.create_task(_read_next(items))
        await space_ready.wait()
        await inbox_ready.wait()
        message = await client.send(PostMessage(id="q4-report", content="one\u2028line \x85", sender="husam"))
        assert await message_task == message
        assert ((await item_task).content, (await item_task).recipient) == (message.content, "analyst")


async def test_a_watcher_who_is_no_member_any_more(client: Client) -> None:
    async with aclosing(client.stream(WatchSpace(id="q4-report", member="designer"))) as closed:
        with pytest.raises(errors.Refused, match="not a member"):
            await anext(closed)
    ready = asyncio.Event()
    space = WatchSpace(id="q4-report", member="analyst")
    async with aclosing(client.stream(space, on_connect=ready.set)) as messages:
        read_task = asyncio.create_task(_read_next(messages))
        await ready.wait()
        await client.send(RemoveMember(id="q4-report", name="analyst"))
        await client.send(PostMessage(id="q4-report", content="not for you", sender="husam"))
        with pytest.raises(errors.Refused):
            await read_task


async def _read_next(results: AsyncIterator[T]) -> T:
    return await anext(results)


async def test_it_goes_on_where_a_page_ends(client: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (handler_pages, handler_pages):
        monkeypatch.setattr(module, "PAGE_SIZE", 4_000)

    def fill(tx: Transaction) -> None:
        for _ in range(20):
            spaces.post(tx, "q4-report", sender="husam", content="x" * 500)

    store.run_sync(fill)
    assert len((await client.send(PeekInbox(name="analyst", limit=18))).items) < 18
    assert len(await collect(client.list_all(PeekInbox(name="analyst"), limit=18))) == 18
    assert len(await collect(client.list_all(ListInbox(name="analyst")))) == 20
