"""
The settings. A setting is one field below: its converter, its default, its meaning. A section is a dataclass of its
own, and a field of `Settings`. Code that reads, shows or documents settings uses these fields, so a new setting needs
nothing else.

The field `remember` of the section `inbox` is

    [inbox]
    remember = "2d"                   in gatepost.toml
    GATEPOST_INBOX__REMEMBER=2d       in the environment, which is stronger

A section may have a short form, for homes that set nothing else in it: `ledger` for `ledger.url`.
"""

# ruff: noqa: RUF009 (`setting` and `section` are `field` with more to say)

from collections.abc import Iterator
from dataclasses import MISSING, Field, asdict, dataclass, field, fields
from typing import Any, Final

from gatepost.core.policy import Policy
from gatepost.core.times import MINUTE, SECOND, Duration
from gatepost.errors import Invalid
from gatepost.settings.converters import (
    ACCOUNT,
    BOOL,
    CAPABILITIES,
    COMMAND,
    DURATION,
    ENTITY,
    FREE_SPACE,
    HBAR,
    HOST,
    HOSTS,
    MIRROR,
    NODES,
    PATH,
    REPOSITORIES,
    RULES,
    SIGNING_SECRET,
    SIZE,
    SPOOL,
    STORE,
    TEXT,
    TRANSPORT,
    TRIGGERS,
    URL,
    Converter,
    integer,
    integer_or_auto,
    one_of,
    some_of,
)

PREFIX: Final = "GATEPOST_"
_POLICY: Final = Policy()
#: the words of `inbox/event.py`, which commands import only if they need it
_PRIORITIES: Final = ("critical", "high", "normal", "low", "fyi")


_WORK_NOTIFY_EXAMPLE: Final = """\
the rules of a team with the planner mindy, the person justin and the agent engine:
[work.notify]
"task.blocked" = {to = ["mindy", "justin"], priority = "critical"}
"task.complete" = {to = ["engine"], priority = "normal"}
"phase.complete" = {to = ["engine", "mindy"], priority = "high"}
"""


def setting(converter: Converter, default: Any, meaning: str, *, example: str = "") -> Any:
    """Declare a setting; `example` is more than one line, for the file that `gatepost init` writes."""
    return field(default=default, metadata={"converter": converter, "meaning": meaning, "example": example})


def section(kind: type, *, short_form: str | None = None) -> Any:
    """Declare a section; the name of the section alone means its field `short_form`."""
    return field(default_factory=kind, metadata={"section": kind, "short_form": short_form})


class Section:
    """
    Settings that belong together. They do not change. Every command defines all sections, so only what is used of a
    dataclass is generated, which takes a sixth of the time.
    """

    def __init_subclass__(cls) -> None:
        cls.__doc__ = cls.__doc__ or cls.__name__  # a dataclass without one works out its signature

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
        DURATION, _POLICY.remember, "how long an ended item stays visible, and its dedup key is remembered"
    )
    attempts: int = setting(
        integer(1, 1_000), _POLICY.attempts, "failures that an item itself causes before it is dead"
    )
    fyi_wait: Duration = setting(DURATION, _POLICY.fyi_wait, "how long an fyi item waits before it wakes its recipient")
    hold: Duration = setting(
        DURATION, _POLICY.hold, "how long a drain holds its items before another reader can claim them"
    )


@dataclass(init=False, repr=False, eq=False)
class LimitSettings(Section):
    hops: int = setting(
        integer(1, 10_000),
        _POLICY.hops,
        "length of a chain of events after which an event no longer wakes its recipient",
    )
    content: int = setting(SIZE, _POLICY.content, "the largest content of an event, as UTF-8")
    data: int = setting(SIZE, _POLICY.data, "the largest data of an event, as JSON")
    plans: int = setting(integer(1, 1_000_000), _POLICY.plans, "pending plans that one entity may have")
    gates: int = setting(
        integer(1, 1_000_000), _POLICY.gates, "pending gates that one entity may have, those of its decisions included"
    )
    work_items: int = setting(
        integer(1, 1_000_000), _POLICY.work_items, "open work items that one entity may have added"
    )
    sent: int = setting(
        integer(1, 1_000_000), _POLICY.sent, "mails, notes and work events that one entity may send in 24 hours"
    )
    broadcasts: int = setting(
        integer(1, 1_000_000), _POLICY.broadcasts, "broadcasts that one entity may make in 24 hours"
    )


@dataclass(init=False, repr=False, eq=False)
class SpoolSettings(Section):
    path: str = setting(
        SPOOL,
        "spool/<session>.jsonl",
        "the file from which the hooks of a session read, such as `.runtime/inject-queue/<session>.jsonl`",
    )


