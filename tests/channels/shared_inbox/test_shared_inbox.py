"""What is in the shared inbox, which text answers which question, and where a reply goes."""

from collections.abc import Callable
from typing import Any

import pytest

from gatepost.channels import (
    chat_handlers as chat,
    conversation_actions as conversations,
    intake_actions as intake,
    outgoing_message_actions as outgoing,
    pairing_actions as pairing,
    reply_actions as replies,
)
from gatepost.channels.chat_api import SendChat
from gatepost.channels.conversation import PairingState, build_own_session, parse_base
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind, QuestionStatus, SharedEntry
from gatepost.channels.triggers import actions as trigger_actions
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import TriggerConfig
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_rows as entities
from gatepost.directory.entity import EntityKind
from gatepost.errors import GatepostError, Invalid, NotFound, Refused, TooLarge
from gatepost.gates import automatic_end_actions as automatic_ends, decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision, Option, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, EventType, Priority, Route
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext

YES_OR_NO = (Option(id="yes", label="Ship it"), Option(id="no", label="Not yet"))


def write(ctx: StoreContext, content: str, person: str = "husam", *, to: str | None = "ann", **fields: Any) -> Event:
    """Write as a person; return the event that ann gets."""
    received = send(ctx, content, person, to=to, **fields)
    return ctx.show_item(received.events[0]).event


def send(ctx: StoreContext, content: str, person: str = "husam", **fields: Any) -> intake.Received:
    _, received = ctx.store.run_sync(chat.send, SendChat(content=content, **fields), sender=person)
    return received


def reset(ctx: StoreContext, person: str = "husam", **fields: Any) -> str:
    session, _ = ctx.store.run_sync(chat.reset, SendChat(content="", **fields), sender=person)
    return session


def ask(ctx: StoreContext, event: Event, question: str = "Ship?", by: str = "ann", **fields: Any) -> Decision:
    spec = Question(question=question, **{"options": YES_OR_NO} | fields)
    return ctx.store.run_sync(replies.ask_decision, spec, event.id, by=by)


def reply(ctx: StoreContext, event: Event | str, text: str = "Here", by: str = "ann") -> replies.Reply:
    id = event.id if isinstance(event, Event) else event
    return ctx.store.run_sync(replies.reply, id, text, by=by)


def read(ctx: StoreContext, **filters: Any) -> list[SharedEntry]:
    return ctx.store.read_sync(shared_inbox.list_page, **filters)


def list_contents(ctx: StoreContext, **filters: Any) -> list[str]:
    return [entry.content for entry in read(ctx, **filters)]


class TestPrompts:
    def test_a_text_is_an_event_of_its_person_and_an_entry(self, ctx: StoreContext) -> None:
        event = write(ctx, "How far is it?")
        assert (event.type, event.route) == (EventType.CHANNEL, Route("cli", "cli-husam"))
        assert (event.sender and event.sender.name, event.content) == ("husam", "How far is it?")
        [entry] = read(ctx)
        assert (entry.kind, entry.channel, entry.session) == (EntryKind.USER_PROMPT, "cli", "cli-husam")
        assert (entry.sender, entry.content, entry.status, entry.asked_by) == ("husam", "How far is it?", None, None)

    def test_a_text_that_nobody_gets_is_an_entry_too(self, ctx: StoreContext) -> None:
        received = send(ctx, "Anybody?")
        assert received.unrouted is not None
        assert received.entry is not None
        assert list_contents(ctx) == ["Anybody?"]

    @check_cases("content", ["", "  \n", "nul \x00", "x" * 300_000])
    def test_what_cannot_be_stored_is_refused(self, ctx: StoreContext, content: str) -> None:
        for to in ("ann", None):
            with pytest.raises((Invalid, TooLarge)):
                send(ctx, content, to=to)
        assert read(ctx) == []

    @pytest.mark.parametrize(("person", "to"), [("ann", "bob"), ("husam", "*"), ("husam", "nobody"), ("nobody", "ann")])
    def test_only_people_write_and_not_to_everybody(self, ctx: StoreContext, person: str, to: str) -> None:
        with pytest.raises(GatepostError):
            send(ctx, "hello", person, to=to)
        assert read(ctx) == []

    def test_a_reset_is_no_entry_and_wakes_nobody(self, ctx: StoreContext) -> None:
        write(ctx, "one")
        assert reset(ctx, to="ann") == "cli-husam:reset-1"
        assert reset(ctx, to="ann") == "cli-husam:reset-2"
        events = [item.event for item in ctx.store.read_sync(inbox.list_page, "ann")]
        assert [event.priority for event in events] == [Priority.NORMAL, Priority.FYI, Priority.FYI]
        assert isinstance(events[-1].data, dict)
        assert events[-1].data["metadata"] == {"reset_session": "true"}
        assert events[-1].route == Route("cli", "cli-husam:reset-2")
        assert write(ctx, "two").route == Route("cli", "cli-husam:reset-2")
        assert list_contents(ctx) == ["one", "two"]

    def test_who_got_the_prompts_learns_of_a_reset_and_nobody_else(self, ctx: StoreContext) -> None:
        reset(ctx)
        assert ctx.store.read_sync(unrouted_messages.list_page, by=None) == []
        for name in ("ann", "bob", "ann"):
            send(ctx, f"for {name}", to=name)
        reset(ctx)
        reset(ctx)

        for name in ("ann", "bob"):
            events = [item.event for item in ctx.store.read_sync(inbox.list_page, name)]
            assert events[-1].content == "The conversation begins anew."
            assert [event.priority for event in events].count(Priority.FYI) == 1
        assert ctx.store.read_sync(unrouted_messages.list_page, by=None) == []


