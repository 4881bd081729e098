"""How settings are written, in `gatepost.toml` and in the environment: a converter for each kind of value."""

import re
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost.core import address, times
from gatepost.errors import Invalid, quote_value
from gatepost.telemetry import hide_secrets

_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_GIB: Final = 1024 * _MIB
_MAX_SIZE: Final = 64 * _MIB
_MAX_FREE_SPACE: Final = 1024 * 1024 * _GIB
_HOSTS_HINT: Final = 'name each without its port: ["gatepost.example.com"]'
_RULE_HINT: Final = 'write it as "task.blocked" = {to = ["mindy"], priority = 0}'
_NODE_HINT: Final = 'write each as HOST:PORT=ACCOUNT: ["127.0.0.1:50211=0.0.3"]'
_TRIGGERS_HINT: Final = "write [triggers.NAME] above the fields of each"
_CAPABILITIES_HINT: Final = 'write it as engineer = ["code-generation", 16]'
#: tinybars of one Hbar
_HBAR: Final = 100_000_000
_MAX_HBAR: Final = 10_000
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


def _parse_path(value: Any) -> str:
    path = _parse_text(value, "the path of a file")
    if "\x00" in path:
        raise Invalid(f"{quote_value(path)} is not the path of a file")
    return path


def _resolve_path(path: str, folder: Path) -> str:
    try:
        return str(folder / Path(path).expanduser())
    except RuntimeError:
        raise Invalid(f"{path!r} names a user whose home is not known", hint="write the whole path") from None


def _parse_entity(value: Any) -> str:
    return address.check_entity_address(_parse_text(value, "the name of an entity"))


def _parse_size(value: Any) -> int:
    size = _parse_bytes(value)
    if not size or size > _MAX_SIZE:
        hint = f"write 65536, 64KiB or 1MiB, {format_size(_MAX_SIZE)} at most"
        raise Invalid(f"{value!r} is not a size", hint=hint)
    return size


def _parse_free_space(value: Any) -> int:
    size = _parse_bytes(value)
    if size is None or size > _MAX_FREE_SPACE:
        raise Invalid(f"{value!r} is not a size", hint="write 64MiB or 1GiB, or 0 to use the whole disk")
    return size


def _parse_bytes(value: Any) -> int | None:
    match = re.fullmatch(r"([0-9]{1,18}) ?(B|KiB|MiB|GiB)?", value if isinstance(value, str) else repr(value))
    return int(match[1]) * {"KiB": _KIB, "MiB": _MIB, "GiB": _GIB}.get(match[2], 1) if match else None


def format_size(size: int) -> str:
    for unit, scale in (("GiB", _GIB), ("MiB", _MIB), ("KiB", _KIB)):
        if size and size % scale == 0:
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
    from gatepost.gates import condition_check  # most homes name none, and commands must start fast

    names = _parse_list(value, "repositories", _LIST_HINT)
    for name in names:
        if not isinstance(name, str) or not condition_check.is_repository(name):
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


def _parse_table(value: Any, hint: str) -> dict[str, Any]:
    """Parse a table of TOML, or of the environment, where it is an inline table."""
    if isinstance(value, str):
        import tomllib

        try:
            table = tomllib.loads(f"table = {value}")["table"]
        except tomllib.TOMLDecodeError:
            raise Invalid(f"{quote_value(value)} is not a table", hint=hint) from None
    else:
        table = value
    if not isinstance(table, dict):
        raise Invalid(f"{quote_value(table)} is not a table", hint=hint)
    return table


def _parse_rules(value: Any) -> tuple[tuple[str, tuple[str, ...], int], ...]:
    from gatepost.mail.notification_rule import check_pattern  # most homes have none, and commands must start fast

    table = _parse_table(value, _RULE_HINT)
    return tuple(_parse_rule(check_pattern(pattern), rule) for pattern, rule in table.items())


