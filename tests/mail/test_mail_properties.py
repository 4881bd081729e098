"""Payloads and texts of mail, the rules of work events, and the states of mail against those of its items."""

from pathlib import Path
from typing import Any

from hypothesis import given, strategies as some
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule

from gatepost.core.text import has_visible_text
from gatepost.core.times import HOUR, Instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, NotFound
from gatepost.inbox import account_actions, claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import EventType, ItemState, Priority, Ref
from gatepost.mail import mail_actions as mail, read_receipt_actions as read_receipts, sent_record as mail_rules
from gatepost.mail.notification_rule import NotifyRule, check_pattern, find_rule
from gatepost.mail.sent_record import AckRequest, AckState, Mail, MailSpec
from gatepost.mail.work_item import WorkType, parse_event
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.property.run_machine import run_on_postgres, run_on_sqlite
from tests.support.texts import texts, values

words = some.sampled_from(["blocked", "complete", "started"])
patterns = some.builds("{}.{}".format, some.sampled_from(["*", *WorkType]), words | some.just("*"))
notify_rules = some.lists(some.builds(NotifyRule, patterns, some.just(()), some.sampled_from(Priority)), max_size=8)


@given(some.none() | texts, values)
def test_a_text_is_in_the_payload_and_a_payload_is_shown(text: str | None, payload: Any) -> None:
    try:
        fields = mail_rules.build_payload(text, payload)
    except Invalid:
        is_other_text = isinstance(payload, dict) and "text" in payload and payload["text"] != text
        assert (
            not isinstance(payload, dict | str | None)
            or (text is not None and is_other_text)
            or (text is not None and isinstance(payload, str) and payload != text)
        )
        return
    if text is not None:
        assert fields["text"] == text
    if isinstance(payload, str):
        assert fields == {"text": payload}
    elif isinstance(payload, dict):
        assert fields == payload | ({"text": text} if text is not None else {})
    shown = mail_rules.show_payload(fields)
    plain_text = fields.get("text")
    if isinstance(plain_text, str) and has_visible_text(plain_text):
        assert shown == plain_text
    assert mail_rules.build_payload(None, fields) == fields
    assert "\n" not in shown or shown == plain_text


@given(notify_rules, some.sampled_from(WorkType), words)
def test_the_rule_with_the_fewest_wildcards_counts_and_of_those_the_first(
    rules: list[NotifyRule], type: WorkType, word: str
) -> None:
    found = find_rule(rules, f"{type}.{word}")
    fitting = [rule for rule in rules if rule.pattern in (f"{type}.{word}", f"{type}.*", f"*.{word}", "*.*")]
    if found is None:
        assert fitting == []
        return
    exactness = [rule.pattern.count("*") for rule in fitting]
    assert found is fitting[exactness.index(min(exactness))]


@given(some.sampled_from(WorkType), texts | patterns | words)
def test_an_event_that_is_accepted_is_matched_by_its_own_pattern(type: WorkType, text: str) -> None:
    try:
        event = parse_event(type, text)
    except Invalid:
        return
    assert NotifyRule(check_pattern(f"{type}.{event}"), (), Priority.LOW).matches(f"{type}.{event}")
    assert parse_event(type, f"{type}.{event}") == event


