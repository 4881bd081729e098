"""
The questions of decisions on channels: show one on a route, find the question that a text answers, and show how it
ended.

A question on a route is an entry of the shared inbox and, on a channel with chats, a message with a button for each
option. A text of a person may answer a question that waits on the same route:

    a reply to the message of a question, or a press of one of its buttons    answers that question
    another text      answers the oldest question that waits there and takes a free text, or has an option with this id
                      or label (or number, if the question takes no free text)
    everything else   is a prompt

An answer through a channel is an answer of the decision behind the question, by the person who is paired with the
session. So it counts once, and only if that person was asked. It has the hash of the question that was shown last on
the route: a text answers an action only if the message with its present arguments has arrived. When a round of a
decision ends, whoever answered and where, its questions end on all routes.
"""

from collections.abc import Collection
from typing import Final, NamedTuple

from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations, outgoing_message_actions as outgoing
from gatepost.channels.conversation import ChannelSession, parse_base
from gatepost.channels.outgoing_message_actions import ChannelMessage, MessageState
from gatepost.channels.provider import build_chat_session
from gatepost.channels.shared_inbox import actions as shared_inbox
from gatepost.channels.shared_inbox.api import EntryKind, QuestionStatus, SharedEntry
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Transaction
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.errors import GatepostError
from gatepost.gates import decision as rules, decision_actions as decisions
from gatepost.gates.decision import (
    Answer,
    AnswerOrigin,
    AnswerSpec,
    Decision,
    DecisionAsked,
    DecisionEnded,
    DecisionOutcome,
    DecisionRevised,
)
from gatepost.inbox.event import Route

#: of the metadata of an entry: the hash of the question that it shows
_HASH_FIELD: Final = "context_hash"
#: a hash that no question has
_NO_HASH: Final = "not shown"
#: questions on one route that a text is compared with
_MAX_QUESTIONS: Final = 100
#: what a message shows if nobody has answered
_END_TEXTS: Final = {
    DecisionOutcome.DEFAULTED: "Nobody answered in time",
    DecisionOutcome.EXPIRED: "Nobody answered in time.",
    DecisionOutcome.WITHDRAWN: "Not needed any more.",
    DecisionOutcome.ORPHANED: "Nobody is left to answer.",
    DecisionOutcome.REJECTED: "Not decided",
}


def show(
    tx: Transaction, decision: Decision, route: Route, trigger: Trigger | None, session: ChannelSession | None
) -> str:
    """Show the question of a decision on a route; return the id of its entry."""
    id = shared_inbox.record(
        tx,
        EntryKind.SYSTEM_QUESTION,
        route,
        "\n\n".join(filter(None, (decision.question, rules.render_action(decision)))),
        trigger=trigger.number if trigger is not None else None,
        person=directory.find_number(tx, session.person) if session is not None else None,
        sender=directory.find(tx, decision.asker).number,
        metadata={"decision_id": decision.id, _HASH_FIELD: decision.context_hash},
        decision=decision.number,
    )
    if trigger is not None and session is not None:
        outgoing.send_question(tx, decision, trigger, session)
    return id


def show_question(tx: Transaction, event: DecisionAsked) -> None:
    """Show the question of a decision in the paired chats of the persons who are asked."""
    for respondent in event.respondents:
        if respondent.kind is not EntityKind.HUMAN:
            continue
        for trigger, chat in outgoing.list_private_chats(tx, respondent.number):
            base = build_chat_session(chat, chat)
            session = conversations.ensure_session(
                tx, trigger.provider, base, trigger=trigger, person=respondent, chat=chat, user_id=chat
            )
            show(tx, event.decision, Route(trigger.provider, session.id), trigger, session)


def is_shown(tx: Reader, decision: Decision, route: Route, trigger: Trigger | None) -> bool:
    """Return True if a decision that was just asked is on a route already, in whichever generation of the session."""
    return bool(_list_on_route(tx, decision, route, trigger))


def _list_on_route(tx: Reader, decision: Decision, route: Route, trigger: Trigger | None) -> list[SharedEntry]:
    """Return the questions about a decision in the session of a route, whichever generations they have."""
    name = trigger.name if trigger is not None else None
    return [
        entry
        for entry in shared_inbox.list_by_decision(tx, decision.number)
        if (entry.channel, entry.trigger, parse_base(entry.session)) == (route.channel, name, parse_base(route.session))
    ]


class AnsweredQuestion(NamedTuple):
    """The question that a text answers."""

    entry: SharedEntry
    decision: Decision
    answer: AnswerSpec


