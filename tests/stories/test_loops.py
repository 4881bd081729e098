"""I13: agents that answer each other stop at the limit of hops, through every door, and their owner is told."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from gatepost.core.policy import Policy
from gatepost.core.ports import Store
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import Event, EventType, Item, Push
from gatepost.inbox.push import actions as push
from gatepost.plans import actions as plans
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config import AgentConfig
from gatepost.residents.background.think_cycle import think
from gatepost.residents.model_port import ChatRequest, ModelReply
from gatepost.residents.runs import journal_actions as run_journal, resume_actions as run_resume
from gatepost.residents.runs.journal_actions import RunLease
from gatepost.spaces import actions as spaces
from gatepost.testing import Kit
from tests.faults.cycle_process import build_deps
from tests.guests.hook_guest import HookGuest
from tests.plans.plan_specs import parse_spec
from tests.residents.scripted_agent import CallbackModel, build_call, build_final_reply
from tests.support.gateways.local_gateways import open_gateway
from tests.support.servers.both_databases import KIT_OF_BOTH

POSTGRES_BY_NIGHT = True

LIMIT = Policy().hops
#: after so many rounds a loop that does not stop by itself is given up
MANY_ROUNDS = 3 * LIMIT


def register_entities(store: Store) -> None:
    """Register the administrator, the person husam, the resident `res`, and the agent `prog` that is a program."""
    for name in ("admin", "husam"):
        if not any(entity.name == name for entity in store.read_sync(directory.list_page)):
            store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN))
    for name in ("res", "prog"):
        store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, owner="admin"))
    store.run_sync(agents.make_resident, "res", AgentConfig())
    store.run_sync(spaces.create, name="tea", id="tea", members=["res", "prog", "husam"])


class MailingResident:
    """A resident that answers every batch with one mail to `prog`."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.round_count = 0

        def respond(request: ChatRequest, replies: int) -> ModelReply:
            return (
                build_final_reply()
                if replies
                else ModelReply(calls=(build_call("send_mail", to="prog", text="And you?"),))
            )

        self.deps = build_deps(store, CallbackModel(respond))

    def is_awake(self) -> bool:
        return self.store.read_sync(run_resume.read_readiness, "res")[1]

    async def think_if_awake(self) -> bool:
        """Think if something wakes it; return False if nothing does."""
        if not self.is_awake():
            return False
        run_state = await self.store.run(run_resume.take_run, "res", "here")
        assert run_state is not None
        await think(self.deps, run_state)
        self.round_count += 1
        return True


def list_alerts(store: Store) -> list[Event]:
    return [
        item.event
        for item in store.read_sync(inbox.list_page, "admin", limit=1_000)
        if item.event.type is EventType.ALERT
    ]


