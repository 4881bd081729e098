"""
The demo that the screenshots show: five days of a small coffee roastery.

The past is made by the same operations as everything else, on a store whose clock is behind: it moves in half hours to
the present, plans and schedules fire on the way, and residents answer (`demo_script.py`). `fill_store` makes the past,
`add_live_events` what comes through the doors of a running gateway, and `demo_outside.py` what comes from outside.
"""

import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from typing import Any, Final, TypeVar

import httpx2

from gatepost import app
from gatepost.channels.chat_api import SendChat
from gatepost.channels.routing.api import CreateRoute
from gatepost.channels.triggers.api import AddTrigger, ChangeTrigger, ScheduleSpec
from gatepost.channels.webhooks.verification import Scheme
from gatepost.client import SyncClient
from gatepost.core.ports import Store
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import RegisterEntity
from gatepost.executor import AsyncExecutor
from gatepost.gates.decision_api import ActionSpec, AnswerDecision, AskDecision, OptionSpec
from gatepost.gates.gate import GateKind
from gatepost.gates.gate_api import AddGate, ResolveGate
from gatepost.inbox.event import EventType
from gatepost.inbox.event_api import RefSpec
from gatepost.inbox.item_api import AckClaim, ClaimBatch
from gatepost.inbox.push.api import PushEvent
from gatepost.mail.mail_api import SendMail
from gatepost.mail.work_api import AddWorkItem, PostNote, PostWorkEvent
from gatepost.mail.work_item import WorkType
from gatepost.operations.operation import Request
from gatepost.plans.api import CreatePlan
from gatepost.residents.agent_api import RegisterAgent
from gatepost.spaces.api import CreateSpace, ListSpaces, MarkRead, PostMessage, WatchSpace
from gatepost.stores.clock import SystemClock
from gatepost.transports.signal_bus import SignalBus
from gatepost.worker.background_tasks import Worker, WorkerOptions, fire_due_plans, fire_due_triggers, run_worker

R = TypeVar("R")

_DAY: Final = 24 * 3600
_STEP: Final = 30 * 60
_MOMENT: Final = 40
_GUESTS: Final = {"builder": "Builder (Claude Code)", "reviewer": "Reviewer (Codex)"}
_HOOK_SECRET: Final = "a-secret-of-the-demo"  # noqa: S105 - of a store that ends with the demo


class PastClock(SystemClock):
    """The clock of the machine, some seconds behind."""

    def __init__(self, behind: float) -> None:
        self.behind = behind
        super().__init__(wall_ns=lambda: time.time_ns() - int(self.behind * 1e9))


class Roastery:
    """The store of the demo while its past is made."""

    def __init__(self, store: Store, worker: Worker, clock: PastClock) -> None:
        self._store = store
        self._worker = worker
        self._clock = clock

    async def send(self, request: Request[R]) -> R:
        """Send a request as the administrator, a moment later, and wait until every resident has reacted to it."""
        self._clock.behind = max(0, self._clock.behind - _MOMENT)
        answer = await AsyncExecutor(self._store).send(request)
        await self._worker.supervisor.wait_until_idle()
        return answer

    async def say(self, space: str, sender: str, text: str) -> None:
        await self.send(PostMessage(id=space, sender=sender, content=text))

    async def read_inboxes(self) -> None:
        """Let the guests read what waits for them, as their hooks would."""
        for name in _GUESTS:
            batch = await self.send(ClaimBatch(name=name, owner="session-1"))
            if batch.claim is not None:
                claim = batch.claim
                await self.send(AckClaim(name=name, claim_id=claim.claim_id, owner=claim.owner, fence=claim.fence))

    async def read_spaces(self) -> None:
        """Let the administrator read all messages."""
        for space in (await self.send(ListSpaces())).items:
            if space.last_seq:
                await self.send(MarkRead(id=space.id, seq=space.last_seq, name="admin"))

    async def move_to(self, behind: float) -> None:
        """Move the clock forward until it is `behind` seconds behind. What is due fires on the half hour."""
        while self._clock.behind > behind:
            now = time.time() - self._clock.behind
            self._clock.behind = max(behind, self._clock.behind - (_STEP - now % _STEP + 1))
            await fire_due_plans(self._store)
            await fire_due_triggers(self._store)
            await self._worker.supervisor.wait_until_idle()