def find_question(
    tx: Reader,
    route: Route,
    text: str,
    *,
    trigger: int | None,
    replied: ChannelMessage | None = None,
    askers: Collection[str] | None = None,
) -> AnsweredQuestion | None:
    """
    Return the question that a text on a route answers; None if the text is a prompt. `replied` is the message of a
    question that the text replies to, in whichever generation of the session that was. With `askers`, only what they
    asked is answered.
    """
    bot = triggers.read(tx, trigger) if trigger is not None else None
    if replied is None or replied.decision is None:
        entries = shared_inbox.list_pending(tx, route, trigger=trigger, limit=_MAX_QUESTIONS)
    else:
        entries = [
            entry
            for entry in _list_on_route(tx, decisions.show(tx, replied.decision), route, bot)
            if entry.status is QuestionStatus.PENDING
        ]
    for entry in entries:
        if entry.decision is None or (askers is not None and entry.asked_by not in askers):
            continue
        asked_decision = decisions.show(tx, entry.decision)
        answer = match_answer(asked_decision, text) if asked_decision.is_open else None
        if answer is not None:
            shown_hash = _find_shown_hash(tx, entry, asked_decision, bot, replied)
            return AnsweredQuestion(entry, asked_decision, replace(answer, context_hash=shown_hash))
    return None


def _find_shown_hash(
    tx: Reader, entry: SharedEntry, decision: Decision, trigger: Trigger | None, replied: ChannelMessage | None
) -> str | None:
    """
    Return the hash of the question that a person has seen on a route: that of the last round, if the text replies to
    its message or, about an action, if that message has arrived. Else no question has the hash.
    """
    if replied is not None and not outgoing.is_newest(tx, replied, decision):
        return _NO_HASH
    session = conversations.find_session(tx, entry.channel, entry.session, trigger)
    if decision.action is not None and trigger is not None and session is not None and session.chat is not None:
        messages = [
            message
            for message in outgoing.list_by_decision(tx, decision.number)
            if (message.trigger, message.chat) == (trigger.name, session.chat)
        ]
        if not messages or messages[-1].state is not MessageState.SENT:
            return _NO_HASH
    return entry.metadata.get(_HASH_FIELD)


def match_answer(decision: Decision, text: str) -> AnswerSpec | None:
    """
    Return the answer that a text is: an option by its id or label, or free text; None if it cannot be one. Where free
    text does not count, the number of an option does: some channels show it.
    """
    folded_text = text.strip().casefold()
    for option in decision.options:
        if folded_text in (option.id.casefold(), option.label.casefold()):
            return AnswerSpec(option=option.id)
    if decision.free_text:
        return AnswerSpec(text=text)
    numbers = {str(place): option.id for place, option in enumerate(decision.options, 1)}
    return AnswerSpec(option=numbers[folded_text]) if folded_text in numbers else None


def answer(
    tx: Transaction, decision: Decision, reply: AnswerSpec, person: str, origin: AnswerOrigin
) -> tuple[Decision | None, str]:
    """
    Answer a decision as a person. Return the decision, or None if the answer does not count, and a sentence for that
    person.
    """
    try:
        answered = decisions.answer(tx, decision.id, reply, by=person, origin=origin)
    except GatepostError as error:
        return None, error.message
    last = answered.last_answer
    label = rules.render_answer(answered, last) if last is not None else ""
    return answered, f"Noted: {label}" if label else "Noted."


def close_question(tx: Transaction, event: DecisionEnded) -> None:
    """End the questions about a round that has ended, and show who answered what."""
    decision, answer = event
    text = rules.render_answer(decision, answer)
    is_answered = answer.outcome in (DecisionOutcome.ANSWERED, DecisionOutcome.AGAIN)
    _end(tx, decision, QuestionStatus.ANSWERED if is_answered else QuestionStatus.ENDED, text or None)
    outgoing.show_end(tx, decision, _describe_end(answer, text))


def replace_question(tx: Transaction, event: DecisionRevised) -> None:
    """Show the question of a new round wherever the one before was shown."""
    decision = event.decision
    entries = shared_inbox.list_by_decision(tx, decision.number)
    _end(tx, decision, QuestionStatus.ENDED, None)
    places = {(entry.channel, entry.session, entry.trigger): entry for entry in entries}
    for channel, session_id, trigger_name in places:
        trigger = triggers.find(tx, trigger_name) if trigger_name is not None else None
        session = conversations.find_session(tx, channel, session_id, trigger)
        show(tx, decision, Route(channel, session_id), trigger, session)


def _end(tx: Transaction, decision: Decision, status: QuestionStatus, answer: str | None) -> None:
    for entry in shared_inbox.list_by_decision(tx, decision.number):
        if entry.status is QuestionStatus.PENDING:
            shared_inbox.end_question(tx, entry, status, answer)


def _describe_end(answer: Answer, text: str) -> str:
    """Return what a message shows below its question."""
    author = answer.by or "The administrator"
    if answer.outcome is DecisionOutcome.AGAIN:
        return f"{author} sent it back: {text}"
    if answer.outcome is DecisionOutcome.DELEGATED:
        return f"{author} passed it on {text}"
    if answer.outcome is DecisionOutcome.ANSWERED:
        return f"{author}: {text}"
    end_text = _END_TEXTS[answer.outcome]
    by = f" by {answer.by}" if answer.outcome is DecisionOutcome.REJECTED and answer.by else ""
    return f"{end_text}{by}: {text}" if text else f"{end_text}{by}"