class MailMachine(RuleBasedStateMachine):
    """Mails and their items, through everything that may happen to them; the states are counted beside."""

    def __init__(self, url: str) -> None:
        super().__init__()
        self.kit = Kit(url)
        self.store = self.kit.store
        for name in ("ann", "bob", "cem"):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.AGENT, team="red"))
        for name in ("admin", "husam"):
            self.store.run_sync(directory.register, EntitySpec(name=name, kind=EntityKind.HUMAN, team="red"))
        self.mails: list[Mail] = []
        #: what each recipient of each mail has come to
        self.states: dict[tuple[str, str], ItemState] = {}
        self.deadlines: dict[str, Instant] = {}
        self.overdue_ids: set[str] = set()

    def teardown(self) -> None:
        self.kit.__exit__(None, None, None)

    @rule(
        to=some.sampled_from(["bob", "cem", "husam", "team:red", "team:red"]),
        ack=some.sampled_from(AckRequest),
        hours=some.integers(1, 50),
        reply=some.none() | some.integers(0, 5),
    )
    def send(self, to: str, ack: AckRequest, hours: int, reply: int | None) -> None:
        parent = self.mails[reply % len(self.mails)] if reply is not None and self.mails else None
        spec = MailSpec(to=to, payload="x", ack=ack, ack_within=hours * HOUR, reply_to=parent.event if parent else None)
        sent = self.store.run_sync(mail.send, spec, sender="ann")
        assert sent.thread == (parent.thread if parent is not None else sent.id)
        self.mails.append(sent)
        names = ["admin", "bob", "cem", "husam"] if to == "team:red" else [to]
        self.states |= dict.fromkeys(((sent.id, name) for name in names), ItemState.PENDING)
        if ack is AckRequest.REQUIRED:
            self.deadlines[sent.id] = self.kit.clock.now() + hours * HOUR

    @rule(name=some.sampled_from(["bob", "cem"]), limit=some.integers(1, 5), is_acked=some.booleans())
    def read(self, name: str, limit: int, is_acked: bool) -> None:
        batch = self.store.run_sync(inbox.claim, name, owner="me", limit=limit)
        if batch.claim is None:
            return
        verb = inbox.ack if is_acked else inbox.release
        self.store.run_sync(verb, batch.claim.id, owner="me", fence=batch.claim.fence)
        if is_acked:
            self._set_states([item.event.id for item in batch.items], name, ItemState.DELIVERED)

    @rule(name=some.sampled_from(["husam", "admin"]), pick=some.integers(0, 20), is_done=some.booleans())
    def end_one(self, name: str, pick: int, is_done: bool) -> None:
        waiting = self.store.read_sync(inbox.peek, name, limit=100)
        if not waiting:
            return
        event = waiting[pick % len(waiting)].event.id
        if is_done:
            self.store.run_sync(inbox_items.mark_done, name, event)
        else:
            self.store.run_sync(inbox_items.discard, event, name)
        self._set_states([event], name, ItemState.DELIVERED if is_done else ItemState.DISCARDED)

    @rule(pick=some.integers(0, 20), name=some.sampled_from(["bob", "husam"]))
    def replay(self, pick: int, name: str) -> None:
        """A discarded item waits again, unless it is gone. A delivered one stays; its copy is no part of the mail."""
        if not self.mails:
            return
        sent = self.mails[pick % len(self.mails)]
        try:
            self.store.run_sync(inbox_items.replay, sent.event or "", name)
        except (Conflict, NotFound):
            return
        if self.states[sent.id, name] is ItemState.DISCARDED:
            self.states[sent.id, name] = ItemState.PENDING

    @rule(hours=some.integers(1, 30), is_reaped=some.booleans())
    def wait(self, hours: int, is_reaped: bool) -> None:
        now = self.kit.clock.advance(hours * HOUR)
        expected_ids = {
            id
            for id, deadline in self.deadlines.items()
            if deadline <= now and id not in self.overdue_ids and not self._is_read(id)
        }
        assert self.store.run_sync(read_receipts.report_overdue) == len(expected_ids)
        self.overdue_ids |= expected_ids
        while is_reaped and self.store.run_sync(retention.reap):
            pass

    def _set_states(self, events: list[str], name: str, state: ItemState) -> None:
        ids = {sent.event: sent.id for sent in self.mails}
        self.states |= {(ids[event], name): state for event in events if event in ids}

    def _is_read(self, id: str) -> bool:
        return all(state is ItemState.DELIVERED for (mail_id, _), state in self.states.items() if mail_id == id)

    @invariant()
    def the_sent_box_tells_the_state_of_each(self) -> None:
        sent_mails = self.store.read_sync(mail.list_sent, "ann", thread=None, ref=None, before=None, limit=1_000)
        assert [sent.id for sent in sent_mails] == [sent.id for sent in reversed(self.mails)]
        shown_states = {(sent.id, entry.name): entry.state for sent in sent_mails for entry in sent.recipients}
        assert shown_states == self.states
        for sent in sent_mails:
            assert sum(sent.states.values()) == len(sent.recipients)
            if sent.id not in self.deadlines:
                expected = None
            elif sent.ack is AckState.READ:
                continue  # once read by all it stays so; whether it was is told by the notices
            else:
                expected = AckState.OVERDUE if sent.id in self.overdue_ids else AckState.PENDING
                assert not self._is_read(sent.id)
            assert sent.ack is expected

    @invariant()
    def the_sender_heard_of_each_end_once(self) -> None:
        notices = [
            item.event
            for item in self.store.read_sync(inbox.list_page, "ann", limit=1_000)
            if item.event.type is EventType.SYSTEM
        ]
        heard = sorted((str(notice.ref), "not read" in notice.content) for notice in notices)
        read_ids = [id for id in self.deadlines if self._is_read(id)]
        assert heard == sorted(
            [(str(Ref("mail", id)), False) for id in read_ids]
            + [(str(Ref("mail", id)), True) for id in self.overdue_ids]
        )

    @invariant()
    def nothing_vanishes(self) -> None:
        assert self.store.read_sync(account_actions.find_unbalanced)[0] == []


def test_mails_and_their_items_agree_on_sqlite(tmp_path: Path) -> None:
    run_on_sqlite(MailMachine, tmp_path, examples=10, steps=40)


def test_mails_and_their_items_agree_on_postgres(empty_postgres_url: str) -> None:
    run_on_postgres(MailMachine, empty_postgres_url, examples=3, steps=40)
