"""
The settings. A setting is one field below: its converter, its default, its meaning. A section is a dataclass of its
own, and a field of `Settings`. Code that reads, shows or documents settings uses these fields, so a new setting needs
nothing else.

The field `remember` of the section `inbox` is

    [inbox]
    remember = "2d"                   in gatepost.toml
    GATEPOST_INBOX__REMEMBER=2d       in the environment, which is stronger
"""

# ruff: noqa: RUF009 (`setting` and `section` are `field` with more to say)

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, NamedTuple

from gatepost.core import address, gate, times
from gatepost.core.limits import Limits
from gatepost.core.times import MINUTE, SECOND, Duration
from gatepost.errors import Invalid
from gatepost.telemetry import hide_secrets

PREFIX: Final = "GATEPOST_"
_LIMITS: Final = Limits()
_KIB: Final = 1024
_MIB: Final = 1024 * _KIB
_MAX_SIZE: Final = 64 * _MIB
_HOSTS_HINT: Final = 'name each without its port: ["gatepost.example.com"]'
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
    text = _parse_text(value, "the name of an entity")
    if not isinstance(address.parse(text), address.EntityAddress):
        raise Invalid(f"{text!r} is not one entity", hint="give the name of one agent or person")
    return text


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
ENTITY: Final = Converter("a name or an alias", _parse_entity)
BOOL: Final = Converter("`true` or `false`", _parse_bool, lambda value: str(value).lower(), is_quoted=False)
DURATION: Final = Converter(
    "a duration, such as `90s`, `10m` or `1 day`",
    lambda value: times.parse_duration(value if isinstance(value, str) else repr(value)),
    times.format_duration,
)
SIZE: Final = Converter("a size, such as `65536`, `64KiB` or `1MiB`", _parse_size, _format_size)


def setting(converter: Converter, default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"converter": converter, "meaning": meaning})


def section(kind: type) -> Any:
    return field(default_factory=kind, metadata={"section": kind})


