"""Work items: what can be added, who is told of their notes and events, and what is recorded of them."""

import json
from typing import Any

import pytest

from gatepost.channels import reply_actions as replies
from gatepost.core.ports import Reader
from gatepost.core.times import DAY
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, TooLarge, UnknownAddress
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Event, EventType, Priority, Ref
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import Note, WorkEvent, WorkItem, WorkItemSpec, WorkType, parse_event
from gatepost.stores.statements import Sql
from gatepost.worker import retention_actions as retention
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext

TASK = Ref("task", "7")
#: the table of the source document
SOURCE_RULES = (
    ("task.blocked", ("mindy", "justin"), 0),
    ("task.complete", ("engine",), 2),
    ("phase.complete", ("engine", "mindy"), 1),
)


class Board:
    """Short ways to work on items and to look at them."""

    def __init__(self, ctx: StoreContext) -> None:
        self.ctx = ctx

    def add(self, type: str = "task", id: str = "7", **fields: Any) -> WorkItem:
        spec = WorkItemSpec(type=WorkType(type), id=id, **fields)
        return self.ctx.store.run_sync(work.add, spec, by="ann")

    def find(self, type: str, id: str) -> WorkItem:
        return self.ctx.store.read_sync(work.find, Ref(type, id))

    def note(self, text: str = "look", ref: Ref = TASK, *, by: str = "ann", **fields: Any) -> Note:
        return self.ctx.store.run_sync(work.post_note, ref, text, by=by, **fields)

    def report(self, event: str = "blocked", ref: Ref = TASK, *, by: str = "ann", **fields: Any) -> WorkEvent:
        return self.ctx.store.run_sync(work.post_event, ref, event, by=by, **fields)

    def set_rules(self, *rules: tuple[str, tuple[str, ...], int]) -> None:
        self.ctx.set_policy(work_notify=rules)

    def read_events(self, name: str) -> list[Event]:
        return [item.event for item in self.ctx.store.read_sync(inbox.peek, name, limit=1_000)]

    def list_records(self) -> list[dict[str, Any]]:
        def read(tx: Reader) -> list[dict[str, Any]]:
            rows = tx.fetch_all(Sql("SELECT kind, targets, data, posted_at, event FROM outgoing ORDER BY number"))
            return [
                {
                    "kind": row.kind,
                    "targets": json.loads(row.targets),
                    "data": json.loads(row.data),
                    "posted": row.posted_at,
                    "event": row.event,
                }
                for row in rows
            ]

        return self.ctx.store.read_sync(read)


@pytest.fixture
def board(ctx: StoreContext) -> Board:
    return Board(ctx)


@pytest.fixture
def _task(board: Board) -> None:
    board.add()