@asynccontextmanager
async def open_roastery(store_url: str, behind: float) -> AsyncIterator[Roastery]:
    """While entered, residents think in this process, in the past."""
    bus, clock = SignalBus(), PastClock(behind)
    with closing(app.open_store(store_url, clock=clock, signal_sink=bus.on_commit)) as store:
        async with (
            bus.open(),
            app.open_cycle_deps(store, bus.send, allow_private=True) as deps,
            run_worker(deps, bus, WorkerOptions()) as worker,
        ):
            yield Roastery(store, worker, clock)


async def fill_store(store_url: str, model_url: str) -> None:
    """Make five days of history in a store that is ready for use."""
    async with open_roastery(store_url, 5 * _DAY) as roastery:
        await add_people_and_agents(roastery, model_url)
        await add_plans_and_triggers(roastery)
        await add_first_days(roastery)
        await roastery.move_to(0.9 * _DAY)
        await add_yesterday(roastery)
        await roastery.read_inboxes()
        await roastery.read_spaces()
        await roastery.move_to(3 * 3600)
        await add_today(roastery)
        await roastery.move_to(0)


async def add_people_and_agents(roastery: Roastery, model_url: str) -> None:
    async def add_resident(name: str, display: str, team: str, model: str, instructions: str, **config: Any) -> None:
        agent = RegisterAgent(
            name=name,
            display_name=display,
            team=team,
            owner="admin",
            model={"name": f"openai:{model}", "baseUrl": model_url},
            instructions=instructions,
            **config,
        )
        await roastery.send(agent)

    for name, display in (("mira", "Mira Vance"), ("jonas", "Jonas Holm")):
        await roastery.send(RegisterEntity(name=name, kind=EntityKind.HUMAN, display_name=display))
    await add_resident(
        "analyst",
        "Analyst",
        "office",
        "demo-large",
        "Answer questions about orders and revenue. Numbers first.",
        budget={"tokens": 60_000, "per": "day"},
    )
    await add_resident("buyer", "Buyer", "roastery", "demo-large", "Keep enough green coffee in stock.")
    await add_resident("front-desk", "Front desk", "office", "demo-small", "Answer people in two sentences.")
    await add_resident(
        "scout",
        "Scout",
        "shop",
        "demo-small",
        "Watch the web shop and say what is unusual.",
        budget={"tokens": 12_000, "per": "day"},
    )
    for name, display in _GUESTS.items():
        await roastery.send(RegisterAgent(name=name, display_name=display, team="shop", owner="jonas"))
    for space, title, members in (
        ("sales", "Sales", ("admin", "mira", "jonas", "analyst")),
        ("roastery", "Roastery", ("admin", "mira", "buyer")),
        ("web-shop", "Web shop", ("admin", "jonas", "builder", "reviewer")),
        ("operations", "Operations", ("admin", "jonas", "scout")),
    ):
        await roastery.send(CreateSpace(id=space, name=title, members=members))


