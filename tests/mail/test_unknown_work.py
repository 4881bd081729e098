"""Work items that nobody has added, and who gets the events of a work item if no rule was set."""

import pytest

from gatepost.errors import Invalid, LimitReached, NotFound
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import Priority, Ref
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.store_context import StoreContext

TASK = Ref("task", "7")


def list_priorities(ctx: StoreContext, name: str) -> list[tuple[str, Priority]]:
    """Return the source and the priority of what an entity has in its inbox."""
    items = ctx.store.read_sync(inbox.peek, name, limit=100)
    return [(item.event.source, item.event.priority) for item in items]


class TestDefaultRules:
    def test_what_is_blocked_goes_to_the_maker_and_the_administrator(self, ctx: StoreContext) -> None:
        for type in WorkType:
            ctx.store.run_sync(work.add, WorkItemSpec(type=type, id="7"), by="husam")
            event = ctx.store.run_sync(work.post_event, Ref(type, "7"), "blocked", by="bob")
            assert sorted(event.notified) == ["admin", "husam"]
        assert {priority for _, priority in list_priorities(ctx, "husam")} == {Priority.CRITICAL}

    def test_what_is_complete_goes_to_the_maker(self, ctx: StoreContext) -> None:
        for type in ("task", "phase", "stage"):
            ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType(type), id="7"), by="ann")
            ctx.store.run_sync(work.post_event, Ref(type, "7"), "complete", by="bob")
        assert list_priorities(ctx, "ann") == [("phase.complete", Priority.HIGH), ("task.complete", Priority.NORMAL)]
        assert list_priorities(ctx, "admin") == []

    def test_who_reports_gets_nothing(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
        assert ctx.store.run_sync(work.post_event, TASK, "blocked", by="ann").notified == ("admin",)
        assert ctx.store.run_sync(work.post_event, TASK, "complete", by="ann").notified == ()

    def test_every_default_names_somebody(self, ctx: StoreContext) -> None:
        assert ctx.store.read_sync(work.find_unknown_names) == []


class TestUnknownItems:
    def test_a_note_and_an_event_add_their_item_and_say_so(self, ctx: StoreContext) -> None:
        note = ctx.store.run_sync(work.post_note, TASK, "look", by="ann")
        assert note.has_added_item
        item = ctx.store.read_sync(work.find, TASK)
        assert (item.made_by, item.title, item.status) == ("ann", "7", None)
        event = ctx.store.run_sync(work.post_event, Ref("phase", "a"), "started", by="bob")
        assert event.has_added_item
        assert ctx.store.read_sync(work.find, Ref("phase", "a")).status == "started"
        for again in (
            ctx.store.run_sync(work.post_note, TASK, "look", by="bob"),
            ctx.store.run_sync(work.post_event, TASK, "started", by="bob"),
        ):
            assert not again.has_added_item
        assert len(ctx.store.read_sync(work.list_notes, TASK)) == 2

    def test_what_cannot_be_a_work_item_is_not_added(self, ctx: StoreContext) -> None:
        for ref in (Ref("epic", "7"), Ref("task", "a b"), Ref("task", "")):
            with pytest.raises(Invalid):
                ctx.store.run_sync(work.post_note, ref, "look", by="ann")
        with pytest.raises(Invalid):
            ctx.store.run_sync(work.post_note, TASK, " ", by="ann")
        with pytest.raises(Invalid):
            ctx.store.run_sync(work.post_event, TASK, "No Event", by="ann")
        assert ctx.store.read_sync(work.list_page) == []

    def test_reading_adds_nothing(self, ctx: StoreContext) -> None:
        for read in (work.list_notes, work.list_events):
            with pytest.raises(NotFound, match="there is no task '7'"):
                ctx.store.read_sync(read, TASK)

    def test_it_can_be_turned_off(self, ctx: StoreContext) -> None:
        ctx.set_policy(work_auto_add=False)
        with pytest.raises(NotFound) as caught:
            ctx.store.run_sync(work.post_event, TASK, "blocked", by="ann")
        assert caught.value.hint == "`gatepost work add task:ID` or the tool add_work_item adds one"

    def test_an_entity_has_a_limit_of_open_items(self, ctx: StoreContext) -> None:
        ctx.set_policy(work_items=2)
        for number in range(2):
            ctx.store.run_sync(work.post_note, Ref("task", str(number)), "look", by="ann")
        with pytest.raises(LimitReached, match="'ann' has 2 open work items") as caught:
            ctx.store.run_sync(work.post_note, TASK, "look", by="ann")
        assert caught.value.hint == "report what is complete, or raise limits.work_items"
        with pytest.raises(LimitReached):
            ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
        ctx.store.run_sync(work.post_note, Ref("task", "b"), "look", by="bob")
        ctx.store.run_sync(work.post_event, Ref("task", "0"), "complete", by="bob")
        ctx.store.run_sync(work.post_note, TASK, "look", by="ann")


class TestTools:
    def test_a_resident_adds_items(self, ctx: StoreContext) -> None:
        ann = ToolCaller(ctx)
        assert ann.use("add_work_item", ref="phase:design")["id"] == "design"
        added = ann.use("add_work_item", ref="task:7", title="Write the schema", parent="phase:design")
        assert added == {"success": True, "type": "task", "id": "7", "title": "Write the schema"}
        item = ctx.store.read_sync(work.find, TASK)
        assert (item.made_by, item.parent) == ("ann", Ref("phase", "design"))

    def test_a_resident_is_told_what_it_has_added(self, ctx: StoreContext) -> None:
        ann = ToolCaller(ctx)
        assert ann.use("post_note", ref="task:7", note="look")["created"] is True
        assert ann.use("post_work_event", ref="task:7", event="blocked") == {
            "success": True,
            "event": "task.blocked",
            "recipients": ["admin"],
            "created": False,
        }
        assert [note["sender"] for note in ann.use("read_notes", ref="task:7")["notes"]] == ["ann"]