class TestItems:
    def test_an_item_is_found_by_its_id_and_by_its_topic(self, board: Board) -> None:
        item = board.add("task", "schema", title="Write the schema", topic="0.0.123")
        assert (item.title, item.topic, item.status, item.made_by) == ("Write the schema", "0.0.123", None, "ann")
        assert board.find("task", "schema") == board.find("task", "0.0.123") == item
        for type, id in (("phase", "schema"), ("phase", "0.0.123"), ("task", "Schema"), ("task", "0.0.12")):
            with pytest.raises(NotFound):
                board.find(type, id)

    def test_an_id_may_be_its_own_topic(self, board: Board) -> None:
        item = board.add("task", "0.0.123", topic="0.0.123")
        assert board.find("task", "0.0.123") == item
        assert item.title == "0.0.123"

    def test_items_have_parents(self, board: Board) -> None:
        board.add("project", "p", topic="0.0.1")
        phase = board.add("phase", "a", parent=Ref("project", "0.0.1"))
        board.add("task", "1", parent=phase.ref)
        board.add("task", "2")
        assert phase.parent == Ref("project", "p")
        children = board.ctx.store.read_sync(work.list_page, parent=Ref("phase", "a"))
        assert [item.id for item in children] == ["1"]
        assert [item.id for item in board.ctx.store.read_sync(work.list_page, type=WorkType.TASK)] == ["1", "2"]
        with pytest.raises(NotFound):
            board.add("task", "3", parent=Ref("phase", "b"))

    @pytest.mark.parametrize(
        ("type", "id", "topic"),
        [
            ("task", "a", None),
            ("task", "b", "0.0.1"),
            ("phase", "b", "0.0.1"),
            ("task", "0.0.1", None),
            ("task", "b", "a"),
        ],
    )
    def test_an_id_or_a_topic_that_is_taken_is_refused(
        self, board: Board, type: str, id: str, topic: str | None
    ) -> None:
        board.add("task", "a", topic="0.0.1")
        with pytest.raises(Conflict, match=r"^there is a (task|phase|topic) '.*' already$"):
            board.add(type, id, topic=topic)
        assert len(board.ctx.store.read_sync(work.list_page)) == 1

    @check_cases(
        ("fields", "error"),
        [
            ({"id": ""}, Invalid),
            ({"id": "a b"}, Invalid),
            ({"id": "-a"}, Invalid),
            ({"id": "a\x00"}, Invalid),
            ({"id": "é"}, Invalid),
            ({"id": "x" * 129}, TooLarge),
            ({"topic": "a b"}, Invalid),
            ({"topic": "x" * 129}, TooLarge),
            ({"title": "x" * 201}, Invalid),
            ({"title": "a\nb"}, Invalid),
            ({"title": "a\x00"}, Invalid),
            ({"parent": Ref("task", "7")}, NotFound),
            ({"parent": Ref("agent", "ann")}, Invalid),
        ],
    )
    def test_what_is_refused_is_not_added(
        self, board: Board, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error) as caught:
            board.add(**{"id": "7"} | fields)
        assert caught.type is error
        assert board.ctx.store.read_sync(work.list_page) == []

    def test_an_unknown_item_is_refused_with_the_nearest(self, board: Board) -> None:
        board.add("task", "schema")
        with pytest.raises(NotFound) as caught:
            board.find("task", "shema")
        assert caught.value.hint == "did you mean task:schema?"
        with pytest.raises(NotFound) as caught:
            board.find("phase", "x" * 5_000)
        assert caught.value.hint == "`gatepost work add phase:ID` or the tool add_work_item adds one"
        with pytest.raises(TooLarge):
            board.report(ref=Ref("phase", "x" * 5_000))
        with pytest.raises(Invalid):
            board.note(ref=Ref("agent", "bob"))
        assert board.list_records() == []


class TestNotes:
    def test_everyone_in_notify_has_it(self, board: Board) -> None:
        board.ctx.register("cem", team="red", aliases=["bead-9"])
        item = board.add(title="Schema", topic="0.0.9")
        note = board.note(
            "The **second**",
            Ref("task", "0.0.9"),
            notify=["bead-9", "cem", "husam", "team:red", "ann"],
            priority=Priority.HIGH,
        )
        assert sorted(note.notified) == ["bob", "cem", "husam"]
        for name in note.notified:
            [event] = board.read_events(name)
            assert (event.id, event.type, event.content, event.subject) == (
                note.event,
                EventType.NOTE,
                "The **second**",
                "Schema",
            )
            assert (event.ref, event.priority, event.sender and event.sender.name) == (item.ref, Priority.HIGH, "ann")
            assert event.dedup_key == f"note:ann:{note.id}"
        assert board.read_events("ann") == []
        [record] = board.list_records()
        assert record == {
            "kind": "note",
            "targets": ["bead-9", "cem", "husam", "team:red", "ann"],
            "data": {
                "type": "task.note",
                "from_agent": "ann",
                "note": "The **second**",
                "notify": ["bead-9", "cem", "husam", "team:red", "ann"],
                "uid": note.id,
                "priority": 2,
                "ts": "2026-02-18T09:00:00Z",
            },
            "posted": board.ctx.clock.now(),
            "event": note.event,
        }
        assert board.ctx.is_balanced()

    @pytest.mark.parametrize("notify", [[], ["ann"]])
    def test_a_note_for_nobody_is_kept_on_its_item(self, board: Board, notify: list[str]) -> None:
        board.add()
        note = board.note(notify=notify)
        assert (note.event, note.recipients) == (None, ())
        [kept] = board.ctx.store.read_sync(work.list_notes, TASK)
        assert (kept.id, kept.data.note, kept.sender, kept.targets) == (note.id, "look", "ann", tuple(notify))

    @pytest.mark.usefixtures("_task", "retired_agent")
    @check_cases(
        ("fields", "error"),
        [
            ({"text": ""}, Invalid),
            ({"text": " \n"}, Invalid),
            ({"text": "a\x00"}, Invalid),
            ({"text": "\ud800"}, Invalid),
            ({"text": "x" * 262_145}, TooLarge),
            ({"notify": ["bob", "nobody"]}, UnknownAddress),
            ({"notify": ["bob", "team:nobody"]}, UnknownAddress),
            ({"notify": ["bob", "gone"]}, GatepostError),
            ({"notify": ["bob", "ALL"]}, Invalid),
            ({"notify": ["bob", ""]}, Invalid),
            ({"notify": [f"a{number}" for number in range(51)]}, Invalid),
            ({"ref": Ref("task", "a b")}, Invalid),
            ({"by": "nobody"}, UnknownAddress),
            ({"by": "gone"}, GatepostError),
        ],
    )
    def test_what_is_refused_is_not_stored(
        self, board: Board, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error):
            board.note(**fields)
        assert (board.list_records(), board.read_events("bob")) == ([], [])
        assert board.ctx.is_balanced()

    def test_an_unknown_name_gets_the_nearest(self, board: Board) -> None:
        board.add()
        with pytest.raises(UnknownAddress) as caught:
            board.note(notify=["husan"])
        assert caught.value.hint == "did you mean 'husam'?"

    def test_notes_are_listed_in_order_and_outlive_their_events(self, board: Board) -> None:
        board.add()
        board.add("task", "8")
        ids = [board.note(str(number), notify=["bob"]).id for number in range(5)]
        board.note("elsewhere", Ref("task", "8"))
        board.report("started")
        claim = board.ctx.take_claim("bob")
        board.ctx.ack(claim)
        board.ctx.clock.advance(2 * DAY)
        while board.ctx.store.run_sync(retention.reap):
            pass
        first = board.ctx.store.read_sync(work.list_notes, TASK, limit=2)
        rest = board.ctx.store.read_sync(work.list_notes, TASK, after=first[-1].number)
        assert [note.id for note in (*first, *rest)] == ids

    def test_a_reply_to_a_note_is_a_note_for_its_author(self, board: Board) -> None:
        board.add()
        note = board.note(notify=["bob"], priority=Priority.HIGH)
        assert note.event is not None
        reply = board.ctx.store.run_sync(replies.reply, note.event, "seen", by="bob")
        assert reply.kind == "note"
        [event] = board.read_events("ann")
        assert (event.type, event.content, event.ref, event.priority) == (EventType.NOTE, "seen", TASK, Priority.HIGH)
        with pytest.raises(NotFound):
            board.ctx.store.run_sync(replies.reply, note.event, "not mine", by="husam")