class TestSessions:
    def test_no_two_people_share_a_session(self) -> None:
        people = ("admin", "main", "ann", "ann-x", "x", "reset-1", "main-x", "main.x")
        names = (None, "x", "ann-x", "reset-1", "main")
        sessions = [
            build_own_session("cli", person, name, administrator="admin") for person in people for name in names
        ]
        assert len(set(sessions)) == len(people) * len(names)
        assert len({parse_base(session) for session in sessions}) == len(sessions)
        assert sessions[0] == "cli-main"

    def test_a_person_sees_its_own_sessions_and_no_others(self, ctx: StoreContext) -> None:
        for person in ("husam_x", "husam", "husambx"):
            if person != "husam":
                ctx.register(person, EntityKind.HUMAN)
            write(ctx, f"{person} 1", person)
            reset(ctx, person, to="ann")
            write(ctx, f"{person} 2", person)
            write(ctx, f"{person} 3", person, session="travel")
        for person in ("husam_x", "husam", "husambx"):
            assert list_contents(ctx, viewer=person) == [f"{person} {number}" for number in (1, 2, 3)]
        assert list_contents(ctx, viewer="ann") == []
        assert len(read(ctx)) == 9
        assert list_contents(ctx, viewer="husam", session="cli-husam@travel") == ["husam 3"]
        assert list_contents(ctx, viewer="husam", session="cli-husam_x@travel") == []

    def test_pages_and_the_last_ones(self, ctx: StoreContext) -> None:
        for number in range(5):
            write(ctx, str(number))
        first = read(ctx, limit=2)
        assert list_contents(ctx, after=first[-1].number, limit=2) == ["2", "3"]
        recent = ctx.store.read_sync(shared_inbox.list_recent, limit=2)
        assert [entry.content for entry in recent] == ["4", "3"]
        assert ctx.store.read_sync(shared_inbox.find_last_position) == recent[0].position