async def add_plans_and_triggers(roastery: Roastery) -> None:
    await roastery.send(
        CreatePlan(
            owner="analyst",
            name="Morning numbers",
            instruction="Post the numbers of yesterday in Sales.",
            cron="0 7 * * *",
            time_zone="Europe/Berlin",
        )
    )
    await roastery.send(
        CreatePlan(owner="analyst", name="Quarterly report", instruction="Draft the report.", cron="0 8 1 1,4,7,10 *")
    )
    await roastery.send(
        CreatePlan(
            owner="buyer", name="Price of Yirgacheffe", instruction="Compare it.", cron="0 6 * * 1", active=False
        )
    )
    await roastery.send(
        CreatePlan(owner="front-desk", name="Ask for opinions", instruction="Ask Mira how it goes.", run_after="8 days")
    )
    await roastery.send(
        AddTrigger(
            name="stock-check",
            provider="cron",
            target="buyer",
            prompt="Stock check: say what lasts less than ten days.",
            schedule=ScheduleSpec(cron="30 5 * * *"),
        )
    )
    await roastery.send(
        CreatePlan(
            owner="buyer", name="Price of Huila", instruction="Ask for the price of Huila.", run_after="108 hours"
        )
    )
    await roastery.send(
        AddTrigger(name="github", scheme=Scheme.GITHUB, secret=_HOOK_SECRET, target="builder", session="pr-{{number}}")
    )
    await roastery.send(AddTrigger(name="old-shop", secret=_HOOK_SECRET, target="analyst"))
    await roastery.send(ChangeTrigger(name="old-shop", active=False))
    await roastery.send(AddTrigger(name="shop", secret=_HOOK_SECRET, prompt="An event of the web shop."))
    await roastery.send(
        CreateRoute(
            name="large orders",
            channel="webhook",
            filters={"payload.kind": "large-order"},
            targets=("analyst",),
            rank=10,
        )
    )


async def add_first_days(roastery: Roastery) -> None:
    """Work items and mail, which are on the ledger, and what was decided about them."""
    await roastery.send(AddWorkItem(type=WorkType.PROJECT, id="shop-2", title="Web shop 2.0", made_by="jonas"))
    await roastery.send(
        AddWorkItem(
            type=WorkType.TASK, id="checkout", title="New checkout", parent=RefSpec(type="project", id="shop-2")
        )
    )
    await roastery.send(PostWorkEvent(type="task", id="checkout", event="started", sender="builder"))
    await roastery.send(
        SendMail(to="builder", sender="jonas", subject="Checkout", text="Please keep the old address form.")
    )
    await roastery.say("web-shop", "jonas", "The new checkout should be done this week. Who takes the payment form?")
    await roastery.say("web-shop", "builder", "I take it. The branch is `checkout-2`; the first part is done tomorrow.")
    await roastery.move_to(3.6 * _DAY)
    await roastery.send(
        PostNote(type="task", id="checkout", note="The form works in **all four** currencies.", sender="builder")
    )
    await roastery.say("web-shop", "builder", "The payment form is ready for review: 14 files, all tests are green.")
    await roastery.say("web-shop", "reviewer", "Two remarks, both small. The rest is good to go.")
    decision = await roastery.send(
        AskDecision(
            question="Merge the payment form?",
            asker="reviewer",
            of=("jonas",),
            options=(OptionSpec(id="merge", label="Merge"), OptionSpec(id="wait", label="Wait")),
        )
    )
    await roastery.move_to(3.5 * _DAY)
    await roastery.send(AnswerDecision(id=decision.id, option="merge", text="After the two remarks", by="jonas"))
    await roastery.move_to(2.4 * _DAY)
    await roastery.say("operations", "jonas", "Scout, what is the error rate after the release?")
    await roastery.send(PostWorkEvent(type="task", id="checkout", event="complete", sender="builder"))
    await roastery.send(SendMail(to="jonas", sender="builder", subject="Checkout", text="It is live since 13:50."))


async def add_yesterday(roastery: Roastery) -> None:
    await roastery.say("sales", "mira", "Analyst, can you make a Q4 draft? One page, and the growth first.")
    await roastery.say("sales", "jonas", "A chart of subscriptions would help the bank.")
    await roastery.send(SendChat(content="Hello, where is order 4711?", to="front-desk", channel="web", sender="mira"))
    await roastery.send(
        SendChat(content="Can I still change the address?", to="front-desk", channel="web", sender="mira")
    )
    gate = await roastery.send(
        AddGate(name="Photos of the new bags", kind=GateKind.HUMAN, owner="builder", awaits="mira", made_by="jonas")
    )
    await roastery.move_to(0.7 * _DAY)
    await roastery.send(ResolveGate(id=gate.id, reason="They are in the shared folder.", by="mira"))


