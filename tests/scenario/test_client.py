"""Every verb of the client once, held against what the store says: the same nouns, and the same errors."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, TypeVar

import pytest

from gatepost import errors
from gatepost.actions import decisions, directory, gates, inbox, keys, maintenance, pages, plans, spaces, triggers
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
from gatepost.gateway import requests
from gatepost.ports import Store, Transaction
from tests.gateways import Served, furnish, served, token

T = TypeVar("T")


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[Served]:
    with served(f"sqlite:///{tmp_path}/office.db") as made:
        furnish(made.gateway.store)
        yield made


@pytest.fixture
def store(gateway: Served) -> Store:
    return gateway.gateway.store


@pytest.fixture
async def post(gateway: Served) -> AsyncIterator[Client]:
    async with Client(gateway.base, key=gateway.gateway.admin) as client:
        yield client


async def every(found: AsyncIterator[T]) -> list[T]:
    return [each async for each in found]


def told(item: Item) -> Item:
    """An item without what is never told of it."""
    return replace(item, event=replace(item.event, arrival=0))


def unnumbered(entity: Entity) -> Entity:
    return replace(entity, number=0)


async def test_health(post: Client) -> None:
    assert (await post.health())["status"] == "ok"


async def test_push_and_read(post: Client, store: Store) -> None:
    wish = Push(
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
    pushed = await post.push(wish)
    [item] = store.query(inbox.show, pushed.event)
    assert (item.event.content, item.event.data, item.event.hops) == (wish.content, wish.data, 2)
    assert (item.event.ref, item.event.route, item.event.key) == (wish.ref, wish.route, "mail:1")
    assert (item.event.expires_at or 0) - item.event.created_at == HOUR
    assert await post.show(pushed.event) == [told(item)]
    assert await post.peek("analyst") == [told(item)]
    assert await every(post.page("analyst", state=ItemState.PENDING, type=EventType.MAIL, sender="husam")) == [
        told(item)
    ]
    assert await every(post.page("analyst", until=item.event.created_at)) == []
    assert [each.duplicate for each in (await post.push(wish)).deliveries] == [True]
    assert await post.account("analyst") == store.query(maintenance.list_accounts, "analyst")[0]


async def test_a_push_without_a_key_is_never_a_repeat(post: Client) -> None:
    wish = Push(to="analyst", source="tests", content="again")
    first, second = await post.push(wish), await post.push(wish)
    assert first.event != second.event
    assert not first.deliveries[0].duplicate
    assert not second.deliveries[0].duplicate


async def test_an_alert_without_a_key_is_known_by_what_it_says(post: Client, store: Store) -> None:
    wish = Push(to="analyst", type=EventType.ALERT, source="ci", content="main is red")
    [first], [second] = (pushed.deliveries for pushed in (await post.push(wish), await post.push(wish)))
    assert (first.duplicate, second.duplicate, second.event) == (False, True, first.event)
    [item] = store.query(inbox.page, "analyst")
    assert item.event.key == dedup.build_alert_key(wish)


async def test_push_all(post: Client, store: Store) -> None:
    outcomes = await post.push_all(
        [
            Push(to="analyst", source="tests", content="one"),
            Push(to="analist", source="tests", content="two"),
            Push(to="*", source="tests", content="three"),
            Push(to="analyst", source="tests", key="k", content="four"),
            Push(to="analyst", source="tests", key="k", content="four"),
        ]
    )
    good = [one for one in outcomes if isinstance(one, PushResult)]
    [bad] = [one for one in outcomes if isinstance(one, GatepostError)]
    assert isinstance(bad, errors.UnknownAddress)
    assert (bad.message, bad.hint) == ("nobody is called 'analist'", "did you mean 'analyst'?")
    assert [[each.duplicate for each in one.deliveries] for one in good] == [[False], [], [False], [True]]
    assert good[1].broadcast == 1
    assert [item.event.content for item in store.query(inbox.page, "analyst")] == ["one", "three", "four"]


async def test_all_inboxes_page_by_page(post: Client, store: Store) -> None:
    for number in range(3):
        await post.push(Push(to="*", source="tests", content=str(number)))
    whole = [told(item) for item in store.query(inbox.page)]
    assert len(whole) == 9
    assert await every(post.page()) == whole
    assert await every(post.page(limit=4)) == whole[:4]


async def test_claim_ack_release_drain(post: Client, store: Store) -> None:
    events = [(await post.push(Push(to="analyst", source="tests", content=str(number)))).event for number in range(4)]
    taken = await post.claim("analyst", owner="s-1", limit=2, hold=HOUR)
    assert taken.claim is not None
    assert (taken.claim.deadline or 0) - taken.claim.taken_at == HOUR
    assert taken.text.startswith("INBOX (2 events, 2 more waiting, ")
    assert ([item.event.id for item in taken.items], taken.deferred_count) == (events[:2], 2)
    assert await post.release(taken.claim, failed=[events[0]]) == 2
    assert [item.attempts for item in store.query(inbox.page, "analyst")] == [1, 0, 0, 0]

    again = await post.claim("analyst", owner="s-1", limit=1)
    assert again.claim is not None
    assert await post.ack(again.claim) == 1
    with pytest.raises(errors.Conflict, match="was acked already"):
        await post.ack(again.claim)
    drained = await post.drain("analyst", session="s-2", limit=2)
    assert [item.event.id for item in drained.items] == events[1:3]
    assert drained.claim is not None
    last = await post.claim("analyst", owner="s-3")
    assert [item.event.id for item in last.items] == events[3:]
    assert await post.claim("designer", owner="s-1") == RenderedBatch(None, (), 0, "")


async def test_seen_replay_discard_done(post: Client, store: Store) -> None:
    event = (await post.push(Push(to="analyst", source="tests", content="hello"))).event
    assert await post.seen("analyst", [event]) == 1
    [gone] = await post.discard(event)
    [stored] = store.query(inbox.show, event)
    assert (gone.state, gone.ended_at) == (ItemState.DISCARDED, stored.ended_at)
    [back] = await post.replay(event, "analyst")
    assert back == told(store.query(inbox.show, event)[0])
    mine = (await post.push(Push(to="husam", source="tests", content="sign"))).event
    done = await post.done(mine, "husam")
    assert (done.state, done) == (ItemState.DELIVERED, told(store.query(inbox.show, mine)[0]))


async def test_people(post: Client, store: Store) -> None:
    made = await post.register(
        "quinn", EntityKind.AGENT, display="Quinn", team="web", role="lead", owner="husam", aliases=["bead-1"]
    )
    assert made == unnumbered(store.query(directory.show, "quinn"))
    assert await post.entity("bead-1") == made
    changed = await post.change("quinn", display="Q", role=None)
    assert (changed.display, changed.team, changed.role) == ("Q", "web", None)
    assert await every(post.entities(team="web")) == [changed]
    everybody = [unnumbered(one) for one in store.query(directory.page)]
    assert await every(post.entities()) == everybody
    assert await every(post.entities(limit=2)) == everybody[:2]
    await post.wake("quinn")
    assert await post.retire("quinn") == unnumbered(store.query(directory.show, "quinn"))
    assert await every(post.entities(kind=EntityKind.AGENT, team="web")) == []
    assert len(await every(post.entities(team="web", retired=True))) == 1


async def test_spaces(post: Client, store: Store) -> None:
    made = await post.create_space("Side talk", members=["husam", "designer"])
    assert made == replace(store.query(spaces.show, "side-talk"), number=0)
    assert [one.id for one in await every(post.spaces())] == ["q4-report", "side-talk"]
    assert [one.id for one in await every(post.spaces(member="designer"))] == ["side-talk"]
    assert await post.space("side-talk") == made
    joined = await post.join("side-talk", "developer")
    assert await post.members("side-talk") == store.query(spaces.list_members, "side-talk")
    assert joined in await post.members("side-talk")
    said = [await post.post("side-talk", text, sender="husam", data={"n": 1}) for text in "abc"]
    assert await post.read("side-talk") == said == store.query(spaces.read, "side-talk")
    assert await post.read("side-talk", after_seq=1, limit=1) == said[1:2]
    assert await post.read("side-talk", before_seq=2, member="designer") == said[:1]
    with pytest.raises(errors.Refused, match="not a member"):
        await post.read("side-talk", member="analyst")
    assert (await post.mark_read("side-talk", 2, member="designer")).read_seq == 2
    assert await post.post("side-talk", "d", sender="husam", key="once") == await post.post(
        "side-talk", "d", sender="husam", key="once"
    )
    await post.leave("side-talk", "developer")
    assert [one.name for one in await post.members("side-talk")] == ["husam", "designer"]
    assert (await post.rename_space("side-talk", "Aside")).name == "Aside"
    assert (await post.archive_space("side-talk")).archived_at is not None


async def test_plans(post: Client, store: Store) -> None:
    made = await post.set_plan(
        owner="analyst", name="Daily", instruction="Report", cron="0 9 * * 1-5", timeZone="Europe/Berlin", catchUp="all"
    )
    assert made == replace(store.query(plans.show, made.id), number=0)
    changed = await post.set_plan(id=made.id, runAfter="5 hours")
    assert (changed.name, changed.cron) == ("Daily", None)
    assert await post.plan(made.id) == changed
    assert await every(post.plans(owner="analyst", status=PlanStatus.PENDING)) == [changed]
    await post.delete_plan(made.id)
    assert await every(post.plans()) == []


async def test_gates(post: Client, store: Store) -> None:
    wish = GateSpec(
        name="Sign-off", owner="analyst", awaits="husam", waiters=("designer",), within=HOUR, fail=FailMode.CLOSED
    )
    made = await post.add_gate(wish, by="admin")
    assert made == replace(store.query(gates.show, made.id), number=0, hops_at=0)
    assert (made.deadline or 0) - made.created_at == HOUR
    until = GateSpec(name="Later", kind=GateKind.TIMER, owner="analyst", deadline=made.deadline)
    other = await post.add_gate(until)
    assert (other.deadline, other.made_by) == (made.deadline, "admin")
    assert await every(post.gates(waiter="designer", kind=GateKind.HUMAN, pending=True)) == [made]
    assert await every(post.gates(owner="analyst")) == [made, other]
    waited = await post.add_waiter(made.id, "developer", by="analyst")
    assert waited.waiters == ("designer", "developer")
    ended = await post.resolve_gate(made.id, by="husam", reason="signed")
    assert ended == await post.gate(made.id) == replace(store.query(gates.show, made.id), number=0, hops_at=0)
    with pytest.raises(errors.Late, match="was resolved already by 'husam': 'signed'") as late:
        await post.withdraw_gate(made.id)
    assert (late.value.winner["by"], late.value.winner["outcome"]) == ("husam", "resolved")
    gone = await post.withdraw_gate(other.id, reason="off")
    assert gone.resolution is not None
    assert (gone.resolution.ending, gone.resolution.by) == (Ending.WITHDRAWN, "admin")


async def test_decisions(post: Client, store: Store) -> None:
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
    made = await post.ask(question, by="analyst")
    assert made == replace(store.query(decisions.show, made.id), number=0)
    back = await post.answer(
        made.id, AnswerSpec(text="When?", again=True, context_hash=made.context_hash), by="designer"
    )
    assert (back.status, back.answers[0].by) == (DecisionStatus.REVISING, "designer")
    revised = await post.revise(made.id, replace(question, question="Ship it on Monday?"), by="analyst")
    assert (revised.iteration, revised.guidance, revised.question) == (2, "When?", "Ship it on Monday?")
    with pytest.raises(errors.Conflict, match="has changed since that was read"):
        await post.answer(made.id, AnswerSpec(option="ship", context_hash=made.context_hash), by="husam")
    answered = await post.answer(made.id, AnswerSpec(option="ship", text="go"), by="husam")
    assert answered == await post.decision(made.id) == replace(store.query(decisions.show, made.id), number=0)
    with pytest.raises(errors.Late, match="was answered already by 'husam'") as late:
        await post.answer(made.id, AnswerSpec(option="wait"), by="designer")
    assert (late.value.winner["option"], late.value.winner["text"]) == ("ship", "go")

    other = await post.ask(Question(question="And then?", free_text=True), by="analyst")
    assert other.respondents == ("admin",)
    assert await every(post.decisions(asker="analyst", pending=True)) == [other]
    assert await every(post.decisions(asked="designer", session="s-1", since=made.created_at)) == [answered]
    gone = await post.withdraw_decision(other.id, by="analyst", reason="known & done")
    assert (gone.status, gone.answers[0].text) == (DecisionStatus.WITHDRAWN, "known & done")


async def test_triggers_and_keys(gateway: Served, post: Client, store: Store) -> None:
    event = await post.trigger("analyst", "jira", {"issue": 1}, key="PROJ-1")
    assert await post.trigger("analyst", "jira", {"issue": 1}, key="PROJ-1") == event
    [item] = store.query(inbox.show, event)
    assert item.event.data["payload"] == {"issue": 1}

    hook = await post.add_trigger(
        "ci",
        scheme=Scheme.BEARER,
        secret="sixteen-chars-at-least",
        target="analyst",
        prompt="Look",
    )
    assert wire.write_trigger(hook) == wire.write_trigger(store.query(triggers.show, "ci"))
    assert not (await post.activate_trigger("ci", False)).active
    assert await every(post.triggers()) == [await post.show_trigger("ci")]
    await post.delete_trigger("ci")
    assert await every(post.triggers()) == []

    made = await post.create_key(agent="analyst", name="laptop")
    assert replace(store.query(keys.page)[-1], number=0) == made.key
    assert made.secret not in repr(made)
    async with Client(gateway.base, key=made.secret) as me:
        assert [item.event.id for item in await me.peek("analyst")] == [event]
        with pytest.raises(errors.Refused):
            await me.peek("designer")
    assert await every(post.keys()) == [replace(one, number=0) for one in store.query(keys.page)]
    assert (await post.revoke_key(made.secret)).revoked_at is not None
    async with Client(gateway.base, key=made.secret) as me:
        with pytest.raises(errors.Unauthorized):
            await me.peek("analyst")
    public = await post.create_key(public=True)
    async with Client(gateway.base, public_key=public.secret, token=token("husam")) as husam:
        assert (await husam.post("q4-report", "hello")).sender == "husam"


async def test_watching(post: Client) -> None:
    first = await post.post("q4-report", "before", sender="husam")
    async with aclosing(post.watch_space("q4-report", after=0)) as everything:
        assert await anext(everything) == first
    hears, gets = asyncio.Event(), asyncio.Event()
    async with (
        aclosing(post.watch_space("q4-report", member="analyst", ready=hears.set)) as said,
        aclosing(post.watch_inbox("analyst", ready=gets.set)) as items,
    ):
        heard, got = asyncio.create_task(_next(said)), asyncio.create_task(_next(items))
        await hears.wait()
        await gets.wait()
        message = await post.post("q4-report", "one\u2028line \x85", sender="husam")
        assert await heard == message
        assert ((await got).event.content, (await got).recipient) == (message.content, "analyst")


async def test_a_watcher_who_is_no_member_any_more(post: Client) -> None:
    async with aclosing(post.watch_space("q4-report", member="designer")) as closed:
        with pytest.raises(errors.Refused, match="not a member"):
            await anext(closed)
    stands = asyncio.Event()
    async with aclosing(post.watch_space("q4-report", member="analyst", ready=stands.set)) as said:
        hearing = asyncio.create_task(_next(said))
        await stands.wait()
        await post.leave("q4-report", "analyst")
        await post.post("q4-report", "not for you", sender="husam")
        with pytest.raises(errors.Refused):
            await hearing


async def _next(found: AsyncIterator[T]) -> T:
    return await anext(found)


WRONG: list[tuple[str, tuple[Any, ...], dict[str, Any], type[GatepostError]]] = [
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
    ("verb", "args", "kwargs", "kind"), WRONG, ids=[f"{verb}-{n}" for n, (verb, *_) in enumerate(WRONG)]
)
async def test_errors_come_back_as_what_they_were(
    post: Client, verb: str, args: tuple[Any, ...], kwargs: dict[str, Any], kind: type[GatepostError]
) -> None:
    with pytest.raises(GatepostError) as raised:
        await getattr(post, verb)(*args, **kwargs)
    assert raised.type is kind


async def test_a_hint_comes_along(post: Client) -> None:
    with pytest.raises(errors.UnknownAddress) as raised:
        await post.push(Push(to="analist", source="tests", content="x"))
    assert (raised.value.message, raised.value.hint) == ("nobody is called 'analist'", "did you mean 'analyst'?")


async def test_an_idempotency_key_of_another_request(post: Client) -> None:
    await post.post("q4-report", "one", sender="husam", key="k")
    with pytest.raises(errors.Reused):
        await post.post("q4-report", "two", sender="husam", key="k")


async def test_it_goes_on_where_a_page_ends(post: Client, store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (pages, requests):
        monkeypatch.setattr(module, "PAGE_SIZE", 4_000)

    def fill(tx: Transaction) -> None:
        for _ in range(20):
            spaces.post(tx, "q4-report", sender="husam", content="x" * 500)

    store.call(fill)
    assert [each.seq for each in await post.read("q4-report", limit=18)] == [*range(3, 21)]
    assert [each.seq for each in await post.read("q4-report", after_seq=0, limit=18)] == [*range(1, 19)]
    assert len(await post.peek("analyst", limit=18)) == 18
    assert len(await every(post.page("analyst"))) == 20
