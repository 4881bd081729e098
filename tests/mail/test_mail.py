"""Mail: what each recipient gets, what is recorded of it, and what its sender hears of it."""

import json
from typing import Any

import pytest

from gatepost.channels import reply_actions as replies
from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, Invalid, NotFound, Refused, TooLarge, UnknownAddress
from gatepost.inbox import (
    claim_actions as inbox,
    event_rendering as render,
    expiry_actions as expiry,
    item_actions as inbox_items,
)
from gatepost.inbox.event import EventType, ItemState, Priority, Ref
from gatepost.mail.sent_record import MESSAGE_TYPES, AckRequest, Mail
from tests.mail.mail_post import Post
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext


@pytest.fixture
def post(ctx: StoreContext) -> Post:
    return Post(ctx)


class TestSending:
    def test_all_fields_are_in_the_inbox_and_in_the_record(self, post: Post) -> None:
        sent = post.send(
            "husam",
            subject="Blocked on schema",
            message_type="task.blocked",
            payload={"text": "Which one?", "options": [1, 2]},
            context={"branch": "main"},
            ref=Ref("task", "0.0.123"),
            priority=Priority.HIGH,
        )
        [event] = post.read_events("husam")
        assert (event.id, event.type, event.subject, event.content) == (
            sent.event,
            EventType.MAIL,
            "Blocked on schema",
            "Which one?",
        )
        assert (event.priority, event.ref, event.sender and event.sender.name) == (
            Priority.HIGH,
            Ref("task", "0.0.123"),
            "ann",
        )
        assert event.data == {
            "mailId": sent.id,
            "threadId": sent.id,
            "messageType": "task.blocked",
            "payload": {"text": "Which one?", "options": [1, 2]},
            "context": {"branch": "main"},
        }
        assert event.dedup_key == f"mail:ann:{sent.id}"
        [record] = post.list_records()
        assert record["data"] == {
            "uid": sent.id,
            "message_type": "task.blocked",
            "subject": "Blocked on schema",
            "payload": {"text": "Which one?", "options": [1, 2]},
            "context": {"branch": "main"},
            "ref_id": "0.0.123",
            "ref_type": "task",
            "priority": 2,
        }
        assert (record["kind"], record["row"].posted_at, json.loads(record["row"].targets)) == (
            "mail",
            post.ctx.clock.now(),
            ["husam"],
        )

    @pytest.mark.parametrize("priority", Priority)
    def test_a_priority_is_one_higher_on_a_ledger(self, post: Post, priority: Priority) -> None:
        sent = post.send(priority=priority)
        assert (sent.data.priority, post.read_events("bob")[0].priority) == (priority, priority)
        assert [record["data"]["priority"] for record in post.list_records()] == [priority + 1]

    @pytest.mark.parametrize(
        ("payload", "content", "data"),
        [
            ("a text", "a text", None),
            ({"text": "a text"}, "a text", None),
            ({"text": "a text", "n": 1}, "a text", {"text": "a text", "n": 1}),
            ({"n": 1, "é": [None]}, '{"n":1,"é":[null]}', {"n": 1, "é": [None]}),
            ({"text": 5}, '{"text":5}', {"text": 5}),
            ({"text": " ", "n": 1}, '{"text":" ","n":1}', {"text": " ", "n": 1}),
            ({"text": None}, '{"text":null}', {"text": None}),
        ],
    )
    def test_the_text_is_in_the_payload(self, post: Post, payload: Any, content: str, data: Any) -> None:
        sent = post.send(payload=payload)
        [event] = post.read_events("bob")
        assert (event.content, sent.data.text) == (content, content)
        assert isinstance(event.data, dict)
        assert event.data.get("payload") == data
        assert sent.data.payload == ({"text": payload} if isinstance(payload, str) else payload)

    def test_mail_may_have_a_subject_only(self, post: Post) -> None:
        post.send(payload=None, subject="Lunch")
        assert [(event.subject, event.content) for event in post.read_events("bob")] == [("Lunch", "")]

    @pytest.mark.usefixtures("retired_agent")
    @check_cases(
        ("fields", "error"),
        [
            ({"payload": None}, Invalid),
            ({"payload": {"text": " \n"}}, Invalid),
            ({"payload": ["a"]}, Invalid),
            ({"payload": 5}, Invalid),
            ({"payload": {"text": "\x00"}}, Invalid),
            ({"payload": {"text": "x", "n": "\x00"}}, Invalid),
            ({"payload": {"text": "x", "n": float("nan")}}, Invalid),
            ({"payload": {"text": "\ud800"}}, Invalid),
            ({"context": {"n": float("inf")}}, Invalid),
            ({"context": "\x00"}, Invalid),
            ({"subject": "\x00"}, Invalid),
            ({"subject": "x" * 1_001}, TooLarge),
            ({"payload": {"text": "x" * 262_145}}, TooLarge),
            ({"payload": {"text": "x", "n": "x" * 1_048_576}}, TooLarge),
            ({"payload": {"n": "x" * 262_145}}, TooLarge),
            ({"context": "x" * 1_048_576}, TooLarge),
            ({"message_type": "x" * 65}, TooLarge),
            ({"message_type": "Not a type"}, Invalid),
            ({"message_type": "a.b."}, Invalid),
            ({"ref": Ref("", "1")}, Invalid),
            ({"ref": Ref("task", "x" * 1_000)}, TooLarge),
            ({"ref": Ref("task", "\x00")}, Invalid),
            ({"to": None}, Invalid),
            ({"to": ""}, Invalid),
            ({"to": "a b"}, Invalid),
            ({"to": "nobody"}, UnknownAddress),
            ({"to": "team:nobody"}, UnknownAddress),
            ({"to": "ann"}, Refused),
            ({"to": "gone"}, Refused),
            ({"to": "ALL", "ack": AckRequest.REQUIRED}, Invalid),
            ({"reply_to": "evt_" + "0" * 32}, NotFound),
            ({"reply_to": "mail_" + "0" * 32}, NotFound),
            ({"reply_to": "run_" + "0" * 32}, Invalid),
            ({"reply_to": "x"}, Invalid),
        ],
    )
    def test_what_is_refused_is_not_stored(
        self, post: Post, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error) as caught:
            post.send(**fields)
        assert caught.type is error
        assert post.list_records() == []
        assert [post.read_events(name) for name in ("ann", "bob", "husam")] == [[], [], []]
        assert post.ctx.is_balanced()

    @pytest.mark.parametrize("message_type", [*MESSAGE_TYPES, "x", "our-own.type_2"])
    def test_types_are_those_of_the_list_or_own_ones(self, post: Post, message_type: str) -> None:
        assert post.send(message_type=message_type).data.message_type == message_type

    def test_a_retired_sender_sends_nothing(self, post: Post) -> None:
        post.ctx.store.run_sync(directory.retire, "ann")
        with pytest.raises(GatepostError, match="retired"):
            post.send()

    def test_a_team_gets_it_but_for_the_sender(self, post: Post) -> None:
        post.ctx.register("cem", team="red")
        post.ctx.register("gone", team="red")
        post.ctx.store.run_sync(directory.retire, "gone")
        sent = post.send("team:red")
        assert post.read_states(sent) == {"bob": ItemState.PENDING, "cem": ItemState.PENDING}
        post.ctx.register("eve", team="blue")
        with pytest.raises(Refused, match="nobody else is in 'team:blue'"):
            post.send("team:blue", sender="eve")
        assert len(post.list_records()) == 1

    def test_the_size_limits_are_those_of_events(self, post: Post) -> None:
        post.send(payload={"text": "é" * 131_072}, subject="é" * 1_000, context="x" * 1_000_000)
        [event] = post.read_events("bob")
        assert len(event.content) == 131_072


