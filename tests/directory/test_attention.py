"""Attention: what it keeps from waking agents and disturbing people, until when, and who is told; and presence."""

from typing import Any

import pytest

from gatepost.core.times import DAY, HOUR, MINUTE
from gatepost.directory import attention_actions as attention, entity_actions as directory
from gatepost.directory.attention import Attention, AttentionLevel, Presence, judge_person
from gatepost.directory.key_handlers import generate_secret
from gatepost.directory.sign_in_actions import create_link, sign_in
from gatepost.errors import Invalid, Refused
from gatepost.guests import session_actions as sessions, wake_actions as guest_wakes
from gatepost.guests.reachability import WAITER
from gatepost.guests.session import ENDED, WORKING
from gatepost.inbox import wake_actions as wakes
from gatepost.inbox.event import Priority
from gatepost.residents import agent_actions as agents
from gatepost.residents.agent_config_json import parse_new
from gatepost.residents.runs import resume_actions as run_resume
from tests.support.store_context import StoreContext

FOCUS, DO_NOT_DISTURB, ALL = AttentionLevel.FOCUS, AttentionLevel.DO_NOT_DISTURB, AttentionLevel.ALL


def set_attention(ctx: StoreContext, level: AttentionLevel, name: str = "ann", **fields: Any) -> None:
    if level is not ALL:
        fields = {"length": HOUR} | fields
    ctx.store.run_sync(attention.set_attention, name, level, **fields)


def find_attention(ctx: StoreContext, name: str = "ann") -> Attention | None:
    number = ctx.store.read_sync(directory.find, name).number
    return ctx.store.read_sync(attention.find_all, [number]).get(number)


class TestSaying:
    def test_it_ends_by_itself_at_its_time(self, ctx: StoreContext) -> None:
        set_attention(ctx, FOCUS, length=2 * HOUR)
        assert find_attention(ctx) == Attention(FOCUS, ctx.clock.now() + 2 * HOUR)
        set_attention(ctx, DO_NOT_DISTURB, length=None, until=ctx.clock.now() + MINUTE)
        assert find_attention(ctx) == Attention(DO_NOT_DISTURB, ctx.clock.now() + MINUTE)
        ctx.clock.advance("1 minute")
        assert find_attention(ctx) is None

    def test_it_can_be_ended_before(self, ctx: StoreContext) -> None:
        set_attention(ctx, FOCUS)
        ctx.signal_sink.clear()
        set_attention(ctx, ALL)
        assert find_attention(ctx) is None
        [signal] = ctx.signal_sink.signals
        assert (signal.topic.name, signal.wakes) == ("ann", True)
        set_attention(ctx, ALL)

    @pytest.mark.parametrize(
        ("level", "fields", "message"),
        [
            (FOCUS, {"length": None}, "the level 'focus' needs one end"),
            (FOCUS, {"until": 2**60}, "the level 'focus' needs one end"),
            (ALL, {"length": HOUR}, "the level 'all' has no end"),
            (DO_NOT_DISTURB, {"length": 31 * DAY}, "is more than 30d ahead"),
            (DO_NOT_DISTURB, {"length": 0}, "is in the past"),
        ],
    )
    def test_a_wrong_end_changes_nothing(
        self, ctx: StoreContext, level: AttentionLevel, fields: dict[str, Any], message: str
    ) -> None:
        with pytest.raises(Invalid, match=message):
            set_attention(ctx, level, **fields)
        assert find_attention(ctx) is None

    def test_one_that_is_retired_says_nothing(self, ctx: StoreContext, retired_agent: str) -> None:
        with pytest.raises(Refused, match="is retired"):
            set_attention(ctx, FOCUS, retired_agent)