def _parse_rule(pattern: str, rule: Any) -> tuple[str, tuple[str, ...], int]:
    from gatepost.inbox.event import Priority
    from gatepost.mail import work_item as work
    from gatepost.mail.notification_rule import MAKER

    if not isinstance(rule, dict) or not {"to"} <= set(rule) <= {"to", "priority"} or not isinstance(rule["to"], list):
        raise Invalid(f"the rule of {pattern!r} is not valid", hint=_RULE_HINT)
    for target in rule["to"]:
        if target == MAKER:
            continue
        if not isinstance(target, str) or isinstance(address.parse(target), address.AllAgentsAddress):
            hint = f"use names, aliases, team:NAME, or {MAKER} for whoever added the work item"
            raise Invalid(f"{target!r} cannot be notified of {pattern}", hint=hint)
    priority = Priority.parse(rule.get("priority", Priority.NORMAL))
    return pattern, work.check_addresses(rule["to"]), priority.value


def _format_rules(rules: Iterable[tuple[str, tuple[str, ...], int]]) -> str:
    lines = [f'"{pattern}" = {{to = {_format_list(to)}, priority = {priority}}}' for pattern, to, priority in rules]
    return f"{{{', '.join(lines)}}}"


def _parse_capabilities(value: Any) -> tuple[tuple[str, tuple[str | int, ...]], ...]:
    """Parse the capabilities of each role; they stay as they are written."""
    from gatepost.residents.capability import (
        parse_capability,  # most homes have no such table, and commands must start fast
    )

    table = _parse_table(value, _CAPABILITIES_HINT)
    for role, entries in table.items():
        address.check_name(role, "name of a role")
        if not isinstance(entries, list):
            raise Invalid(f"the capabilities of {role!r} are not a list", hint=_CAPABILITIES_HINT)
        for entry in entries:
            if not isinstance(entry, str | int) or isinstance(entry, bool):
                raise Invalid(f"{quote_value(entry)} is not a capability", hint=_CAPABILITIES_HINT)
            parse_capability(entry)
    return tuple((role, tuple(entries)) for role, entries in table.items())


def _format_capabilities(roles: Iterable[tuple[str, tuple[str | int, ...]]]) -> str:
    lines = []
    for role, entries in roles:
        texts = (str(entry) if isinstance(entry, int) else f'"{entry}"' for entry in entries)
        lines.append(f'"{role}" = [{", ".join(texts)}]')
    return f"{{{', '.join(lines)}}}"


def _parse_triggers(value: Any) -> tuple[tuple[str, Any], ...]:
    """Parse the tables of triggers, by name; they are checked, and stay as they are written."""
    table = _parse_table(value, _TRIGGERS_HINT)
    if table:
        from gatepost.settings import trigger_tables  # most homes have none, and commands must start fast

        trigger_tables.parse_triggers(table.items())
    return tuple(table.items())


def _format_triggers(tables: Sequence[tuple[str, Any]]) -> str:
    if not tables:
        return "{}"
    from gatepost.settings import trigger_tables

    return trigger_tables.format_triggers(tables)


def _parse_account(value: Any) -> str:
    from gatepost.ledger.topic import LedgerId

    return str(LedgerId.parse(_parse_text(value, "an account")))


def _parse_mirror(value: Any) -> str:
    url = _parse_text(value, "the URL of a mirror node")
    if not re.fullmatch(r"https?://[^\s/?#]+(/[^\s?#]*)?", url):
        hint = "write it as https://testnet.mirrornode.hedera.com"
        raise Invalid(f"{hide_secrets(quote_value(url))} is not the URL of a mirror node", hint=hint)
    return url.rstrip("/")


def _parse_nodes(value: Any) -> tuple[tuple[str, str], ...]:
    """Parse nodes as pairs of an address and an account: `127.0.0.1:50211` and `0.0.3`."""
    return tuple(_parse_node(node) for node in _parse_list(value, "nodes", _NODE_HINT))


