"""
Fills the templates of requests in a configuration: `{name}` is an argument and, in the values of headers, `${NAME}` is
a variable of the gateway's environment. A value that was filled in is never read as a template again.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final
from urllib.parse import quote, urlencode

from gatepost.core.json_limits import Json
from gatepost.errors import Invalid, Unavailable

_ARGUMENT: Final = re.compile(r"(?<!\$)\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_PLACEHOLDER: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}|\{([A-Za-z_][A-Za-z0-9_-]*)\}")
_CONTROL_CHARACTER: Final = re.compile(r"[\x00-\x1f\x7f]")
#: headers that contain no secret
_PUBLIC_HEADERS: Final = frozenset({"accept", "accept-language", "content-type", "user-agent"})
#: shorter words are too common to be replaced wherever they appear
_MIN_SECRET_LENGTH: Final = 6


def fill_url(template: str, arguments: Mapping[str, Json], *, rest_in_query: bool) -> str:
    """Return a URL. An argument cannot change the server, nor leave its segment of the path."""
    template = template.partition("#")[0]
    base_url, _, query = template.partition("?")
    authority = re.match(r"[a-z]+://[^/]*", base_url, re.IGNORECASE)
    if authority is None or _ARGUMENT.search(authority[0]):
        raise Invalid("the URL of the tool has no fixed host", hint="an argument may stand in its path and query only")
    filled_url = _ARGUMENT.sub(lambda match: _format_segment(match[1], arguments), base_url)
    query_parts = (
        [_ARGUMENT.sub(lambda match: quote(format_value(arguments.get(match[1])), safe=""), query)] if query else []
    )
    if rest_in_query:
        used_names = set(_ARGUMENT.findall(template))
        unused_arguments = {
            name: format_value(value)
            for name, value in arguments.items()
            if name not in used_names and value is not None
        }
        query_parts += [urlencode(unused_arguments)] if unused_arguments else []
    return "?".join((filled_url, "&".join(query_parts))) if query_parts else filled_url


def fill_headers(
    templates: Mapping[str, str], arguments: Mapping[str, Json], environ: Mapping[str, str]
) -> dict[str, str]:
    def fill(match: re.Match[str]) -> str:
        return _get_variable(match[1], environ) if match[1] else format_value(arguments.get(match[2]))

    filled_headers = {name: _PLACEHOLDER.sub(fill, template) for name, template in templates.items()}
    for name, value in filled_headers.items():
        if _CONTROL_CHARACTER.search(value):
            raise Invalid(f"the header {name!r} would have a line break or a control character in it")
    return filled_headers


def fill_body(template: Json, arguments: Mapping[str, Json]) -> Json:
    """Return the body. A string that is one placeholder and nothing else becomes the argument, of any type."""
    match template:
        case str():
            whole_match = _ARGUMENT.fullmatch(template)
            if whole_match:
                return arguments.get(whole_match[1])
            return _ARGUMENT.sub(lambda match: format_value(arguments.get(match[1])), template)
        case list():
            return [fill_body(item, arguments) for item in template]
        case dict():
            return {name: fill_body(item, arguments) for name, item in template.items()}
        case _:
            return template


def format_value(value: Json) -> str:
    """Return a value as text: a string unchanged, None as empty, everything else as JSON."""
    return value if isinstance(value, str) else "" if value is None else json.dumps(value, ensure_ascii=False)


def collect_secrets(templates: Mapping[str, str], environ: Mapping[str, str]) -> list[str]:
    """Return the secrets of headers, longest first: the words of their values that are not arguments."""
    words: set[str] = set()
    for name, template in templates.items():
        if name.lower() in _PUBLIC_HEADERS:
            continue
        filled_template = _PLACEHOLDER.sub(lambda match: environ.get(match[1], "") if match[1] else " ", template)
        words.update((filled_template.strip(), *filled_template.split()))
    return sorted((word for word in words if len(word) >= _MIN_SECRET_LENGTH), key=len, reverse=True)


def redact_text(text: str, secrets: Iterable[str]) -> str:
    """Return the text with `***` for the secrets, also in the form in which JSON writes them."""
    for secret in secrets:
        for form in (secret, json.dumps(secret)[1:-1]):
            text = text.replace(form, "***")
    return text


def redact_value(value: Json, secrets: Sequence[str]) -> Json:
    """Return the value with `***` for the secrets; a number that contains one becomes a text."""
    match value:
        case str():
            return redact_text(value, secrets)
        case list():
            return [redact_value(item, secrets) for item in value]
        case dict():
            return {redact_text(name, secrets): redact_value(item, secrets) for name, item in value.items()}
        case _:
            encoded = json.dumps(value)
            redacted = redact_text(encoded, secrets)
            return value if redacted == encoded else redacted


def fill_environment(templates: Mapping[str, str], environ: Mapping[str, str]) -> dict[str, str]:
    """Return the values with the variables of the environment filled in, and nothing else."""
    fill: Callable[[re.Match[str]], str] = lambda match: _get_variable(match[1], environ) if match[1] else match[0]  # noqa: E731
    return {name: _PLACEHOLDER.sub(fill, template) for name, template in templates.items()}


def _format_segment(name: str, arguments: Mapping[str, Json]) -> str:
    text = format_value(arguments.get(name))
    if text in ("", ".", ".."):
        raise Invalid(f"the argument {name!r} is {text!r}, which cannot stand in the path of a URL")
    return quote(text, safe="")


def _get_variable(name: str, environ: Mapping[str, str]) -> str:
    value = environ.get(name)
    if value is None:
        raise Unavailable(f"the gateway has no environment variable {name!r}, which a header of the tool needs")
    return value.strip()