@pytest.mark.parametrize(
    ("level", "waking"),
    [
        (ALL, [Priority.CRITICAL, Priority.HIGH, Priority.NORMAL, Priority.LOW]),
        (FOCUS, [Priority.CRITICAL]),
        (DO_NOT_DISTURB, []),
    ],
)
class TestWaking:
    @pytest.fixture(autouse=True)
    def _say(self, ctx: StoreContext, level: AttentionLevel) -> None:
        set_attention(ctx, level)

    @pytest.mark.parametrize("priority", Priority)
    def test_a_guest(
        self, ctx: StoreContext, level: AttentionLevel, waking: list[Priority], priority: Priority
    ) -> None:
        self._begin(ctx)
        ctx.push(priority=priority)
        assert (self._find_wake(ctx) is not None) == (priority in waking)
        assert ctx.store.read_sync(sessions.may_wake, "ann", priority) == (priority in waking or level is ALL)
        ctx.clock.advance("1 hour")
        assert (self._find_wake(ctx) is not None) == (priority is not Priority.FYI), "it resumes by itself"

    @pytest.mark.parametrize("priority", [Priority.CRITICAL, Priority.HIGH])
    def test_a_guest_by_a_broadcast_or_a_claim_that_has_lapsed(
        self, ctx: StoreContext, waking: list[Priority], priority: Priority
    ) -> None:
        self._begin(ctx)
        ctx.push(to="*", priority=priority)
        assert (self._find_wake(ctx) is not None) == (priority in waking)
        ctx.take_claim(hold=MINUTE)
        assert self._find_wake(ctx) is None
        ctx.clock.advance("2 minutes")
        assert (self._find_wake(ctx) is not None) == (priority in waking)

    @pytest.mark.parametrize("priority", Priority)
    def test_a_resident(self, ctx: StoreContext, waking: list[Priority], priority: Priority) -> None:
        ctx.store.run_sync(agents.make_resident, "bob", parse_new({"model": "demo"}))
        set_attention(ctx, find_level(waking), "bob")
        ctx.push(to="bob", priority=priority)
        assert self._is_ready(ctx) == (priority in waking)
        assert (ctx.store.read_sync(wakes.find_inboxes_to_wake)[0] == ["bob"]) == (priority in waking)
        assert self._is_ready(ctx, include_quiet=True), "a person who wakes it wants that"
        ctx.clock.advance("1 hour")
        assert self._is_ready(ctx) == (priority is not Priority.FYI)

    def test_a_resident_by_a_broadcast(self, ctx: StoreContext, waking: list[Priority]) -> None:
        ctx.store.run_sync(agents.make_resident, "bob", parse_new({"model": "demo"}))
        set_attention(ctx, find_level(waking), "bob")
        ctx.push(to="*", priority=Priority.HIGH)
        assert self._is_ready(ctx) == (Priority.HIGH in waking)

    def test_the_sender_is_told(self, ctx: StoreContext, level: AttentionLevel, waking: list[Priority]) -> None:
        for priority in Priority:
            [delivery] = ctx.push(priority=priority).deliveries
            is_kept = priority not in waking and priority is not Priority.FYI
            assert delivery.attention == (Attention(level, ctx.clock.now() + HOUR) if is_kept else None)

    def test_the_owner_is_alerted_when_an_item_should_have_been_shown(
        self, ctx: StoreContext, waking: list[Priority]
    ) -> None:
        """A critical item is worth an alert whatever the agent has said; others only once they may wake it."""
        self._begin(ctx)
        ctx.push(priority=Priority.CRITICAL)
        ctx.push(priority=Priority.HIGH)
        ctx.clock.advance("3 minutes")
        assert ctx.store.run_sync(guest_wakes.report_unseen) == 1 + (Priority.HIGH in waking)
        ctx.clock.advance("58 minutes")
        assert ctx.store.run_sync(guest_wakes.report_unseen) == 0
        ctx.clock.advance("2 minutes")
        assert ctx.store.run_sync(guest_wakes.report_unseen) == 1 - (Priority.HIGH in waking)

    def _begin(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        ctx.store.run_sync(sessions.arm, "s-1", method=WAITER, waker="here 1 1")

    def _find_wake(self, ctx: StoreContext) -> int | None:
        return ctx.store.read_sync(guest_wakes.find_wake, "s-1", is_running=lambda _: True)

    def _is_ready(self, ctx: StoreContext, *, include_quiet: bool = False) -> bool:
        return ctx.store.read_sync(run_resume.read_readiness, "bob", include_quiet=include_quiet)[1]


def find_level(waking: list[Priority]) -> AttentionLevel:
    return {0: DO_NOT_DISTURB, 1: FOCUS}.get(len(waking), ALL)


class TestPresence:
    def find(self, ctx: StoreContext, name: str = "ann") -> Presence | None:
        entity = ctx.store.read_sync(directory.find, name)
        return ctx.store.read_sync(attention.find_presences, [entity]).get(entity.number)

    def test_of_a_guest_that_of_its_most_active_session(self, ctx: StoreContext) -> None:
        assert self.find(ctx) is None, "it was never seen"
        ctx.store.run_sync(sessions.begin, "s-1", agent="ann", host="claude")
        assert self.find(ctx) is Presence.IDLE
        ctx.store.run_sync(sessions.begin, "s-2", agent="ann", host="claude", doing=WORKING)
        assert self.find(ctx) is Presence.WORKING
        for id in ("s-1", "s-2"):
            ctx.store.run_sync(sessions.note_activity, id, ENDED)
        assert self.find(ctx) is Presence.AWAY

    def test_of_a_resident_by_its_runs(self, ctx: StoreContext) -> None:
        ctx.store.run_sync(agents.make_resident, "ann", parse_new({"model": "demo"}))
        assert self.find(ctx) is Presence.IDLE
        ctx.push()
        assert ctx.store.run_sync(run_resume.take_run, "ann", "here") is not None
        assert self.find(ctx) is Presence.WORKING
        ctx.store.run_sync(agents.make_resident, "bob", parse_new({"model": "demo"}))
        ctx.store.run_sync(agents.pause, "bob")
        assert self.find(ctx, "bob") is Presence.AWAY

    def test_of_a_person_by_the_use_of_the_page(self, ctx: StoreContext) -> None:
        assert self.find(ctx, "husam") is Presence.AWAY
        link = generate_secret("link")
        ctx.store.run_sync(create_link, link, "husam")
        ctx.store.run_sync(sign_in, link, generate_secret("page"))
        assert self.find(ctx, "husam") is Presence.WORKING
        ctx.clock.advance("20 minutes")
        assert self.find(ctx, "husam") is Presence.IDLE
        assert judge_person(0, 2 * HOUR) is Presence.AWAY
