"""How settings are written, in `gatepost.toml` and in the environment: a converter for each kind of value."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost.core import address, gate, times
from gatepost.errors import Invalid, quote_value
from gatepost.telemetry import hide_secrets

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_MAX_SIZE: Final = 64 * _MIB
_HOSTS_HINT: Final = 'name each without its port: ["gatepost.example.com"]'
_RULE_HINT: Final = 'write it as "task.blocked" = {to = ["mindy"], priority = 0}'
_LIST_HINT: Final = 'name each as OWNER/NAME: ["acme/shop", "acme/site"]'
#: bytes of a key for HS256 (RFC 7518, section 3.2)
_MIN_SIGNING_SECRET: Final = 32


class Converter(NamedTuple):
    """How a value is written, in `gatepost.toml` and in the environment."""

    #: what may be written, for the docs
    description: str
    #: from what TOML or the environment has
    parse: Callable[[Any], Any]
    format: Callable[[Any], str] = str
    #: whether it is a string in TOML
    is_quoted: bool = True
    #: for what may be a relative path: make it absolute, from a folder
    resolve: Callable[[str, Path], str] | None = None


def mask_passwords(text: str) -> str:
    """Return the text without the passwords of the URLs in it, nor what looks like one where a port should be."""
    text = re.sub(r"(?<=://)([^\s:/@]*):[^'\"\n]*@", r"\1:***@", text)
    text = re.sub(r"(?i)\b(postgres(?:ql)?:)([^\s:/@]*):[^'\"\n]*@", r"\1\2:***@", text)  # the slashes were forgotten
    text = re.sub(r"(?<=://)([^\s:/@\[]*):(?![0-9]*(?:[\s/?,'\"]|$))[^\s/?,@'\"]+(?!\S*@)", r"\1:***", text)
    return re.sub(r"(?i)(password=)[^&\s'\"]+", r"\1***", text)


def _parse_text(value: Any, what: str = "a text") -> str:
    if not isinstance(value, str) or not value.strip():
        raise Invalid(f"{value!r} is not {what}")
    return value.strip()


def _resolve_store(url: str, folder: Path) -> str:
    path = url.removeprefix("sqlite:///")
    if path in (url, "") or Path(path).is_absolute():
        return url
    return f"sqlite:///{str(folder).replace('%', '%25')}/{path}"


def _parse_spool(value: Any) -> str:
    path = _parse_text(value, "the path of a spool")
    if path.count("<session>") != 1 or not path.endswith("<session>.jsonl") or "\x00" in path:
        raise Invalid(
            f"{path!r} is not the path of a spool", hint="end it in <session>.jsonl, as in spool/<session>.jsonl"
        )
    return path


def _resolve_spool(path: str, folder: Path) -> str:
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise Invalid(f"{path!r} names a user whose home is not known", hint="write the whole path") from None


def _parse_entity(value: Any) -> str:
    return address.check_entity_address(_parse_text(value, "the name of an entity"))


def _parse_size(value: Any) -> int:
    match = re.fullmatch(r"([0-9]{1,12}) ?(B|KiB|MiB)?", value if isinstance(value, str) else repr(value))
    size = int(match[1]) * {"KiB": _KIB, "MiB": _MIB}.get(match[2], 1) if match else 0
    if not 0 < size <= _MAX_SIZE:
        hint = f"write 65536, 64KiB or 1MiB, {_format_size(_MAX_SIZE)} at most"
        raise Invalid(f"{value!r} is not a size", hint=hint)
    return size


def _format_size(size: int) -> str:
    for unit, scale in (("MiB", _MIB), ("KiB", _KIB)):
        if size % scale == 0:
            return f"{size // scale}{unit}"
    return f"{size}B"


def _parse_transport(value: Any) -> str:
    url = _parse_text(value, "a transport")
    if not re.match(r"(memory|socket|postgres):$|(redis|rediss|nats|tls|unix)://", url):
        hint = "use socket:, postgres:, redis://... or nats://..."
        raise Invalid(f"{mask_passwords(url)!r} is not a transport", hint=hint)
    return url


def _parse_signing_secret(value: Any) -> str:
    """Parse a secret that tokens are signed with; no error quotes it."""
    if not isinstance(value, str):
        raise Invalid("the value is not a text")
    secret = value.strip()
    if (size := len(secret.encode(errors="surrogatepass"))) < _MIN_SIGNING_SECRET:
        raise Invalid(
            f"the secret has {size} bytes, and HS256 needs {_MIN_SIGNING_SECRET} or more",
            hint="`openssl rand -base64 32` makes one; the issuer of the tokens needs the same",
        )
    return secret


def _parse_host(value: Any) -> str:
    text = _parse_text(value, "an address to listen on")
    if not re.fullmatch(r"[A-Za-z0-9.:-]+", text):
        raise Invalid(f"{text!r} is not an address to listen on", hint="use 127.0.0.1, or the address of this machine")
    return text


def _parse_bool(value: Any) -> bool:
    if str(value).lower() not in ("true", "false"):
        raise Invalid(f"{value!r} is neither true nor false")
    return str(value).lower() == "true"


def _parse_repositories(value: Any) -> tuple[str, ...]:
    names = _parse_list(value, "repositories", _LIST_HINT)
    for name in names:
        if not isinstance(name, str) or not gate.is_repository(name):
            raise Invalid(f"{name!r} is not a repository on GitHub", hint=_LIST_HINT)
    return tuple(names)


def _parse_hosts(value: Any) -> tuple[str, ...]:
    names = _parse_list(value, "host names", _HOSTS_HINT)
    for name in names:
        if not isinstance(name, str) or not re.fullmatch(r"[a-z0-9]([a-z0-9.-]*[a-z0-9])?", name, re.IGNORECASE):
            raise Invalid(f"{name!r} is not a host name", hint=_HOSTS_HINT)
    return tuple(name.lower() for name in names)


def _parse_list(value: Any, noun: str, hint: str) -> list[Any]:
    """Parse a list of TOML, or of the environment, where it may be written in the same way or with commas alone."""
    names = re.split(r"\s*,\s*", value.strip().strip("[]")) if isinstance(value, str) else value
    if not isinstance(names, list):
        raise Invalid(f"{value!r} is not a list of {noun}", hint=hint)
    return [name.strip(" \"'") if isinstance(value, str) else name for name in names if name != ""]


def _format_list(names: Sequence[str]) -> str:
    return "[" + ", ".join(f'"{name}"' for name in names) + "]"


def _parse_rules(value: Any) -> tuple[tuple[str, tuple[str, ...], int], ...]:
    """Parse a table of TOML, or of the environment, where it is an inline table."""
    from gatepost.core import work  # most homes have no such table, and commands must start fast

    if isinstance(value, str):
        import tomllib

        try:
            value = tomllib.loads(f"rules = {value}")["rules"]
        except tomllib.TOMLDecodeError:
            raise Invalid(f"{quote_value(value)} is not a table", hint=_RULE_HINT) from None
    if not isinstance(value, dict):
        raise Invalid(f"{quote_value(value)} is not a table", hint=_RULE_HINT)
    return tuple(_parse_rule(work.check_pattern(pattern), rule) for pattern, rule in value.items())


def _parse_rule(pattern: str, rule: Any) -> tuple[str, tuple[str, ...], int]:
    from gatepost.core import work
    from gatepost.core.event import Priority

    if not isinstance(rule, dict) or not {"to"} <= set(rule) <= {"to", "priority"} or not isinstance(rule["to"], list):
        raise Invalid(f"the rule of {pattern!r} is not valid", hint=_RULE_HINT)
    for target in rule["to"]:
        if not isinstance(target, str) or isinstance(address.parse(target), address.AllAgentsAddress):
            raise Invalid(f"{target!r} cannot be notified of {pattern}", hint="use names, aliases or team:NAME")
    priority = Priority.parse(rule.get("priority", Priority.NORMAL))
    return pattern, work.check_addresses(rule["to"]), priority.value


def _format_rules(rules: Iterable[tuple[str, tuple[str, ...], int]]) -> str:
    lines = [f'"{pattern}" = {{to = {_format_list(to)}, priority = {priority}}}' for pattern, to, priority in rules]
    return f"{{{', '.join(lines)}}}"


def integer(low: int, high: int) -> Converter:
    def parse(value: Any) -> int:
        text = str(value) if isinstance(value, int) and not isinstance(value, bool) else value
        if not isinstance(text, str) or not re.fullmatch(r"[0-9]{1,18}", text) or not low <= int(text) <= high:
            raise Invalid(f"{value!r} is not a whole number from {low} to {high}")
        return int(text)

    return Converter(f"a whole number from {low} to {high}", parse, is_quoted=False)


def integer_or_auto(low: int, high: int) -> Converter:
    number = integer(low, high)
    return Converter(
        f"{number.description}, or `auto`", lambda value: value if value == "auto" else number.parse(value)
    )


def one_of(*words: str) -> Converter:
    def parse(value: Any) -> str:
        if value not in words:
            raise Invalid(f"{value!r} is not one of {', '.join(words)}")
        return str(value)

    return Converter(f"one of {', '.join(f'`{word}`' for word in words)}", parse)


TEXT: Final = Converter("a text", _parse_text)
#: a text that may hold a password
COMMAND: Final = Converter("a text", _parse_text, hide_secrets)
URL: Final = Converter("a URL", _parse_text, hide_secrets)
SIGNING_SECRET: Final = Converter(
    f"a secret of at least {_MIN_SIGNING_SECRET} bytes; it is never shown",
    _parse_signing_secret,
    lambda secret: "***" if secret else "",
)
HOST: Final = Converter("an address of this machine", _parse_host)
STORE: Final = Converter(
    "a URL: `sqlite:///FILE` or `postgresql://...`",
    lambda value: _parse_text(value, "a store"),
    mask_passwords,
    resolve=_resolve_store,
)
TRANSPORT: Final = Converter(
    "a URL: `memory:`, `socket:`, `postgres:`, `redis://...` or `nats://...`", _parse_transport, mask_passwords
)
SPOOL: Final = Converter("a path that ends in `<session>.jsonl`", _parse_spool, resolve=_resolve_spool)
REPOSITORIES: Final = Converter("a list of `OWNER/NAME`", _parse_repositories, _format_list, is_quoted=False)
HOSTS: Final = Converter("a list of host names", _parse_hosts, _format_list, is_quoted=False)

RULES: Final = Converter(
    'a table of rules, such as `"task.blocked" = {to = ["mindy"], priority = 0}`',
    _parse_rules,
    _format_rules,
    is_quoted=False,
)
ENTITY: Final = Converter("a name or an alias", _parse_entity)
BOOL: Final = Converter("`true` or `false`", _parse_bool, lambda value: str(value).lower(), is_quoted=False)
DURATION: Final = Converter(
    "a duration, such as `90s`, `10m` or `1 day`",
    lambda value: times.parse_duration(value if isinstance(value, str) else repr(value)),
    times.format_duration,
)
SIZE: Final = Converter("a size, such as `65536`, `64KiB` or `1MiB`", _parse_size, _format_size)
