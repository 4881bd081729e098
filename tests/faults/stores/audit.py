"""
Whether a store holds what was promised to those who wrote into it: their journals on one side, its tables on the other.

    answered      there, once, for everybody it was for, as the event that was named in the answer
    unavailable   not there, unless the error said that it may be
    unanswered    there once for everybody, or not at all
    refused       not there; nor is a trace of it
    rang          there; and whatever was answered as new to a life that lived on has rung once for each recipient
    read          logged before it was delivered; logged twice only if whoever logged it first was killed before its ack
"""

from collections import Counter, defaultdict
from collections.abc import Collection
from contextlib import closing
from pathlib import Path
from typing import cast

from gatepost.app import open_store
from gatepost.inbox import account_actions
from gatepost.stores.threaded_store import ThreadedStore
from tests.faults.crew_store import CREW, LaterClock, RunQuery, open_database_alone, resolve_recipients
from tests.faults.stores import journal
from tests.faults.stores.journal import JournalEntry
from tests.faults.stores.journaled_client import JournaledClient


def audit(url: str, folder: Path, *, killed: Collection[str] = ()) -> None:
    """Compare the store with what every life wrote down; `killed` are those that did not end well."""
    journals = journal.read_journals(folder, "journal")
    with open_database_alone(url) as query:
        _check_store(url, query)
        _check_pushes(query, [entry for entries in journals.values() for entry in entries])
        _check_reads(query, folder, journals, set(killed))
        _check_signals(query, folder, journals, set(killed))


def drain_and_audit(url: str, folder: Path, *, killed: Collection[str] = ()) -> None:
    """Read everything that is left, an hour later, and see that nothing was kept from the readers."""
    with open_database_alone(url), closing(cast(ThreadedStore, open_store(url, clock=LaterClock()))) as store:
        client = JournaledClient(store, folder, "zz-last")
        for name in CREW:
            while client.drain(name, limit=1_000):
                pass
        accounts = store.read_sync(account_actions.list_accounts)
    with closing(open_store(url)) as reopened_store:
        assert reopened_store.check() == []
    assert all(account.pending == account.claimed == 0 for account in accounts), accounts
    audit(url, folder, killed=killed)


def _check_store(url: str, query: RunQuery) -> None:
    """The database is in order, and so are the accounts: by the verb, and by counting the rows."""
    with closing(open_store(url)) as store:
        if url.startswith("sqlite"):  # PostgreSQL checks itself
            assert store.check() == []
        accounts = {account.name: account for account in store.read_sync(account_actions.list_accounts)}
    items: dict[str, int] = dict(
        query("SELECT r.name, count(*) FROM items i JOIN entities r ON r.number = i.recipient GROUP BY 1")
    )
    for name, account in accounts.items():
        assert account.is_balanced, account
        assert account.accepted == items.get(name, 0), account
    stray_events = query(
        "SELECT content FROM events e WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = e.arrival)"
        " AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)"
    )
    assert stray_events == []


def _check_pushes(query: RunQuery, entries: list[JournalEntry]) -> None:
    events = query("SELECT content, id FROM events")
    stored: dict[str, str] = dict(events)
    assert len(stored) == len(events), [
        name for name, count in Counter(name for name, _ in events).items() if count > 1
    ]
    broadcast_names = {
        name for [name] in query("SELECT e.content FROM broadcasts b JOIN events e ON e.arrival = b.arrival")
    }
    recipients = defaultdict(list)
    for name, recipient in query(
        "SELECT e.content, r.name FROM items i"
        " JOIN events e ON e.arrival = i.arrival JOIN entities r ON r.number = i.recipient"
    ):
        recipients[name].append(recipient)

    attempts: dict[str, list[JournalEntry]] = defaultdict(list)
    for entry in entries:
        if "content" in entry:
            attempts[entry["content"]].append(entry)
    assert stored.keys() <= attempts.keys()
    for name, history in attempts.items():
        address = history[0]["to"]
        names = sorted(recipients[name])
        if address == "*":
            assert len(set(names)) == len(names), name
            assert (name in stored) == (name in broadcast_names), name
        elif name in stored:
            assert names == sorted(resolve_recipients(address)), name
        _check_push_history(name, history, stored.get(name))