class TestStates:
    def test_each_recipient_has_a_state(self, post: Post) -> None:
        for name in ("cem", "dan", "eve"):
            post.ctx.register(name, team="red")
        sent = post.send("team:red")
        assert sent.states == {ItemState.PENDING: 4}
        post.read_everything("bob")
        assert post.ctx.claim("cem").claim is not None
        assert sent.event is not None
        post.ctx.store.run_sync(inbox_items.discard, sent.event, "dan")
        assert post.read_states(sent) == {
            "bob": ItemState.DELIVERED,
            "cem": ItemState.CLAIMED,
            "dan": ItemState.DISCARDED,
            "eve": ItemState.PENDING,
        }
        assert post.show(sent).states == dict.fromkeys(
            (ItemState.DELIVERED, ItemState.CLAIMED, ItemState.DISCARDED, ItemState.PENDING), 1
        )

    def test_states_stay_when_the_items_are_gone(self, post: Post) -> None:
        post.ctx.register("cem", team="red")
        sent = post.send("team:red")
        post.read_everything("bob")
        read_at = post.ctx.clock.now()
        post.reap()
        assert post.read_states(sent) == {"bob": ItemState.DELIVERED, "cem": ItemState.PENDING}
        post.read_everything("cem")
        post.reap()
        shown = post.show(sent)
        assert post.read_states(sent) == {"bob": ItemState.DELIVERED, "cem": ItemState.DELIVERED}
        assert (shown.states, shown.recipients[0].ended_at) == ({ItemState.DELIVERED: 2}, read_at)
        assert (shown.data.text, shown.event) == ("tea?", sent.event)
        assert sent.event is not None
        with pytest.raises(NotFound):
            post.ctx.store.read_sync(inbox_items.show, sent.event)
        assert post.ctx.is_balanced()

    def test_a_broadcast_has_the_states_of_those_who_took_it(self, post: Post) -> None:
        sent = post.send("ALL", sender="admin")
        assert (post.read_states(sent), sent.states) == ({}, {})
        post.read_everything("bob")
        assert post.read_states(sent) == {"bob": ItemState.DELIVERED}
        post.ctx.claim("ann")
        assert post.read_states(sent) == {"ann": ItemState.CLAIMED, "bob": ItemState.DELIVERED}
        post.reap()
        assert post.show(sent).states[ItemState.DELIVERED] == 1
        post.ctx.store.run_sync(expiry.lapse_claims)
        post.read_everything("ann")
        post.reap()
        assert post.read_states(sent) == {"ann": ItemState.DELIVERED, "bob": ItemState.DELIVERED}
        assert post.ctx.is_balanced()

    def test_a_dead_item_and_one_that_is_replayed(self, post: Post) -> None:
        sent = post.send()
        assert sent.event is not None
        for _ in range(5):
            post.ctx.release(post.ctx.take_claim("bob"), sent.event)
        assert post.read_states(sent) == {"bob": ItemState.DEAD}
        post.reap()
        assert post.read_states(sent) == {"bob": ItemState.DEAD}
        post.ctx.store.run_sync(inbox_items.replay, sent.event)
        assert post.read_states(sent) == {"bob": ItemState.PENDING}

    def test_a_person_has_read_it_when_it_is_done(self, post: Post) -> None:
        sent = post.send("husam")
        assert sent.event is not None
        post.ctx.store.run_sync(inbox_items.mark_seen, "husam", [sent.event])
        [recipient] = post.show(sent).recipients
        assert (recipient.state, recipient.seen_at) == (ItemState.PENDING, post.ctx.clock.now())
        post.ctx.store.run_sync(inbox_items.mark_done, "husam", sent.event)
        assert post.read_states(sent) == {"husam": ItemState.DELIVERED}


