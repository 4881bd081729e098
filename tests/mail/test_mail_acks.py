"""What the sender of mail hears of it: that it was read, or was not in time."""

import pytest

from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import Invalid
from gatepost.inbox import item_actions as inbox_items
from gatepost.inbox.event import Ref
from gatepost.mail import read_receipt_actions as read_receipts
from gatepost.mail.sent_record import AckRequest, AckState
from tests.mail.mail_post import Post
from tests.support.store_context import StoreContext


@pytest.fixture
def post(ctx: StoreContext) -> Post:
    return Post(ctx)


class TestAcknowledgements:
    def test_the_sender_hears_once_when_all_have_read_it(self, post: Post) -> None:
        post.ctx.register("cem", team="red")
        sent = post.send("team:red", subject="Tea", ack=AckRequest.REQUIRED)
        assert (sent.ack, sent.ack_deadline) == (AckState.PENDING, post.ctx.clock.now() + DAY)
        post.read_everything("bob")
        assert post.list_notices() == []
        post.read_everything("cem")
        assert post.list_notices() == ["your mail 'Tea' to team:red was read by bob, cem"]
        assert post.show(sent).ack is AckState.READ
        [notice] = post.read_events("ann")
        assert (notice.ref, notice.sender) == (Ref("mail", sent.id), None)
        post.ctx.clock.advance(2 * DAY)
        assert post.report_overdue() == 0
        assert len(post.list_notices()) == 1
        assert post.ctx.is_balanced()

    def test_the_sender_hears_once_when_it_was_not_read_in_time(self, post: Post) -> None:
        sent = post.send(ack=AckRequest.REQUIRED, ack_within=2 * HOUR)
        post.ctx.clock.advance(2 * HOUR - MINUTE)
        assert post.report_overdue() == 0
        post.ctx.clock.advance(MINUTE)
        assert (post.report_overdue(), post.report_overdue()) == (1, 0)
        assert post.list_notices() == ["your mail to bob was not read by bob within 2h"]
        assert post.show(sent).ack is AckState.OVERDUE
        post.read_everything("bob")
        assert post.list_notices()[1:] == ["your mail to bob was read by bob"]
        assert post.show(sent).ack is AckState.READ

    def test_nobody_hears_of_mail_that_asks_for_nothing(self, post: Post) -> None:
        sent = post.send()
        post.read_everything("bob")
        post.ctx.clock.advance(2 * DAY)
        assert (post.report_overdue(), post.list_notices(), sent.ack) == (0, [], None)

    def test_a_person_and_an_agent(self, post: Post) -> None:
        post.ctx.register("boss", EntityKind.HUMAN, team="red")
        sent = post.send("team:red", ack=AckRequest.REQUIRED)
        post.read_everything("bob")
        assert sent.event is not None
        post.ctx.store.run_sync(inbox_items.mark_seen, "boss", [sent.event])
        assert post.list_notices() == []
        post.ctx.store.run_sync(inbox_items.mark_done, "boss", sent.event)
        assert post.list_notices() == ["your mail to team:red was read by bob, boss"]

    def test_what_is_released_or_discarded_is_not_read(self, post: Post) -> None:
        sent = post.send(ack=AckRequest.REQUIRED)
        assert sent.event is not None
        post.ctx.release(post.ctx.take_claim("bob"))
        post.ctx.store.run_sync(inbox_items.discard, sent.event)
        assert post.list_notices() == []
        post.ctx.clock.advance(DAY)
        post.report_overdue()
        assert post.list_notices() == ["your mail to bob was not read by bob within 1d"]

    def test_readers_whose_items_are_gone_still_count(self, post: Post) -> None:
        post.ctx.register("cem", team="red")
        post.send("team:red", ack=AckRequest.REQUIRED, ack_within=9 * DAY)
        post.read_everything("bob")
        post.reap()
        post.read_everything("cem")
        assert post.list_notices() == ["your mail to team:red was read by bob, cem"]

    def test_a_notice_names_ten_and_counts_the_others(self, post: Post) -> None:
        agents = [f"x{number:03}" for number in range(140)]
        post.ctx.register_agents(*agents, team="green")
        post.send("team:green", ack=AckRequest.REQUIRED)
        names = ", ".join(agents[:10])
        post.ctx.clock.advance(DAY)
        post.report_overdue()
        for agent in agents:
            post.read_everything(agent)
        assert post.list_notices() == [
            f"your mail to team:green was not read by {names} and 130 others within 1d",
            f"your mail to team:green was read by {names} and 130 others",
        ]

    def test_a_retired_sender_hears_nothing(self, post: Post) -> None:
        post.send(ack=AckRequest.REQUIRED)
        late = post.send(ack=AckRequest.REQUIRED)
        post.ctx.store.run_sync(directory.retire, "ann")
        post.ctx.clock.advance(DAY)
        assert (post.report_overdue(), post.report_overdue()) == (2, 0)
        post.read_everything("bob")
        assert post.show(late).ack is AckState.READ

    def test_more_overdue_mail_than_one_call_reports(self, post: Post) -> None:
        for number in range(5):
            post.send(text=str(number), ack=AckRequest.REQUIRED)
        post.ctx.clock.advance(DAY)
        counts = [post.ctx.store.run_sync(read_receipts.report_overdue, limit=2) for _ in range(4)]
        assert (counts, len(post.list_notices())) == ([2, 2, 1, 0], 5)

    @pytest.mark.parametrize("within", [0, -1, 101 * 365 * DAY])
    def test_a_deadline_that_cannot_be_met_is_refused(self, post: Post, within: int) -> None:
        with pytest.raises(Invalid):
            post.send(ack=AckRequest.REQUIRED, ack_within=within)
        assert post.list_records() == []
