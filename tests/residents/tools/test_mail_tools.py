"""What a resident can do with its tools for mail, replies and work items."""

from typing import Any

import pytest

from gatepost.errors import Invalid, NotFound, Refused, UnknownAddress
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import EventType
from gatepost.mail import work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from gatepost.spaces import actions as spaces
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.store_context import StoreContext


@pytest.fixture
def ann(ctx: StoreContext) -> ToolCaller:
    """Ann at work; she is in a space with bob and husam."""
    ctx.store.run_sync(spaces.create, name="Tea Room", id="tea", members=["ann", "bob", "husam"])
    ctx.store.run_sync(spaces.create, name="Secret", id="secret", members=["bob", "husam"])
    ctx.store.run_sync(spaces.post, "secret", sender="bob", content="the password")
    return ToolCaller(ctx)


class TestWriting:
    def test_mail_goes_to_agents_teams_and_people(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.register("eve", team="red")
        result = ann.use("send_mail", to="husam", text="Blocked", subject="Schema", priority="high", ref="task:0.0.1")
        assert result["recipients"] == ["husam"]
        [mail] = [item.event for item in ctx.store.read_sync(inbox.peek, "husam")]
        assert (mail.type, mail.content, mail.subject, mail.priority) == (
            EventType.MAIL,
            "Blocked",
            "Schema",
            1,
        )
        assert (str(mail.ref), mail.hops, mail.sender and mail.sender.name) == ("task:0.0.1", 4, "ann")
        result = ann.use("send_mail", to="team:red", text="All of you")
        assert result["recipients"] == ["bob", "eve"]
        assert ctx.list_waiting("ann") == []

    def test_nobody_writes_to_themselves_or_to_nobody(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.register("carl", aliases=["c-1"])
        carl = ToolCaller(ctx, "carl")
        for to in ("carl", "c-1"):
            with pytest.raises(Refused):
                carl.use("send_mail", to=to, text="to me")
        for to in ("nobody", "team:blue", "", "a b"):
            with pytest.raises((UnknownAddress, Invalid)):
                ann.use("send_mail", to=to, text="x")
        for arguments in (
            {"text": ""},
            {"text": "x", "priority": "9"},
            {"text": "x", "ref": "task"},
            {"text": "x" * 262_000, "sender": "bob"},
        ):
            with pytest.raises(Invalid):
                ann.use("send_mail", to="bob", **arguments)
        assert ctx.list_waiting("bob") == []

    def test_a_note_reaches_everybody_it_names_once(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="0.0.1"), by="husam")
        result = ann.use("post_note", ref="task:0.0.1", note="done", notify=["bob", "team:red", "husam", "ann"])
        assert sorted(result["recipients"]) == ["bob", "husam"]
        [item] = ctx.store.read_sync(inbox.peek, "bob")
        assert (item.event.type, item.event.content, str(item.event.ref)) == (EventType.NOTE, "done", "task:0.0.1")
        assert item.event.hops == ann.run.hops + 1
        arguments: dict[str, Any]
        for arguments, error in (
            ({"notify": ["bob", "nobody"]}, UnknownAddress),
            ({"notify": ["*"]}, Invalid),
            ({"notify": ["bob"], "note": " "}, Invalid),
            ({"notify": ["bob"], "ref": "x"}, Invalid),
            ({"notify": ["bob"], "ref": "agent:bob"}, Invalid),
        ):
            with pytest.raises(error):
                ann.use("post_note", **{"ref": "task:0.0.1", "note": "x"} | arguments)
        assert ctx.list_waiting("bob") == ["done"]
        assert ctx.list_waiting("ann") == []

    def test_notes_and_events_of_a_work_item(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="0.0.1"), by="husam")
        ann.use("post_note", ref="task:0.0.1", note="first")
        ann.use("post_note", ref="task:0.0.1", note="x" * 200_000)
        notes = ann.use("read_notes", ref="task:0.0.1")["notes"]
        assert [note["sender"] for note in notes] == ["ann", "ann"]
        assert notes[0]["note"] == "first"
        assert len(notes[1]["note"]) < 64_000
        assert ann.use("read_notes", ref="task:0.0.1", limit=1)["notes"] == notes[:1]
        result = ann.use("post_work_event", ref="task:0.0.1", event="task.complete", reason="it works")
        assert result == {"success": True, "event": "task.complete", "recipients": ["husam"], "created": False}
        for arguments in ({"event": "phase.complete"}, {"event": "note"}, {"event": "Not A Word"}):
            with pytest.raises(Invalid):
                ann.use("post_work_event", ref="task:0.0.1", **arguments)

    def test_a_reply_goes_back_on_the_way_of_its_event(self, ann: ToolCaller, ctx: StoreContext) -> None:
        sent = ann.use("send_mail", to="bob", text="Which one?", subject="Schema", ref="task:0.0.1")
        result = ToolCaller(ctx, "bob").use("reply", event=sent["eventId"], text="The second")
        assert result["kind"] == "mail"
        [answer] = ctx.store.read_sync(inbox.peek, "ann")
        assert (answer.event.content, answer.event.subject, str(answer.event.ref)) == (
            "The second",
            "Schema",
            "task:0.0.1",
        )
        assert answer.event.data["threadId"] == sent["threadId"]
        ctx.register("eve")
        with pytest.raises(NotFound):
            ToolCaller(ctx, "eve").use("reply", event=sent["eventId"], text="not mine")

    def test_a_chain_that_is_too_long_does_not_wake(self, ctx: StoreContext) -> None:
        ann = ToolCaller(ctx, hops=16)
        ann.use("send_mail", to="bob", text="and again")
        [item] = ctx.store.read_sync(inbox.peek, "bob")
        assert not item.event.wakes
