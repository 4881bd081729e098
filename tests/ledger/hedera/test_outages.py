"""Nodes and mirror nodes fail in every way, and nothing is lost, doubled or out of order."""

from collections import Counter

import pytest

from gatepost.errors import Unavailable
from gatepost.inbox.event import Priority
from gatepost.ledger import posting_actions as ledger_posts
from gatepost.ledger.ledger_step_background import LedgerSteps
from gatepost.ledger.poster_background import LedgerPoster
from gatepost.ledger.topic import TopicKind
from gatepost.mail import work_actions as work
from gatepost.mail.sent_record import PostState
from tests.ledger.hedera.ledger_setup import FUND, TASK, LedgerSetup
from tests.ledger.hedera.network.node import HBAR
from tests.ledger.hedera.network.prechecks import FEES

POSTGRES_BY_NIGHT = True

LONG_TEXT = "".join(f"{number * number % 7919} " for number in range(900))


async def test_a_busy_node_is_asked_again(hedera: LedgerSetup) -> None:
    hedera.network.answer_busy(7)
    hedera.send("bob", "hello")
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["hello"]
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["hello"]
    assert hedera.count_orphans() == (0, 0)


async def test_mail_that_the_mirror_does_not_show_is_delivered_after_the_patience_and_once(
    public_setup: LedgerSetup,
) -> None:
    setup = public_setup
    setup.send("bob", "first")
    await setup.settle()
    setup.network.mirror.hold()
    sent = setup.send("bob", "hello")
    urgent = setup.send("bob", "fire", priority=Priority.HIGH)
    setup.send("ALL", "lunch")
    await setup.run_jobs()
    await setup.listen()
    setup.kit.clock.advance("59 seconds")
    assert setup.deliver_overdue() == 0
    assert setup.list_inbox("bob") == ["fire", "first"]
    setup.kit.clock.advance("1 second")
    assert setup.deliver_overdue() == 2
    assert setup.list_inbox("bob") == ["fire", "first", "hello", "lunch"]
    assert (setup.show(sent).post, setup.show(urgent).post) == (PostState.POSTED, PostState.POSTED)
    setup.network.mirror.release()
    await setup.settle()
    assert setup.deliver_overdue() == 0
    assert setup.list_inbox("bob") == ["fire", "first", "hello", "lunch"]
    assert setup.list_posted_texts(TopicKind.INBOUND, "bob") == ["first", "hello", "fire"]
    setup.read_everything("bob")
    await setup.settle()
    assert setup.list_inbox("bob") == []
    assert setup.is_balanced()


async def test_mail_that_is_not_on_the_ledger_is_delivered_and_marked_as_unposted(hedera: LedgerSetup) -> None:
    hedera.network.stop_nodes()
    sent = hedera.send("bob", "hello")
    await hedera.run_jobs()
    hedera.kit.clock.advance("1 minute")
    hedera.deliver_overdue()
    assert hedera.list_inbox("bob") == ["hello"]
    shown = hedera.show(sent)
    assert (shown.post, shown.posted_at, shown.event is not None) == (PostState.UNPOSTED, None, True)
    hedera.network.start_nodes()
    await hedera.settle()
    assert hedera.show(sent).post is PostState.POSTED
    assert hedera.list_inbox("bob") == ["hello"]
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["hello"]


async def test_a_mirror_that_repeats_pages_delivers_nothing_twice(hedera: LedgerSetup) -> None:
    texts = [f"mail {number}" for number in range(8)]
    for text in texts[:4]:
        hedera.send("bob", text)
    await hedera.settle()
    for text in texts[4:]:
        hedera.send("bob", text)
    hedera.network.mirror.repeat_pages(50)
    await hedera.settle()
    assert hedera.list_inbox("bob") == texts
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == texts


@pytest.mark.parametrize("fault", ["limit", "fail", "broken"])
async def test_a_mirror_that_does_not_answer_is_asked_again(hedera: LedgerSetup, fault: str) -> None:
    hedera.send("bob", "hello")
    await hedera.run_jobs()
    match fault:
        case "limit":
            hedera.network.mirror.limit(3)
        case "fail":
            hedera.network.mirror.fail(3)
        case _:
            hedera.network.mirror.fail(3, broken_json=True)
    await hedera.listen()
    assert hedera.list_inbox("bob") == []
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["hello"]