class TestReplies:
    def test_a_reply_goes_to_the_session_of_its_event(self, ctx: StoreContext) -> None:
        event = write(ctx, "one")
        reset(ctx, to="ann")
        write(ctx, "two")
        assert reply(ctx, event, "to one").kind == "channel"
        response = read(ctx, kind=EntryKind.SYSTEM_RESPONSE)[0]
        assert (response.session, response.sender, response.content) == ("cli-husam", "ann", "to one")
        assert response.metadata == {"event_id": event.id}

    def test_a_session_stands_for_its_last_prompt(self, ctx: StoreContext) -> None:
        write(ctx, "one")
        last = write(ctx, "two")
        reply(ctx, "cli-husam")
        assert read(ctx)[-1].metadata == {"event_id": last.id}
        for name in ("husam", ""):
            with pytest.raises(Invalid, match="is not the id of an event"):
                reply(ctx, name)
        with pytest.raises(NotFound, match="'ann' got no prompt in the session 'cli-main'"):
            reply(ctx, "cli-main")
        with pytest.raises(NotFound, match="'bob' got no prompt in the session 'cli-husam'"):
            reply(ctx, "cli-husam", by="bob")

    @pytest.mark.parametrize("by", ["bob", "husam", "admin"])
    def test_only_who_got_the_prompt_replies(self, ctx: StoreContext, by: str) -> None:
        event = write(ctx, "one")
        with pytest.raises((NotFound, Refused)):
            reply(ctx, event, by=by)
        assert len(read(ctx)) == 1

    def test_nothing_can_be_sent_on_the_channel_of_a_service(self, ctx: StoreContext) -> None:
        event = ctx.push_event("a build", type=EventType.SERVICE, route=Route("webhook", "ci"))
        with pytest.raises(Refused, match="'webhook', on which nothing can be sent"):
            reply(ctx, event)

    def test_a_reply_is_neither_empty_nor_too_long(self, ctx: StoreContext) -> None:
        event = write(ctx, "one")
        for text in ("", " ", "\x00", "x" * 300_000):
            with pytest.raises((Invalid, TooLarge)):
                reply(ctx, event, text)

    def test_a_resident_replies_with_its_tool(self, ctx: StoreContext) -> None:
        ann = ToolCaller(ctx)
        event = write(ctx, "one")
        assert ann.use("reply", event=event.id, text="by id")["kind"] == "channel"
        assert ann.use("reply", event="cli-husam", text="by session")["kind"] == "channel"
        assert list_contents(ctx, kind=EntryKind.SYSTEM_RESPONSE) == ["by id", "by session"]


