"""
Message templates: what the payloads of a webhook say to an agent, declared as data.

    {"match": {"action": ["opened", "reopened"], "pull_request.draft": false},
     "message": "{{sender.login}} {{action}} pull request #{{number}} {{pull_request.title|quote}}",
     "session": "pr-{{number}}", "priority": "high", "subject": "review"}
    {"match": {"@event": "push"}, "forEach": "commits", "message": "{{item.author.name}}: {{item.message|first_line}}"}
    {"match": {"sender.type": "Bot"}, "skip": true, "reason": "bots talk too much"}

A trigger has several. The first whose match holds decides; if none does, the payload becomes the line that Gatepost
makes of its own (`channels/wording/payload_lines.py`).

    match      dotted paths, and what must be there: a value, one of several values, null for nothing, "*" for anything;
               values are compared exactly, and without a match every payload fits
    message    the line, a template of text (`channels/wording/text_template.py`); without one it is Gatepost's own line
    forEach    the path of a list: each of its first 200 items becomes a line; a payload without items does not match
    session    the session of the event; if a value in it is missing, it is the session of the trigger
    subject    the subject of the event, in place of the kind of event
    priority   critical, high, normal, low or fyi
    skip       true: the payload is dropped, because of the `reason`

Templates are checked as a whole when they are set, so that no payload can make them fail later.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from gatepost.channels.wording import dotted_path, text_template
from gatepost.channels.wording.dotted_path import DottedPath
from gatepost.channels.wording.text_template import RenderedText, Scope, TextTemplate
from gatepost.core.json_limits import Json
from gatepost.core.json_node import JsonNode
from gatepost.core.text import parse_field
from gatepost.inbox.event import Priority

MAX_TEMPLATES: Final = 50
#: items of a list that become lines
MAX_ITEMS: Final = 200
#: characters of a line, of a subject and of a session
MAX_LINE_LENGTH: Final = 500
MAX_SUBJECT_LENGTH: Final = 200
MAX_SESSION_LENGTH: Final = 200
#: matches any value but null
ANY_VALUE: Final = "*"

_MAX_MATCHES: Final = 20
_MAX_CHOICES: Final = 100
_MAX_CHOICE_BYTES: Final = 1_000
_MAX_REASON_BYTES: Final = 500
_UNSAFE_IN_SESSION: Final = re.compile(r"[^\w:.@/#+-]+")


class Condition(Struct, frozen=True):
    path: DottedPath
    #: one of them must be there; `ANY_VALUE` is a wildcard
    choices: tuple[Json, ...]

    def holds(self, scope: Scope) -> bool:
        value = scope.read(self.path)
        return any(value is not None if choice == ANY_VALUE else _is_same(value, choice) for choice in self.choices)


class MessageTemplate(Struct, frozen=True, kw_only=True):
    conditions: tuple[Condition, ...] = ()
    message: TextTemplate | None = None
    for_each: DottedPath | None = None
    session: TextTemplate | None = None
    subject: TextTemplate | None = None
    priority: Priority | None = None
    skip: bool = False
    #: why it skips payloads
    reason: str = ""

    def matches(self, scope: Scope) -> bool:
        return all(condition.holds(scope) for condition in self.conditions) and (
            self.for_each is None or bool(self._list_items(scope))
        )

    def iter_scopes(self, scope: Scope) -> Iterator[Scope]:
        """Yield what the line of each item reads; the scope itself if it is not for each item of a list."""
        if self.for_each is None:
            yield scope
            return
        for index, item in enumerate(self._list_items(scope)[:MAX_ITEMS]):
            yield Scope(scope.payload, {**scope.names, "item": item, "index": index})

    def count_left_out(self, scope: Scope) -> int:
        """Return how many items of the list become no line."""
        return max(0, len(self._list_items(scope)) - MAX_ITEMS) if self.for_each is not None else 0

    def _list_items(self, scope: Scope) -> Sequence[Json]:
        items = scope.read(self.for_each) if self.for_each is not None else None
        return items if isinstance(items, list | tuple) else ()


def parse_templates(value: Json, field: str = "templates") -> tuple[MessageTemplate, ...]:
    """Return the templates of a JSON list; raise Invalid that names the place, such as `templates[2].match`."""
    return tuple(_parse_template(node) for node in JsonNode(value, field).items(MAX_TEMPLATES))


def find_template(templates: Sequence[MessageTemplate], scope: Scope) -> MessageTemplate | None:
    """Return the first template whose match holds."""
    return next((template for template in templates if template.matches(scope)), None)


def render_session(template: TextTemplate | None, scope: Scope) -> str | None:
    """Return the session of a payload; None if there is no template for it, or one of its values is missing."""
    rendered = _render(template, scope, MAX_SESSION_LENGTH)
    if rendered is None or rendered.missing_count:
        return None
    return _UNSAFE_IN_SESSION.sub("-", rendered.text).strip("-") or None


def render_subject(template: TextTemplate | None, scope: Scope) -> str | None:
    """Return the subject of a payload; None if there is no template for it, or it is empty."""
    rendered = _render(template, scope, MAX_SUBJECT_LENGTH)
    return rendered.text or None if rendered else None


def render_message(template: TextTemplate | None, scope: Scope) -> str | None:
    """Return the line of a payload; None if there is no template for it, or it is empty."""
    rendered = _render(template, scope, MAX_LINE_LENGTH)
    return rendered.text or None if rendered else None


def _render(template: TextTemplate | None, scope: Scope, limit: int) -> RenderedText | None:
    return text_template.render(template, scope, limit) if template is not None else None


def _parse_template(node: JsonNode) -> MessageTemplate:
    if not isinstance(node.value, dict):
        node.reject_value("is not an object")
    fields = node.fields("match", "message", "forEach", "session", "subject", "priority", "skip", "reason")
    template = MessageTemplate(
        conditions=tuple(_parse_condition(path, choice) for path, choice in fields["match"].members(_MAX_MATCHES)),
        message=_parse_text(fields["message"]),
        for_each=_parse_path(fields["forEach"]),
        session=_parse_text(fields["session"]),
        subject=_parse_text(fields["subject"]),
        priority=_parse_priority(fields["priority"]),
        skip=fields["skip"].flag(default=False),
        reason=fields["reason"].text(_MAX_REASON_BYTES),
    )
    if template.skip:
        for name in ("message", "forEach", "session", "subject", "priority"):
            if not fields[name].is_absent:
                fields[name].reject("it does not go with skip, which drops the payload", hint="leave one of them out")
    elif template.reason:
        fields["reason"].reject("it goes only with skip", hint='add "skip": true')
    elif template.for_each is not None and template.message is None:
        fields["message"].reject("it is missing, and forEach needs it", hint="such as {{item.name}}")
    elif node.value.keys() <= {"match", "skip"}:
        node.reject("it says nothing of the payload", hint="give `message`, `session`, `subject`, `priority` or `skip`")
    return template


def _parse_condition(path: str, node: JsonNode) -> Condition:
    is_list = isinstance(node.value, list | tuple)
    choices = tuple(_parse_choice(choice) for choice in (node.items(_MAX_CHOICES) if is_list else [node]))
    if not choices:
        node.reject("there is no value in it", hint='write a value, or "*" for any')
    return Condition(parse_field(node.path.removesuffix(f".{path:.60}"), path, dotted_path.parse_path), choices)


def build_condition(path: str, choice: Json) -> Condition:
    """Return the condition of a match that is known to be valid."""
    return Condition(dotted_path.parse_path(path), tuple(choice) if isinstance(choice, list | tuple) else (choice,))


def _parse_choice(node: JsonNode) -> Json:
    if node.value is None:
        return None
    if not isinstance(node.value, str | int | float):
        node.reject_value("is not a value to compare with", hint="compare with a text, a number, true, false or null")
    return node.json(_MAX_CHOICE_BYTES)


def _parse_text(node: JsonNode) -> TextTemplate | None:
    text = node.text(4 * text_template.MAX_LENGTH)
    return None if node.is_absent else parse_field(node.path, text, text_template.parse)


def _parse_path(node: JsonNode) -> DottedPath | None:
    text = node.text(4 * dotted_path.MAX_LENGTH)
    return None if node.is_absent else parse_field(node.path, text, dotted_path.parse_path)


def _parse_priority(node: JsonNode) -> Priority | None:
    if node.value is not None and not isinstance(node.value, str | int):
        node.reject_value("is not a priority", hint="use critical, high, normal, low or fyi")
    return parse_field(node.path, node.value, Priority.parse)


def _is_same(value: Json, choice: Json) -> bool:
    """Compare exactly: true is not 1, and a text is no number."""
    if isinstance(value, dict | list) or isinstance(value, bool) != isinstance(choice, bool):
        return False
    return bool(value == choice)
