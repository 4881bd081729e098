"""
Reactions: what later rooms do, in the same transaction, when something happens in an earlier one.

A room says what has happened, `tx.react(Retired(entity))`, and does not know who cares. `REACTIONS` lists who does:
the verbs are called one after the other, as they stand there, with the transaction and the event. A verb that raises an
error refuses what has happened, and everything is rolled back. A question, `tx.ask(FindSkills(agent))`, has one verb,
and its result is the answer.

Verbs are named, not imported, because a hook opens a store and must start fast. A test checks that all of them are
there, and take what they are given.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final, Generic, TypeVar

T_co = TypeVar("T_co", covariant=True)

#: by the class of an event or a question: the verbs, as `module:function` below `gatepost`
REACTIONS: Final[Mapping[str, tuple[str, ...]]] = {
    # directory
    "Registering": ("inbox.broadcast_actions:hold_broadcasts",),
    "Registered": ("inbox.broadcast_actions:open_inbox",),
    "Renamed": ("inbox.item_actions:measure_lines_again",),
    "Retired": ("gates.automatic_end_actions:end_orphans",),
    "AttentionChanged": ("channels.notice_actions:move_held",),
    "FindPresences": ("residents.agent_handlers:find_presences",),
    # inbox
    "PersonsReached": ("inbox.triage_actions:return_awaited",),
    "UrgentEventPushed": ("channels.notice_actions:notify_persons",),
    "FindSentEvent": ("mail.mail_actions:find_sent_event",),
    "FindReceptions": ("guests.wake_actions:find_receptions",),
    "ItemsRead": ("mail.read_receipt_actions:confirm_reads",),
    "ItemsDiscarded": ("gates.decision_event_actions:keep_last_question",),
    # gates
    "GateEnded": ("plans.actions:continue_plans",),
    "DecisionAsked": ("channels.question_actions:show_question",),
    "DecisionRevised": ("channels.question_actions:replace_question",),
    "DecisionEnded": ("channels.question_actions:close_question",),
    # mail
    "FindOutsider": ("ledger.connections.actions:find_outsider",),
    "MailSent": ("ledger.topic_actions:post_mail",),
    "WorkPosted": ("ledger.topic_actions:post_work",),
    # channels
    "FindSkills": ("residents.agent_actions:find_skills",),
    "CountGoals": ("residents.goal_and_memory_actions:count_goals",),
}


class RoomQuestion(Generic[T_co]):
    """The base of questions: `class FindSkills(RoomQuestion[Sequence[str]])` is answered by a sequence of texts."""

    __slots__ = ()


@cache
def find_reactions(event: str) -> tuple[Callable[..., Any], ...]:
    """Return the verbs that react to a class of events, or answer a class of questions."""
    from importlib import import_module

    names = [name.partition(":") for name in REACTIONS[event]]
    return tuple(getattr(import_module(f"gatepost.{module}"), verb) for module, _, verb in names)
