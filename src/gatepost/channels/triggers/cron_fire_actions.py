"""
Fire cron triggers when they are due.

Any number of processes do this, without a leader. Why each slot still fires once:

- `fire` locks the row of a trigger that is due, and skips it if another process has locked it. The events of a slot and
  the step to the next one are one transaction, so a later process finds the next slot in the row; and a process that is
  killed before the commit has done nothing.
- A verb that changes a trigger locks the same row.
- If a slot comes up again (the clock was set back), its event has the same dedup key, `cron:{trigger}:{slot}`.

What was missed while no process was running fires once, as plans do (`list_due_slots`). A trigger that was disabled has
no slots meanwhile. `channels/triggers/heartbeat_actions.py` decides who gets a heartbeat.
"""

from collections.abc import Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import intake_actions as intake
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import recipient_choice_actions as recipients
from gatepost.channels.routing.recipient_choice_actions import RecipientChoice
from gatepost.channels.triggers import actions as triggers, heartbeat_actions as heartbeats, rows as trigger_rows
from gatepost.channels.triggers.trigger import Trigger, TriggerSchedule
from gatepost.channels.wording import text_template
from gatepost.channels.wording.text_template import Scope
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.times import HOUR, MINUTE, Instant, format_rfc3339
from gatepost.errors import GatepostError, Invalid
from gatepost.inbox.event import Ref
from gatepost.inbox.push import actions as push
from gatepost.plans.cron import Cron
from gatepost.plans.missed_slots import GRACE

CRON: Final = "cron"
#: triggers that one round looks at; the next one looks at the rest
BATCH_SIZE: Final = 100
#: characters of a session
_MAX_SESSION_LENGTH: Final = 200


class SlotEvents(Struct, frozen=True, kw_only=True):
    """What a slot makes, and who gets each of it."""

    events: tuple[tuple[Envelope, RecipientChoice], ...] = ()
    #: why there is none
    skipped: str | None = None


def find_next_due(tx: Reader) -> Instant | None:
    """Return when the next trigger is due; a time in the past is due now."""
    return trigger_rows.find_next_due(tx)


def list_due(tx: Reader) -> list[int]:
    """Return the numbers of triggers that are due, the oldest slot first."""
    return [row.number for row in tx.fetch_all("channels/triggers/list_due", now=tx.now, limit=BATCH_SIZE)]


def fire(tx: Transaction, number: int) -> bool:
    """
    Make the events of a trigger that is due, and set its next slot; return False if another process has it. An error
    changes nothing: `skip` then goes on.
    """
    trigger = trigger_rows.lock_due(tx, number)
    if trigger is None:
        return False
    schedule = _get_schedule(trigger)
    assert trigger.next_at is not None
    slots = list_due_slots(schedule, trigger.next_at, tx.now, since=trigger.created_at)
    for slot in slots if trigger.config.heartbeat is None else slots[-1:]:
        _fire_slot(tx, trigger, slot)
    trigger_rows.set_next_at(tx, number, schedule.find_next(tx.now, since=trigger.created_at))
    tx.after_commit(Signal(Topic("trigger", trigger.name), "fired", wakes=False))
    return True