class Section:
    """
    Settings that belong together. They do not change. Every command defines all sections, so only what is used of a
    dataclass is generated, which takes a sixth of the time.
    """

    def __init__(self, **values: Any) -> None:
        for entry in fields(self):  # type: ignore[arg-type]
            default = entry.default if entry.default_factory is MISSING else entry.default_factory()
            object.__setattr__(self, entry.name, values.pop(entry.name, default))
        if values:
            raise TypeError(f"there is no setting {min(values)!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(f"the setting {name!r} cannot be changed to {value!r}")


@dataclass(init=False, repr=False, eq=False)
class InboxSettings(Section):
    remember: Duration = setting(
        DURATION, _LIMITS.remember, "how long an ended item stays visible, and its dedup key is remembered"
    )
    attempts: int = setting(
        integer(1, 1_000), _LIMITS.attempts, "failures that an item itself causes before it is dead"
    )
    fyi_wait: Duration = setting(DURATION, _LIMITS.fyi_wait, "how long an fyi item waits before it wakes its recipient")
    hold: Duration = setting(
        DURATION, _LIMITS.hold, "how long a drain holds its items before another reader can claim them"
    )


@dataclass(init=False, repr=False, eq=False)
class LimitSettings(Section):
    hops: int = setting(
        integer(1, 10_000),
        _LIMITS.hops,
        "length of a chain of events after which an event no longer wakes its recipient",
    )
    content: int = setting(SIZE, _LIMITS.content, "the largest content of an event, as UTF-8")
    data: int = setting(SIZE, _LIMITS.data, "the largest data of an event, as JSON")
    plans: int = setting(integer(1, 1_000_000), _LIMITS.plans, "pending plans that one entity may have")
    gates: int = setting(
        integer(1, 1_000_000), _LIMITS.gates, "pending gates that one entity may have, those of its decisions included"
    )
    broadcasts: int = setting(
        integer(1, 1_000_000), _LIMITS.broadcasts, "broadcasts that one entity may make in 24 hours"
    )


@dataclass(init=False, repr=False, eq=False)
class SpoolSettings(Section):
    path: str = setting(
        SPOOL,
        "spool/<session>.jsonl",
        "the file from which the hooks of a session read, such as `.runtime/inject-queue/<session>.jsonl`",
    )


@dataclass(init=False, repr=False, eq=False)
class SqliteSettings(Section):
    busy: Duration = setting(DURATION, 30 * SECOND, "how long to wait for another process that writes")


@dataclass(init=False, repr=False, eq=False)
class PostgresSettings(Section):
    writers: int = setting(integer(1, 64), 2, "number of connections that write")


@dataclass(init=False, repr=False, eq=False)
class GatewaySettings(Section):
    host: str = setting(HOST, "127.0.0.1", "the address that the gateway listens on")
    port: int = setting(integer(1, 65_535), 4283, "the port that the gateway listens on")
    connections: int | str = setting(
        integer_or_auto(1, 1_000_000),
        "auto",
        "maximum number of open connections; `auto` is the file limit (`ulimit -n`) less 200",
    )
    hosts: tuple[str, ...] = setting(
        HOSTS, (), "names by which MCP clients reach the gateway, beside `localhost` and addresses: those of a proxy"
    )
    log: str = setting(one_of("console", "json"), "console", "the format of the log that the gateway writes to stderr")


@dataclass(init=False, repr=False, eq=False)
class JanitorSettings(Section):
    interval: Duration = setting(
        DURATION, 5 * SECOND, "how often signals are sent again for stored items that no process has taken"
    )


@dataclass(init=False, repr=False, eq=False)
class ResidentSettings(Section):
    most: int = setting(integer(1, 10_000), 100, "maximum number of think cycles that run at the same time")
    lease: Duration = setting(
        DURATION, 30 * SECOND, "after this silence of a process another one continues its think cycles"
    )


@dataclass(init=False, repr=False, eq=False)
class ToolSettings(Section):
    allow_private: bool = setting(
        BOOL, False, "whether tools may call addresses of this machine and of private networks"
    )


@dataclass(init=False, repr=False, eq=False)
class GateSettings(Section):
    commands: bool = setting(BOOL, False, "whether gates may run commands; only an administrator can add such a gate")
    ci: tuple[str, ...] = setting(
        REPOSITORIES, (), "the repositories on GitHub that `ci` gates may check, with the login of `gh` here"
    )
    interval: Duration = setting(DURATION, 30 * SECOND, "time between two checks of a `command` or `ci` gate")
    limit: Duration = setting(DURATION, 10 * SECOND, "time limit of one such check")


@dataclass(init=False, repr=False, eq=False)
class DecisionSettings(Section):
    on_answer: str | None = setting(
        COMMAND,
        None,
        "a command that runs when a decision is answered, rejected or sent back; it gets the decision as JSON on stdin",
    )


@dataclass(init=False, repr=False, eq=False)
class StopDecisionSettings(Section):
    enabled: bool = setting(BOOL, False, "whether a guest must ask for a decision before it stops")
    wait: Duration = setting(DURATION, 9 * MINUTE, "how long the stop waits for the answer")


@dataclass(init=False, repr=False, eq=False)
class HookSettings(Section):
    format: str = setting(
        one_of("plain", "system-reminder"),
        "plain",
        "the format of what hooks print for a guest: plain text, or text in a tag",
    )
    proof: Duration = setting(
        DURATION,
        30 * MINUTE,
        "how long Gatepost waits for a reply of the model before it shows printed items again",
    )


@dataclass(init=False, repr=False, eq=False)
class CourierSettings(Section):
    reconcile: Duration = setting(
        DURATION, 10 * MINUTE, "how often a courier looks for pending items that are not in the spool"
    )
    nudge: str | None = setting(
        COMMAND, None, "how a courier tells an idle agent that items are pending: a command, a URL, or `rewake`"
    )
    nudge_limit: Duration = setting(DURATION, 10 * SECOND, "time limit of one nudge")
    allow_private: bool = setting(
        BOOL, False, "whether nudges may go to addresses of this machine and of private networks"
    )


@dataclass(init=False, repr=False, eq=False)
class AuthSettings(Section):
    jwt_secret: str | None = setting(SIGNING_SECRET, None, "the secret that bearer tokens are signed with (HS256)")
    jwks_url: str | None = setting(URL, None, "the URL of the keys that bearer tokens are signed with (JWKS)")
    jwt_claim: str = setting(TEXT, "sub", "the claim of a token that names the entity, by name or alias")
    audience: str | None = setting(TEXT, None, "the audience that tokens must be for")
    issuer: str | None = setting(TEXT, None, "the issuer that tokens must be from")


@dataclass(init=False, repr=False, eq=False)
class Settings(Section):
    store: str = setting(STORE, "sqlite:///gatepost.db", "the database")
    transport: str = setting(TRANSPORT, "socket:", "the way of signals to other processes")
    agent: str | None = setting(ENTITY, None, "the current agent: its inbox is used if no address is given")
    inbox: InboxSettings = section(InboxSettings)
    limits: LimitSettings = section(LimitSettings)
    spool: SpoolSettings = section(SpoolSettings)
    sqlite: SqliteSettings = section(SqliteSettings)
    postgres: PostgresSettings = section(PostgresSettings)
    gateway: GatewaySettings = section(GatewaySettings)
    janitor: JanitorSettings = section(JanitorSettings)
    residents: ResidentSettings = section(ResidentSettings)
    tools: ToolSettings = section(ToolSettings)
    gates: GateSettings = section(GateSettings)
    decision: DecisionSettings = section(DecisionSettings)
    stop_decision: StopDecisionSettings = section(StopDecisionSettings)
    hooks: HookSettings = section(HookSettings)
    courier: CourierSettings = section(CourierSettings)
    auth: AuthSettings = section(AuthSettings)

    def build_limits(self) -> Limits:
        """Return the limits that the verbs apply."""
        return Limits(
            **asdict(self.inbox),
            **asdict(self.limits),
            can_run_commands=self.gates.commands,
            allowed_repositories=self.gates.ci,
            has_answer_command=self.decision.on_answer is not None,
        )


def list_settings(kind: type = Settings, prefix: str = "") -> Iterator[tuple[str, Field[Any]]]:
    """Yield every setting, as its name (`inbox.remember`) and its field."""
    for entry in fields(kind):
        if inner := entry.metadata.get("section"):
            yield from list_settings(inner, f"{entry.name}.")
        else:
            yield prefix + entry.name, entry


def variable_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.replace(".", "__").upper()
