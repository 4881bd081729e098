"""
Put a JSON object of an unknown service into words, by the fields that most services share.

    {"event": "deploy", "title": "Shop 1.4", "user": "ana", "status": "failed", "message": "no space left on device"}
    deploy "Shop 1.4" by ana (failed): "no space left on device"

A field is searched in the object first, and then in the members in which services wrap what happened (`data`,
`payload`). If there is neither a title nor a message, a few other fields follow with their names.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Final

from gatepost.channels.wording.line_text import clean_line, cut_line, show_json, show_label, show_scalar
from gatepost.core.json_limits import Json

#: the names of fields, the best first
KIND_FIELDS: Final = ("event", "event_type", "eventType", "event_name", "eventName", "type", "kind")
_ACTION_FIELDS: Final = ("action",)
_TITLE_FIELDS: Final = ("title", "name", "subject", "summary")
_ACTOR_FIELDS: Final = ("actor", "user", "sender", "author", "username")
_STATUS_FIELDS: Final = ("status", "state", "conclusion", "level", "severity")
_MESSAGE_FIELDS: Final = ("message", "text", "description", "body", "content", "detail", "details", "reason", "error")
_ADDRESS_FIELDS: Final = ("url", "html_url", "web_url", "link")
_NAMED_FIELDS: Final = frozenset(
    (*KIND_FIELDS, *_ACTION_FIELDS, *_TITLE_FIELDS, *_ACTOR_FIELDS, *_STATUS_FIELDS, *_MESSAGE_FIELDS, *_ADDRESS_FIELDS)
)
#: fields that say little, or nothing that should be repeated
_QUIET_FIELDS: Final = frozenset(("id", "uuid", "timestamp", "time", "version", "token", "secret", "signature"))
_WRAPPERS: Final = ("data", "payload", "event", "object", "resource", "attributes", "alert", "incident", "detail")
#: other fields that are shown, and the fields among which they are searched
_MAX_OTHER_FIELDS: Final = 5
_MAX_SEARCHED_FIELDS: Final = 50
_MAX_VALUE_LENGTH: Final = 100


def describe_fields(payload: Json, limit: int) -> str:
    """Return any JSON value as one line of at most `limit` characters; empty only for an empty text."""
    if isinstance(payload, str):
        return clean_line(payload, limit)
    text = _describe_object(payload) if isinstance(payload, dict) else ""
    return cut_line(text, limit) if text else show_json(payload, limit)


def find_scalar(payload: Json, names: Iterable[str]) -> str:
    """Return the first of these fields that has a text, a number, true or false; empty if none has."""
    return _find(_list_sources(payload), names, show_nested=False)


def _describe_object(payload: Mapping[str, Json]) -> str:
    sources = _list_sources(payload)
    title = _find(sources, _TITLE_FIELDS)
    actor = _find(sources, _ACTOR_FIELDS)
    status, message, address = (
        _find(sources, names, show_nested=False) for names in (_STATUS_FIELDS, _MESSAGE_FIELDS, _ADDRESS_FIELDS)
    )
    kind, action = (_find(sources, names, show_nested=False) for names in (KIND_FIELDS, _ACTION_FIELDS))
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


def _find(sources: Iterable[Mapping[str, Json]], names: Iterable[str], *, show_nested: bool = True) -> str:
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
