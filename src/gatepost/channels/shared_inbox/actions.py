"""
The shared inbox: what people write on channels, what systems ask them there, and what systems answer.

A text of a person may answer a question that waits on the same route:

    a reply to the message of a question, or a press of one of its buttons    answers that question
    another text      answers the oldest question that waits there and takes a free text, or has an option with this id
                      or label (or number, if the question takes no free text)
    everything else   is a prompt

An answer through a channel is an answer of the decision behind the question, by the person who is paired with the
session. So it counts once, and only if that person was asked. `channel_questions` shows and ends the questions.
"""

from collections.abc import Collection, Mapping
from typing import Final, NamedTuple, TypedDict, Unpack

from gatepost.channels.conversation import parse_base
from gatepost.channels.shared_inbox import rows as shared_entries
from gatepost.channels.shared_inbox.entry import EntryKind, QuestionStatus, SharedEntry, build_topic
from gatepost.channels.shared_inbox.rows import EntryFilter
from gatepost.channels.triggers import rows as triggers
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal
from gatepost.directory import entity_actions as directory
from gatepost.errors import GatepostError, NotFound, Refused, quote_value
from gatepost.gates import decision as rules, decision_actions as decisions
from gatepost.gates.decision import AnswerSpec, Decision
from gatepost.inbox.event import Route

#: questions on one route that a text is compared with
_MAX_QUESTIONS: Final = 100


class EntryFields(TypedDict, total=False):
    """
    Which entries are read; a field that is None or left out excludes nothing. A `viewer` sees what was in sessions of
    its own; the administrator (None) sees all.
    """

    viewer: str | None
    channel: str | None
    session: str | None
    kind: EntryKind | None
    pending: bool


def page(tx: Reader, *, after: int = 0, limit: int = 100, **fields: Unpack[EntryFields]) -> list[SharedEntry]:
    """Return entries, the oldest first; `after` is the number of the last one seen."""
    return shared_entries.list_page(tx, _build_filter(tx, fields), after=after, limit=limit)


def show(tx: Reader, id: str, *, viewer: str | None = None) -> SharedEntry:
    """Return an entry; for a `viewer`, those of the sessions of others do not exist."""
    entry = shared_entries.find(tx, id, person=directory.find_number(tx, viewer))
    if entry is None:
        raise NotFound(f"there is no entry {quote_value(id)}", hint="`gatepost inbox shared` lists the last ones")
    return entry


def list_changes(tx: Reader, *, after: int = 0, limit: int = 100, **fields: Unpack[EntryFields]) -> list[SharedEntry]:
    """
    Return entries that are new or have changed, in the order of their positions; `after` is the last position seen. A
    question is there when it is asked, and again, with its answer, when it has ended.
    """
    return shared_entries.list_changes(tx, _build_filter(tx, fields), after=after, limit=limit)


def list_recent(
    tx: Reader, *, before: int | None = None, limit: int = 100, **fields: Unpack[EntryFields]
) -> list[SharedEntry]:
    """Return the last entries, the newest first; `before` is the number of the last one seen."""
    return shared_entries.list_recent(tx, _build_filter(tx, fields), before=before, limit=limit)


def _build_filter(tx: Reader, fields: EntryFields) -> EntryFilter:
    return EntryFilter(
        person=directory.find_number(tx, fields.get("viewer")),
        channel=fields.get("channel"),
        session=fields.get("session"),
        kind=fields.get("kind"),
        is_pending=fields.get("pending", False),
    )


def find_last_position(tx: Reader) -> int:
    """Return the position of the last change; 0 if there is none."""
    return shared_entries.find_last_position(tx)


def record(
    tx: Transaction,
    kind: EntryKind,
    route: Route,
    content: str,
    *,
    trigger: int | None,
    person: int | None,
    sender: int | None = None,
    display: str | None = None,
    metadata: Mapping[str, str] | None = None,
) -> str:
    """Add a prompt or a response, and return the id of the entry; `person` is whose session it is."""
    number, id = shared_entries.insert(
        tx,
        kind,
        channel=route.channel,
        session=route.session,
        trigger=trigger,
        sender=sender,
        person=person,
        display=display,
        content=content,
        metadata=metadata,
    )
    tx.after_commit(Signal(build_topic(route), str(number), wakes=False))
    return id


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
    decision: str | None = None,
    askers: Collection[str] | None = None,
) -> AnsweredQuestion | None:
    """
    Return the question that a text on a route answers; None if the text is a prompt. `decision` is the one whose
    message the text replies to, in whichever generation of the session that was. With `askers`, only what they asked
    is answered.
    """
    if decision is None:
        entries = shared_entries.list_pending(
            tx, channel=route.channel, session=route.session, trigger=trigger, limit=_MAX_QUESTIONS
        )
    else:
        entries = [entry for entry in _list_by_decision(tx, decision) if _is_in_session(tx, entry, route, trigger)]
    for entry in entries:
        if entry.decision is None or (askers is not None and entry.asked_by not in askers):
            continue
        asked_decision = decisions.show(tx, entry.decision)
        answer = match_answer(asked_decision, text) if asked_decision.is_open else None
        if answer is not None:
            return AnsweredQuestion(entry, asked_decision, answer)
    return None


def _list_by_decision(tx: Reader, decision: str) -> list[SharedEntry]:
    entries = shared_entries.list_by_decision(tx, decisions.show(tx, decision).number)
    return [entry for entry in entries if entry.status is QuestionStatus.PENDING]


def _is_in_session(tx: Reader, entry: SharedEntry, route: Route, trigger: int | None) -> bool:
    """Return True if an entry is of the session of a route, whichever generations they have."""
    entry_trigger = triggers.find(tx, entry.trigger) if entry.trigger is not None else None
    return (
        (entry_trigger.number if entry_trigger is not None else None) == trigger
        and entry.channel == route.channel
        and parse_base(entry.session) == parse_base(route.session)
    )


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


def answer(tx: Transaction, decision: Decision, reply: AnswerSpec, person: str) -> tuple[Decision | None, str]:
    """
    Answer a decision as a person. Return the decision, or None if the answer does not count, and a sentence for that
    person.
    """
    try:
        answered = decisions.answer(tx, decision.id, reply, by=person)
    except GatepostError as error:
        return None, error.message
    last = answered.last_answer
    label = rules.render_answer(answered, last) if last is not None else ""
    return answered, f"Noted: {label}" if label else "Noted."


def require_person(tx: Reader, name: str | None) -> str:
    """Return the name of the person at a session; refuse a session of nobody."""
    if name is None:
        raise Refused("nobody here is paired with this session", hint="`gatepost channel pair` pairs a user")
    return directory.find_live(tx, name).name