def list_due_slots(schedule: TriggerSchedule, next_at: Instant, now: Instant, *, since: Instant) -> list[Instant]:
    """
    Return the slots that fire now, from the stored one (`next_at`) on: those that are on time, at most `GRACE`
    late; else, because no process was running, only the latest.
    """
    slots = [next_at]
    if schedule.every is not None:
        latest = since + (now - since) // schedule.every * schedule.every
        count = GRACE // schedule.every + 1
        slots += [slot for n in reversed(range(count)) if (slot := latest - n * schedule.every) > next_at]
    elif schedule.cron is not None:
        slots += Cron(schedule.cron, schedule.zone).list_latest(next_at, now, GRACE // MINUTE + 1)
    timely_slots = [slot for slot in slots if now - slot <= GRACE]
    return timely_slots or slots[-1:]


def skip(tx: Transaction, number: int, reason: str) -> bool:
    """
    Go on to the next slot of a trigger that could not fire, and alert its owners, at most once an hour. If there is no
    next slot, because the time zone is unknown here, the trigger fires no more until it is enabled or changed.
    """
    trigger = trigger_rows.lock_due(tx, number)
    if trigger is None:
        return False
    try:
        next_at = _get_schedule(trigger).find_next(tx.now, since=trigger.created_at)
    except GatepostError:
        next_at = None
    trigger_rows.set_next_at(tx, number, next_at)
    text = f"the trigger {trigger.name!r} was due and could not fire: {reason}"
    if next_at is None:
        text += (
            f"; it fires no more until you change it, or disable and enable it: `gatepost trigger show {trigger.name}`"
        )
    topic = f"{CRON}:{trigger.id}:{tx.now // HOUR}"
    ref = Ref("trigger", trigger.name)
    owners = triggers.find_owners(tx, trigger)
    push.push_alerts(tx, [push.build_alert(owner.name, text, topic, source=trigger.name, ref=ref) for owner in owners])
    return True


def reschedule(tx: Transaction, after: int) -> int | None:
    """
    Compute the next slots of a page of triggers anew, because the clock was set back; return where the next page
    begins, None at the end. A trigger that fires once keeps its time.
    """
    page = trigger_rows.list_scheduled(tx, after, BATCH_SIZE)
    for trigger in page:
        schedule = trigger.config.schedule
        if schedule is None or schedule.at is not None:
            continue
        try:
            next_at = schedule.find_next(tx.now, since=trigger.created_at)
        except Invalid:  # a zone that this machine does not know: the trigger keeps its slot
            continue
        if next_at is not None:
            tx.execute_later(
                "channels/triggers/reschedule", number=trigger.number, previous_at=trigger.next_at, next_at=next_at
            )
    return page[-1].number if len(page) == BATCH_SIZE else None


def _get_schedule(trigger: Trigger) -> TriggerSchedule:
    if trigger.config.schedule is None:
        raise Invalid(f"the trigger {trigger.name!r} has no schedule")
    return trigger.config.schedule


def find_events(tx: Reader, trigger: Trigger, slot: Instant) -> SlotEvents:
    """Return what a slot makes: an event or, of a heartbeat, one for each recipient that has something to do."""
    heartbeat, schedule = trigger.config.heartbeat, _get_schedule(trigger)
    envelope = _build_envelope(trigger, slot, trigger.prompt or f"{trigger.name} is due")
    decision = recipients.choose(tx, envelope, trigger)
    if heartbeat is None:
        return SlotEvents(events=((envelope, decision),))
    if not heartbeats.is_in_hours(heartbeat, schedule, slot, tx.now):
        return SlotEvents(skipped="the heartbeat is not in its hours")
    if decision.reason is not None:
        return SlotEvents(events=((envelope, decision),))
    events: list[tuple[Envelope, RecipientChoice]] = []
    for entity, reasons in heartbeats.list_reasons(
        tx, decision.targets, source=trigger.name, key_prefix=build_dedup_key(trigger)
    ):
        content = f"there is something to do: {reasons}"
        own_envelope = _build_envelope(trigger, slot, content, reasons.build_data())
        events.append((own_envelope, replace(decision, targets=(entity.name,))))
    return SlotEvents(events=tuple(events), skipped=None if events else "nobody has anything new to do")


def _fire_slot(tx: Transaction, trigger: Trigger, slot: Instant) -> None:
    """Make the events of a slot. If the prompt is the content, it is not the context too."""
    key = build_dedup_key(trigger, slot)
    for envelope, decision in find_events(tx, trigger, slot).events:
        source = replace(trigger, prompt=None) if envelope.content == trigger.prompt else trigger
        [to] = decision.targets if trigger.config.heartbeat is not None and decision.targets else [None]
        intake.receive(tx, source, envelope, dedup_key=key, to=to)


def _build_envelope(
    trigger: Trigger, slot: Instant, content: str, reasons: Mapping[str, Json] | None = None
) -> Envelope:
    payload: dict[str, Json] = {"dueAt": format_rfc3339(slot), **(reasons or {})}
    session = ""
    if trigger.config.session is not None:
        template = text_template.parse(trigger.config.session)
        session = text_template.render(template, Scope(payload), _MAX_SESSION_LENGTH).text
    return Envelope(
        channel=CRON,
        session=session or trigger.name,
        kind=EnvelopeKind.EVENT,
        content=content,
        payload=payload,
    )


def build_dedup_key(trigger: Trigger, slot: Instant | None = None) -> str:
    """Return the dedup key of a slot; without one, what all keys of a trigger begin with."""
    return f"{CRON}:{trigger.id}:{format_rfc3339(slot) if slot is not None else ''}"