@dataclass(init=False, repr=False, eq=False)
class StoreSettings(Section):
    url: str = setting(STORE, "sqlite:///gatepost.db", "the database; the short form is `store`")
    reserve: int = setting(
        FREE_SPACE,
        _POLICY.reserve,
        "free disk space below which nothing new is stored in SQLite; reading and acking go on",
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
    port: int = setting(integer(0, 65_535), 4283, "the port that the gateway listens on; 0 chooses a free one")
    connections: int | str = setting(
        integer_or_auto(1, 1_000_000),
        "auto",
        "maximum number of open connections; `auto` is the file limit (`ulimit -n`) less 200",
    )
    streams: int = setting(
        integer(1, 1_000_000), 100, "streams that one caller, the administrator too, may read at the same time"
    )
    hosts: tuple[str, ...] = setting(
        HOSTS, (), "names by which browsers and MCP clients reach the gateway, beside `localhost` and addresses"
    )
    log: str = setting(one_of("console", "json"), "console", "the format of the log that the gateway writes to stderr")


@dataclass(init=False, repr=False, eq=False)
class JanitorSettings(Section):
    interval: Duration = setting(
        DURATION, 5 * SECOND, "how often signals are sent again for stored items that no process has taken"
    )


@dataclass(init=False, repr=False, eq=False)
class ResidentSettings(Section):
    max_cycles: int = setting(integer(1, 10_000), 100, "maximum number of think cycles that run at the same time")
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
class WakeSettings(Section):
    patience: Duration = setting(
        DURATION,
        2 * MINUTE,
        "how long an urgent item may wait for an agent in another program before its owner gets an alert",
    )
    unattended: bool = setting(
        BOOL, False, "whether a thread of Codex is woken that is still loaded after its terminal was closed"
    )


@dataclass(init=False, repr=False, eq=False)
class WorkSettings(Section):
    auto_add: bool | None = setting(
        BOOL,
        None,
        "whether a note or an event adds its work item if nobody has; by default it does, except on Hedera",
    )
    # the last one: its example is a table, and what follows a table in a file belongs to it
    notify: tuple[tuple[str, tuple[str, ...], int], ...] = setting(
        RULES,
        _POLICY.work_notify,
        "who gets which events of work items; `phase.*` and `*.complete` match several, `@maker` is who added the item",
        example=_WORK_NOTIFY_EXAMPLE,
    )


@dataclass(init=False, repr=False, eq=False)
class LedgerSettings(Section):
    url: str = setting(
        one_of("off", "local:", "hedera:testnet", "hedera:mainnet"),
        _POLICY.ledger,
        "the ledger that records mail, notes and work events; the short form is `ledger`",
    )
    post: tuple[str, ...] = setting(
        some_of("mail", "notes", "events"), _POLICY.ledger_post, "what is posted on the ledger"
    )
    poll: Duration = setting(DURATION, 5 * SECOND, "how often a mirror node is asked for new messages")
    patience: Duration = setting(
        DURATION,
        _POLICY.ledger_patience,
        "after this time, mail that is not on a public ledger yet goes to the inbox directly",
    )
    public: bool = setting(
        BOOL, False, "whether what is sent may be public for ever; must be `true` for `hedera:mainnet`"
    )
    hourly: int = setting(
        integer(1, 100_000), _POLICY.ledger_hourly, "messages that one agent outside may send in an hour"
    )
    capabilities: tuple[tuple[str, tuple[str | int, ...]], ...] = setting(
        CAPABILITIES, (), "the capabilities in the profiles of agents (HCS-11), by role: names or codes"
    )

    def build_capabilities(self) -> tuple[tuple[str, tuple[int, ...]], ...]:
        """Return the codes of the capabilities, by role."""
        if not self.capabilities:
            return ()
        from gatepost.residents.capability import parse_capability  # most homes have none, and commands must start fast

        return tuple((role, tuple(map(parse_capability, entries))) for role, entries in self.capabilities)


@dataclass(init=False, repr=False, eq=False)
class HederaSettings(Section):
    operator_id: str | None = setting(ACCOUNT, None, "the account that pays for new accounts and topics")
    operator_key_file: str | None = setting(PATH, None, "the file with the private key of that account")
    mirror: str | None = setting(MIRROR, None, "the mirror node to read from; the default is the one of the network")
    nodes: tuple[tuple[str, str], ...] = setting(
        NODES, (), "the nodes to submit to; the default are those of the network"
    )
    #: in tinybars
    fund: int = setting(
        HBAR, 100_000_000, "what the operator pays into a new account, and again when the account is empty"
    )


@dataclass(init=False, repr=False, eq=False)
class ChannelSettings(Section):
    notify: str = setting(
        one_of(*_PRIORITIES),
        _PRIORITIES[_POLICY.channel_notify],
        "inbox items of a person that are at least this urgent are also sent to the paired chats of the person",
    )


@dataclass(init=False, repr=False, eq=False)
class TelegramSettings(Section):
    api: str = setting(URL, "https://api.telegram.org", "the URL of the Telegram Bot API")


@dataclass(init=False, repr=False, eq=False)
class SpeechSettings(Section):
    url: str | None = setting(
        URL,
        None,
        "the URL of a service that transcribes voice messages as OpenAI does, such as `http://HOST:PORT/v1`;"
        " or `local:` for faster-whisper on this machine, whose models no test has run: `gatepost doctor` tries yours",
    )
    model: str | None = setting(
        TEXT, None, "the model that transcribes; by default `whisper-1`, and `small` with `local:`"
    )
    key_variable: str = setting(TEXT, "OPENAI_API_KEY", "the environment variable with the key of the service")
    patience: Duration = setting(
        DURATION, _POLICY.speech_patience, "how long a voice message waits for its transcript before it goes on without"
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
    transport: str = setting(TRANSPORT, "socket:", "the way of signals to other processes")
    agent: str | None = setting(ENTITY, None, "the current agent: its inbox is used if no address is given")
    triggers: tuple[tuple[str, Any], ...] = setting(
        TRIGGERS, (), "the triggers that the gateway makes when it starts (docs/triggers.md)"
    )
    store: StoreSettings = section(StoreSettings, short_form="url")
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
    wake: WakeSettings = section(WakeSettings)
    work: WorkSettings = section(WorkSettings)
    ledger: LedgerSettings = section(LedgerSettings, short_form="url")
    hedera: HederaSettings = section(HederaSettings)
    channel: ChannelSettings = section(ChannelSettings)
    telegram: TelegramSettings = section(TelegramSettings)
    speech: SpeechSettings = section(SpeechSettings)
    auth: AuthSettings = section(AuthSettings)

    def build_policy(self) -> Policy:
        """Return the policy that the verbs apply."""
        return Policy(
            **asdict(self.inbox),
            **asdict(self.limits),
            wake_patience=self.wake.patience,
            reserve=self.store.reserve,
            can_run_commands=self.gates.commands,
            allowed_repositories=self.gates.ci,
            has_answer_command=self.decision.on_answer is not None,
            ledger=self.ledger.url,
            ledger_post=self.ledger.post,
            ledger_patience=self.ledger.patience,
            ledger_hourly=self.ledger.hourly,
            ledger_capabilities=self.ledger.build_capabilities(),
            work_notify=self.work.notify,
            work_auto_add=not self.ledger.url.startswith("hedera:")
            if self.work.auto_add is None
            else self.work.auto_add,
            channel_notify=_PRIORITIES.index(self.channel.notify),
            has_speech=self.speech.url is not None,
            speech_patience=self.speech.patience,
        )


def list_settings(kind: type = Settings, prefix: str = "") -> Iterator[tuple[str, Field[Any]]]:
    """Yield every setting, as its name (`inbox.remember`) and its field."""
    for entry in fields(kind):
        if inner := entry.metadata.get("section"):
            yield from list_settings(inner, f"{entry.name}.")
        else:
            yield prefix + entry.name, entry


def list_short_forms() -> Iterator[tuple[str, str]]:
    """Yield the sections with a short form, and the name of the setting that it means (`ledger` and `ledger.url`)."""
    for entry in fields(Settings):
        if short_form := entry.metadata.get("short_form"):
            yield entry.name, f"{entry.name}.{short_form}"


def check_ledger(settings: Settings) -> None:
    """Raise Invalid unless the settings of the ledger go together. It is called where the ledger is opened."""
    url = settings.ledger.url
    if not url.startswith("hedera:"):
        return
    if url == "hedera:mainnet" and not settings.ledger.public:
        raise Invalid(
            f"the ledger {url!r} needs the setting 'ledger.public'",
            hint="everything on it is public for ever: if it may be, write public = true in [ledger]",
        )
    for name in ("operator_id", "operator_key_file"):
        if getattr(settings.hedera, name) is None:
            raise Invalid(
                f"the ledger {url!r} needs the setting 'hedera.{name}'",
                hint="write operator_id and operator_key_file in [hedera], as in docs/ledger.md",
            )


def variable_name(name: str) -> str:
    """Return the environment variable of a setting."""
    return PREFIX + name.replace(".", "__").upper()