class TestThreads:
    def test_a_reply_keeps_subject_reference_and_thread(self, post: Post) -> None:
        first = post.send(subject="Schema", ref=Ref("task", "1"), priority=Priority.HIGH)
        answer = post.send(None, "The second", sender="bob", reply_to=first.event)
        assert (answer.to, answer.data.subject, answer.ref) == ("ann", "Schema", Ref("task", "1"))
        assert (answer.thread, answer.reply_to, answer.data.priority) == (first.id, first.event, Priority.NORMAL)
        last = post.send(None, "Thanks", reply_to=answer.event, subject="Done", ref=Ref("task", "2"))
        assert (last.to, last.data.subject, last.ref, last.thread) == ("bob", "Done", Ref("task", "2"), first.id)
        for viewer in ("ann", "bob", None):
            assert [entry.id for entry in post.list_thread(viewer, thread=first.id)] == [last.id, answer.id, first.id]
        assert post.list_thread("husam", thread=first.id) == []
        assert [entry.id for entry in post.list_sent(thread=first.id)] == [last.id, first.id]
        assert [entry.id for entry in post.list_sent(ref=Ref("task", "1"))] == [first.id]
        with pytest.raises(Invalid, match="thread"):
            post.list_thread("ann")

    def test_a_reply_to_own_mail_goes_where_that_went(self, post: Post) -> None:
        post.ctx.register("cem", team="red")
        first = post.send("team:red", subject="Tea")
        more = post.send(None, "and biscuits", reply_to=first.event)
        assert (more.to, more.thread, more.data.subject) == ("team:red", first.id, "Tea")
        assert len(post.read_events("cem")) == 2

    def test_only_the_sender_sees_the_states_of_others(self, post: Post) -> None:
        first = post.send()
        [seen] = post.list_thread("bob", thread=first.id)
        assert (seen.recipients, seen.states, seen.data.text) == ((), {}, "tea?")
        [own] = post.list_thread("ann", thread=first.id)
        assert own.states == {ItemState.PENDING: 1}

    def test_a_reply_may_go_to_somebody_else(self, post: Post) -> None:
        first = post.send(subject="Schema")
        forwarded = post.send("husam", "look", sender="bob", reply_to=first.event)
        assert (forwarded.to, forwarded.data.subject, forwarded.thread) == ("husam", "Schema", first.id)

    def test_only_who_has_it_replies_to_it(self, post: Post) -> None:
        first = post.send()
        for name in ("husam", "admin"):
            with pytest.raises(NotFound):
                post.send(None, sender=name, reply_to=first.event)

    def test_an_event_of_another_kind_begins_a_thread(self, post: Post) -> None:
        plain = post.ctx.push_event("look", to="bob", sender="husam", subject="Look", ref=Ref("pr", "7"))
        answer = post.send(None, sender="bob", reply_to=plain)
        assert (answer.to, answer.data.subject) == ("husam", "Look")
        assert (answer.ref, answer.thread) == (Ref("pr", "7"), answer.id)
        nobody = post.ctx.push_event("look", to="bob")
        with pytest.raises(Refused, match="has no sender"):
            post.send(None, sender="bob", reply_to=nobody)
        assert post.send("ann", sender="bob", reply_to=nobody).to == "ann"

    def test_a_broadcast_is_in_the_thread_of_every_agent_and_of_no_person(self, post: Post) -> None:
        sent = post.send("ALL", subject="All hands")
        post.ctx.register("late")
        for viewer, count in (("ann", 1), ("bob", 1), ("husam", 0), ("late", 0)):
            assert len(post.list_thread(viewer, thread=sent.id)) == count, viewer
        answer = post.send(None, sender="bob", reply_to=sent.event)
        assert (answer.to, answer.thread) == ("ann", sent.id)
        post.read_everything("bob")
        post.reap()
        assert [entry.id for entry in post.list_thread("bob", thread=sent.id)] == [answer.id, sent.id]

    def test_mail_is_answered_when_it_is_long_gone(self, post: Post) -> None:
        first = post.send(subject="Schema", ref=Ref("task", "1"))
        post.read_everything("bob")
        post.reap()
        answer = post.send(None, sender="bob", reply_to=first.event)
        assert (answer.to, answer.data.subject) == ("ann", "Schema")
        assert (answer.ref, answer.thread) == (Ref("task", "1"), first.id)
        for name in ("husam", "admin"):
            with pytest.raises(NotFound):
                post.send(None, sender=name, reply_to=first.event)
        assert post.send(None, "still there?", reply_to=first.event).to == "bob"
        assert first.event is not None
        reply = post.ctx.store.run_sync(replies.reply, first.event, "late", by="bob")
        assert reply.kind == "mail"

    def test_pages_are_newest_first(self, post: Post) -> None:
        ids = [post.send(text=str(number)).id for number in range(7)][::-1]
        for limit in (1, 3, 7, 8):
            walked: list[Mail] = []
            while page := post.list_sent(before=walked[-1].number if walked else None, limit=limit):
                walked += page
            assert [entry.id for entry in walked] == ids


