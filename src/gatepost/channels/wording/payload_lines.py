"""
Put the payload of a webhook into one line of plain words: `acme/shop: octocat opened pull request #7 "Fix the till"`.

    templates of the trigger -> the words of a known service -> common fields -> JSON

A known service (`channels/wording/services.py`) is recognised by a header that only it sends, by the name of the scheme
or the trigger, or by the form of its payloads. Of any other payload the line has the fields that most services share:
the event, the action, a title, a message, a status, an address. A field is searched in the object first, and then in
the members in which services wrap what happened (`data`, `payload`). If there is neither a title nor a message, a few
other fields follow with their names. A payload with none of them is shown as JSON.

    {"event": "deploy", "title": "Shop 1.4", "user": "ana", "status": "failed", "message": "no space left on device"}
    deploy "Shop 1.4" by ana (failed): "no space left on device"

Headers can be forged if only the body is signed, and a payload can say anything: a line is text from outside, like the
payload. Whatever they are, these functions return, and the work and the lines have limits. Headers are only read to
recognise the service and the kind of event, so no secret in them can get into a line.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from msgspec import Struct, structs

from gatepost.channels.wording import message_template, text_template
from gatepost.channels.wording.dotted_path import parse_path
from gatepost.channels.wording.line_text import clean_line, cut_line, show_json, show_label, show_scalar
from gatepost.channels.wording.message_template import MAX_LINE_LENGTH, MessageTemplate, holds
from gatepost.channels.wording.services import ANY_KIND, SERVICES, Service
from gatepost.channels.wording.text_template import Scope
from gatepost.core.json_limits import Json
from gatepost.inbox.event import MAX_REF_LENGTH, Priority, Ref

#: characters of a line that Gatepost makes of its own, and of each value in it
MAX_OWN_LENGTH: Final = 300
_MAX_VALUE_LENGTH: Final = 100
_MAX_KIND_LENGTH: Final = 100
#: the names of fields, the best first
_KIND_FIELDS: Final = ("event", "event_type", "eventType", "event_name", "eventName", "type", "kind")
_ACTION_FIELDS: Final = ("action",)
_TITLE_FIELDS: Final = ("title", "name", "subject", "summary")
_ACTOR_FIELDS: Final = ("actor", "user", "sender", "author", "username")
_STATUS_FIELDS: Final = ("status", "state", "conclusion", "level", "severity")
_MESSAGE_FIELDS: Final = ("message", "text", "description", "body", "content", "detail", "details", "reason", "error")
_ADDRESS_FIELDS: Final = ("url", "html_url", "web_url", "link")
_NAMED_FIELDS: Final = frozenset(_KIND_FIELDS).union(
    _ACTION_FIELDS, _TITLE_FIELDS, _ACTOR_FIELDS, _STATUS_FIELDS, _MESSAGE_FIELDS, _ADDRESS_FIELDS
)
#: fields that say little, or nothing that should be repeated
_QUIET_FIELDS: Final = frozenset(("id", "uuid", "timestamp", "time", "version", "token", "secret", "signature"))
_WRAPPERS: Final = ("data", "payload", "event", "object", "resource", "attributes", "alert", "incident", "detail")
#: other fields that are shown, and the fields among which they are searched
_MAX_OTHER_FIELDS: Final = 5
_MAX_SEARCHED_FIELDS: Final = 50


class Line(Struct, frozen=True, kw_only=True):
    """What an event says, and what else is known of it. A missing field is up to the trigger."""

    text: str
    #: the kind of event, in the words of the service
    subject: str | None = None
    session: str | None = None
    ref: Ref | None = None
    priority: Priority | None = None
    #: whether the text is that of a template, or of a service that is known here; else the payload says more
    is_known: bool = False


def build_lines(
    templates: Sequence[MessageTemplate],
    headers: Mapping[str, str],
    payload: Json,
    *,
    scheme: str = "",
    kind: str | None = None,
    session: str | None = None,
) -> list[Line]:
    """
    Return the lines of a payload: one, or one for each item of a list, or none if a template skips it (see
    `find_skip_reason`). `scheme` may also be the name of a service; `kind` is the kind of event if it is known, and
    `session` is for lines whose template has none.
    """
    own_line = describe_payload(scheme, headers, payload, kind=kind)
    scope = Scope(payload, {"@event": own_line.subject})
    template = message_template.find_template(templates, scope) or MessageTemplate()
    if template.skip:
        return []
    lines = []
    for line_scope in template.iter_scopes(scope):
        own_session = message_template.render_session(template.session, line_scope)
        message = message_template.render_message(template.message, line_scope)
        lines.append(
            Line(
                text=message or own_line.text,
                is_known=bool(message) or own_line.is_known,
                subject=message_template.render_subject(template.subject, line_scope) or own_line.subject,
                session=own_session or message_template.render_session(session, line_scope),
                ref=own_line.ref,
                priority=Priority.parse(template.priority) if template.priority is not None else None,
            )
        )
    if left_out := template.count_left_out(scope):
        note = f" (and {left_out} more)"
        last_text = cut_line(lines[-1].text, MAX_LINE_LENGTH - len(note)) + note
        lines[-1] = structs.replace(lines[-1], text=last_text)
    return lines


def find_skip_reason(
    templates: Sequence[MessageTemplate],
    headers: Mapping[str, str],
    payload: Json,
    *,
    scheme: str = "",
    kind: str | None = None,
) -> str | None:
    """Return why `build_lines` returns no line for a payload; None if it returns one."""
    subject = describe_payload(scheme, headers, payload, kind=kind).subject
    template = message_template.find_template(templates, Scope(payload, {"@event": subject}))
    if template is None or not template.skip:
        return None
    return template.reason or f"template {templates.index(template) + 1} skips it"


def describe_payload(hint: str, headers: Mapping[str, str], payload: Json, *, kind: str | None = None) -> Line:
    """
    Return the line of a payload without templates. `hint` is the scheme or the name of the service or the trigger;
    `kind` is the kind of event if it is known.
    """
    lower_headers = {name.lower(): value for name, value in headers.items()}
    service, service_kind = _find_service(hint.lower(), lower_headers, payload)
    subject = service_kind or _show_kind(kind) or _show_kind(_find_scalar(payload, _KIND_FIELDS))
    text, ref = "", None
    if service is not None:
        scope = _build_scope(service, subject, payload)
        text, ref = _describe(service, subject or "", scope), _find_ref(service, scope)
    is_known = bool(text)
    text = text or describe_fields(payload, MAX_OWN_LENGTH) or subject or "a payload without content"
    return Line(text=text, subject=subject, ref=ref, is_known=is_known)


def _find_service(hint: str, headers: Mapping[str, str], payload: Json) -> tuple[Service | None, str | None]:
    """
    Return the service that a payload comes from, and the kind of event in its words. A header of the service counts
    most, then the hint; the form of the payload decides for a service whose payloads have one.
    """
    scope = Scope(payload)

    def count_signs(service: Service) -> tuple[bool, bool]:
        return service.header in headers, service.name in hint

    for service in sorted(SERVICES, key=count_signs, reverse=True):
        paths = [scope.read(parse_path(path)) for path in service.kind_paths]
        kinds = [headers.get(service.kind_header or ""), *paths]
        kind = next(filter(None, map(_show_kind, kinds)), None)
        has_form = bool(service.shape) and holds(service.shape, scope)
        if has_form or (kind is not None and any(count_signs(service))):
            return service, kind
    return None, None


def _build_scope(service: Service, kind: str | None, payload: Json) -> Scope:
    """Return what the texts of a service read: the payload, the kind, the member called like it, and the action."""
    scope = Scope(payload)
    actions = (show_scalar(scope.read(parse_path(path)), _MAX_KIND_LENGTH) for path in service.action_paths)
    action = next(filter(None, actions), "")
    member = payload.get(kind) if isinstance(payload, dict) and kind is not None else None
    return Scope(payload, {"@event": kind, "@object": member, "@action": service.verbs.get(action, action)})


def _describe(service: Service, kind: str, scope: Scope) -> str:
    """Return a payload in the words of its service; empty if it has nothing that they speak of."""
    cases = [*service.cases.get(kind, ()), *service.cases.get(ANY_KIND, ())]
    text = next((text for match, text in cases if holds(match, scope)), service.events.get(kind, service.other))
    rendered = text_template.render(
        text_template.parse(_expand(service, text)), scope, MAX_OWN_LENGTH, _MAX_VALUE_LENGTH
    )
    if rendered.value_count < (2 if text == service.other else 1):
        return ""
    places = (show_scalar(scope.read(parse_path(path)), _MAX_VALUE_LENGTH) for path in service.places)
    place = next(filter(None, places), "")
    return cut_line(f"{place}: {rendered.text}" if place else rendered.text, MAX_OWN_LENGTH)


def _find_ref(service: Service, scope: Scope) -> Ref | None:
    for match, text in service.refs:
        if not holds(match, scope):
            continue
        rendered = text_template.render(text_template.parse(text), scope, MAX_REF_LENGTH)
        if not rendered.missing_count:
            return Ref(service.name, rendered.text)
    return None


def _expand(service: Service, text: str) -> str:
    """Return a text with its parts in place of their names in angle brackets."""
    for name, part in service.parts.items():
        text = text.replace(f"<{name}>", part)
    return text


def _show_kind(kind: Json) -> str | None:
    return show_scalar(kind, _MAX_KIND_LENGTH) or None if isinstance(kind, str) else None


def describe_fields(payload: Json, limit: int) -> str:
    """Return any JSON value as one line of at most `limit` characters; empty only for an empty text."""
    if isinstance(payload, str):
        return clean_line(payload, limit)
    text = _describe_object(payload) if isinstance(payload, dict) else ""
    return cut_line(text, limit) if text else show_json(payload, limit)


def _find_scalar(payload: Json, names: Iterable[str]) -> str:
    """Return the first of these fields that has a text, a number, true or false; empty if none has."""
    return _find_field(_list_sources(payload), names, show_nested=False)


def _describe_object(payload: Mapping[str, Json]) -> str:
    sources = _list_sources(payload)
    title = _find_field(sources, _TITLE_FIELDS)
    actor = _find_field(sources, _ACTOR_FIELDS)
    status, message, address = (
        _find_field(sources, names, show_nested=False) for names in (_STATUS_FIELDS, _MESSAGE_FIELDS, _ADDRESS_FIELDS)
    )
    kind, action = (_find_field(sources, names, show_nested=False) for names in (_KIND_FIELDS, _ACTION_FIELDS))
    text = " ".join(filter(None, (kind, action, _quote(title), actor and f"by {actor}")))
    if status:
        text = f"{text} ({status})" if text else status
    if message:
        text = f"{text}: {_quote(message)}" if text else _quote(message)
    if text and not title and not message:
        text = ", ".join((text, *_list_other_fields(payload)))
    return " ".join(filter(None, (text, address)))


def _list_sources(payload: Json) -> Sequence[Mapping[str, Json]]:
    if not isinstance(payload, dict):
        return ()
    return [payload, *(inner for name in _WRAPPERS if isinstance(inner := payload.get(name), dict))]


def _find_field(sources: Iterable[Mapping[str, Json]], names: Iterable[str], *, show_nested: bool = True) -> str:
    """Return the first field that has something to show. With `show_nested`, an object is shown as its name."""
    show = show_label if show_nested else show_scalar
    values = (show(source.get(name), _MAX_VALUE_LENGTH) for source in sources for name in names)
    return next(filter(None, values), "")


def _list_other_fields(payload: Mapping[str, Json]) -> list[str]:
    fields = (
        f"{clean_line(str(name), _MAX_VALUE_LENGTH)} {value}"
        for name, member in islice(payload.items(), _MAX_SEARCHED_FIELDS)
        if name not in _NAMED_FIELDS | _QUIET_FIELDS and (value := show_label(member, _MAX_VALUE_LENGTH))
    )
    return list(islice(fields, _MAX_OTHER_FIELDS))


def _quote(text: str) -> str:
    inner_text = text.replace('"', "'")
    return f'"{inner_text}"' if text else ""
