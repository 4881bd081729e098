"""
Requests as they are written in a configuration, with `{name}` for an argument and, in the values of headers,
`${NAME}` for a variable of the gateway's environment. What is filled in is never read as a template again.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlencode

from gatepost.core.event import Json
from gatepost.errors import Invalid, Unavailable

_ARGUMENT: Final = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_EITHER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f]")
#: headers that hold no secret
_OPEN: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
#: shorter words are too common to be blotted out wherever they appear
_SHORTEST_SECRET: Final = 6


def address(template: str, arguments: Mapping[str, Json], *, rest_in_query: bool) -> str:
    """A URL; an argument cannot change which server it names, nor leave the part of the path it stands in."""
    template = template.partition("#")[0]
    place, _, query = template.partition("?")
    authority = re.match(r"[a-z]+://[^/]*", place, re.IGNORECASE)
    if authority is None or _ARGUMENT.search(authority[0]):
        raise Invalid("the URL of the tool has no fixed host", hint="an argument may stand in its path and query only")
    filled = _ARGUMENT.sub(lambda found: _segment(found[1], arguments), place)
    queries = [_ARGUMENT.sub(lambda found: quote(plain(arguments.get(found[1])), safe=""), query)] if query else []
    if rest_in_query:
        used = set(_ARGUMENT.findall(template))
        rest = {name: plain(value) for name, value in arguments.items() if name not in used and value is not None}
        queries += [urlencode(rest)] if rest else []
    return "?".join((filled, "&".join(queries))) if queries else filled


def headers(templates: Mapping[str, str], arguments: Mapping[str, Json], environ: Mapping[str, str]) -> dict[str, str]:
    def filled(found: re.Match[str]) -> str:
        return _variable(found[1], environ) if found[1] else plain(arguments.get(found[2]))

    made = {name: _EITHER.sub(filled, template) for name, template in templates.items()}
    for name, value in made.items():
        if _CONTROL.search(value):
            raise Invalid(f"the header {name!r} would have a line break or a control character in it")
    return made


def body(template: Json, arguments: Mapping[str, Json]) -> Json:
    """A string that is one argument and nothing else becomes that argument, whatever it is."""
    match template:
        case str():
            whole = _ARGUMENT.fullmatch(template)
            if whole:
                return arguments.get(whole[1])
            return _ARGUMENT.sub(lambda found: plain(arguments.get(found[1])), template)
        case list():
            return [body(one, arguments) for one in template]
        case dict():
            return {name: body(one, arguments) for name, one in template.items()}
        case _:
            return template


def plain(value: Json) -> str:
    """A value as text: a string as it is, nothing as nothing, everything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def secrets(templates: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """What of the headers nobody may see: the words of their values that are not arguments."""
    words: set[str] = set()
    for name, template in templates.items():
        if name.lower() in _OPEN:
            continue
        filled = _EITHER.sub(lambda found: environ.get(found[1], "") if found[1] else " ", template)
        words.update((filled.strip(), *filled.split()))
    return sorted((word for word in words if len(word) >= _SHORTEST_SECRET), key=len, reverse=True)


def blotted(text: str, words: Iterable[str]) -> str:
    """The text without the secrets in it, also as JSON would write them."""
    for word in words:
        for form in (word, json.dumps(word)[1:-1]):
            text = text.replace(form, "***")
    return text


def cleared(value: Json, words: Sequence[str]) -> Json:
    """The same value without the secrets in it; a number that holds one becomes a text."""
    match value:
        case str():
            return blotted(value, words)
        case list():
            return [cleared(one, words) for one in value]
        case dict():
            return {blotted(name, words): cleared(one, words) for name, one in value.items()}
        case _:
            written = json.dumps(value)
            left = blotted(written, words)
            return value if left == written else left


def expanded(templates: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Values in which only variables of the environment are filled in."""
    fill: Callable[[re.Match[str]], str] = lambda found: _variable(found[1], environ) if found[1] else found[0]  # noqa: E731
    return {name: _EITHER.sub(fill, template) for name, template in templates.items()}


def _segment(name: str, arguments: Mapping[str, Json]) -> str:
    text = plain(arguments.get(name))
    if text in ("", ".", ".."):
        raise Invalid(f"the argument {name!r} is {text!r}, which cannot stand in the path of a URL")
    return quote(text, safe="")


def _variable(name: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name)
    if value is None:
        raise Unavailable(f"the gateway has no environment variable {name!r}, which a header of the tool needs")
    return value.strip()
