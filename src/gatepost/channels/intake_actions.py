"""
Receive what comes through triggers, in the sessions of their channels.

Everything that a trigger receives is an envelope: a channel, a session and the ids of the channel
(`channels/envelope.py`). It goes to those whom `channels/routing/recipient_choice_actions.py` decides on, as one event
in one inbox each:

    a user-facing channel (`Trigger.is_channel`)    an event of the type `channel`, from the person who is paired with
                                                    the session, and an entry of the shared inbox
    everything else                                 an event of the type `service`

A route is a channel and a session, with the trigger behind it. `channels/reply_actions.py` replies on it.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels import (
    access_actions as access,
    conversation_actions as conversations,
    envelope as envelopes,
    question_actions as questions,
)
from gatepost.channels.conversation import ChannelSession
from gatepost.channels.envelope import RESET_FIELD, RESET_VALUE, Envelope, EnvelopeKind
from gatepost.channels.outgoing_message_actions import ChannelMessage
from gatepost.channels.routing import (
    recipient_choice_actions as recipients,
    unrouted_message_actions as unrouted_messages,
)
from gatepost.channels.routing.api import EventFields, UnroutedMessage, UnroutedOutcome
from gatepost.channels.routing.recipient_choice_actions import RecipientChoice
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind, SharedEntry
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import DEFAULT_OWNER, Trigger
from gatepost.core import address
from gatepost.core.json_limits import Json
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import check_storable, count_bytes
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import Entity
from gatepost.errors import Refused, TooLarge
from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import AnswerOrigin
from gatepost.inbox.event import OWN_CHANNELS, EventType, Priority, Push, Ref, Route, Trust
from gatepost.inbox.push import actions as push

#: the metadata of a prompt in the shared inbox: the addresses that got it
_TARGETS_FIELD: Final = "targets"
#: prompts of a session whose recipients are told of a reset
_MAX_PROMPTS: Final = 1_000


class Received(Struct, frozen=True, kw_only=True):
    """What became of an envelope."""

    #: the events in the inboxes
    events: tuple[str, ...] = ()
    #: whether all of them were there before
    duplicate: bool = False
    #: the id under which it is kept, if it is unrouted
    unrouted: str | None = None
    #: the decision that it has answered
    decision: str | None = None
    #: a sentence for whoever wrote it: what has become of an answer, or that nobody gets it
    notice: str | None = None
    #: the entry of the shared inbox: the prompt, or the question that it has answered
    entry: str | None = None
    #: what was routed, what else its event says, and who got it; None if it was not routed
    envelope: Envelope | None = None
    fields: EventFields = EventFields()
    route: RecipientChoice | None = None

    @property
    def targets(self) -> tuple[str, ...]:
        """The addresses of its recipients."""
        return self.route.targets if self.route is not None else ()


def receive(
    tx: Transaction,
    trigger: Trigger | None,
    envelope: Envelope,
    *,
    dedup_key: str,
    person: str | None = None,
    priority: Priority | None = None,
    wakes: bool = True,
    reply_question: ChannelMessage | None = None,
    subject: str | None = None,
    ref: Ref | None = None,
    details: Mapping[str, Json] | None = None,
    to: str | None = None,
) -> Received:
    """
    Take in an envelope. `person` is the entity that writes, if it is known here; `reply_question` the message of
    a decision that it replies to. With `wakes` False it waits for the next batch of its recipient. `subject`, `ref` and
    `details` (of its data) are for the event. `to` is an address that gets it instead of whom the rules name. An
    envelope that comes again with the same key changes nothing.
    """
    envelope = envelopes.check_envelope(envelope)
    number = trigger.number if trigger is not None else None
    sender = directory.find_live(tx, person) if person is not None else None
    is_user_channel = _is_user_channel(trigger, envelope)
    route = Route(envelope.channel, envelope.session)
    is_own_text = envelope.kind in (EnvelopeKind.TEXT, EnvelopeKind.VOICE) and not envelope.is_forwarded
    if is_user_channel and sender is not None and is_own_text:  # nobody answers with the words of somebody else
        answered = _answer_question(tx, trigger, envelope, sender, reply_question, to)
        if answered is not None:
            return answered
    if unrouted_messages.has_key(tx, dedup_key):
        return Received(duplicate=True)
    fields = EventFields(subject=subject, ref=ref, priority=priority if wakes else Priority.FYI, details=details or {})
    outcome = recipients.choose(tx, envelope, trigger) if to is None else RecipientChoice(targets=(to,), rule=None)
    if outcome.reason is not None:
        author = sender.number if sender is not None else None
        unrouted_id = unrouted_messages.keep(
            tx, trigger, envelope, outcome.reason, dedup_key, fields, author, outcome.missing
        )
        notice = _build_unrouted_notice(trigger, outcome) if trigger is not None and unrouted_id is not None else None
        received = Received(unrouted=unrouted_id, duplicate=unrouted_id is None, notice=notice)
    else:
        received = _push(tx, _build_push(trigger, envelope, sender, dedup_key, fields), outcome)
    received = replace(received, envelope=envelope, fields=fields, route=outcome)
    if not is_user_channel or received.duplicate or envelope.kind is EnvelopeKind.RESET:
        return received
    entry = shared_inbox.record(
        tx,
        EntryKind.USER_PROMPT,
        route,
        envelope.content,
        trigger=number,
        sender=sender.number if sender is not None else None,
        person=sender.number if sender is not None else None,
        display=envelope.display,
        metadata={**envelope.metadata, _TARGETS_FIELD: " ".join(received.targets)},
    )
    return replace(received, entry=entry)


def _build_unrouted_notice(trigger: Trigger, route: RecipientChoice) -> str:
    problem = f"This lacks {route.missing}, so nobody gets it." if route.missing else "Nobody can read this yet."
    return f"{problem} It is kept, and the owner of this {trigger.noun} knows."


def reset(
    tx: Transaction,
    trigger: Trigger | None,
    session: ChannelSession,
    envelope: Envelope,
    *,
    dedup_key: str,
    person: str | None = None,
    to: str | None = None,
) -> Received:
    """
    Begin a session anew, for good. Those who got its last prompts, or `to`, get the envelope, which does not wake them.
    """
    prompts = _list_prompts(tx, session.channel, session.id, session.trigger)
    names = dict.fromkeys(target for entry in prompts for target in entry.metadata.get(_TARGETS_FIELD, "").split())
    targets = (to,) if to is not None else tuple(name for name in names if recipients.has_recipients(tx, name))
    envelope = replace(
        envelope,
        session=conversations.reset_session(tx, session).id,
        kind=EnvelopeKind.RESET,
        metadata={**envelope.metadata, RESET_FIELD: RESET_VALUE},
    )
    results = [
        receive(tx, trigger, envelope, dedup_key=dedup_key, person=person, wakes=False, to=target) for target in targets
    ]
    return Received(
        events=tuple(dict.fromkeys(event for result in results for event in result.events)),
        envelope=envelope,
        route=RecipientChoice(targets=targets, rule=None),
    )


def _list_prompts(tx: Reader, channel: str, session: str, trigger: str | None) -> list[SharedEntry]:
    """Return the last prompts in a session, the newest first."""
    entries = shared_inbox.list_recent(
        tx, channel=channel, session=session, kind=EntryKind.USER_PROMPT, limit=_MAX_PROMPTS
    )
    return [entry for entry in entries if entry.trigger == trigger]


def _answer_question(
    tx: Transaction,
    trigger: Trigger | None,
    envelope: Envelope,
    sender: Entity,
    reply_question: ChannelMessage | None,
    to: str | None,
) -> Received | None:
    """
    Answer the question on its route that a text answers, and return the event that its asker gets; None if the text is
    a prompt. A text that is addressed to somebody answers only what they asked.
    """
    askers: set[str] | None = None
    if to is not None:
        target = address.parse(to)
        askers = {entity.name for entity in directory.resolve(tx, [target]).get(target, ())}
    route, number = Route(envelope.channel, envelope.session), trigger.number if trigger is not None else None
    question = questions.find_question(
        tx, route, envelope.content, trigger=number, replied=reply_question, askers=askers
    )
    if question is None:
        return None
    name = trigger.name if trigger is not None else None
    origin = AnswerOrigin(route=route, trigger=name, metadata=envelope.metadata)
    answered, notice = questions.answer(tx, question.decision, question.answer, sender.name, origin)
    event = decisions.find_outcome_event(tx, answered) if answered is not None else None
    return Received(
        events=(event,) if event is not None else (),
        decision=question.decision.id,
        notice=notice,
        entry=question.entry.id,
    )


def replay_unrouted(tx: Transaction, id: str, *, by: str | None) -> Received:
    """
    Route an unrouted message, by the current rules. Its sender is the person who wrote it; if that person has
    retired, or is not paired any more, it has none.
    """
    message = unrouted_messages.show(tx, id, by=by)
    unrouted_messages.check_open(message)
    trigger = triggers.find(tx, message.trigger) if message.trigger is not None else None
    outcome = recipients.choose(tx, message.envelope, trigger)
    if outcome.missing is not None:
        raise Refused(
            f"the message {id!r} lacks {outcome.missing!r}, which its trigger requires",
            hint="change what is required: `gatepost trigger set` with --require or --no-require",
        )
    if outcome.reason is not None:
        raise Refused(
            f"the message {id!r} still has nowhere to go ({outcome.reason.value})",
            hint="add a rule with `gatepost trigger route add`, or a target to the trigger; or make a team with"
            " `gatepost init --template viable-system`",
        )
    unrouted_messages.set_handled(tx, message, UnroutedOutcome.REPLAYED, by)
    sender = _find_sender(tx, message, trigger)
    request = _build_push(trigger, message.envelope, sender, f"unrouted:{id}", message.event)
    received = _push(tx, request, outcome)
    if request.type is EventType.CHANNEL:
        _add_prompt_targets(tx, message, received.targets)
    return received


def _add_prompt_targets(tx: Transaction, message: UnroutedMessage, targets: Sequence[str]) -> None:
    """Record who got a prompt later, so that they learn of a reset of its session."""
    envelope = message.envelope
    prompts = _list_prompts(tx, envelope.channel, envelope.session, message.trigger)
    prompt = next((entry for entry in prompts if entry.content == envelope.content), None)
    if prompt is not None:
        all_targets = dict.fromkeys((*prompt.metadata.get(_TARGETS_FIELD, "").split(), *targets))
        shared_inbox.set_metadata(tx, prompt.number, {**prompt.metadata, _TARGETS_FIELD: " ".join(all_targets)})


def _find_sender(tx: Reader, message: UnroutedMessage, trigger: Trigger | None) -> Entity | None:
    """Return the person who wrote a message; None if it is nobody here, or not any more."""
    sender = directory.find(tx, message.sender) if message.sender is not None else None
    if sender is None or not sender.is_live:
        return None
    channel = message.envelope.channel
    session = conversations.find_session(tx, channel, message.envelope.session, trigger)
    if trigger is None:
        return sender if channel in OWN_CHANNELS else None
    if session is None or session.chat is None or session.user_id is None:
        return None
    person = access.find_person(tx, trigger, session.chat, session.user_id)
    return sender if person == sender.name else None


def check_batch(tx: Reader, trigger: Trigger, envelopes: Sequence[Envelope]) -> None:
    """Refuse envelopes that would make too many items together."""
    targets = [target for envelope in envelopes for target in recipients.choose(tx, envelope, trigger).targets]
    push.check_batch(tx, [Push(to=target, source=trigger.name) for target in targets])


def _push(tx: Transaction, request: Push, route: RecipientChoice) -> Received:
    """Push an event to each of the targets."""
    requests = [replace(request, to=target) for target in route.targets]
    push.check_batch(tx, requests)
    results = [push.push_event(tx, request) for request in requests]
    is_repeat = all(
        result.duplicate or (result.deliveries and all(delivery.duplicate for delivery in result.deliveries))
        for result in results
    )
    events = tuple(dict.fromkeys(result.event for result in results))
    return Received(events=events, duplicate=is_repeat, route=route)


def _build_push(
    trigger: Trigger | None, envelope: Envelope, sender: Entity | None, dedup_key: str, fields: EventFields
) -> Push:
    """Return the event of an envelope, for nobody yet."""
    is_user_channel = _is_user_channel(trigger, envelope)
    source = trigger.name if trigger is not None else envelope.channel
    is_schedule = trigger is not None and trigger.provider == "cron"
    data: dict[str, Json] = {"channel": envelope.channel, "sessionId": envelope.session}
    if envelope.metadata:
        data["metadata"] = dict(envelope.metadata)
    if not is_user_channel:
        data |= {"serviceName": _name_service(trigger, source), "payload": envelope.payload}
    if envelope.display is not None and sender is None:
        data["senderName"] = envelope.display[: conversations.MAX_DISPLAY_LENGTH]
    if trigger is not None and trigger.prompt:
        data["context"] = trigger.prompt
    usual_priority = Priority.FYI if envelope.kind is EnvelopeKind.RESET else Priority.NORMAL
    return Push(
        to="",
        type=EventType.CHANNEL if is_user_channel else EventType.SERVICE,
        source=source,
        sender=sender.name if sender is not None else None,
        content=envelope.content,
        data={**data, **({"edited": True} if envelope.replaces is not None else {}), **fields.details},
        priority=usual_priority if fields.priority is None else fields.priority,
        dedup_key=dedup_key,
        subject=fields.subject,
        ref=fields.ref or (Ref("message", envelope.replaces) if envelope.replaces is not None else None),
        route=Route(envelope.channel, envelope.session),
        # what a schedule says was written here, by its owner
        trust=Trust.MEMBER if sender is not None or is_schedule else Trust.EXTERNAL,
    )


def _name_service(trigger: Trigger | None, source: str) -> str:
    """
    Return what an event calls its service. A schedule is named with its owner, who has written what it says. The owner
    is not the sender: what comes again and again is no chain of events, and the owner may be one of the recipients.
    """
    is_schedule = trigger is not None and trigger.provider == "cron"
    if trigger is None or not is_schedule or trigger.owner in (directory.ADMINISTRATOR, DEFAULT_OWNER):
        return source
    return f"{source} by {trigger.owner}"


def _is_user_channel(trigger: Trigger | None, envelope: Envelope) -> bool:
    return trigger.is_channel if trigger is not None else envelope.channel in OWN_CHANNELS


def check_content(tx: Reader, text: str) -> str:
    """Return the text of a prompt or a response if it can be stored and is not too long."""
    if count_bytes(text) > tx.policy.content:
        raise TooLarge(
            f"the content is {count_bytes(text)} bytes, over the limit of {tx.policy.content}",
            hint="send a reference to it instead",
        )
    return check_storable("content", text)
