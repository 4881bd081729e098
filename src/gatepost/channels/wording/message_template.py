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
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final

from msgspec import Meta, Struct, structs

from gatepost.channels.wording import text_template
from gatepost.channels.wording.dotted_path import parse_path
from gatepost.channels.wording.text_template import RenderedText, Scope
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import Priority
from gatepost.operations import validation

MAX_TEMPLATES: Final = 50
#: items of a list that become lines
MAX_ITEMS: Final = 200
#: characters of a line, of a subject and of a session
MAX_LINE_LENGTH: Final = 500
MAX_SUBJECT_LENGTH: Final = 200
MAX_SESSION_LENGTH: Final = 200
#: matches any value but null
ANY_VALUE: Final = "*"

_MAX_CHOICES: Final = 100
_MAX_CHOICE_LENGTH: Final = 1_000
_UNSAFE_IN_SESSION: Final = re.compile(r"[^\w:.@/#+-]+")


class MessageTemplate(Struct, frozen=True, kw_only=True, rename="camel", forbid_unknown_fields=True):
    match: Annotated[Mapping[str, Json], Meta(max_length=20)] = {}
    message: str | None = None
    for_each: str | None = None
    session: str | None = None
    subject: str | None = None
    priority: str | int | None = None
    skip: bool = False
    #: why it skips payloads
    reason: Annotated[str, Meta(max_length=500)] = ""

    def matches(self, scope: Scope) -> bool:
        return holds(self.match, scope) and (self.for_each is None or bool(self._list_items(scope)))

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
        items = scope.read(parse_path(self.for_each)) if self.for_each is not None else None
        return items if isinstance(items, list | tuple) else ()


class _Templates(Struct, frozen=True, kw_only=True):
    templates: Annotated[tuple[MessageTemplate, ...], Meta(max_length=MAX_TEMPLATES)]


def parse_templates(value: Json) -> tuple[MessageTemplate, ...]:
    """Return the templates of a JSON list; raise Invalid that names the place, such as `templates[2].match`."""
    templates = validation.convert(_Templates, {"templates": value}).templates
    for number, template in enumerate(templates):
        _check_template(f"templates[{number}]", template)
    return templates


def find_template(templates: Sequence[MessageTemplate], scope: Scope) -> MessageTemplate | None:
    """Return the first template whose match holds."""
    return next((template for template in templates if template.matches(scope)), None)


def render_session(template: str | None, scope: Scope) -> str | None:
    """Return the session of a payload; None if there is no template for it, or one of its values is missing."""
    rendered = _render(template, scope, MAX_SESSION_LENGTH)
    if rendered is None or rendered.missing_count:
        return None
    return _UNSAFE_IN_SESSION.sub("-", rendered.text).strip("-") or None


def render_subject(template: str | None, scope: Scope) -> str | None:
    """Return the subject of a payload; None if there is no template for it, or it is empty."""
    rendered = _render(template, scope, MAX_SUBJECT_LENGTH)
    return rendered.text or None if rendered else None


def render_message(template: str | None, scope: Scope) -> str | None:
    """Return the line of a payload; None if there is no template for it, or it is empty."""
    rendered = _render(template, scope, MAX_LINE_LENGTH)
    return rendered.text or None if rendered else None


def _render(template: str | None, scope: Scope, limit: int) -> RenderedText | None:
    return text_template.render(text_template.parse(template), scope, limit) if template is not None else None


def _check_template(place: str, template: MessageTemplate) -> None:
    for name in ("message", "session", "subject"):
        parse_field(f"{place}.{name}", getattr(template, name), text_template.parse)
    parse_field(f"{place}.forEach", template.for_each, parse_path)
    parse_field(f"{place}.priority", template.priority, Priority.parse)
    for path, choices in template.match.items():
        parse_field(f"{place}.match", path, parse_path)
        _check_choices(f"{place}.match.{path:.60}", choices)
    names = {
        field.encode_name
        for field in structs.fields(template)
        if field.name not in ("match", "skip") and getattr(template, field.name) != field.default
    }
    if template.skip:
        for name in sorted(names - {"reason"}):
            raise Invalid(
                f"{place}.{name}: it cannot be combined with skip, which drops the payload",
                hint="leave one of them out",
            )
    elif template.reason:
        raise Invalid(f"{place}.reason: it needs skip", hint='add "skip": true')
    elif template.for_each is not None and template.message is None:
        raise Invalid(f"{place}.message: it is missing, and forEach needs it", hint="such as {{item.name}}")
    elif not names:
        raise Invalid(
            f"{place}: it says nothing of the payload",
            hint="give `message`, `session`, `subject`, `priority` or `skip`",
        )


def _check_choices(place: str, value: Json) -> None:
    if not isinstance(value, list | tuple):
        _check_choice(place, value)
        return
    if not value:
        raise Invalid(f"{place}: there is no value in it", hint='write a value, or "*" for any')
    if len(value) > _MAX_CHOICES:
        raise Invalid(f"{place}: {len(value)} are too many", hint=f"use at most {_MAX_CHOICES}")
    for number, choice in enumerate(value):
        _check_choice(f"{place}[{number}]", choice)


def _check_choice(place: str, choice: Json) -> None:
    if not isinstance(choice, str | int | float | None) or len(str(choice)) > _MAX_CHOICE_LENGTH:
        raise Invalid(
            f"{place}: {quote_value(choice, show_items=False)} is not a value to compare with",
            hint=f"compare with a number, true, false, null, or a text of up to {_MAX_CHOICE_LENGTH} characters",
        )


def holds(match: Mapping[str, Json], scope: Scope) -> bool:
    """Return True if a payload has what a match says."""
    for path, choices in match.items():
        value = scope.read(parse_path(path))
        for choice in choices if isinstance(choices, list | tuple) else (choices,):
            if value is not None if choice == ANY_VALUE else _is_same(value, choice):
                break
        else:
            return False
    return True


def _is_same(value: Json, choice: Json) -> bool:
    """Compare exactly: true is not 1, and a text is no number."""
    if isinstance(value, dict | list) or isinstance(value, bool) != isinstance(choice, bool):
        return False
    return bool(value == choice)
