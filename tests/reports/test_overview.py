"""What waits for an entity, who is thinking, what happened lately, and what a store did over time."""

import pytest

from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.errors import Invalid
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Question
from gatepost.inbox import claim_actions as inbox
from gatepost.inbox.event import ItemState, Priority
from gatepost.inbox.push import actions as push
from gatepost.reports import history_handlers as history, overview_handlers as overview
from gatepost.spaces import actions as spaces
from tests.residents import resident_runs
from tests.support.store_context import StoreContext


@pytest.fixture
def office(ctx: StoreContext) -> StoreContext:
    """Husam and ann are in a space; thinker is in none."""
    ctx.store.run_sync(spaces.create, name="tea", members=["husam", "ann"])
    resident_runs.create_resident(ctx.store)
    return ctx


class TestWaiting:
    def test_the_most_urgent_comes_first(self, office: StoreContext) -> None:
        urgencies = {"later": Priority.LOW, "now": Priority.CRITICAL}
        for text, urgency in urgencies.items():
            question = Question(question=text, free_text=True, urgency=urgency, respondents=("husam",))
            office.store.run_sync(decisions.ask, question, by="ann")
        office.push_event("letter", "husam")
        office.store.run_sync(push.push_alerts, [push.build_alert("husam", "it burns", "fire")])
        office.store.run_sync(spaces.post, "tea", sender="ann", content="hello")
        waiting = office.store.read_sync(overview.view_waiting, "husam", limit=10)
        assert [decision.question for decision in waiting.decisions] == ["now", "later"]
        assert (waiting.decision_count, waiting.item_count, waiting.alert_count) == (2, 4, 1)
        assert [item.content for item in waiting.alerts] == ["it burns"]
        assert [item.priority for item in waiting.items] == sorted(item.priority for item in waiting.items)
        assert [(space.id, space.unread) for space in waiting.spaces] == [("tea", 1)]

    def test_what_has_ended_does_not_wait(self, office: StoreContext) -> None:
        question = Question(question="now?", free_text=True, respondents=("husam",))
        decision = office.store.run_sync(decisions.ask, question, by="ann")
        assert office.store.read_sync(overview.view_waiting, "ann", limit=10).decision_count == 0
        office.store.run_sync(decisions.answer, decision.id, AnswerSpec(text="yes"), by="husam")
        waiting = office.store.read_sync(overview.view_waiting, "husam", limit=10)
        assert (waiting.decision_count, waiting.decisions) == (0, [])


class TestThinking:
    def test_it_is_shown_to_those_who_share_a_space(self, office: StoreContext) -> None:
        resident_runs.begin_run(office.store)

        def list_names(viewer: str | None) -> list[str]:
            return [agent.agent for agent in office.store.read_sync(overview.list_thinking, viewer=viewer)]

        assert list_names(None) == list_names("thinker") == ["thinker"]
        assert list_names("husam") == []
        office.store.run_sync(spaces.join, "tea", "thinker")
        assert list_names("husam") == ["thinker"]

    def test_who_has_ended_is_not_thinking(self, office: StoreContext) -> None:
        resident_runs.finish_run(office.store, resident_runs.begin_run(office.store))
        assert office.store.read_sync(overview.list_thinking) == []


class TestRecent:
    def test_only_what_is_recent_is_shown(self, office: StoreContext) -> None:
        office.store.run_sync(spaces.post, "tea", sender="ann", content="old")
        resident_runs.finish_run(office.store, resident_runs.begin_run(office.store))
        office.clock.advance(2 * HOUR)
        since = office.clock.now() - HOUR
        for content in ("one", "two"):
            office.store.run_sync(spaces.post, "tea", sender="ann", content=content)
        resident_runs.finish_run(office.store, resident_runs.begin_run(office.store))
        question = Question(question="now?", free_text=True, respondents=("husam",))
        office.store.run_sync(decisions.ask, question, by="ann")
        recent = office.store.read_sync(overview.view_recent, since=since, limit=10)
        assert [message.content for message in recent.messages] == ["two", "one"]
        assert (recent.message_count, recent.usage.runs, len(recent.runs), len(recent.decisions)) == (2, 1, 1, 1)

    def test_a_viewer_sees_its_own(self, office: StoreContext) -> None:
        office.store.run_sync(spaces.post, "tea", sender="ann", content="hello")
        resident_runs.finish_run(office.store, resident_runs.begin_run(office.store))
        question = Question(question="now?", free_text=True, respondents=("husam",))
        office.store.run_sync(decisions.ask, question, by="ann")
        for viewer, counts in {"husam": (0, 1, 1), "bob": (0, 0, 0), "thinker": (1, 0, 0)}.items():
            recent = office.store.read_sync(overview.view_recent, viewer=viewer, since=0, limit=10)
            assert (len(recent.runs), len(recent.messages), len(recent.decisions)) == counts, viewer
            assert (recent.usage.runs, recent.message_count) == counts[:2]


