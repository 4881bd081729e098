"""
The questions of decisions on channels: show one on a route, and show there how it ended.

A question on a route is an entry of the shared inbox and, on a channel with chats, a message with a button for each
option. `decisions` ends both when a round ends, whoever answered and where; so this module must not import it.
"""

from collections.abc import Sequence
from typing import Final

from gatepost.actions import channel_messages, directory
from gatepost.core import decision as rules
from gatepost.core.channel import ChannelSession, parse_base
from gatepost.core.decision import Answer, Decision, DecisionOutcome
from gatepost.core.entity import Entity, EntityKind
from gatepost.core.event import Route
from gatepost.core.provider import build_chat_session
from gatepost.core.shared_entry import EntryKind, QuestionStatus, build_topic
from gatepost.core.signals import Signal
from gatepost.core.trigger import Trigger
from gatepost.ports import Reader, Transaction
from gatepost.tables import channels, shared_entries, triggers

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
    number, id = shared_entries.insert(
        tx,
        EntryKind.SYSTEM_QUESTION,
        channel=route.channel,
        session=route.session,
        trigger=trigger.number if trigger is not None else None,
        sender=directory.find(tx, decision.asker).number,
        person=directory.find_number(tx, session.person) if session is not None else None,
        display=None,
        content=decision.question,
        status=QuestionStatus.PENDING,
        metadata={"decision_id": decision.id},
        decision=decision.number,
    )
    _signal(tx, route, number)
    if trigger is not None and session is not None:
        channel_messages.send_question(tx, decision, trigger, session)
    return id


def show_to_persons(tx: Transaction, decision: Decision, respondents: Sequence[Entity]) -> None:
    """Show the question of a decision in the paired chats of the persons who are asked."""
    for respondent in respondents:
        if respondent.kind is not EntityKind.HUMAN:
            continue
        for trigger, chat in channel_messages.list_private_chats(tx, respondent.number):
            base = build_chat_session(chat, chat)
            channels.ensure_session(
                tx,
                trigger.provider,
                trigger.number,
                base,
                person=respondent.number,
                chat=chat,
                user_id=chat,
                thread=None,
                display=None,
            )
            session = channels.find_session(tx, trigger.provider, trigger.number, base)
            assert session is not None
            show(tx, decision, Route(trigger.provider, session.id), trigger, session)


def is_shown(tx: Reader, decision: Decision, route: Route, trigger: Trigger | None) -> bool:
    """Return True if a decision that was just asked is on a route already, in whichever generation of the session."""
    name = trigger.name if trigger is not None else None
    return any(
        (entry.channel, entry.trigger, parse_base(entry.session)) == (route.channel, name, parse_base(route.session))
        for entry in shared_entries.list_by_decision(tx, decision.number)
    )


def end(tx: Transaction, decision: Decision, answer: Answer) -> None:
    """End the questions about a round that has ended, and show who answered what."""
    text = rules.render_answer(decision, answer)
    is_answered = answer.outcome in (DecisionOutcome.ANSWERED, DecisionOutcome.AGAIN)
    _end(tx, decision, QuestionStatus.ANSWERED if is_answered else QuestionStatus.ENDED, text or None)
    channel_messages.show_end(tx, decision, _describe_end(answer, text))


def replace(tx: Transaction, decision: Decision) -> None:
    """Show the question of a new round wherever the one before was shown."""
    entries = shared_entries.list_by_decision(tx, decision.number)
    _end(tx, decision, QuestionStatus.ENDED, None)
    places = {(entry.channel, entry.session, entry.trigger): entry for entry in entries}
    for channel, session_id, trigger_name in places:
        trigger = triggers.find(tx, trigger_name) if trigger_name is not None else None
        number = trigger.number if trigger is not None else None
        session = channels.find_session(tx, channel, number, parse_base(session_id))
        show(tx, decision, Route(channel, session_id), trigger, session)


def _end(tx: Transaction, decision: Decision, status: QuestionStatus, answer: str | None) -> None:
    for entry in shared_entries.list_by_decision(tx, decision.number):
        is_pending = entry.status is QuestionStatus.PENDING
        if is_pending and shared_entries.end_question(tx, entry.number, status, answer):
            _signal(tx, Route(entry.channel, entry.session), entry.number)


def _describe_end(answer: Answer, text: str) -> str:
    """Return what a message shows below its question."""
    author = answer.by or "The administrator"
    if answer.outcome is DecisionOutcome.AGAIN:
        return f"{author} sent it back: {text}"
    if answer.outcome is DecisionOutcome.ANSWERED:
        return f"{author}: {text}"
    end_text = _END_TEXTS[answer.outcome]
    by = f" by {answer.by}" if answer.outcome is DecisionOutcome.REJECTED and answer.by else ""
    return f"{end_text}{by}: {text}" if text else f"{end_text}{by}"


def _signal(tx: Transaction, route: Route, number: int) -> None:
    tx.after_commit(Signal(build_topic(route), str(number), wakes=False))
