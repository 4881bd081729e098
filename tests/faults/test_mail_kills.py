"""
Whoever sends mail, posts on a work item or reads may be killed at any point: the event, the items, the record and the
messages on the ledger are there together or not at all, and the sender hears once that its mail was read.
"""

from contextlib import closing
from pathlib import Path

from gatepost.app import open_store
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.inbox import account_actions
from gatepost.ledger import topic_actions as ledger
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from tests.faults.crew_store import RunQuery, open_database_alone
from tests.faults.grids import list_passes, select_points
from tests.faults.stores.worker_process import WorkerProcess

POSTGRES_BY_NIGHT = True  # the points of a transaction there are those of test_kills.py

REQUIRED_POINTS = {
    *(
        "mail/outgoing/insert",
        "mail/outgoing/insert_recipients",
        "inbox/claims/end",
        "mail/outgoing/set_ack",
        "commit",
    ),
    *(
        "ledger/topics/insert_account",
        "ledger/topics/insert",
        "ledger/topics/insert_messages",
        "ledger/topics/advance",
        "mail/outgoing/set_posted",
    ),
}
#: between what belongs together, and around the commits
CRITICAL_POINTS = [
    *((f"after {name}", 1) for name in ("mail/outgoing/insert", "inbox/claims/end", "ledger/topics/insert_messages")),
    *((f"{moment} commit", nth) for moment in ("before", "after") for nth in (1, 2)),
]


def test_what_was_sent_is_there_with_its_record_or_not_at_all(crew_url: str, tmp_path: Path) -> None:
    with closing(open_store(crew_url)) as store:
        store.run_sync(directory.register, EntitySpec(name="admin", kind=EntityKind.HUMAN))
        store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="deck"), by="ana")
    with WorkerProcess(crew_url, tmp_path) as worker:
        lives = ["0000", "0001"]
        point_counts: dict[str, int] = {}
        for life in lives:  # the first makes what the others find: the topics of the crew, and that of all
            worker.start(life=life, kind="mail")
            point_counts = worker.wait_for_message("visited")
            worker.wait_until_finished()
        assert point_counts.keys() >= {f"{moment} {name}" for name in REQUIRED_POINTS for moment in ("before", "after")}
        for point, nth in select_points(list_passes(point_counts), at_least=330, by_day=CRITICAL_POINTS):
            lives.append(f"{len(lives):04}")
            worker.start(life=lives[-1], kind="mail", point=point, nth=nth)
            worker.wait_until_killed()
            check_records(crew_url)
        for life in lives:  # the same keys again: what is there stays as it is
            worker.start(life=life, kind="mail")
            worker.wait_for_message("visited")
            worker.wait_until_finished()
    check_records(crew_url)
    with open_database_alone(crew_url) as query:
        check_finished_lives(query, len(lives))
    with closing(open_store(crew_url)) as store:
        topics = store.read_sync(ledger.list_topics, kind=None, viewer=None, limit=10_000)
        assert len(topics) > 3 * len(lives), "two of the newcomer, one of the task"
        for topic in topics:
            verification = store.read_sync(ledger.verify_topic, topic)
            assert (verification.proved, verification.first_fault) == (topic.last_sequence, None)


def check_records(url: str) -> None:
    """Each record has its event, its items and its messages, each event its record; and the accounts balance."""
    with open_database_alone(url) as query:
        record_events = {
            event: (kind, recipients, items)
            for event, kind, recipients, items in query(
                "SELECT o.event, o.kind,"
                " (SELECT count(*) FROM outgoing_recipients r WHERE r.outgoing = o.number),"
                " (SELECT count(*) FROM items i JOIN outgoing_recipients r"
                "  ON r.recipient = i.recipient AND r.outgoing = o.number WHERE i.arrival = o.arrival)"
                " FROM outgoing o"
            )
        }
        unposted = query(
            "SELECT o.id FROM outgoing o WHERE o.posted_at IS NULL"
            " OR NOT EXISTS (SELECT 1 FROM topic_messages m WHERE m.outgoing = o.number)"
        )
        miscounted = query(
            "SELECT t.id FROM topics t"
            " WHERE t.last_sequence <> (SELECT count(*) FROM topic_messages m WHERE m.topic = t.number)"
        )
        events = {id for [id] in query("SELECT id FROM events WHERE type IN ('mail', 'note', 'event')")}
    assert (unposted, miscounted) == ([], [])
    assert record_events.keys() == events
    assert [entry for entry in record_events.values() if entry[1] != entry[2]] == []
    with closing(open_store(url)) as store:
        assert store.read_sync(account_actions.find_unbalanced)[0] == []
        assert store.read_sync(account_actions.find_orphans) == []


def check_finished_lives(query: RunQuery, count: int) -> None:
    """Each life has sent one mail to the crew and one to all. The first was read, and its sender was told once."""
    mails = query("SELECT o.ack, count(*) FROM outgoing o WHERE o.kind = 'mail' GROUP BY o.ack ORDER BY 2, 1")
    assert dict(mails) == {"read": count, None: count}
    notices = query("SELECT e.ref_id, count(*) FROM events e WHERE e.type = 'system' GROUP BY e.ref_id")
    assert [total for _, total in notices] == [1] * count
