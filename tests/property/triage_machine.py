"""What people do with their items, to a store and to the model alike: done, undone, snoozed and shown again."""

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule

from gatepost.core.times import DAY, HOUR, MINUTE, SECOND
from gatepost.directory.entity import EntityKind
from gatepost.errors import Conflict, NotFound, Refused
from gatepost.inbox import item_actions as inbox_items, triage_actions as triage
from gatepost.inbox.event import ItemState
from gatepost.inbox.triage_actions import UNDO_TIME, Selection
from gatepost.testing import FakeClock, Kit
from tests.property.inbox_model import InboxModel

#: Ann and Bob are there from the start, the others come by and by. Ann stays.
TEAMS = {"ann": "red", "bob": "red", "cem": None, "dan": "red"}
NAMES = [*TEAMS, "husam", "jira"]

picks = st.integers(0, 15)
names = st.sampled_from(NAMES)


class TriageMachine(RuleBasedStateMachine):
    def __init__(self, url: str) -> None:
        super().__init__()
        self.clock = FakeClock()
        self.kit = Kit(url, clock=self.clock)
        self.store = self.kit.store
        self.model = InboxModel()

    @property
    def now(self) -> int:
        return self.clock.now()

    def _pick_event(self, pick: int) -> str:
        """An event that somebody has or will have, rather one with which something has happened already."""
        items = sorted(self.model.items, key=lambda item: item.state in (ItemState.PENDING, ItemState.DELIVERED))
        events = [*(item.event for item in items), *(broadcast.event for broadcast in self.model.broadcasts)]
        ids = list(dict.fromkeys(event.core_event.id for event in events))
        return ids[pick % len(ids)]

    @precondition(lambda self: self.model.items)
    @rule(pick=picks)
    def done(self, pick: int) -> None:
        person_items = [item for item in self.model.items if item.recipient == "husam"]
        if not person_items:
            return
        item = person_items[pick % len(person_items)]
        if item.get_state(self.now) is ItemState.PENDING:
            self.store.run_sync(inbox_items.mark_done, "husam", item.event.core_event.id)
            item.state, item.ended_at, item.receipt = ItemState.DELIVERED, self.now, "person"
            item.unhide()
        else:
            with pytest.raises(Conflict):
                self.store.run_sync(inbox_items.mark_done, "husam", item.event.core_event.id)

    @precondition(lambda self: self.model.items)
    @rule(picked=st.sets(picks, min_size=1, max_size=4), later=st.sampled_from([0, 9 * SECOND, 10 * SECOND]))
    def done_and_undone(self, picked: set[int], later: int) -> None:
        """A person is done with several items at once, and takes it back, perhaps too late."""
        own_items = [item for item in self.model.items if item.recipient == "husam"]
        if not own_items:
            return
        items = list({id(item): item for item in (own_items[pick % len(own_items)] for pick in picked)}.values())
        selection = Selection(events=[item.event.core_event.id for item in items])
        pending = [item for item in items if item.get_state(self.now) is ItemState.PENDING]
        if not pending:
            with pytest.raises(Conflict):
                self.store.run_sync(triage.complete, "husam", selection)
            return
        result = self.store.run_sync(triage.complete, "husam", selection)
        assert result.count == len(pending)
        for item in pending:
            item.state, item.ended_at, item.receipt = ItemState.DELIVERED, self.now, "person"
            item.unhide()
        self.clock.advance(later)
        if self.now - (pending[0].ended_at or 0) >= UNDO_TIME:
            with pytest.raises(Conflict):
                self.store.run_sync(triage.undo, "husam", receipt=result.receipt)
            return
        assert self.store.run_sync(triage.undo, "husam", receipt=result.receipt) == len(pending)
        for item in pending:
            item.state, item.ended_at = ItemState.PENDING, None

    @precondition(lambda self: self.model.items)
    @rule(
        pick=picks,
        name=names,
        length=st.sampled_from([None, SECOND, MINUTE, HOUR, 2 * DAY]),
        awaits=st.sampled_from([None, None, "mail", "from:ci", "event:ann"]),
    )
    def snooze(self, pick: int, name: str, length: int | None, awaits: str | None) -> None:
        member = self.model.members.get(name)
        if member is None or not member.is_live or (length is None and awaits is None):
            return
        event_id = self._pick_event(pick)
        selection = Selection(events=[event_id])
        items = self.model.find_items(event_id, name)
        untaken = self.model.list_untaken_broadcasts(member, self.now)
        is_broadcast = any(broadcast.event.core_event.id == event_id for broadcast in untaken)
        is_refused = awaits is not None and member.kind is not EntityKind.HUMAN
        is_pending = is_broadcast or any(item.get_state(self.now) is ItemState.PENDING for item in items)
        if is_refused or not is_pending:
            with pytest.raises((NotFound, Conflict, Refused)):
                self.store.run_sync(triage.snooze, name, selection, length=length, awaits=awaits)
            return
        result, returns_at = self.store.run_sync(triage.snooze, name, selection, length=length, awaits=awaits)
        assert result.count == 1
        assert length is None or returns_at == self.now + length
        self.model.take_broadcasts(member, self.now)
        for item in self.model.find_items(event_id, name):
            item.hidden_until, item.awaits = returns_at, awaits

    @precondition(lambda self: any(item.hidden_until is not None for item in self.model.items))
    @rule(pick=picks)
    def unsnooze(self, pick: int) -> None:
        hidden = [item for item in self.model.items if item.hidden_until is not None]
        item = hidden[pick % len(hidden)]
        member = self.model.members[item.recipient]
        selection = Selection(events=[item.event.core_event.id])
        if not member.is_live or item.get_state(self.now) is not ItemState.PENDING:
            with pytest.raises((Conflict, Refused)):
                self.store.run_sync(triage.unsnooze, item.recipient, selection)
            return
        assert self.store.run_sync(triage.unsnooze, item.recipient, selection).count == 1
        self.model.take_broadcasts(member, self.now)
        item.unhide()
