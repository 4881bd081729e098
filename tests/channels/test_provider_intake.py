"""What the provider of a package gives to the intake, and how the worker treats a provider that fails."""

import asyncio
from collections.abc import Mapping
from contextlib import AsyncExitStack
from typing import Any, Final

import pytest

from gatepost.channels import outgoing_message_actions as outgoing, pairing_actions as pairing, reply_actions as replies
from gatepost.channels.background.channel_tasks import ChannelOptions, Channels
from gatepost.channels.background.provider_channel import TriggerIntake
from gatepost.channels.outgoing_message_actions import MessageState
from gatepost.channels.provider import (
    BoundTrigger,
    Button,
    MessageToSend,
    ProviderIntake,
    Recording,
    SendRefused,
    ServiceEvent,
    UserMessage,
    build_chat_session,
)
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import GroupMode, TriggerConfig
from gatepost.core.ports import Store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Refused, Unavailable
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, EventType, PromptReceived, Ref, parse_body
from gatepost.inbox.push.api import PushEvent, PushRoute
from gatepost.inbox.push.handlers import build_push
from gatepost.operations.access import Caller, CallerKind
from gatepost.testing import Kit
from gatepost.testing.channels import WatchedStore
from gatepost.transports.signal_bus import SignalBus
from tests.support.waits import LAST_RESORT

AGENT: Final = "analyst"


@pytest.fixture
def store(kit: Kit) -> Store:
    set_up(kit.store)
    return kit.store


def set_up(store: Store) -> None:
    for name, kind in (("admin", EntityKind.HUMAN), ("husam", EntityKind.HUMAN), (AGENT, EntityKind.AGENT)):
        store.run_sync(directory.register, EntitySpec(name=name, kind=kind))


def add_channel(store: Store, **config: Any) -> TriggerIntake:
    spec = TriggerSpec(name="desk", provider="pigeon", target=AGENT, config=TriggerConfig(sends=True, **config))
    store.run_sync(triggers.add, spec)
    return TriggerIntake(store, "desk")


def list_events(store: Store, name: str = AGENT) -> list[Event]:
    return [item.event for item in store.read_sync(inbox.list_page, name, limit=1_000)]


def list_sent(store: Store) -> list[tuple[str, str]]:
    sent, number = [], 1
    while (message := store.read_sync(outgoing.read, number)) is not None:
        sent.append((message.chat, message.content))
        number += 1
    return sent


def pair(store: Store, user: str, person: str) -> None:
    trigger = store.read_sync(triggers.show, "desk")
    bits = hash(user) & 2**64 - 1
    code = store.run_sync(pairing.request, trigger, chat=user, user_id=user, display=user, random_bits=bits)
    assert code is not None
    store.run_sync(pairing.approve, code, by=None, person=person)


async def test_an_unknown_user_gets_a_code_and_reaches_nobody(store: Store) -> None:
    intake = add_channel(store)
    for id in ("1", "1", "2"):
        await intake.take(UserMessage(id=id, user="eve@example.org", text="let me in"))
    await intake.take(UserMessage(id="3", user="eve@example.org", chat="group", text="let me in"))

    assert list_events(store) == []
    [(chat, text)] = list_sent(store)
    assert (chat, "Your code is" in text) == ("eve@example.org", True)
    [alert] = list_events(store, "admin")
    assert "wants to write to the trigger 'desk'" in alert.content


async def test_a_paired_user_writes_as_its_person(store: Store) -> None:
    intake = add_channel(store)
    pair(store, "h:1", "husam")
    await intake.take(UserMessage(id="1", user="h:1", text="hello", metadata={"subject": "x", "reset_session": "true"}))
    await intake.take(UserMessage(id="2", user="h:1", chat="team", thread="7", text="hello all"))

    private, group = list_events(store)
    assert private.sender is not None
    assert (private.type, private.sender.name, private.source) == (EventType.CHANNEL, "husam", "desk")
    assert isinstance(private.data, dict)
    assert private.data["metadata"] == {"subject": "x", "chat_id": "h:1", "message_id": "1"}
    assert private.route is not None
    assert group.route is not None
    assert (private.route.channel, private.route.session) == ("pigeon", "chat-h%3A1:user-h%3A1")
    assert group.route.session == "chat-team:topic-7:user-h%3A1"
    assert [entry.content for entry in store.read_sync(shared_inbox.list_page)] == ["hello", "hello all"]


def test_different_ids_never_share_a_session() -> None:
    places = [("a", "b:user-c", None), ("a:user-b", "c", None), ("a", "c", "b"), ("a:topic-b", "c", None)]
    places += [("a%3Auser-b", "c", None), ("a", "b%3Auser-c", None)]
    assert len({build_chat_session(*place) for place in places}) == len(places)


