"""
The action of a decision: what an agent wants to do, and asks about first.

A question with an action has no options of its own. Its options are the kinds of answers that the asker allows, and the
id of an option is the kind:

    accept     run it with the arguments as they are
    edit       run it with the arguments in the answer, which take the place of all arguments
    respond    do not run it as it is; the answer is a text
    ignore     do not run it

So an action takes the same way as any other question: the first answer counts, and a kind can be the default if it
needs nothing else. The asker gets the kind and the arguments to run the action with, or none.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gatepost.core import json_limits as strict, text
from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum
from gatepost.errors import Invalid

Arguments = dict[str, Json]

#: bytes of the arguments, as JSON; less where the data of events is smaller
MAX_ARGS_BYTES: Final = 64 * 1024
_MAX_NAME_LENGTH: Final = 200

_encode: Final = json.JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


class AnswerKind(ParsedEnum, description="a kind of answer to an action"):
    ACCEPT = "accept"
    EDIT = "edit"
    RESPOND = "respond"
    IGNORE = "ignore"

    @property
    def label(self) -> str:
        return _LABELS[self]

    @property
    def is_complete(self) -> bool:
        """True if the kind alone is an answer, without arguments or a text."""
        return self in (AnswerKind.ACCEPT, AnswerKind.IGNORE)


_LABELS: Final[Mapping[AnswerKind, str]] = {
    AnswerKind.ACCEPT: "run it as it is",
    AnswerKind.EDIT: "run it with other arguments",
    AnswerKind.RESPOND: "answer in words instead",
    AnswerKind.IGNORE: "do not run it",
}


class Action(Struct, frozen=True, kw_only=True):
    name: str
    args: Arguments


def check_action(action: Action, max_data_bytes: int) -> Action:
    text.check_label("the name of an action", action.name, _MAX_NAME_LENGTH)
    check_args(action.args, max_data_bytes)
    return action


def check_args(args: Arguments, max_data_bytes: int) -> None:
    """Refuse arguments that cannot be stored, or are too large for an event with at most `max_data_bytes` of data."""
    strict.encode_json(args, "args object", min(MAX_ARGS_BYTES, max_data_bytes // 4))


def check_default(default: str, kinds: Sequence[AnswerKind]) -> None:
    """Refuse a default that nobody could complete at the deadline. It is one of the kinds."""
    if AnswerKind(default).is_complete:
        return
    defaults = [kind for kind in kinds if kind.is_complete]
    raise Invalid(
        f"{default!r} cannot be the default: nobody gives the rest of that answer at the deadline",
        hint=f"use {' or '.join(defaults)}" if defaults else "allow accept or ignore, too, or leave it out",
    )


def check_answer(kind: AnswerKind, kinds: Sequence[str], *, has_args: bool, has_text: bool) -> None:
    """Refuse an answer with too little or too much for its kind. `kinds` are allowed."""
    if has_args and kind is not AnswerKind.EDIT:
        hint = "use edit to change them" if AnswerKind.EDIT in kinds else "leave it out"
        raise Invalid(f"`args` cannot be combined with the answer {kind.value!r}", hint=hint)
    if has_text and kind is not AnswerKind.RESPOND:
        hint = "use respond to answer in words" if AnswerKind.RESPOND in kinds else "leave it out"
        raise Invalid(f"`text` cannot be combined with the answer {kind.value!r}", hint=hint)
    if kind is AnswerKind.EDIT and not has_args:
        raise Invalid("the edited arguments are missing", hint="give `args`: all arguments, as a JSON object")
    if kind is AnswerKind.RESPOND and not has_text:
        raise Invalid("the response is empty", hint="give `text`")


def choose_args(action: Action | None, kind: str | None, edited_args: Arguments | None) -> Arguments | None:
    """Return the arguments to run an action with; None if it is not run."""
    match kind:
        case AnswerKind.ACCEPT if action is not None:
            return action.args
        case AnswerKind.EDIT if action is not None:
            return edited_args
        case _:
            return None


def render_action(action: Action) -> str:
    """Return an action as respondents read it."""
    return f"{action.name} {_encode(action.args)}"


def render_outcome(name: str, kind: str, args: Arguments | None, words: str | None) -> str:
    """Return what was decided about an action, as the asker reads it."""
    match kind:
        case AnswerKind.ACCEPT:
            return f"accepted {name} with the arguments {_encode(args)}"
        case AnswerKind.EDIT:
            return f"accepted {name} with edited arguments {_encode(args)}"
        case AnswerKind.RESPOND:
            return f"responded to {name}: {words}"
        case _:
            return f"ignored {name}"