async def test_a_mirror_with_a_limit_is_left_alone_for_as_long_as_it_asks(hedera: LedgerSetup) -> None:
    hedera.send("bob", "hello")
    await hedera.run_jobs()
    hedera.network.mirror.limit(20, retry_after=3_600)
    assert hedera._listener is not None
    with pytest.raises(Exception, match="limit of requests"):
        await hedera._listener.run_round()
    requests = Counter(hedera.network.requests)
    await hedera._listener.run_round()
    assert Counter(hedera.network.requests) == requests
    assert hedera.list_inbox("bob") == []


async def test_a_message_that_is_left_out_is_waited_for(hedera: LedgerSetup) -> None:
    hedera.send("bob", "first")
    await hedera.settle()
    topic = hedera.find_topic(TopicKind.INBOUND, "bob")
    hedera.network.mirror.hide(topic.id, 2)
    for text in ("second", "third"):
        hedera.send("bob", text)
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["first"]
    hedera.network.mirror.show(topic.id, 2)
    await hedera.listen()
    assert hedera.list_inbox("bob") == ["first", "second", "third"]
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["first", "second", "third"]


async def test_a_message_that_stays_left_out_is_passed_over_and_named(public_setup: LedgerSetup) -> None:
    setup = public_setup
    setup.send("bob", "first")
    await setup.settle()
    topic = setup.find_topic(TopicKind.INBOUND, "bob")
    setup.network.mirror.hide(topic.id, 2)
    sent = setup.send("bob", "second")
    setup.send("bob", "third")
    await setup.settle()
    setup.run_out_of_patience()
    await setup.listen()
    assert setup.list_inbox("bob") == ["first", "third"]
    setup.kit.clock.advance("1 minute")
    setup.deliver_overdue()
    assert setup.list_inbox("bob") == ["first", "third", "second"]
    assert setup.show(sent).post is PostState.POSTED
    verification = setup.verify(topic)
    assert (verification.messages, verification.proved, verification.wrong) == (2, 1, 1)
    assert verification.first_fault is not None
    assert (verification.first_fault.sequence, verification.first_fault.reason) == (3, "it does not follow message 1")
    setup.send("bob", "fourth")
    await setup.settle()
    assert setup.list_inbox("bob") == ["first", "third", "second", "fourth"]
    assert setup.verify(topic).wrong == 1
    pages = [setup.verify(topic, after=after, limit=2) for after in (0, 3)]
    assert [(page.messages, page.wrong, page.next) for page in pages] == [(2, 1, 3), (1, 0, None)]
    assert setup.is_balanced()


async def test_a_message_that_the_mirror_has_changed_is_refused(hedera: LedgerSetup) -> None:
    for text in ("first", "second", "third"):
        hedera.send("bob", text)
    hedera.network.mirror.hold()
    await hedera.run_jobs()
    topic = hedera.find_topic(TopicKind.INBOUND, "bob")
    [_, second, _] = hedera.network.messages(topic.id)
    hedera.network.mirror.tamper(topic.id, 2, message=second.content.replace(b"second", b"forged"))
    hedera.network.mirror.release()
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["first", "third"]
    assert hedera.list_refusals(topic) == [None, "its running hash does not match", None]
    fault = hedera.verify(topic).first_fault
    assert fault is not None
    assert (fault.sequence, fault.reason) == (2, "its running hash does not match")
    hedera.kit.clock.advance("1 minute")
    hedera.deliver_overdue()
    assert hedera.list_inbox("bob") == ["first", "third", "second"]


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"payer_account_id": "0.0.2"}, "its running hash does not match"),
        ({"consensus_timestamp": "1.000000001"}, "it is not later than the message before it"),
        ({"running_hash_version": 2}, "its running hash has version 2, and only 3 can be checked"),
    ],
)
async def test_a_message_with_another_field_is_refused(
    hedera: LedgerSetup, fields: dict[str, object], reason: str
) -> None:
    hedera.send("bob", "first")
    await hedera.settle()
    topic = hedera.find_topic(TopicKind.INBOUND, "bob")
    hedera.network.mirror.tamper(topic.id, 2, **fields)
    hedera.send("bob", "second")
    hedera.send("bob", "third")
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["first", "third"]
    assert hedera.list_refusals(topic) == [None, reason, None]