async def add_today(roastery: Roastery) -> None:
    """What waits for the administrator, most of it from the last three hours."""
    await roastery.say("operations", "jonas", "Scout, the checkout is slow today. Do you see why?")
    await roastery.say("roastery", "mira", "Buyer, should we order Sidamo now? The price goes up on Friday.")
    await roastery.send(
        PushEvent(
            to="admin",
            type=EventType.ALERT,
            source="ci",
            subject="The build of the shop is red",
            content="`main` fails in **tests/basket** since 3f2c1a:\n\n```\nexpected 3 items, got 2\n```",
            priority="critical",
            ref=RefSpec(type="pr", id="118"),
        )
    )
    await roastery.send(
        SendMail(
            to="admin",
            sender="analyst",
            subject="Q4 draft",
            text="The draft is ready. Please read the second page before we send it to the bank.",
            priority="high",
        )
    )
    await roastery.move_to(1.5 * 3600)
    await roastery.send(
        AskDecision(
            question="Publish Web shop 2.0 today?",
            asker="builder",
            of=("admin", "jonas"),
            options=(
                OptionSpec(id="yes", label="Publish", description="the tag is ready"),
                OptionSpec(id="monday", label="On Monday"),
            ),
            default="monday",
            within="5h",
            urgency="high",
            context="All tests but one are green. **Two** things are left:\n\n- the photo on the front\n- the imprint",
        )
    )
    await roastery.send(
        AskDecision(
            question="Refund order 4698, which arrived open?",
            asker="front-desk",
            of=("admin",),
            action=ActionSpec(name="refund_order", args={"order": 4698, "amount": "42.50", "currency": "EUR"}),
            within="8h",
        )
    )
    for gate in (
        AddGate(
            name="The bank has the report",
            owner="analyst",
            awaits="mira",
            made_by="admin",
            instruction="Do not change the report before the bank has it.",
            within="2d",
        ),
        AddGate(name="Mail from the carrier", kind=GateKind.MAIL, owner="front-desk", awaits="jonas", made_by="admin"),
        AddGate(name="Quiet hour", kind=GateKind.TIMER, owner="scout", within="2h", made_by="admin"),
    ):
        await roastery.send(gate)
    await roastery.move_to(0.6 * 3600)
    for source, subject, content, priority in (
        ("carrier", "Pick-up at 16:30", "Four pallets are announced for today.", "normal"),
        ("bank", "Payment of 1,290.00 EUR", "From Café Lindqvist, invoice 2026-118.", "fyi"),
        ("calendar", "Cupping on Thursday at 10:00", "Mira, Jonas and two guests.", "low"),
        ("shop", "Review with one star", '"The bag was open when it came." Order 4698.', "high"),
    ):
        await roastery.send(PushEvent(to="admin", source=source, subject=subject, content=content, priority=priority))
    await roastery.send(SendMail(to="admin", sender="mira", subject="Lunch?", text="Are you here on Thursday?"))
    await roastery.send(SendChat(content="What is new today?", to="front-desk", channel="web"))
    await roastery.move_to(0.1 * 3600)
    await roastery.say("web-shop", "builder", "The test of the basket fails since the last merge. I am on it.")
    await roastery.say("web-shop", "reviewer", "It is the rounding of the discount: `0.1 + 0.2` again.")
    await roastery.read_inboxes()


def add_live_events(url: str, client: SyncClient) -> None:
    """Send what only a gateway takes: webhooks, the first of which an agent answers, and a question."""
    for payload in (
        {"kind": "large-order", "order": 4720, "customer": "Café Lindqvist", "amount": "1290.00"},
        {"kind": "newsletter", "subscribers": 3120},
    ):
        response = httpx2.post(f"{url}/hooks/shop", json=payload, headers={"x-webhook-secret": _HOOK_SECRET})
        response.raise_for_status()
    messages = client.stream(WatchSpace(id="sales", after="0"))
    next(message for message in messages if "4720" in message.content)
    client.send(PostMessage(id="operations", sender="jonas", content="Scout, please look at it again."))
