"""Whatever a line shows as an id is taken by every verb about it: the id of mail stands for its event."""

import re
from collections.abc import Callable

import pytest

from gatepost.channels import reply_actions as replies
from gatepost.errors import Invalid, NotFound
from gatepost.inbox import claim_actions as inbox, event_rendering as render, item_actions as inbox_items
from gatepost.inbox.event import ItemState, Ref
from gatepost.mail import mail_actions as mail, work_actions as work
from gatepost.mail.work_item import WorkItemSpec, WorkType
from tests.mail.mail_post import Post
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.gateways.local_gateways import Gateway
from tests.support.store_context import StoreContext


@pytest.fixture
def post(ctx: StoreContext) -> Post:
    return Post(ctx)


def read_shown_id(post: Post, name: str) -> str:
    """Return the id that the line of the last mail of an inbox shows."""
    line = render.render_event(post.read_events(name)[-1])
    match = re.search(r"\(mail (\w+)", line)
    assert match is not None, line
    return match[1]


class TestMail:
    def test_a_reply_takes_the_id_in_the_line(self, post: Post) -> None:
        first = post.send(subject="Schema", ref=Ref("task", "1"))
        reply = post.ctx.store.run_sync(replies.reply, read_shown_id(post, "bob"), "The second", by="bob")
        answer = post.ctx.store.read_sync(mail.show, reply.id)
        assert (reply.kind, answer.to, answer.thread, answer.reply_to) == ("mail", "ann", first.id, first.event)
        last = post.send(None, "Thanks", reply_to=read_shown_id(post, "ann"))
        assert (last.to, last.thread, last.data.subject) == ("bob", first.id, "Schema")

    def test_the_tools_of_a_resident_take_it(self, post: Post) -> None:
        first = post.send(sender="bob", to="ann", text="tea?")
        shown_id, ann = read_shown_id(post, "ann"), ToolCaller(post.ctx)
        assert ann.use("reply", event=shown_id, text="yes")["kind"] == "mail"
        assert ann.use("send_mail", replyTo=shown_id, text="now?")["threadId"] == first.id
        assert len(post.read_events("bob")) == 2

    def test_it_is_answered_when_it_is_long_gone(self, post: Post) -> None:
        first = post.send()
        post.read_everything("bob")
        post.reap()
        assert post.send(None, sender="bob", reply_to=first.id).thread == first.id

    def test_items_are_found_by_it(self, post: Post) -> None:
        first = post.send("husam")
        shown_id = read_shown_id(post, "husam")
        [item] = post.ctx.store.read_sync(inbox_items.show, shown_id)
        assert (item.event.id, item.recipient) == (first.event, "husam")
        assert post.ctx.store.run_sync(inbox_items.mark_seen, "husam", [shown_id]) == 1
        post.ctx.store.run_sync(inbox_items.mark_done, "husam", shown_id)
        assert post.read_states(first) == {"husam": ItemState.DELIVERED}
        [copy] = post.ctx.store.run_sync(inbox_items.replay, shown_id)
        assert copy.event.content == "tea?"
        other = post.send("husam")
        post.ctx.store.run_sync(inbox_items.discard, other.id)
        assert post.read_states(other) == {"husam": ItemState.DISCARDED}

    def test_the_record_and_the_thread_are_found_by_either_id(self, post: Post) -> None:
        first = post.send()
        answer = post.send(None, sender="bob", reply_to=first.event)
        assert first.event is not None
        assert post.ctx.store.read_sync(mail.show, first.event, viewer="ann").id == first.id
        for id in (first.id, first.event, answer.id, answer.event):
            for viewer in ("ann", "bob", None):
                assert [sent.id for sent in post.list_thread(viewer, thread=id)] == [answer.id, first.id]
            assert post.list_thread("husam", thread=id) == []
            assert [sent.id for sent in post.list_sent(thread=id)] == [first.id]

    @pytest.mark.parametrize("find", [lambda sent: sent.id, lambda sent: sent.event])
    def test_others_learn_nothing_by_it(self, post: Post, find: Callable[..., str]) -> None:
        first = post.send()
        for name in ("husam", "admin"):
            with pytest.raises(NotFound):
                post.send(None, sender=name, reply_to=find(first))
            with pytest.raises(NotFound):
                post.ctx.store.run_sync(replies.reply, find(first), "yes", by=name)
        with pytest.raises(NotFound):
            post.ctx.store.read_sync(mail.show, find(first), viewer="bob")

    def test_what_is_no_id_is_refused(self, post: Post) -> None:
        for id in ("mail_7", "run_" + "0" * 32, "x"):
            with pytest.raises(Invalid):
                post.send(None, sender="bob", reply_to=id)
            with pytest.raises(Invalid):
                post.ctx.store.read_sync(inbox_items.show, id)
        with pytest.raises(NotFound):
            post.ctx.store.read_sync(inbox_items.show, "mail_" + "0" * 32)


async def test_a_claim_and_its_release_take_the_id_in_the_line(gateway: Gateway) -> None:
    """The failure of an item is counted also if the item is named by its mail."""
    async with gateway.open_client() as client:
        mails = [{"sender": "husam", "to": "analyst", "text": text} for text in ("one", "two")]
        [_, mail_id] = [(await client.post("/api/mail", json=mail)).json()["id"] for mail in mails]
        path = "/api/inbox/analyst"
        claimed = await client.post(f"{path}/claim", json={"owner": "me", "events": [mail_id]})
        assert [item["content"] for item in claimed.json()["items"]] == ["two"]
        claim = {name: claimed.json()["claim"][name] for name in ("claimId", "owner", "fence")}
        for wrong_id, status in (("x", 422), ("mail_" + "0" * 32, 404)):
            refusal = await client.post(f"{path}/release", json=claim | {"failed": [wrong_id]})
            assert (refusal.status_code, wrong_id in refusal.json()["detail"]) == (status, True)
            assert (
                await client.post(f"{path}/claim", json={"owner": "me", "events": [wrong_id]})
            ).status_code == status
        released = await client.post(f"{path}/release", json=claim | {"failed": [mail_id]})
        assert released.json() == {"released": 1}
        items = (await client.get(f"{path}?newestFirst=true")).json()["items"]
        assert [(item["content"], item["attempts"]) for item in items] == [("two", 1), ("one", 0)]


def test_a_note_and_a_work_event_are_found_by_the_ids_that_are_printed(post: Post) -> None:
    item = post.ctx.store.run_sync(work.add, WorkItemSpec(type=WorkType.TASK, id="7"), by="ann")
    note = post.ctx.store.run_sync(work.post_note, item.ref, "Look", by="ann", notify=["bob"])
    [found] = post.ctx.store.read_sync(inbox_items.show, note.id)
    assert found.event.id == note.event
    assert post.ctx.store.run_sync(replies.reply, note.id, "I have", by="bob").kind == "note"
    [answer] = post.ctx.store.read_sync(inbox.peek, "ann")
    assert answer.event.content == "I have"
    silent = post.ctx.store.run_sync(work.post_note, item.ref, "Nobody reads it", by="ann")
    with pytest.raises(NotFound, match="there is no event of"):
        post.ctx.store.read_sync(inbox_items.show, silent.id)