async def test_nodes_that_are_down_for_hours_lose_double_and_mix_up_nothing(public_setup: LedgerSetup) -> None:
    """The ids of transactions are too old by then, and a job has been tried more often than others may be."""
    setup = public_setup
    setup.send("bob", "before")
    await setup.settle()
    setup.network.stop_nodes()
    texts = ["first", "second", "third"]
    mails = [setup.send("bob", text) for text in texts]
    setup.send("bob", "fire", priority=Priority.CRITICAL)
    setup.post_note("a note", notify=["husam"])
    setup.change_record("UPDATE jobs SET attempts = 150 WHERE ended_at IS NULL")
    for _ in range(12):
        await setup.run_jobs()
        setup.kit.clock.advance("10 minutes")
        setup.deliver_overdue()
    expected = ["fire", "before", *texts]
    assert setup.list_inbox("bob") == expected
    assert {setup.show(mail).post for mail in mails} == {PostState.UNPOSTED}
    assert setup.list_failed_jobs() == []
    [alert] = setup.list_alerts()
    assert alert.startswith("nothing is posted to the ledger, or not everything: the node")
    setup.network.start_nodes()
    await setup.settle()
    assert setup.list_inbox("bob") == expected
    assert setup.list_posted_texts(TopicKind.INBOUND, "bob") == ["before", *texts, "fire"]
    assert len(setup.read_ledger(TopicKind.WORK)) == 1
    assert {setup.show(mail).post for mail in mails} == {PostState.POSTED}
    assert setup.count_orphans() == (0, 0)
    assert setup.is_balanced()


@pytest.mark.parametrize("is_executed", [True, False])
async def test_nodes_that_fail_after_they_have_taken_a_message_for_longer_than_its_id_is_valid(
    hedera: LedgerSetup, is_executed: bool
) -> None:
    hedera.send("bob", "before")
    await hedera.settle()
    if is_executed:
        hedera.network.drop_replies(3)
    else:
        hedera.network.lose_transactions(1)
    hedera.send("bob", "hello")
    hedera.send("bob", "next")
    await hedera.run_jobs()
    hedera.network.stop_nodes()
    hedera.network.mirror.hold()
    for _ in range(12):
        hedera.kit.clock.advance("5 minutes")
        await hedera.run_jobs()
    hedera.network.mirror.release()
    hedera.network.start_nodes()
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["before", "hello", "next"]
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["before", "hello", "next"]


async def test_an_account_without_money_gets_some_from_the_operator(public_setup: LedgerSetup) -> None:
    setup = public_setup
    setup.send("bob", "before")
    await setup.settle()
    account = str(setup.find_account("ann"))
    setup.network.set_balance(account, 0)
    setup.send("bob", "after")
    setup.post_note(LONG_TEXT, by="ann")
    await setup.settle()
    assert setup.list_inbox("bob") == ["before", "after"]
    assert setup.list_posted_texts(TopicKind.INBOUND, "bob") == ["before", "after"]
    transfers = [entry for entry in setup.network.transactions if entry.name == "CRYPTOTRANSFER"]
    assert [entry.transfers[account] for entry in transfers] == [FUND]
    assert setup.list_alerts() == []
    assert setup.count_steps() == 0


async def test_without_money_of_the_operator_one_alert_a_day_is_sent_and_posting_goes_on_later(
    public_setup: LedgerSetup,
) -> None:
    setup = public_setup
    setup.network.set_balance(setup.network.operator_id, FEES["consensusCreateTopic"])
    mails = [setup.send("bob", "to bob"), setup.send("ann", "to ann", sender="bob"), setup.send("ALL", "to all")]
    for _ in range(25):
        await setup.run_jobs()
        setup.kit.clock.advance("1 hour")
    assert [setup.show(mail).post for mail in mails] == [PostState.UNPOSTED] * 3
    alerts = setup.list_alerts()
    assert len(alerts) == 2
    assert set(alerts) == {
        f"the ledger takes nothing from account {setup.network.operator_id}: the ledger refused to create an account "
        f"for the account {setup.network.operator_id}: INSUFFICIENT_PAYER_BALANCE (hint: send HBAR to the "
        f"account {setup.network.operator_id})"
    }
    assert setup.network.transactions == []
    setup.network.set_balance(setup.network.operator_id, 100 * HBAR)
    await setup.settle()
    assert [setup.show(mail).post for mail in mails] == [PostState.POSTED] * 3
    assert setup.list_inbox("bob") == ["to bob", "to all"]
    assert len(setup.list_alerts()) == 2
    assert setup.is_balanced()


async def test_fees_above_our_limit_move_no_money(hedera: LedgerSetup, monkeypatch: pytest.MonkeyPatch) -> None:
    hedera.send("bob", "before")
    await hedera.settle()
    monkeypatch.setitem(FEES, "consensusSubmitMessage", 300 * HBAR)
    hedera.send("bob", "after")
    for _ in range(5):
        await hedera.run_jobs()
        hedera.kit.clock.advance("1 minute")
    assert [entry for entry in hedera.network.transactions if entry.name == "CRYPTOTRANSFER"] == []
    [alert] = hedera.list_alerts()
    assert "INSUFFICIENT_TX_FEE" in alert
    monkeypatch.undo()
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["before", "after"]


