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

from gatepost.actions import maintenance
from gatepost.adapters.stores.threaded import ThreadedStore
from gatepost.app import open_store
from tests.faults import journal
from tests.faults.clerk import Clerk
from tests.faults.journal import Entry
from tests.faults.office import CREW, Ask, LaterClock, behind, lone_witness


def audit(url: str, folder: Path, *, killed: Collection[str] = ()) -> None:
    """Compare the store with what every life wrote down; `killed` are those that did not end well."""
    journals = journal.read(folder, "journal")
    with lone_witness(url) as ask:
        _whole(url, ask)
        _pushes(ask, [entry for life in journals.values() for entry in life])
        _reads(ask, folder, journals, set(killed))
        _rings(ask, folder, journals, set(killed))


def settle(url: str, folder: Path, *, killed: Collection[str] = ()) -> None:
    """Read everything that is left, an hour later, and see that nothing was kept from the readers."""
    with lone_witness(url), closing(cast(ThreadedStore, open_store(url, clock=LaterClock()))) as store:
        clerk = Clerk(store, folder, "zz-last")
        for name in CREW:
            while clerk.drain(name, cap=1_000):
                pass
        accounts = store.query(maintenance.list_accounts)
    with closing(open_store(url)) as whole:
        assert whole.check() == []
    assert all(account.pending == account.claimed == 0 for account in accounts), accounts
    audit(url, folder, killed=killed)


def _whole(url: str, ask: Ask) -> None:
    """The database is in order, and so are the accounts: by the verb, and by counting the rows."""
    with closing(open_store(url)) as store:
        if url.startswith("sqlite"):  # PostgreSQL checks itself
            assert store.check() == []
        accounts = {account.name: account for account in store.query(maintenance.list_accounts)}
    items: dict[str, int] = dict(
        ask("SELECT r.name, count(*) FROM items i JOIN entities r ON r.number = i.recipient GROUP BY 1")
    )
    for name, account in accounts.items():
        assert account.is_balanced, account
        assert account.accepted == items.get(name, 0), account
    stray = ask(
        "SELECT content FROM events e WHERE NOT EXISTS (SELECT 1 FROM items i WHERE i.arrival = e.arrival)"
        " AND NOT EXISTS (SELECT 1 FROM broadcasts b WHERE b.arrival = e.arrival)"
    )
    assert stray == []


def _pushes(ask: Ask, entries: list[Entry]) -> None:
    events = ask("SELECT content, id FROM events")
    stored: dict[str, str] = dict(events)
    assert len(stored) == len(events), [
        name for name, count in Counter(name for name, _ in events).items() if count > 1
    ]
    casts = {name for [name] in ask("SELECT e.content FROM broadcasts b JOIN events e ON e.arrival = b.arrival")}
    holders = defaultdict(list)
    for name, recipient in ask(
        "SELECT e.content, r.name FROM items i"
        " JOIN events e ON e.arrival = i.arrival JOIN entities r ON r.number = i.recipient"
    ):
        holders[name].append(recipient)

    tries: dict[str, list[Entry]] = defaultdict(list)
    for entry in entries:
        if "content" in entry:
            tries[entry["content"]].append(entry)
    assert stored.keys() <= tries.keys()
    for name, story in tries.items():
        to = story[0]["to"]
        there = sorted(holders[name])
        if to == "*":
            assert len(set(there)) == len(there), name
            assert (name in stored) == (name in casts), name
        elif name in stored:
            assert there == sorted(behind(to)), name
        _story(name, story, stored.get(name))


def _story(name: str, story: list[Entry], event: str | None) -> None:
    """Whether what was said about one push, try after try, is true of the event that is there or not there."""
    words = [entry["word"] for entry in story]
    if "refused" in words:
        assert event is None, f"{name} was refused and is there"
    if words[-1] == "unavailable" and story[-1]["nothing"] and "answered" not in words:
        doubtful = words.count("trying") > words.count("unavailable") or any(
            entry.get("nothing") is False for entry in story
        )
        assert event is None or doubtful, f"{name} was not stored, it was said, and is there"
    answers = [entry for entry in story if entry["word"] == "answered"]
    for answer in answers:
        assert event is not None, f"{name} was answered and is not there"
        assert set(answer["events"]) == set(behind(story[0]["to"])), name
        assert set(answer["events"].values()) == {event}, name
    assert sum(not answer["repeated"] for answer in answers) <= 1, f"{name} was new twice"
    if answers and answers[0]["repeated"]:
        before = story[: story.index(answers[0])]
        unsure = [entry for entry in before if entry["word"] == "unavailable" and not entry["nothing"]]
        unheard = sum(entry["word"] == "trying" for entry in before) - sum(
            entry["word"] == "unavailable" for entry in before
        )
        assert unsure or unheard > 1, f"{name} was there though every earlier try was said to have left nothing"


def _reads(ask: Ask, folder: Path, journals: dict[str, list[Entry]], killed: set[str]) -> None:
    acked = {entry["claim"] for life in journals.values() for entry in life if entry["word"] == "acked"}
    logged: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for life, entries in journal.read(folder, "log").items():
        for entry in entries:
            logged[entry["recipient"], entry["event"]].append((life, entry["claim"]))
    delivered = {
        (recipient, event): claim
        for recipient, event, claim in ask(
            "SELECT r.name, e.id, c.id FROM items i JOIN events e ON e.arrival = i.arrival"
            " JOIN entities r ON r.number = i.recipient LEFT JOIN claims c ON c.number = i.claim"
            " WHERE i.state = 'delivered'"
        )
    }
    for item, claim in delivered.items():
        assert claim in {by for _, by in logged[item]}, f"{item} is delivered and nobody logged it"
    for item, readings in logged.items():
        claims = [claim for _, claim in readings]
        assert len(set(claims)) == len(claims), f"{item} was logged twice under one claim"
        final = [claim for claim in claims if claim in acked]
        assert len(final) <= 1, f"{item} was read by two who both acked"
        assert not final or delivered.get(item) == final[0], f"{item} was acked and is not delivered"
        for life, claim in readings:
            if claim != delivered.get(item):
                assert life in killed, f"{item} was read again though {life} was not killed"


def _rings(ask: Ask, folder: Path, journals: dict[str, list[Entry]], killed: set[str]) -> None:
    stored = {event for [event] in ask("SELECT id FROM events")}
    for life, entries in journal.read(folder, "rings").items():
        rung = Counter((entry["event"], entry["recipient"]) for entry in entries)
        assert {event for event, _ in rung} <= stored, f"{life} rang for what is not there"
        assert max(rung.values(), default=1) == 1, f"{life} rang twice for the same"
        if life in killed:
            continue
        for answer in journals[life]:
            if answer["word"] == "answered" and not answer["repeated"]:
                for recipient, event in answer["events"].items():
                    assert (event, recipient) in rung or (event, "*") in rung, f"{answer} did not ring"
