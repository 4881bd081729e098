"""
Logging: lines on stderr, for people or for machines.

No code may log a secret; values that contain one (headers, bodies, URLs with passwords, keys) are not logged at all.
Foreign text, such as the error of a library that quotes a URL, may contain one all the same, so every line is searched
for what looks like a secret before it is written.
"""

import re
import sys
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from collections.abc import MutableMapping

    from structlog.typing import Processor

_SENSITIVE_FIELDS: Final = (
    r"(?:password|passwd|passphrase|secret|token(?!s)|api[_-]?key|access[_-]?key|credential|signature)"
)
_SENSITIVE_TEXT: Final = r"""(?:"[^"]*"|'[^']*'|[^\s&'",;]+)"""
#: characters of a field of a log line
_MAX_FIELD_LENGTH: Final = 20_000
#: Each has three groups: two for the text before a secret, which stays, and one for the secret. A name is read once,
#: from its first character (`(?<![\w-])`) to its last (`++`): the cost grows with the length of a text, not faster.
_SECRETS: Final = (
    rf"((?<![\w-])(?=[\w-]*{_SENSITIVE_FIELDS})[\w-]++=|\b(?:key|sig|pwd|pass|auth)=)()({_SENSITIVE_TEXT})",
    rf"((?<![\w-])--(?=[\w-]*{_SENSITIVE_FIELDS})[\w-]++\s+)()({_SENSITIVE_TEXT})",
    r"((?:^|\s)(?:-u\s*|--(?:proxy-)?user[\s=])[\"']?)([^\s:'\"]*:)([^\s'\"]+)",
    r"((?<![\w-])[\w-]++(?:(?<=authorization)|(?<=cookie)|(?<=-key)|(?<=-token)|(?<=-secret))[\"']?\s*:\s*[\"']?)"
    r"((?:bearer|basic|token)\s+)?([^\s'\"]+)",
    r"(\bbearer\s+)()([\w.~+/=-]{8,})",
    r"(\b(?:[sp]k[_-]|gh[opsu]_|github_pat_|xox[abprs]-))()([\w-]{8,})",
    r"((?<![\w-])eyJ)()([\w-]++\.[\w-]++\.[\w-]*)",
    r"((?<![\w-])(?:bot)?[0-9]{5,}+(?::|%3A))()([\w-]{30,})",
)
_URL_USER: Final = r"(?<=://)(?:([^\s:/@]{0,200}:)\S{0,2000}|[^\s:/@'\"]{1,200})@"


def hide_secrets(text: str) -> str:
    """
    Return a URL, a command or a sentence with `***` for what looks like a secret: the user and password of a URL, and
    the values of parameters, options, variables and headers whose name suggests a secret.
    """
    text = re.sub(_URL_USER, lambda match: f"{match[1] or ''}***@", text)
    for pattern in _compile_patterns():
        text = pattern.sub(lambda match: f"{match[1]}{match[2] or ''}***", text)
    return text


@cache
def _compile_patterns() -> tuple[re.Pattern[str], ...]:
    return tuple(re.compile(pattern, re.IGNORECASE) for pattern in _SECRETS)


def _hide_secrets_in_fields(_: Any, __: str, fields: "MutableMapping[str, Any]") -> "MutableMapping[str, Any]":
    return {name: hide_secrets(_shorten(value)) if isinstance(value, str) else value for name, value in fields.items()}


def _shorten(text: str) -> str:
    """Return the beginning of a long text: a secret keeps the name before it, by which it is recognised."""
    return text if len(text) <= _MAX_FIELD_LENGTH else f"{text[:_MAX_FIELD_LENGTH]}... ({len(text)} characters)"


def get_logger(name: str) -> Any:
    """Return a logger that imports its library with its first line: most commands log nothing, and must start fast."""
    return _LazyLogger(name)


class _LazyLogger:
    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, method: str) -> Any:
        import structlog

        return getattr(structlog.get_logger(self._name), method)


def configure_logging(log_format: Literal["console", "json"] | str) -> None:
    """Write log lines to stderr from now on."""
    import structlog

    renderer: Processor = (
        structlog.processors.JSONRenderer()
        if log_format == "json"
        else structlog.dev.ConsoleRenderer(colors=sys.stderr.isatty(), pad_event_to=0)
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            structlog.processors.format_exc_info,
            _hide_secrets_in_fields,
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger("info"),
        logger_factory=structlog.PrintLoggerFactory(sys.stderr),
        cache_logger_on_first_use=False,
    )