async def test_a_key_that_is_gone_is_reported_and_posting_goes_on_when_it_is_back(hedera: LedgerSetup) -> None:
    hedera.send("bob", "before")
    await hedera.settle()
    key = hedera.folder / "keys" / "ann.key"
    hidden_key = key.rename(key.with_suffix(".away"))
    sent = hedera.send("bob", "after")
    await hedera.run_jobs()
    assert hedera.show(sent).post is PostState.UNPOSTED
    hidden_key.rename(key)
    await hedera.settle()
    assert hedera.list_posted_texts(TopicKind.INBOUND, "bob") == ["before", "after"]


@pytest.mark.parametrize("kind", [TopicKind.WORK, TopicKind.INBOUND, TopicKind.BROADCAST])
async def test_what_the_ledger_refuses_for_good_is_marked_and_the_rest_goes_on(
    hedera: LedgerSetup, kind: TopicKind
) -> None:
    hedera.send("bob", "before")
    hedera.send("ALL", "to all")
    hedera.post_note("before")
    await hedera.settle()
    topic = hedera.find_topic(kind, "bob" if kind is TopicKind.INBOUND else None)
    stored = hedera.network.topics.pop(topic.id)
    mail = hedera.send("bob", "mail")
    broadcast = hedera.send("ALL", "broadcast")
    note = hedera.post_note("note")
    later = hedera.send("husam", "later")
    hedera.network.mirror.hold()
    await hedera.run_jobs()
    states = {
        TopicKind.INBOUND: hedera.show(mail).post,
        TopicKind.BROADCAST: hedera.show(broadcast).post,
        TopicKind.WORK: hedera.store.read_sync(work.list_notes, TASK)[1].post,
    }
    assert states == {other: PostState.FAILED if other is kind else PostState.POSTED for other in states}
    assert hedera.show(later).post is PostState.POSTED
    failed_id = {TopicKind.INBOUND: mail.id, TopicKind.BROADCAST: broadcast.id, TopicKind.WORK: note.id}[kind]
    name = "note" if kind is TopicKind.WORK else "mail"
    assert hedera.list_alerts() == [
        f"{name} {failed_id} of ann is not on the ledger, and never will be: the ledger refused to send a message to "
        f"the topic {topic.id} for the account {hedera.find_account('ann')}: INVALID_TOPIC_ID"
    ]
    assert (hedera.count_jobs(), hedera.count_steps()) == (0, 0)
    hedera.kit.clock.advance("1 minute")
    hedera.deliver_overdue()
    assert hedera.list_inbox("bob") == ["before", "to all", "mail", "broadcast"]
    hedera.network.topics[topic.id] = stored
    hedera.network.mirror.release()
    await hedera.settle()
    assert hedera.list_inbox("bob") == ["before", "to all", "mail", "broadcast"]
    assert hedera.is_balanced()


async def test_of_a_team_the_members_whose_topics_are_there_have_mail_on_the_ledger(hedera: LedgerSetup) -> None:
    hedera.register("carl", team="red")
    hedera.send("team:red", "before")
    await hedera.settle()
    del hedera.network.topics[hedera.find_topic(TopicKind.INBOUND, "bob").id]
    sent = hedera.send("team:red", "after")
    await hedera.run_jobs()
    await hedera.listen()
    assert hedera.show(sent).post is PostState.FAILED
    assert hedera.list_posted_texts(TopicKind.INBOUND, "carl") == ["before", "after"]
    assert (hedera.list_inbox("bob"), hedera.list_inbox("carl")) == (["before", "after"], ["before", "after"])


async def test_a_process_that_comes_late_posts_nothing_again(public_setup: LedgerSetup) -> None:
    """It was stopped after it had seen a record, and another one has posted the record meanwhile."""
    setup = public_setup
    sent = setup.send("bob", "before")
    await setup.settle()
    sent = setup.send("bob", "hello")
    targets = setup.store.read_sync(ledger_posts.find_targets, sent.id)
    assert targets is not None
    await setup.settle()
    poster = LedgerPoster(LedgerSteps(setup.store, setup.ledger, fund=FUND))
    with pytest.raises(Unavailable, match="was just posted by another process"):
        await poster._post(targets)
    await setup.settle()
    assert setup.list_posted_texts(TopicKind.INBOUND, "bob") == ["before", "hello"]
    assert setup.list_inbox("bob") == ["before", "hello"]