class TestTypes:
    def test_the_line_and_the_preview_say_it(self, post: Post) -> None:
        post.send(message_type="review.request")
        post.send()
        events = post.read_events("bob")
        assert [render.render_event(event).partition(" ann")[0] for event in events] == [
            "[Mail: review.request]",
            "[Mail]",
        ]
        assert [render.preview(event).partition(" ann")[0] for event in events] == ["[Mail: review.request]", "[Mail]"]

    def test_lists_can_be_narrowed_to_it(self, post: Post) -> None:
        review = post.send(message_type="review.request", payload={"messageType": "fyi"})
        fyi = post.send(message_type="fyi")
        plain = post.send()
        post.ctx.push_event("x", to="bob", type=EventType.EVENT, data={"messageType": "fyi"})
        post.ctx.push_event("x", to="bob", type=EventType.EVENT, data="fyi")
        pushed = post.ctx.push_event("x", to="bob", type=EventType.MAIL)
        broadcast = post.send("ALL", message_type="fyi")

        def list_events(type: str, *, recipient: str | None = "bob") -> list[str]:
            items = post.ctx.store.read_sync(inbox.list_page, recipient, after=0, limit=100, message_type=type)
            return [item.event.id for item in items if item.recipient == "bob"]

        for recipient in ("bob", None):
            assert list_events("review.request", recipient=recipient) == [review.event]
            assert list_events("fyi", recipient=recipient) == [fyi.event, broadcast.event]
            assert list_events("message", recipient=recipient) == [plain.event, pushed]
            assert list_events("feedback", recipient=recipient) == []
        assert [sent.id for sent in post.list_sent(message_type="fyi")] == [broadcast.id, fyi.id]
        assert [sent.id for sent in post.list_thread("bob", thread=fyi.id, message_type="fyi")] == [fyi.id]
        assert post.list_thread("bob", thread=fyi.id, message_type="feedback") == []