class TestQuestions:
    def test_a_question_is_asked_of_the_person_and_shown_in_the_session(self, ctx: StoreContext) -> None:
        event = write(ctx, "Ship it, please")
        decision = ask(ctx, event)
        assert decision.respondents == ("husam",)
        entry = read(ctx)[-1]
        assert (entry.kind, entry.session, entry.content) == (EntryKind.SYSTEM_QUESTION, "cli-husam", "Ship?")
        assert (entry.status, entry.asked_by, entry.decision) == (QuestionStatus.PENDING, "ann", decision.id)
        assert list_contents(ctx, pending=True) == ["Ship?"]

    @pytest.mark.parametrize("text", ["yes", "YES", " ship it ", "Ship it"])
    def test_an_option_answers_by_its_id_or_label(self, ctx: StoreContext, text: str) -> None:
        decision = ask(ctx, write(ctx, "go"))
        received = send(ctx, text)
        assert (received.decision, received.notice) == (decision.id, "Noted: Ship it")
        entry = read(ctx)[-1]
        assert received.entry == entry.id
        assert (entry.kind, entry.status, entry.answer) == (
            EntryKind.SYSTEM_QUESTION,
            QuestionStatus.ANSWERED,
            "Ship it",
        )
        outcome = ctx.show_item(received.events[0]).event
        assert (outcome.type, outcome.content) == (EventType.DECISION, "Ship it")

    def test_another_text_is_a_prompt_unless_words_are_allowed(self, ctx: StoreContext) -> None:
        first = ask(ctx, write(ctx, "go"))
        assert send(ctx, "Tell me more", to="ann").decision is None
        second = ask(ctx, write(ctx, "and?"), "Which name?", options=(), free_text=True)
        assert send(ctx, "Tell me more", to="ann").decision == second.id
        assert send(ctx, "no").decision == first.id

    def test_the_oldest_question_that_a_text_fits_is_answered(self, ctx: StoreContext) -> None:
        event = write(ctx, "go")
        first, second = ask(ctx, event, "First?"), ask(ctx, event, "Second?")
        assert [send(ctx, "yes").decision, send(ctx, "yes").decision] == [first.id, second.id]
        assert send(ctx, "yes", to="ann").decision is None

    def test_a_text_for_somebody_answers_only_what_they_asked(self, ctx: StoreContext) -> None:
        decision = ask(ctx, write(ctx, "go"), options=(), free_text=True)
        assert send(ctx, "hello bob", to="bob").decision is None
        assert send(ctx, "hello ann", to="ann").decision == decision.id

    def test_nobody_answers_from_another_session(self, ctx: StoreContext) -> None:
        ctx.register("eve", EntityKind.HUMAN)
        ask(ctx, write(ctx, "go"))
        assert send(ctx, "yes", "eve", to="ann").decision is None
        assert send(ctx, "yes", to="ann", session="travel").decision is None
        reset(ctx, to="ann")
        assert send(ctx, "yes", to="ann").decision is None
        assert list_contents(ctx, pending=True) == ["Ship?"]

    def test_others_may_be_asked_too_but_not_instead(self, ctx: StoreContext) -> None:
        decision = ask(ctx, write(ctx, "go"), respondents=("admin",))
        assert set(decision.respondents) == {"husam", "admin"}

    @pytest.mark.parametrize("by", ["bob", "admin"])
    def test_who_did_not_get_the_prompt_cannot_ask_there(self, ctx: StoreContext, by: str) -> None:
        with pytest.raises(NotFound):
            ask(ctx, write(ctx, "go"), by=by)
        assert len(read(ctx)) == 1

    @pytest.mark.parametrize(
        ("end", "status", "answer"),
        [
            (lambda tx, id: decisions.answer(tx, id, AnswerSpec(option="no"), by="husam"), "answered", "Not yet"),
            (lambda tx, id: decisions.answer(tx, id, AnswerSpec(text="Why?", again=True), by=None), "answered", "Why?"),
            (lambda tx, id: decisions.answer(tx, id, AnswerSpec(reject=True), by="husam"), "ended", None),
            (lambda tx, id: decisions.withdraw(tx, id, by="ann"), "ended", None),
        ],
    )
    def test_an_end_by_another_door_ends_the_entry(
        self, ctx: StoreContext, end: Callable[[Transaction, str], Decision], status: str, answer: str | None
    ) -> None:
        decision = ask(ctx, write(ctx, "go"), free_text=True)
        ctx.store.run_sync(end, decision.id)
        entry = read(ctx)[-1]
        assert (entry.status, entry.answer) == (QuestionStatus(status), answer)
        assert list_contents(ctx, pending=True) == []

    def test_the_deadline_ends_the_entry(self, ctx: StoreContext) -> None:
        ask(ctx, write(ctx, "go"), within=60_000_000, default="no")
        ctx.clock.advance("2 minutes")
        ctx.store.run_sync(automatic_ends.end_due)
        assert (read(ctx)[-1].status, read(ctx)[-1].answer) == (QuestionStatus.ENDED, "Not yet")

    def test_a_revised_question_replaces_the_old_one_there(self, ctx: StoreContext) -> None:
        decision = ask(ctx, write(ctx, "go"), free_text=True)
        ctx.store.run_sync(decisions.answer, decision.id, AnswerSpec(text="When?", again=True), by="husam")
        assert list_contents(ctx, pending=True) == []
        revision = Question(question="Ship on Monday?", options=YES_OR_NO)
        ctx.store.run_sync(decisions.revise, decision.id, revision, by="ann")
        assert list_contents(ctx, pending=True) == ["Ship on Monday?"]
        assert send(ctx, "yes").decision == decision.id

    def test_a_resident_asks_with_its_tool(self, ctx: StoreContext) -> None:
        ann = ToolCaller(ctx)
        write(ctx, "go")
        result = ann.use("ask_decision", question="Which?", event="cli-husam")
        assert result["asked"] == ["husam"]
        assert send(ctx, "The second").decision == result["decisionId"]


