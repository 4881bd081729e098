"""
The questions of decisions on channels: show one on a route, and show there how it ended.

A question on a route is an entry of the shared inbox and, on a channel with chats, a message with a button for each
option. `decisions` ends both when a round ends, whoever answered and where; so this module must not import it.
"""

from typing import Final

from gatepost.channels import conversation_rows as channels, message_actions as channel_messages
from gatepost.channels.conversation import ChannelSession, parse_base
from gatepost.channels.provider import build_chat_session
from gatepost.channels.shared_inbox import rows as shared_entries
from gatepost.channels.shared_inbox.entry import EntryKind, QuestionStatus, build_topic
from gatepost.channels.triggers import rows as triggers
from gatepost.channels.triggers.trigger import Trigger
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.gates import decision as rules
from gatepost.gates.decision import Answer, Decision, DecisionOutcome
from gatepost.gates.gate_events import DecisionAsked, DecisionEnded, DecisionRevised
from gatepost.inbox.event import Route

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


def show_question(tx: Transaction, event: DecisionAsked) -> None:
    """Show the question of a decision in the paired chats of the persons who are asked."""
    for respondent in event.respondents:
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
            show(tx, event.decision, Route(trigger.provider, session.id), trigger, session)


def is_shown(tx: Reader, decision: Decision, route: Route, trigger: Trigger | None) -> bool:
    """Return True if a decision that was just asked is on a route already, in whichever generation of the session."""
    name = trigger.name if trigger is not None else None
    return any(
        (entry.channel, entry.trigger, parse_base(entry.session)) == (route.channel, name, parse_base(route.session))
        for entry in shared_entries.list_by_decision(tx, decision.number)
    )


def close_question(tx: Transaction, event: DecisionEnded) -> None:
    """End the questions about a round that has ended, and show who answered what."""
    decision, answer = event
    text = rules.render_answer(decision, answer)
    is_answered = answer.outcome in (DecisionOutcome.ANSWERED, DecisionOutcome.AGAIN)
    _end(tx, decision, QuestionStatus.ANSWERED if is_answered else QuestionStatus.ENDED, text or None)
    channel_messages.show_end(tx, decision, _describe_end(answer, text))


def replace_question(tx: Transaction, event: DecisionRevised) -> None:
    """Show the question of a new round wherever the one before was shown."""
    decision = event.decision
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