def _check_push_history(name: str, history: list[JournalEntry], event: str | None) -> None:
    """Whether what was said about one push, try after try, is true of the event that is there or not there."""
    outcomes = [entry["word"] for entry in history]
    if "refused" in outcomes:
        assert event is None, f"{name} was refused and is there"
    if outcomes[-1] == "unavailable" and history[-1]["nothing"] and "answered" not in outcomes:
        is_doubtful = outcomes.count("trying") > outcomes.count("unavailable") or any(
            entry.get("nothing") is False for entry in history
        )
        assert event is None or is_doubtful, f"{name} was not stored, it was said, and is there"
    answers = [entry for entry in history if entry["word"] == "answered"]
    for answer in answers:
        assert event is not None, f"{name} was answered and is not there"
        assert set(answer["events"]) == set(resolve_recipients(history[0]["to"])), name
        assert set(answer["events"].values()) == {event}, name
    assert sum(not answer["repeated"] for answer in answers) <= 1, f"{name} was new twice"
    if answers and answers[0]["repeated"]:
        earlier = history[: history.index(answers[0])]
        unsure_entries = [entry for entry in earlier if entry["word"] == "unavailable" and not entry["nothing"]]
        unheard_count = sum(entry["word"] == "trying" for entry in earlier) - sum(
            entry["word"] == "unavailable" for entry in earlier
        )
        assert unsure_entries or unheard_count > 1, (
            f"{name} was there though every earlier try was said to have left nothing"
        )


def _check_reads(query: RunQuery, folder: Path, journals: dict[str, list[JournalEntry]], killed: set[str]) -> None:
    acked_claims = {entry["claim"] for life in journals.values() for entry in life if entry["word"] == "acked"}
    readings_by_item: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for life, entries in journal.read_journals(folder, "log").items():
        for entry in entries:
            readings_by_item[entry["recipient"], entry["event"]].append((life, entry["claim"]))
    delivered_claims = {
        (recipient, event): claim
        for recipient, event, claim in query(
            "SELECT r.name, e.id, c.id FROM items i JOIN events e ON e.arrival = i.arrival"
            " JOIN entities r ON r.number = i.recipient LEFT JOIN claims c ON c.number = i.claim"
            " WHERE i.state = 'delivered'"
        )
    }
    for item, claim in delivered_claims.items():
        assert claim in {log_claim for _, log_claim in readings_by_item[item]}, (
            f"{item} is delivered and nobody logged it"
        )
    for item, readings in readings_by_item.items():
        claims = [claim for _, claim in readings]
        assert len(set(claims)) == len(claims), f"{item} was logged twice under one claim"
        acked_readings = [claim for claim in claims if claim in acked_claims]
        assert len(acked_readings) <= 1, f"{item} was read by two who both acked"
        assert not acked_readings or delivered_claims.get(item) == acked_readings[0], (
            f"{item} was acked and is not delivered"
        )
        for life, claim in readings:
            if claim != delivered_claims.get(item):
                assert life in killed, f"{item} was read again though {life} was not killed"


def _check_signals(query: RunQuery, folder: Path, journals: dict[str, list[JournalEntry]], killed: set[str]) -> None:
    stored_ids = {event for [event] in query("SELECT id FROM events")}
    for life, entries in journal.read_journals(folder, "signals").items():
        signal_counts = Counter((entry["event"], entry["recipient"]) for entry in entries)
        assert {event for event, _ in signal_counts} <= stored_ids, f"{life} signalled what is not there"
        assert max(signal_counts.values(), default=1) == 1, f"{life} signalled the same twice"
        if life in killed:
            continue
        for answer in journals[life]:
            if answer["word"] == "answered" and not answer["repeated"]:
                for recipient, event in answer["events"].items():
                    assert (event, recipient) in signal_counts or (event, "*") in signal_counts, (
                        f"{answer} sent no signal"
                    )
