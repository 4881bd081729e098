"""Which questions can be asked: what `decision_actions.py` refuses before a decision is stored."""

import re
from collections.abc import Sequence
from typing import Final

from msgspec.structs import replace

from gatepost.core import text
from gatepost.core.times import Instant
from gatepost.errors import Invalid, quote_value
from gatepost.gates import proposed_action
from gatepost.gates.decision import MAX_OPTIONS, Option, Question
from gatepost.gates.proposed_action import Action, AnswerKind

_MAX_QUESTION_LENGTH: Final = 10_000
_MAX_LABEL_LENGTH: Final = 200
_MAX_CONTEXT_LENGTH: Final = 64 * 1024
_MAX_SESSION_LENGTH: Final = 256
_OPTION_ID: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")


def check_question(question: Question, *, max_data_bytes: int, current_deadline: Instant | None = None) -> Question:
    """
    Return the question if it can be answered; one with an action gets its options. `current_deadline` stays if the
    question names none.
    """
    if not text.has_visible_text(question.question):
        raise Invalid("the question is empty", hint="give `question`")
    text.check_text("question", question.question, _MAX_QUESTION_LENGTH)
    if question.context is not None:
        text.check_text("context", question.context, _MAX_CONTEXT_LENGTH)
    if question.session is not None:
        text.check_text("session", question.session, _MAX_SESSION_LENGTH)
    for part in (question.ref.type, question.ref.id) if question.ref is not None else ():
        text.check_text("reference", part, _MAX_LABEL_LENGTH)
    if question.action is not None:
        question = _add_kinds(question, question.action, max_data_bytes)
    elif question.allow:
        raise Invalid("`allow` needs `action`", hint="give `action`, or `options` instead")
    if not question.options and not question.free_text:
        raise Invalid(
            "there is no way to answer the question", hint="give `options`, or let it be answered in words: `freeText`"
        )
    ids = check_options(question.options)
    if question.default is not None and question.default not in ids:
        raise Invalid(
            f"the default {quote_value(question.default)} is not among the options",
            hint=f"use {' or '.join(ids)}" if ids else "give `options`",
        )
    if question.default is not None and question.action is not None:
        proposed_action.check_default(question.default, [AnswerKind(id) for id in ids])
    if question.default is not None and question.deadline is question.within is current_deadline is None:
        raise Invalid("a default counts at the deadline, and there is none", hint="give `within` or `deadline`")
    return question


def _add_kinds(question: Question, action: Action, max_data_bytes: int) -> Question:
    """Return the question about an action with the allowed kinds of answers as its options."""
    proposed_action.check_action(action, max_data_bytes)
    if question.options or question.free_text:
        raise Invalid(
            f"{'`options`' if question.options else '`freeText`'} cannot be combined with `action`",
            hint="give `allow`, which says what may be answered",
        )
    names = {AnswerKind.parse(name) for name in question.allow}
    kinds = [kind for kind in AnswerKind if kind in names or not names]
    return replace(
        question,
        options=tuple(Option(id=kind.value, label=kind.label) for kind in kinds),
        free_text=AnswerKind.RESPOND in kinds,
    )


def check_options(options: Sequence[Option]) -> list[str]:
    """Return the ids of the options."""
    if len(options) > MAX_OPTIONS:
        raise Invalid(f"{len(options)} options are too many", hint=f"use at most {MAX_OPTIONS}")
    ids = [_check_option(option).id for option in options]
    if len(set(ids)) < len(ids):
        duplicate_id = next(id for id in ids if ids.count(id) > 1)
        raise Invalid(f"there are two options {duplicate_id!r}", hint="give each an id of its own")
    labels = [option.label for option in options]
    if len(set(labels)) < len(labels):
        duplicate_label = next(label for label in labels if labels.count(label) > 1)
        duplicate_ids = [id for id, label in zip(ids, labels, strict=True) if label == duplicate_label]
        raise Invalid(
            f"the options {duplicate_ids[0]!r} and {duplicate_ids[1]!r} have the same label",
            hint="give each one of its own",
        )
    return ids


def _check_option(option: Option) -> Option:
    if not _OPTION_ID.fullmatch(option.id):
        raise Invalid(
            f"{quote_value(option.id)} is not the id of an option",
            hint="use up to 63 letters, digits, dots, dashes and underscores, a letter or digit first",
        )
    if not text.has_visible_text(option.label):
        raise Invalid(f"the option {option.id!r} has no label", hint="write the text that respondents choose")
    text.check_text("label", option.label, _MAX_LABEL_LENGTH)
    text.check_text("description", option.description, _MAX_QUESTION_LENGTH)
    return option
