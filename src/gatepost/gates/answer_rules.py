"""
Which answers to a decision count: what becomes of an answer to the present question, or why it is refused. The first
answer that counts ends the round (`decision_actions.py`).
"""

from typing import Final

from msgspec.structs import replace

from gatepost.core import text
from gatepost.errors import Conflict, Invalid, quote_value
from gatepost.gates import proposed_action
from gatepost.gates.decision import MAX_ROUNDS, AnswerSpec, Decision, DecisionOutcome
from gatepost.gates.proposed_action import AnswerKind, Arguments

_MAX_TEXT_LENGTH: Final = 10_000


def complete_answer(decision: Decision, spec: AnswerSpec) -> AnswerSpec:
    """Return an answer with its kind: words alone are a response to an action."""
    is_response = decision.action is not None and decision.free_text and spec.option is None and spec.args is None
    if is_response and not spec.again and not spec.reject and text.has_visible_text(spec.text or ""):
        return replace(spec, option=AnswerKind.RESPOND.value)
    return spec


def decide_outcome(decision: Decision, spec: AnswerSpec, *, max_data_bytes: int) -> DecisionOutcome:
    """Return the outcome of an answer to the present question; raise Invalid or Conflict if it does not count."""
    ids = [option.id for option in decision.options]
    ways = ([f"`option` ({', '.join(ids)})"] if ids else []) + (["`text`"] if decision.free_text else [])
    ways_hint = f"give {' or '.join(ways)}"
    has_text = text.has_visible_text(spec.text or "")
    if spec.text is not None:
        text.check_text("text", spec.text, _MAX_TEXT_LENGTH)
    if spec.context_hash is not None and spec.context_hash != decision.context_hash:
        raise Conflict(
            f"the decision {decision.id!r} has changed since that was read", hint="read it again, and answer that"
        )
    if spec.option is not None and spec.option not in ids:
        raise Invalid(f"{quote_value(spec.option)} is not an option of this decision", hint=ways_hint)
    if spec.again + spec.reject + (spec.option is not None) > 1:
        raise Invalid("give only one of `option`, `again` and `reject`")
    if spec.args is not None:
        _check_edited_args(decision, spec.option, spec.args, max_data_bytes)
    if spec.option is not None and decision.action is not None:
        proposed_action.check_answer(AnswerKind(spec.option), ids, has_args=spec.args is not None, has_text=has_text)
    if spec.reject:
        return DecisionOutcome.REJECTED
    if spec.again and not decision.free_text:
        raise Invalid("this decision cannot be sent back: it takes no free text", hint=ways_hint)
    if spec.again and not has_text:
        raise Invalid("a question is sent back with words", hint="give `text`")
    if spec.option is None and not has_text:
        raise Invalid("the answer is empty", hint=ways_hint)
    if spec.option is None and not decision.free_text:
        raise Invalid("this decision cannot be answered with text alone", hint=ways_hint)
    if spec.again and decision.iteration >= MAX_ROUNDS:
        raise Conflict(f"this decision was asked {MAX_ROUNDS} times already", hint="answer it, or reject it")
    return DecisionOutcome.AGAIN if spec.again else DecisionOutcome.ANSWERED


def require_hash(decision: Decision, spec: AnswerSpec) -> None:
    """Refuse an answer to an action that does not say which question was read: its asker may have changed it."""
    if decision.action is not None and spec.context_hash is None:
        raise Invalid(
            "an answer to an action needs `contextHash`, the hash of the question that was read",
            hint=f"`gatepost decision show {decision.id}` shows its arguments and its hash",
        )


def _check_edited_args(decision: Decision, option: str | None, args: Arguments, max_data_bytes: int) -> None:
    if decision.action is None or option is None:
        can_edit = AnswerKind.EDIT in (decision.allow or ())
        hint = "give `option` edit, too" if can_edit else "leave it out"
        raise Invalid("`args` needs the answer 'edit' to an action", hint=hint)
    proposed_action.check_args(args, max_data_bytes)