class TestEvents:
    def test_by_default_the_administrator_hears_of_what_is_blocked(self, board: Board) -> None:
        board.add(title="Schema")
        event = board.report("blocked", reason="undecided")
        assert (event.data.type, event.notified) == ("task.blocked", ("admin",))
        [told] = board.read_events("admin")
        assert (told.type, told.source, told.sender, told.priority) == (
            EventType.EVENT,
            "task.blocked",
            None,
            Priority.CRITICAL,
        )
        assert (told.content, told.ref) == ("task:7 (Schema), by ann: undecided", TASK)
        assert told.dedup_key == f"work:task:7:{event.id}"
        assert board.report("complete").recipients == ()
        assert board.find("task", "7").status == "complete"
        assert [record["data"] for record in board.list_records()] == [
            {
                "type": "task.blocked",
                "from_agent": "ann",
                "reason": "undecided",
                "uid": event.id,
                "ts": "2026-02-18T09:00:00Z",
            },
            {
                "type": "task.complete",
                "from_agent": "ann",
                "reason": "",
                "uid": board.ctx.store.read_sync(work.list_events, TASK)[1].id,
                "ts": "2026-02-18T09:00:00Z",
            },
        ]
        assert [record["posted"] for record in board.list_records()] == 2 * [board.ctx.clock.now()]

    def test_the_table_of_the_source(self, board: Board) -> None:
        for name in ("mindy", "engine"):
            board.ctx.register(name)
        board.ctx.register("justin", EntityKind.HUMAN)
        board.set_rules(*SOURCE_RULES)
        board.add()
        board.add("phase", "a")
        told: dict[str, list[tuple[str, int]]] = {}
        for ref, event in ((TASK, "blocked"), (TASK, "complete"), (Ref("phase", "a"), "complete"), (TASK, "started")):
            posted = board.report(event, ref)
            for name in posted.notified:
                [last] = [entry for entry in board.read_events(name) if posted.id in (entry.dedup_key or "")]
                told.setdefault(posted.data.type, []).append((name, last.priority))
        assert {type: sorted(names) for type, names in told.items()} == {
            "task.blocked": [("justin", 0), ("mindy", 0)],
            "task.complete": [("engine", 2)],
            "phase.complete": [("engine", 1), ("mindy", 1)],
        }

    def test_wildcards_stand_behind_full_names(self, board: Board) -> None:
        board.set_rules(
            ("*.*", ("admin",), 4), ("*.complete", ("husam",), 3), ("task.*", ("bob",), 3), ("task.blocked", (), 0)
        )
        board.add()
        board.add("stage", "1")
        assert board.report("blocked").recipients == ()
        assert board.report("complete").notified == ("husam",)
        assert board.report("started").notified == ("bob",)
        assert board.report("complete", Ref("stage", "1")).notified == ("husam",)
        assert board.report("started", Ref("stage", "1")).notified == ("admin",)

    def test_the_author_is_not_told(self, board: Board) -> None:
        board.set_rules(("task.*", ("ann", "bob", "team:red"), 2))
        board.add()
        assert board.report("started").notified == ("bob",)
        assert board.read_events("ann") == []

    def test_retired_names_are_skipped_and_unknown_ones_told_once(self, board: Board) -> None:
        board.ctx.register("gone")
        board.ctx.store.run_sync(directory.retire, "gone")
        board.set_rules(("task.*", ("gone", "nobody", "team:none", "bob"), 1))
        board.add()
        for _ in range(3):
            assert board.report("started").notified == ("bob",)
        alerts = board.read_events("admin")
        assert sorted(alert.content for alert in alerts) == [
            "the setting work.notify sends task.* to 'nobody', and no entity has this name",
            "the setting work.notify sends task.* to 'team:none', and no entity has this name",
        ]
        assert {alert.type for alert in alerts} == {EventType.ALERT}
        assert board.ctx.store.read_sync(work.find_unknown_names) == [("task.*", "nobody"), ("task.*", "team:none")]
        assert len(board.read_events("bob")) == 3
        assert len(board.list_records()) == 3
        assert board.ctx.is_balanced()

    def test_a_rule_for_nobody_who_is_there_never_fails_the_event(self, board: Board) -> None:
        board.set_rules(("task.*", ("nobody",), 1))
        board.add()
        event = board.report("blocked", reason="é" * 4_000)
        assert event.recipients == ()
        assert [entry.data.reason for entry in board.ctx.store.read_sync(work.list_events, TASK)] == ["é" * 4_000]
        assert board.list_records()[0]["event"] is None

    def test_a_small_limit_of_content_never_fails_the_event(self, board: Board) -> None:
        board.add()
        board.ctx.set_policy(content=1_024)
        assert board.report("blocked", reason="é" * 4_000).notified == ("admin",)
        [told] = board.read_events("admin")
        assert len(told.content.encode()) <= 1_024

    @pytest.mark.usefixtures("_task")
    @check_cases(
        ("fields", "error"),
        [
            ({"event": ""}, Invalid),
            ({"event": "Blocked"}, Invalid),
            ({"event": "note"}, Invalid),
            ({"event": "task.note"}, Invalid),
            ({"event": "phase.complete"}, Invalid),
            ({"event": "a.b"}, Invalid),
            ({"event": "x" * 41}, Invalid),
            ({"reason": "x" * 4_001}, TooLarge),
            ({"reason": "\x00"}, Invalid),
            ({"reason": "\ud800"}, Invalid),
            ({"ref": Ref("task", "a b")}, Invalid),
            ({"ref": Ref("agent", "bob")}, Invalid),
            ({"by": "nobody"}, UnknownAddress),
        ],
    )
    def test_what_is_refused_is_not_stored(
        self, board: Board, fields: dict[str, Any], error: type[GatepostError]
    ) -> None:
        with pytest.raises(error) as caught:
            board.report(**fields)
        assert caught.type is error
        assert (board.list_records(), board.read_events("admin")) == ([], [])
        assert board.find("task", "7").status is None

    def test_an_event_has_its_name_with_or_without_the_type(self, board: Board) -> None:
        assert parse_event(WorkType.TASK, "task.blocked") == parse_event(WorkType.TASK, "blocked") == "blocked"
        board.add("task", "8", topic="0.0.8")
        assert board.report("task.blocked", Ref("task", "0.0.8")).ref == Ref("task", "8")
        statuses = board.ctx.store.read_sync(work.list_page, status="blocked")
        assert [item.id for item in statuses] == ["8"]

    def test_events_of_a_chain_do_not_wake_for_ever(self, board: Board) -> None:
        board.set_rules(("task.*", ("bob",), 1))
        board.add()
        board.ctx.push_event("long chain", to="ann", hops=16)
        board.report("started")
        [told] = board.read_events("bob")
        assert (told.hops, told.wakes) == (17, False)