def _parse_node(node: Any) -> tuple[str, str]:
    node_address, _, account = node.partition("=") if isinstance(node, str) else ("", "", "")
    match = re.fullmatch(r"(?:[A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):([0-9]{1,5})", node_address)
    if match is None or not 0 < int(match[1]) < 1 << 16 or not re.fullmatch(r"0\.0\.[0-9]{1,10}", account):
        raise Invalid(f"{quote_value(node)} is not a node", hint=_NODE_HINT)
    return node_address, account


def _format_nodes(nodes: Iterable[tuple[str, str]]) -> str:
    return _format_list([f"{node_address}={account}" for node_address, account in nodes])


def _parse_hbar(value: Any) -> int:
    """Parse an amount of Hbar, and return it in tinybars."""
    text = f"{value:.8f}" if isinstance(value, float) else str(value).strip()
    match = re.fullmatch(r"([0-9]{1,5})(?:\.([0-9]{1,8}))?", text)
    tinybars = int(match[1]) * _HBAR + int((match[2] or "0").ljust(8, "0")) if match else 0
    if not 0 < tinybars <= _MAX_HBAR * _HBAR:
        hint = f"write a number such as 1 or 0.5, {_MAX_HBAR} at most"
        raise Invalid(f"{quote_value(value)} is not an amount of Hbar", hint=hint)
    return tinybars


def _format_hbar(tinybars: int) -> str:
    whole, rest = divmod(tinybars, _HBAR)
    return f"{whole}.{rest:08}".rstrip("0").rstrip(".")


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


def some_of(*words: str) -> Converter:
    def parse(value: Any) -> tuple[str, ...]:
        entries = _parse_list(value, f"{', '.join(words)}", f"choose from {_format_list(words)}")
        for entry in entries:
            if entry not in words:
                raise Invalid(f"{quote_value(entry)} is not one of {', '.join(words)}")
        return tuple(word for word in words if word in entries)

    return Converter(f"a list of {', '.join(f'`{word}`' for word in words)}", parse, _format_list, is_quoted=False)


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
PATH: Final = Converter("a path", _parse_path, resolve=_resolve_path)
SPOOL: Final = Converter("a path that ends in `<session>.jsonl`", _parse_spool, resolve=_resolve_path)
REPOSITORIES: Final = Converter("a list of `OWNER/NAME`", _parse_repositories, _format_list, is_quoted=False)
HOSTS: Final = Converter("a list of host names", _parse_hosts, _format_list, is_quoted=False)

RULES: Final = Converter(
    'a table of rules, such as `"task.blocked" = {to = ["mindy"], priority = 0}`',
    _parse_rules,
    _format_rules,
    is_quoted=False,
)
CAPABILITIES: Final = Converter(
    'a table of lists, such as `engineer = ["code-generation", 16]`',
    _parse_capabilities,
    _format_capabilities,
    is_quoted=False,
)
TRIGGERS: Final = Converter(
    "a table for each trigger, such as `[triggers.daily]`", _parse_triggers, _format_triggers, is_quoted=False
)
ACCOUNT: Final = Converter("the id of an account, such as `0.0.1001`", _parse_account)
MIRROR: Final = Converter("a URL", _parse_mirror, hide_secrets)
NODES: Final = Converter("a list of `HOST:PORT=ACCOUNT`", _parse_nodes, _format_nodes, is_quoted=False)
#: in tinybars, of which one Hbar has 100,000,000
HBAR: Final = Converter("a number of Hbar, such as `1` or `0.5`", _parse_hbar, _format_hbar, is_quoted=False)
ENTITY: Final = Converter("a name or an alias", _parse_entity)
BOOL: Final = Converter("`true` or `false`", _parse_bool, lambda value: str(value).lower(), is_quoted=False)
DURATION: Final = Converter(
    "a duration, such as `90s`, `10m` or `1 day`",
    lambda value: times.parse_duration(value if isinstance(value, str) else repr(value)),
    times.format_duration,
)
SIZE: Final = Converter("a size, such as `65536`, `64KiB` or `1MiB`", _parse_size, format_size)
FREE_SPACE: Final = Converter("a size, such as `64MiB` or `1GiB`; `0` for none", _parse_free_space, format_size)
