"""Mail on PostgreSQL, read and missed by two at once: its sender hears of it once."""

from collections.abc import Iterator

import pytest

from gatepost.core.times import DAY
from gatepost.directory.entity import EntityKind
from gatepost.inbox import claim_actions as inbox, item_actions as inbox_items
from gatepost.inbox.event import EventType, ItemState
from gatepost.mail import mail_actions as mail, read_receipt_actions as read_receipts
from gatepost.mail.sent_record import AckRequest, AckState, Mail, MailSpec
from gatepost.testing import Kit
from gatepost.worker import retention_actions as retention
from tests.support.races import Race
from tests.support.waits import LAST_RESORT


@pytest.fixture
def race(empty_postgres_url: str) -> Iterator[Race]:
    with Kit(empty_postgres_url) as kit:
        race = Race(kit)
        race.register("cem", team="red")
        with race.pool:
            yield race


def send(race: Race, to: str = "team:red", *, ack: AckRequest = AckRequest.REQUIRED) -> Mail:
    spec = MailSpec(to=to, payload="tea?", ack=ack)
    return race.store.run_sync(mail.send, spec, sender="ann")


def list_notices(race: Race, name: str = "ann") -> list[str]:
    pending_items = race.store.read_sync(inbox.peek, name, limit=1_000)
    return [item.event.content for item in pending_items if item.event.type is EventType.SYSTEM]


@pytest.mark.parametrize("before", ["inbox/claims/end", "mail/outgoing/list_awaited", "mail/outgoing/lock", None])
def test_two_who_read_it_at_once_are_told_of_once(race: Race, before: str | None) -> None:
    sent = send(race)
    first, second = race.take_claim("bob"), race.take_claim("cem")
    with race.pause_midway(inbox.ack, first.id, owner="me", fence=first.fence, before=before):
        future = race.start_blocked(inbox.ack, second.id, owner="me", fence=second.fence)
    assert future.result(LAST_RESORT) == 1
    assert list_notices(race) == ["your mail to team:red was read by bob, cem"]
    assert race.store.read_sync(mail.show, sent.id).ack is AckState.READ
    assert race.is_consistent()


def test_an_agent_and_a_person_read_it_at_once(race: Race) -> None:
    race.register("boss", EntityKind.HUMAN, team="green")
    race.register("dan", team="green")
    sent = send(race, "team:green")
    claim = race.take_claim("dan")
    with race.pause_midway(inbox_items.mark_done, "boss", sent.event):
        future = race.start_blocked(inbox.ack, claim.id, owner="me", fence=claim.fence)
    assert future.result(LAST_RESORT) == 1
    assert list_notices(race) == ["your mail to team:green was read by boss, dan"]


def test_two_batches_with_the_same_mails_do_not_deadlock(race: Race) -> None:
    for _ in range(5):
        send(race)
    first, second = race.take_claim("bob"), race.take_claim("cem")
    with race.pause_midway(inbox.ack, first.id, owner="me", fence=first.fence):
        future = race.start_blocked(inbox.ack, second.id, owner="me", fence=second.fence)
    assert future.result(LAST_RESORT) == 5
    assert len(list_notices(race)) == 5
    assert race.is_consistent()


@pytest.mark.parametrize("before", ["mail/outgoing/set_ack", None])
def test_two_who_look_for_overdue_mail_report_it_once(race: Race, before: str | None) -> None:
    for _ in range(3):
        send(race)
    race.clock.advance(DAY)
    with race.pause_midway(read_receipts.report_overdue, before=before) as first_future:
        second_count = race.store.run_sync(read_receipts.report_overdue)
    assert (first_future.result(LAST_RESORT), second_count) == (3, 0)
    assert race.store.run_sync(read_receipts.report_overdue) == 0
    assert list_notices(race) == ["your mail to team:red was not read by bob, cem within 1d"] * 3
    assert race.is_consistent()


def test_mail_that_is_read_while_it_becomes_overdue(race: Race) -> None:
    sent = send(race, "bob")
    claim = race.take_claim("bob")
    race.clock.advance(DAY)
    with race.pause_midway(inbox.ack, claim.id, owner="me", fence=claim.fence):
        assert race.store.run_sync(read_receipts.report_overdue) == 0
    assert list_notices(race) == ["your mail to bob was read by bob"]
    assert race.store.read_sync(mail.show, sent.id).ack is AckState.READ


def test_mail_that_becomes_overdue_while_it_is_read(race: Race) -> None:
    sent = send(race, "bob")
    claim = race.take_claim("bob")
    race.clock.advance(DAY)
    with race.pause_midway(read_receipts.report_overdue):
        future = race.start_blocked(inbox.ack, claim.id, owner="me", fence=claim.fence)
    assert future.result(LAST_RESORT) == 1
    assert list_notices(race) == [
        "your mail to bob was not read by bob within 1d",
        "your mail to bob was read by bob",
    ]
    assert race.store.read_sync(mail.show, sent.id).ack is AckState.READ


def test_states_are_kept_by_two_reapers_at_once(race: Race) -> None:
    sent = send(race, ack=AckRequest.NONE)
    for name in ("bob", "cem"):
        race.ack(race.take_claim(name))
    race.clock.advance(2 * DAY)
    with race.pause_midway(retention.reap, limit=1):
        future = race.start_blocked(retention.reap, limit=1)
    future.result(LAST_RESORT)
    while race.store.run_sync(retention.reap):
        pass
    assert race.store.read_sync(mail.show, sent.id).states == {ItemState.DELIVERED: 2}
    assert race.is_consistent()