async def test_the_lists_count_for_numbers(store: Store) -> None:
    intake = add_channel(store, allow=(7, -100), block=(8,))
    for user, chat in (("7", None), ("8", None), ("8", "-100"), ("9", "-100")):
        await intake.take(UserMessage(id=f"{user} {chat}", user=user, chat=chat, text=f"{user} in {chat}"))
    assert [event.content for event in list_events(store)] == ["7 in None", "9 in -100"]


@pytest.mark.parametrize(
    ("groups", "texts"), [(GroupMode.MENTION, ["to you"]), (GroupMode.ALL, ["to you", "to all"]), (GroupMode.OFF, [])]
)
async def test_what_is_read_in_groups(store: Store, groups: GroupMode, texts: list[str]) -> None:
    intake = add_channel(store, allow=(-100,), groups=groups)
    for id, text, is_addressed in (("1", "to you", True), ("2", "to all", False)):
        message = UserMessage(id=id, user="7", chat="-100", text=text, is_addressed=is_addressed)
        await intake.take(message)
    assert [event.content for event in list_events(store)] == texts


async def test_a_message_that_cannot_be_taken_never_stops_the_next(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    odd: Any = {"id": None, "user": "7", "text": "no id"}
    await intake.take(UserMessage(**odd))
    await intake.take(UserMessage(id="1", user="", text="no user"))
    await intake.take(UserMessage(id="2", user="7", text="nul \0"))
    await intake.take(UserMessage(id="3", user="7", text="x" * 300_000))
    await intake.take(ServiceEvent(id="4", payload={}))
    await intake.take(UserMessage(id="5", user="7", text=" \n"))
    await intake.take(UserMessage(id="6", user="7", text="good"))

    assert [event.content for event in list_events(store)] == ["good"]
    [alert] = list_events(store, "admin")
    assert "a message of the trigger 'desk' could not be taken" in alert.content


async def test_commands_are_answered_and_reach_no_inbox(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    for text in ("/start", "/help", "/PING "):
        await intake.take(UserMessage(id=text, user="7", text=text, display="Ana"))
    assert list_events(store) == []
    assert list_sent(store)[0][1].startswith("Hello Ana.")
    assert list_sent(store)[2] == ("7", "pong")


async def test_what_is_changed_forwarded_or_shown_is_told_apart(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    photo = UserMessage(id="3", user="7", text="look", media="photo")
    await intake.take(UserMessage(id="1", user="7", text="helo", handle="ana"))
    await intake.take(UserMessage(id="2", user="7", text="hello", replaces="1"))
    await intake.take(photo)
    await intake.take(UserMessage(id="4", user="7", text="", replaces="3", media="photo"))
    quotations: list[dict[str, Any]] = [{"is_forwarded": True}, {"replaces": "1"}, {"command": None}]
    for place, quoted in enumerate(quotations):
        odd: Any = {"id": f"5{place}", "user": "7", "text": "/reset", **quoted}
        await intake.take(UserMessage(**odd))

    first, changed, shown, *quoted_commands = list_events(store)
    assert isinstance(first.data, dict)
    assert isinstance(changed.data, dict)
    assert first.data["metadata"] == {"chat_id": "7", "message_id": "1", "username": "ana"}
    assert (changed.content, changed.ref, changed.data["edited"]) == ("hello", Ref("message", "1"), True)
    assert shown.content == "[photo] look"
    assert list_sent(store) == [("7", "I cannot see a photo. Only its text is passed on.")]
    assert [event.content for event in quoted_commands] == ["/reset"] * 3
    bodies = [parse_body(event) for event in quoted_commands]
    assert [isinstance(body, PromptReceived) and body.is_forwarded for body in bodies] == [True, False, False]


async def test_a_forwarded_text_answers_nothing(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    await intake.take(UserMessage(id="1", user="7", text="deploy"))
    [event] = list_events(store)
    question = Question(question="Deploy?", options=(Option(id="y", label="Yes"),))
    decision = store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    await intake.take(UserMessage(id="2", user="7", text="y", is_forwarded=True))
    assert store.read_sync(decisions.show, decision.id).is_open
    await intake.take(UserMessage(id="3", user="7", text="y"))
    assert not store.read_sync(decisions.show, decision.id).is_open


async def test_nobody_is_paired_who_shares_an_id_with_others(store: Store) -> None:
    intake = add_channel(store, allow=(-100,))
    await intake.take(UserMessage(id="1", user="-7", chat="-7", text="a code?", is_anonymous=True))
    await intake.take(UserMessage(id="2", user="-100", chat="-100", text="hello", display="Team", is_anonymous=True))

    [event] = list_events(store)
    assert (event.content, event.sender) == ("hello", None)
    assert list_sent(store) == []
    assert store.read_sync(pairing.list_page) == []


async def test_a_recording_is_passed_on_without_its_words(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    await intake.take(UserMessage(id="1", user="7", thread="3", text="listen", recording=Recording(file="f")))

    [event] = list_events(store)
    assert isinstance(event.data, dict)
    assert event.content == "listen\n[voice, not transcribed]"
    assert event.data["metadata"] == {"chat_id": "7", "message_id": "1", "thread_id": "3", "file_id": "f"}
    assert list_sent(store) == [("7", "I cannot hear recordings yet. Write to me instead.")]


async def test_a_provider_that_does_not_send_makes_events_of_a_service(store: Store) -> None:
    spec = TriggerSpec(name="bell", provider="bell", target=AGENT, config=TriggerConfig(session="door-{{door}}"))
    store.run_sync(triggers.add, spec)
    intake = TriggerIntake(store, "bell")
    for _ in range(2):
        await intake.take(ServiceEvent(id="1", payload={"door": "front"}, kind="ring"))

    [event] = list_events(store)
    assert event.route is not None
    assert (event.type, event.route.channel, event.route.session) == (EventType.SERVICE, "bell", "door-front")
    assert store.read_sync(shared_inbox.list_page) == []
    author = store.read_sync(directory.find, AGENT)
    with pytest.raises(Refused, match="on which nothing can be sent"):
        store.run_sync(replies.reply_on_route, event, "hello", author)


async def test_the_id_of_a_button_in_a_reply_to_it_is_a_press(store: Store) -> None:
    intake = add_channel(store, allow=(7,))
    await intake.take(UserMessage(id="1", user="7", text="hello"))
    [prompt] = list_events(store)
    store.run_sync(replies.reply, prompt.id, "Go on?", by=AGENT, buttons=(Option(id="yes", label="Go on"),))
    message = store.read_sync(outgoing.read, 1)
    assert message is not None
    store.run_sync(outgoing.save_part, message, ["sent-1"])
    await intake.take(UserMessage(id="2", user="7", text="yes", reply_to="sent-1"))
    await intake.take(UserMessage(id="3", user="7", text="maybe", reply_to="sent-1"))

    _, press, text = list_events(store)
    assert isinstance(press.data, dict)
    assert (press.content, press.data["metadata"]) == (
        "Go on",
        {"chat_id": "7", "message_id": "2", "callback_data": "yes"},
    )
    assert text.content == "maybe"


def test_the_answers_of_a_question_are_numbers_unless_words_count() -> None:
    options = (Button("y", "Yes"), Button("n", "No"))
    message = MessageToSend(id="out_1", chat="7", text="Deploy?", options=options)
    assert message.text_with_options == "Deploy?\n\n1. Yes\n2. No"
    assert MessageToSend(id="out_1", chat="7", text="Deploy?").text_with_options == "Deploy?"
    in_words = MessageToSend(id="out_1", chat="7", text="Deploy?", options=options, takes_words=True)
    assert in_words.text_with_options == "Deploy?\n\n- Yes\n- No"


@pytest.mark.parametrize(("free_text", "option", "text"), [(False, "n", None), (True, None, "2")])
async def test_a_number_answers_a_question_that_takes_no_words(
    store: Store, free_text: bool, option: str | None, text: str | None
) -> None:
    intake = add_channel(store, allow=(7,))
    await intake.take(UserMessage(id="1", user="7", text="deploy", display="Ana"))
    [event] = list_events(store)
    options = (Option(id="y", label="Yes"), Option(id="n", label="No"))
    question = Question(question="Deploy?", options=options, free_text=free_text)
    decision = store.run_sync(replies.ask_decision, question, event.id, by=AGENT)
    await intake.take(UserMessage(id="2", user="7", text="3"))
    is_open = store.read_sync(decisions.show, decision.id).is_open
    assert is_open is not free_text
    await intake.take(UserMessage(id="3", user="7", text="2"))
    answer = store.read_sync(decisions.show, decision.id).last_answer
    assert answer is not None
    assert (answer.option, answer.text) == (option, "3" if free_text else text)


@pytest.mark.parametrize(("type", "channel"), [("channel", "pigeon"), ("event", "telegram"), ("mail", "cli")])
def test_an_entity_cannot_push_what_looks_like_a_message_of_a_user(type: str, channel: str) -> None:
    """Its reply would go to the chat of somebody else."""
    route = PushRoute(channel=channel, session_id="chat-7:user-7")
    request = PushEvent(to=AGENT, type=EventType(type), source="desk", route=route)
    caller = Caller(kind=CallerKind.ENTITY, name="eve")
    with pytest.raises(Refused, match="comes from Gatepost itself"):
        build_push(request, caller)


def test_a_secret_is_in_no_repr() -> None:
    assert "hush" not in repr(BoundTrigger(name="desk", options={}, secret="hush"))


class Pigeon:
    """A provider that fails as a test tells it."""

    receives = sends = True

    def __init__(self) -> None:
        self.errors: list[Exception] = []
        self.sent: list[str] = []
        self.starts = 0
        self.secrets: list[str | None] = []
        self.changed = asyncio.Condition()

    def check_options(self, options: Mapping[str, Any]) -> None:
        pass

    async def receive(self, trigger: BoundTrigger, intake: ProviderIntake) -> None:
        self.secrets.append(trigger.secret)
        await self._note()
        if self.starts == 1:
            raise ZeroDivisionError("a mistake in the package")
        await intake.take(UserMessage(id="1", user="7", text="hello"))
        await asyncio.Event().wait()

    async def send(self, trigger: BoundTrigger, message: MessageToSend) -> str:
        if self.errors:
            raise self.errors.pop(0)
        self.sent.append(message.text)
        async with self.changed:
            self.changed.notify_all()
        return f"sent {len(self.sent)}"

    async def _note(self) -> None:
        self.starts += 1
        async with self.changed:
            self.changed.notify_all()

    async def wait_until(self, condition: Any) -> None:
        async with asyncio.timeout(LAST_RESORT), self.changed:
            await self.changed.wait_for(condition)


def open_no_api(_: str) -> Any:
    raise AssertionError("there is no bot here")


async def test_a_provider_that_breaks_is_started_again_and_loses_nothing() -> None:
    pigeon, bus = Pigeon(), SignalBus()
    with Kit() as kit:
        kit.store.migrate()
        store = kit.open(signal_sink=bus.on_commit)
        set_up(store)
        config = TriggerConfig(sends=True, allow=(7,), token="env:PIGEON")
        store.run_sync(triggers.add, TriggerSpec(name="desk", provider="pigeon", target=AGENT, config=config))
        store.run_sync(
            triggers.add, TriggerSpec(name="gone", provider="gone", config=TriggerConfig(sends=True, allow=(7,)))
        )
        find_token = {"env:PIGEON": "hush"}.get
        options = ChannelOptions(open_api=open_no_api, find_token=find_token, providers={"pigeon": pigeon})
        changed = asyncio.Event()
        watched_store: Any = WatchedStore(store, changed.set)
        async with (
            asyncio.timeout(LAST_RESORT),
            bus.open(),
            Channels(watched_store, options, "tests").run(bus, 0.02),
        ):
            while not (events := list_events(store)):
                await changed.wait()
                changed.clear()
            assert (pigeon.starts, set(pigeon.secrets)) == (2, {"hush"})
            author = store.read_sync(directory.find, AGENT)
            pigeon.errors = [Unavailable("it rains"), ZeroDivisionError("a mistake"), SendRefused("too fat to fly")]
            for text in ("one", "two", "three"):
                store.run_sync(replies.reply_on_route, events[0], text, author)
            while len(pigeon.sent) < 2:
                await changed.wait()
                changed.clear()
                kit.clock.advance("1 minute")  # the next attempt is due
        assert pigeon.sent == ["two", "three"]
        failed = store.read_sync(outgoing.read, 1)
        assert failed is not None
        assert (failed.state, failed.error) == (MessageState.FAILED, "too fat to fly")
        [alert] = list_events(store, "admin")
        assert alert.content == "the trigger 'desk' could not send a message to the chat 7: too fat to fly"


async def test_one_process_at_a_time_reads_a_trigger_and_another_goes_on() -> None:
    pigeons, bus = [Pigeon(), Pigeon()], SignalBus()
    for pigeon in pigeons:
        pigeon.starts = 1  # the first start would fail
    with Kit() as kit:
        kit.store.migrate()
        store = kit.open(signal_sink=bus.on_commit)
        set_up(store)
        config = TriggerConfig(sends=True, allow=(7,))
        store.run_sync(triggers.add, TriggerSpec(name="desk", provider="pigeon", target=AGENT, config=config))
        first, second = [
            Channels(store, ChannelOptions(open_api=open_no_api, providers={"pigeon": pigeon}), f"process {place}")
            for place, pigeon in enumerate(pigeons)
        ]
        async with bus.open(), AsyncExitStack() as stack:
            async with first.run(bus, 0.02):
                await pigeons[0].wait_until(lambda: pigeons[0].starts == 2)
                await stack.enter_async_context(second.run(bus, 0.02))
                store.run_sync(triggers.change, "desk", {"active": False})
                store.run_sync(triggers.change, "desk", {"active": True})
                assert pigeons[1].starts == 1
            await pigeons[1].wait_until(lambda: pigeons[1].starts == 2)
        assert len(list_events(store)) == 1
