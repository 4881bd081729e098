"""
Put the payload of a webhook into one line of plain words: `acme/shop: octocat opened pull request #7 "Fix the till"`.

    templates of the trigger -> the words of a known service -> common fields -> JSON

A known service (`channels/wording/services.py`) is recognised by a header that only it sends, by the name of the scheme
or the trigger, or by the form of its payloads. Of any other payload the line has the fields that most services share:
the event, the action, a title, a message, a status, an address. A payload with none of them is shown as JSON.

Headers can be forged if only the body is signed, and a payload can say anything: a line is text from outside, like the
payload. Whatever they are, these functions return, and the work and the lines have limits. Headers are only read to
recognise the service and the kind of event, so no secret in them can get into a line.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct, structs

from gatepost.channels.wording import message_template, text_template
from gatepost.channels.wording.common_fields import KIND_FIELDS, describe_fields, find_scalar
from gatepost.channels.wording.dotted_path import parse_path
from gatepost.channels.wording.line_text import cut_line, show_scalar
from gatepost.channels.wording.message_template import MAX_LINE_LENGTH, MessageTemplate, build_condition
from gatepost.channels.wording.services import ANY_KIND, SERVICES, Service
from gatepost.channels.wording.text_template import Scope, TextTemplate
from gatepost.core.json_limits import Json
from gatepost.inbox.event import MAX_REF_LENGTH, Priority, Ref

#: characters of a line that Gatepost makes of its own, and of each value in it
MAX_OWN_LENGTH: Final = 300
_MAX_VALUE_LENGTH: Final = 100
_MAX_KIND_LENGTH: Final = 100


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
    session: TextTemplate | None = None,
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
                priority=template.priority,
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
    subject = service_kind or _show_kind(kind) or _show_kind(find_scalar(payload, KIND_FIELDS))
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
        has_form = bool(service.shape) and _holds(service.shape, scope)
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
    text = next((text for match, text in cases if _holds(match, scope)), service.events.get(kind, service.other))
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
        if not _holds(match, scope):
            continue
        rendered = text_template.render(text_template.parse(text), scope, MAX_REF_LENGTH)
        if not rendered.missing_count:
            return Ref(service.name, rendered.text)
    return None


def _holds(match: Mapping[str, Json], scope: Scope) -> bool:
    return all(build_condition(path, choice).holds(scope) for path, choice in match.items())


def _expand(service: Service, text: str) -> str:
    """Return a text with its parts in place of their names in angle brackets."""
    for name, part in service.parts.items():
        text = text.replace(f"<{name}>", part)
    return text


def _show_kind(kind: Json) -> str | None:
    return show_scalar(kind, _MAX_KIND_LENGTH) or None if isinstance(kind, str) else None