class TestReplies:
    def test_a_reply_needs_a_text(self, post: Post) -> None:
        first = post.send(subject="Schema")
        assert first.event is not None
        for text in ("", " \n"):
            with pytest.raises(Invalid, match="empty"):
                post.ctx.store.run_sync(replies.reply, first.event, text, by="bob")

    @pytest.mark.parametrize(
        ("type", "hint"),
        [
            (EventType.DECISION, "answer the decision"),
            (EventType.ALERT, "gatepost send"),
            (EventType.EVENT, "gatepost send"),
        ],
    )
    def test_other_events_have_no_way_back(self, post: Post, type: EventType, hint: str) -> None:
        event = post.ctx.push_event("x", to="bob", type=type)
        with pytest.raises(Refused, match="cannot be replied to") as caught:
            post.ctx.store.run_sync(replies.reply, event, "text", by="bob")
        assert hint in (caught.value.hint or "")


def test_a_chain_of_replies_ends_at_the_limit_of_hops(post: Post) -> None:
    sent = post.send()
    names = ("bob", "ann")
    for turn in range(20):
        sent = post.send(None, sender=names[turn % 2], reply_to=sent.event)
    [item] = post.ctx.store.read_sync(inbox_items.show, sent.event or "")
    assert not item.event.wakes
    assert post.ctx.is_balanced()


def test_what_is_pushed_by_others_as_mail_is_no_record(post: Post) -> None:
    event = post.ctx.push_event(to="bob", type=EventType.MAIL, sender="husam", data={"threadId": "abroad-7"})
    answer = post.send(None, sender="bob", reply_to=event)
    assert (answer.to, answer.thread) == ("husam", "abroad-7")
    assert len(post.list_records()) == 1