class TestChats:
    """A channel with chats: what is sent there, too."""

    @pytest.fixture
    def event(self, ctx: StoreContext) -> Event:
        """A text of husam in a chat with the bot `telegram`, whose name is that of its channel."""

        def write_in_chat(tx: Transaction) -> str:
            spec = TriggerSpec(
                name="telegram", provider="telegram", target="ann", config=TriggerConfig(token="env:BOT_TOKEN")
            )
            trigger = trigger_actions.add(tx, spec)
            husam = entities.find_by_names(tx, ["husam"])["husam"]
            session = conversations.ensure_session(
                tx, "telegram", "chat-5:user-7", trigger=trigger, person=husam, chat="5", user_id="7"
            )
            request = conversations.insert_pairing(
                tx, trigger.number, chat="5", user_id="7", display="Husam", code="x", expires_at=tx.now
            )
            number = pairing.show(tx, request).number
            conversations.end_pairing(tx, number, PairingState.APPROVED, person=husam.number, answered_by=husam.number)
            metadata = {"telegram_chat_id": "5", "telegram_message_id": "1"}
            envelope = Envelope(
                channel="telegram", session=session.id, kind=EnvelopeKind.TEXT, content="go", metadata=metadata
            )
            return intake.receive(tx, trigger, envelope, dedup_key="telegram:1:1", person="husam").events[0]

        return ctx.show_item(ctx.store.run_sync(write_in_chat)).event

    def list_messages(self, ctx: StoreContext) -> list[tuple[str, int, bool]]:
        """The texts of the first messages, how many buttons they have, and whether they change another."""

        def read_messages(tx: Reader) -> list[tuple[str, int, bool]]:
            messages = [outgoing.read(tx, number) for number in range(1, 10)]
            return [
                (message.content, len(message.options), message.replaces is not None)
                for message in messages
                if message is not None
            ]

        return ctx.store.read_sync(read_messages)

    def test_a_reply_is_sent_to_the_chat(self, ctx: StoreContext, event: Event) -> None:
        reply(ctx, event, "Done")
        assert [(e.channel, e.session, e.content) for e in read(ctx)][-1] == ("telegram", "chat-5:user-7", "Done")
        assert self.list_messages(ctx) == [("Done", 0, False)]

    def test_a_question_has_buttons_until_it_ends(self, ctx: StoreContext, event: Event) -> None:
        decision = ask(ctx, event)
        ctx.store.run_sync(decisions.answer, decision.id, AnswerSpec(option="yes"), by="husam")
        assert self.list_messages(ctx) == [("Ship?", 2, False), ("Ship?\n\nhusam: Ship it", 0, True)]

    def test_a_reply_to_a_question_answers_it_after_a_reset_too(self, ctx: StoreContext, event: Event) -> None:
        decision = ask(ctx, event)
        other = ask(ctx, event, "And?")

        def answer_by_reply(tx: Transaction) -> intake.Received:
            trigger = trigger_actions.show(tx, "telegram")
            session = conversations.find_session(tx, "telegram", "chat-5:user-7", trigger)
            assert session is not None
            session = conversations.reset_session(tx, session)
            metadata = {"telegram_chat_id": "5", "telegram_message_id": "2"}
            envelope = Envelope(
                channel="telegram", session=session.id, kind=EnvelopeKind.TEXT, content="yes", metadata=metadata
            )
            [message] = outgoing.list_by_decision(tx, other.number)
            return intake.receive(
                tx, trigger, envelope, dedup_key="telegram:1:2", person="husam", reply_question=message
            )

        assert ctx.store.run_sync(answer_by_reply).decision == other.id
        assert ctx.store.read_sync(decisions.show, decision.id).is_open

    def test_nobody_is_asked_in_the_chat_of_a_stranger(self, ctx: StoreContext) -> None:
        def write_in_chat(tx: Transaction) -> str:
            config = TriggerConfig(token="env:BOT_TOKEN", allow=(5,))
            spec = TriggerSpec(name="bot", provider="telegram", target="ann", config=config)
            trigger = trigger_actions.add(tx, spec)
            session = conversations.ensure_session(tx, "telegram", "chat-5:user-7", trigger=trigger, chat="5")
            metadata = {"telegram_chat_id": "5", "telegram_message_id": "1"}
            envelope = Envelope(
                channel="telegram", session=session.id, kind=EnvelopeKind.TEXT, content="go", metadata=metadata
            )
            return intake.receive(tx, trigger, envelope, dedup_key="telegram:1:1").events[0]

        event = ctx.show_item(ctx.store.run_sync(write_in_chat)).event
        with pytest.raises(Refused, match="nobody here is paired"):
            ask(ctx, event)
