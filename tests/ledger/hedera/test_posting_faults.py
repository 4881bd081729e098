"""Each transaction of a flow goes wrong once, in every way, and all is done once."""

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gatepost.inbox.event import Ref
from gatepost.ledger.public_ledger import LedgerReceipt, LedgerTransaction
from gatepost.ledger.topic import TopicKind
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from tests.ledger.hedera.ledger_setup import LedgerSetup
from tests.ledger.hedera.network.prechecks import parse

LONG_TEXT = "".join(f"{number * number % 7919} " for number in range(900))


class Killed(BaseException):
    """The process has ended here."""


class FlowFaults:
    """Something goes wrong with one transaction: with the one at `place`, counted from 1."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, setup: LedgerSetup, kind: str) -> None:
        self._kind, self._network = kind, setup.network
        self._submit, self._execute = setup.network.submit, setup.ledger.execute
        self._place = self.count = 0
        monkeypatch.setattr(setup.network, "submit", self._submit_or_lose)
        monkeypatch.setattr(setup.network, "take_reply_fault", self._take_reply_fault)
        monkeypatch.setattr(setup.ledger, "execute", self._execute_or_die)

    def arm(self, place: int) -> None:
        """Count anew, and break the transaction at this place."""
        self._place, self.count = place, 0

    def _submit_or_lose(self, transaction: Any, node: str) -> None:
        """The adapter sends a transaction up to three times: those that are repeated do not count."""
        is_new = parse(transaction).id not in self._network.state.accepted_ids
        self.count += is_new
        if self._kind == "lost" and is_new and self.count == self._place:
            self._network.lose_transactions(1)
        self._submit(transaction, node)

    def _take_reply_fault(self) -> str | None:
        return "drop" if self._kind == "silent" and self.count == self._place else None

    async def _execute_or_die(self, transaction: LedgerTransaction) -> LedgerReceipt:
        receipt = await self._execute(transaction)
        if self._kind == "killed" and self.count == self._place:
            self._place = 0
            raise Killed
        return receipt


async def run_flow(setup: LedgerSetup, name: str, *, round_length: str = "1 minute") -> None:
    """Send what needs every kind of transaction, from and to those who are not on the ledger yet."""
    sender, recipient, item = f"from-{name}", f"to-{name}", Ref("task", name)
    for entity in (sender, recipient):
        setup.register(entity)
    setup.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id=name), by=sender)
    text = f"{name}: {LONG_TEXT}"
    setup.send(recipient, text, sender=sender)
    setup.send("ALL", f"to all from {name}", sender=sender)
    setup.send(recipient, "short", sender=sender)
    setup.store.run_sync(work.post_note, item, "a note", by=sender, notify=[recipient])
    while setup.count_jobs():
        try:
            await setup.run_jobs()
            setup.kit.clock.advance(round_length)
        except BaseExceptionGroup as group:
            if not group.subgroup(Killed):
                raise
            setup.restart()
            setup.kit.clock.advance("3 minutes")  # the jobs are held until then
    await setup.listen()
    texts = [event.content for event in setup.read_inbox(recipient) if not event.content.startswith("to all")]
    assert sorted(texts) == sorted([text, "short", "a note"])
    assert texts.index(text) < texts.index("short")
    assert setup.list_inbox("husam") == []
    first, second = setup.read_ledger(TopicKind.INBOUND, recipient)
    assert first["data"].startswith("hcs://1/")
    assert json.loads(second["data"])["payload"]["text"] == "short"
    [topic] = [topic for topic in setup.list_topics(TopicKind.WORK) if topic.item == item]
    [note] = setup.network.messages(topic.id)
    assert json.loads(note.content)["note"] == "a note"
    places = [json.loads(part.content)["o"] for part in setup.network.messages(first["data"].removeprefix("hcs://1/"))]
    assert places == list(range(3))
    assert setup.list_posted_texts(TopicKind.BROADCAST).count(f"to all from {name}") == 1
    assert setup.count_orphans() == (0, 0)
    assert (setup.count_steps(), setup.list_failed_jobs(), setup.list_alerts()) == (0, [], [])


#: two accounts, two inbound topics, a topic of a file, three parts, three messages, the topic of the task, a note
FLOW_LENGTH = 13


async def test_a_flow_is_the_same_on_postgresql(postgres_setup: LedgerSetup) -> None:
    """By day this is what is posted and read on PostgreSQL; by night all of it is."""
    await run_flow(postgres_setup, "first")
    assert postgres_setup.is_balanced()


@pytest.mark.parametrize(
    "places", [(1, 7, 13), pytest.param(range(1, FLOW_LENGTH + 1), marks=pytest.mark.nightly)], ids=["some", "all"]
)
@pytest.mark.parametrize("kind", ["silent", "lost", "killed"])
async def test_whichever_transaction_goes_wrong_all_is_done_once(
    hedera: LedgerSetup, monkeypatch: pytest.MonkeyPatch, kind: str, places: Sequence[int]
) -> None:
    """A node drops the replies, or loses the transaction, or our process is killed before it hears what came of it."""
    await run_flow(hedera, "first")
    faults = FlowFaults(monkeypatch, hedera, kind)
    for place in places:
        faults.arm(place)
        await run_flow(hedera, f"flow-{place}", round_length="3 minutes" if place % 2 else "1 minute")
        assert faults.count == FLOW_LENGTH + (kind == "lost")
    assert hedera.is_balanced()