class TestHistory:
    def test_events_and_waits_are_in_their_minutes(self, office: StoreContext) -> None:
        for number in range(30):
            office.push_event(str(number))
        office.clock.advance(2 * MINUTE)
        batch = office.claim(limit=30)
        assert batch.claim is not None
        office.ack(batch.claim)
        office.push_event("late")
        resident_runs.finish_run(office.store, resident_runs.begin_run(office.store))
        shown = office.store.read_sync(history.measure, HOUR)
        assert (shown.step, len(shown.steps)) == (MINUTE, history.STEPS)
        assert shown.store_size > 0
        first, _, last = shown.steps[-3:]
        assert last.at == office.clock.now()
        assert (first.accepted, first.waiting, first.mean_wait, first.longest_wait) == (30, 0, 2 * MINUTE, 2 * MINUTE)
        assert 10 <= first.sampled <= 20
        assert (last.accepted, last.sampled, last.waiting, last.runs) == (2, 2, 1, 1)
        assert sum(step.accepted for step in shown.steps) == 32

    def test_people_read_when_they_like(self, office: StoreContext) -> None:
        office.push_event("letter", "husam")
        assert office.store.read_sync(history.measure, HOUR).steps[-1].sampled == 0

    @pytest.mark.parametrize("length", [HOUR - 1, 31 * DAY])
    def test_a_history_has_limits(self, office: StoreContext, length: int) -> None:
        with pytest.raises(Invalid, match="not a length"):
            office.store.read_sync(history.measure, length)


class TestNewestFirst:
    def test_an_inbox_is_read_backwards(self, office: StoreContext) -> None:
        for number in range(5):
            office.push_event(str(number), priority=Priority.HIGH if number % 2 else Priority.NORMAL)
        assert office.list_inbox(newest_first=True) == ["4", "3", "2", "1", "0"]
        assert office.list_inbox(newest_first=True, priority=Priority.HIGH) == ["3", "1"]
        assert office.list_inbox(newest_first=True, state=ItemState.DELIVERED) == []
        last_item = office.store.read_sync(inbox.list_page, "ann", newest_first=True, limit=2)[-1]
        assert office.list_inbox(newest_first=True, after=last_item.event.arrival) == ["2", "1", "0"]
        assert office.list_inbox(after=last_item.event.arrival) == ["4"]

    def test_broadcasts_have_their_places(self, office: StoreContext) -> None:
        office.push_event("1")
        office.push_event("2", "*")
        office.push_event("3")
        assert office.list_inbox() == ["1", "2", "3"]
        assert office.list_inbox(newest_first=True) == ["3", "2", "1"]
        names = [item.recipient for item in office.store.read_sync(inbox.list_page)]
        assert names == ["ann", "ann", "bob", "thinker", "ann"]
        assert [item.recipient for item in office.store.read_sync(inbox.list_page, newest_first=True)] == names[::-1]

    def test_all_inboxes_are_walked_between_recipients(self, office: StoreContext) -> None:
        for number in range(3):
            office.push_event(str(number), "team:red")
        office.push_event("all", "*")
        for newest_first in (False, True):
            items = office.store.read_sync(inbox.list_page, newest_first=newest_first)
            assert len(items) == 9
            for number, item in enumerate(items):
                rest = office.store.read_sync(
                    inbox.list_page,
                    after=item.event.arrival,
                    after_recipient=item.recipient,
                    newest_first=newest_first,
                )
                assert rest == items[number + 1 :]

    def test_what_arrived_since_a_time(self, office: StoreContext) -> None:
        office.push_event("old")
        office.clock.advance(HOUR)
        office.push_event("new")
        since = office.clock.now()
        for newest_first in (False, True):
            assert office.list_inbox(since=since, newest_first=newest_first) == ["new"]
            assert office.list_inbox(None, since=since, newest_first=newest_first) == ["new"]
            assert office.list_inbox(None, until=since, newest_first=newest_first) == ["old"]