def assert_alerts_once(store: Store) -> None:
    """The owner was told, and of no pair of sender and recipient twice within an hour."""
    alert_hours = [(re.findall("'[a-z]+'", alert.content), alert.created_at // HOUR) for alert in list_alerts(store)]
    assert alert_hours
    assert len(alert_hours) == len({(*pair, hour) for pair, hour in alert_hours})


async def test_a_program_with_an_agents_key_and_a_resident_stop(kit: Kit) -> None:
    """The program answers over HTTP; it names hops that would begin the chain again, which does not help it."""
    async with open_gateway(kit.url) as gateway:
        register_entities(gateway.store)
        resident = MailingResident(gateway.store)
        async with gateway.open_client(x_secret_key=gateway.create_key("agent", "prog")) as program:

            async def send() -> bool:
                body = {"to": "res", "type": "mail", "content": "And you?", "hops": 1}
                push_result = await program.post("/api/inbox", json=body)
                [item] = gateway.store.read_sync(inbox_items.show, push_result.json()["eventId"])
                return item.event.wakes

            rounds = 0
            while await send() and await resident.think_if_awake():
                rounds += 1
                assert rounds < MANY_ROUNDS, "the program and the resident answer each other without end"
            assert rounds == LIMIT // 2
            for _ in range(3):
                assert not await send(), "the program cannot wake the resident by sending again"
            assert not resident.is_awake()
        assert_alerts_once(gateway.store)


async def test_a_program_that_posts_in_a_space_and_a_resident_stop(kit: Kit) -> None:
    async with open_gateway(kit.url) as gateway:
        register_entities(gateway.store)
        resident = MailingResident(gateway.store)
        async with gateway.open_client(x_secret_key=gateway.create_key("agent", "prog")) as program:
            rounds = 0
            response = await program.post("/api/spaces/tea/messages", json={"content": "And you?"})
            while await resident.think_if_awake():
                rounds += 1
                assert rounds < MANY_ROUNDS, "the program and the resident answer each other without end"
                response = await program.post("/api/spaces/tea/messages", json={"content": "And you?"})
                assert response.status_code == 201
        assert_alerts_once(gateway.store)


async def test_a_guest_of_hooks_and_a_resident_stop(kit: Kit, tmp_path: Path) -> None:
    """A scripted host: each hook shows what came, and the guest answers it."""
    register_entities(kit.store)
    resident, guest = MailingResident(kit.store), HookGuest(tmp_path, kit.store, kit.clock)
    guest.options = guest.options._replace(agent="prog")
    guest.run_hook("SessionStart", source="startup")
    rounds = 0
    kit.store.run_sync(push.push_event, Push(to="res", source="cli", sender="prog", content="And you?"))
    while await resident.think_if_awake():
        rounds += 1
        assert rounds < MANY_ROUNDS, "the guest and the resident answer each other without end"
        guest.run_hook("PostToolUse")
        kit.store.run_sync(push.push_event, Push(to="res", source="cli", sender="prog", content="And you?"))
    assert rounds == LIMIT // 2 + 1
    assert [re.findall("'[a-z]+'", alert.content) for alert in list_alerts(kit.store)] == [
        ["'res'", "'prog'"],
        ["'prog'", "'res'"],
    ]


@pytest.mark.parametrize("reads", ["preview", "pull"])
def test_two_residents_that_answer_previews_stop(kit: Kit, reads: str) -> None:
    """Both are in a run all the time: what they answer is not in the batch that began it."""
    register_entities(kit.store)
    kit.store.run_sync(agents.make_resident, "prog", AgentConfig())
    leases: dict[str, RunLease] = {}
    for name in ("res", "prog"):
        kit.store.run_sync(push.push_event, Push(to=name, source="test", content="begin"))
        run_state = kit.store.run_sync(run_resume.take_run, name, "here")
        assert run_state is not None
        leases[name] = run_state.run_lease
    number = 2

    def act_as(name: str, tool: str, **arguments: object) -> None:
        nonlocal number
        number += 1
        kit.store.run_sync(
            run_journal.run_tool, leases[name], number, build_call(tool), f"call-{number}", arguments, None
        )

    replies = 0
    sender, recipient = "res", "prog"
    while True:
        if reads == "pull":
            act_as(sender, "peek_inbox", count=5)
        act_as(sender, "send_mail", to=recipient, text=f"reply {replies}")
        if not find_newest(kit.store, recipient).event.wakes:
            break
        replies += 1
        assert replies < MANY_ROUNDS, "two residents answer each other's mail without end"
        sender, recipient = recipient, sender
    assert replies == LIMIT
    assert len(list_alerts(kit.store)) == 1


def find_newest(store: Store, name: str) -> Item:
    return max(store.read_sync(inbox.list_page, name, limit=1_000), key=lambda item: item.event.arrival)


def push_as(store: Store, sender: str, recipient: str, **fields: Any) -> Event:
    """Push as an agent, and return the event."""
    push_request = Push(to=recipient, source="test", sender=sender, content="x", **fields)
    push_result = store.run_sync(push.push_event, push_request)
    [item] = store.read_sync(inbox_items.show, push_result.event)
    return item.event


class TestPauses:
    """Who speaks in between, and what comes later, begins a new chain."""

    @pytest.fixture
    def store(self, kit: Kit) -> Store:
        register_entities(kit.store)
        return kit.store

    def exhaust_hops(self, store: Store) -> None:
        """Let both send until neither wakes the other."""
        for _ in range(LIMIT):
            push_as(store, "prog", "res")
            push_as(store, "res", "prog")
        assert not push_as(store, "prog", "res").wakes
        assert not push_as(store, "res", "prog").wakes

    @pytest.mark.parametrize("door", ["push", "space"])
    def test_a_person_who_speaks_in_between(self, store: Store, door: str) -> None:
        self.exhaust_hops(store)
        actions_by_door: dict[str, Callable[[], object]] = {
            "push": lambda: push_as(store, "husam", "prog"),
            "space": lambda: store.run_sync(spaces.post, "tea", sender="husam", content="Go on"),
        }
        actions_by_door[door]()
        event = push_as(store, "prog", "res")
        assert (event.hops, event.wakes) == (1, True)

    def test_a_service_is_no_person(self, store: Store) -> None:
        self.exhaust_hops(store)
        store.run_sync(push.push_event, Push(to="prog", source="ci", type=EventType.SERVICE, data={}))
        assert not push_as(store, "prog", "res").wakes

    def test_what_a_person_is_said_to_have_sent_within_a_chain_is_part_of_it(self, store: Store) -> None:
        self.exhaust_hops(store)
        push_as(store, "husam", "prog", hops=2)
        assert not push_as(store, "prog", "res").wakes

    def test_five_minutes_of_silence(self, kit: Kit, store: Store) -> None:
        self.exhaust_hops(store)
        kit.clock.advance("5 minutes")
        event = push_as(store, "prog", "res")
        assert (event.hops, event.wakes) == (0, True)

    def test_an_agent_at_work_on_its_own_plans_is_not_silenced(self, kit: Kit, store: Store) -> None:
        """By cron every minute, and by plans five minutes ahead, far longer than the limit has hops."""
        store.run_sync(plans.set_plan, "prog", parse_spec({"name": "tick", "cron": "* * * * *"}), by="prog")
        for minute in range(3 * LIMIT):
            if minute % 5 == 0:
                spec = parse_spec({"name": f"later {minute}", "runAfter": "5 minutes"})
                store.run_sync(plans.set_plan, "prog", spec, by="prog")
            kit.clock.advance("1 minute")
            while store.run_sync(plans.fire):
                pass
            event = push_as(store, "prog", "res")
            assert (event.hops, event.wakes) == (1, True)

    def test_notes_to_itself_do_not_lengthen_the_chain_until_it_has_read_them(self, store: Store) -> None:
        assert {push_as(store, "prog", "prog").hops for _ in range(2 * LIMIT)} == {0}
        assert push_as(store, "prog", "res").hops == 0
        push_as(store, "res", "prog")
        assert {push_as(store, "prog", "prog").hops for _ in range(2 * LIMIT)} == {2}
        assert push_as(store, "prog", "res").hops == 2
        while store.run_sync(inbox.claim, "prog", owner="me").items:
            pass
        assert push_as(store, "prog", "prog").hops == 3


class TestReplay:
    def test_an_agent_that_replays_what_a_person_said_does_not_begin_a_new_chain(self, kit: Kit) -> None:
        register_entities(kit.store)
        person_event = push_as(kit.store, "husam", "prog")
        claim = kit.store.run_sync(inbox.claim, "prog", owner="me").claim
        assert claim is not None
        kit.store.run_sync(inbox.ack, claim.id, owner="me", fence=claim.fence)
        push_as(kit.store, "res", "prog", hops=9)
        [replayed_item] = kit.store.run_sync(inbox_items.replay, person_event.id, "prog", is_new_chain=False)
        assert replayed_item.event.hops == 10
        assert push_as(kit.store, "prog", "res").hops == 11


class TestAlerts:
    def test_each_sender_and_recipient_is_told_of_once_an_hour(self, kit: Kit) -> None:
        register_entities(kit.store)
        kit.store.run_sync(directory.register, EntitySpec(name="other", kind=EntityKind.AGENT, owner="admin"))
        for _ in range(3):
            for sender in ("res", "other", None):
                far_push = Push(to="prog", source="test", sender=sender, content="far", hops=LIMIT + 1)
                kit.store.run_sync(push.push_event, far_push)
        assert len(list_alerts(kit.store)) == 3
        kit.clock.advance("1 hour")
        kit.store.run_sync(
            push.push_event, Push(to="prog", source="test", sender="other", content="far", hops=LIMIT + 1)
        )
        assert len(list_alerts(kit.store)) == 4

    @KIT_OF_BOTH
    def test_two_gateways_tell_it_once(self, kit: Kit) -> None:
        register_entities(kit.store)
        for store in (kit.store, kit.open()):
            store.run_sync(push.push_event, Push(to="prog", source="test", sender="res", content="far", hops=LIMIT + 1))
        [alert] = list_alerts(kit.store)
        assert "'res'" in alert.content
        assert "'prog'" in alert.content
