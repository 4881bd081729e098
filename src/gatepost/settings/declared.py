"""
What can be set. A setting is one field below: its form, its default, its meaning. A section is a dataclass of its own,
and a field of `Settings`. Whatever reads, shows or documents settings goes by these, so a new one needs nothing else.

The field `remember` of the section `inbox` is

    [inbox]
    remember = "2d"                   in gatepost.toml
    GATEPOST_INBOX__REMEMBER=2d       in the environment, which is stronger
"""

# ruff: noqa: RUF009 (`setting` and `section` are `field` with more to say)

from collections.abc import Iterator
from dataclasses import Field, dataclass, field, fields
from typing import Any, Final

from gatepost.core.limits import Limits
from gatepost.core.times import MINUTE, SECOND, Duration
from gatepost.settings.forms import (
    COMMAND,
    DURATION,
    ENTITY,
    HOST,
    REPOSITORIES,
    SIGNING_SECRET,
    SIZE,
    SPOOL,
    STORE,
    TEXT,
    TRANSPORT,
    URL,
    YES_OR_NO,
    Form,
    one_of,
    whole,
    whole_or_auto,
)

PREFIX: Final = "GATEPOST_"
_RULES: Final = Limits()


def setting(form: Form, default: Any, meaning: str) -> Any:
    return field(default=default, metadata={"form": form, "meaning": meaning})


def section(kind: type) -> Any:
    return field(default_factory=kind, metadata={"section": kind})


@dataclass(frozen=True, slots=True, kw_only=True)
class InboxSettings:
    remember: Duration = setting(
        DURATION, _RULES.remember, "how long what has ended stays visible, and its dedup key known"
    )
    attempts: int = setting(whole(1, 1_000), _RULES.attempts, "failures of its own after which an item is dead")
    fyi_wait: Duration = setting(
        DURATION, _RULES.fyi_wait, "how long an fyi item may wait before it wakes its recipient"
    )
    hold: Duration = setting(DURATION, _RULES.hold, "how long a drain may take before its items go to the next one")


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    hops: int = setting(
        whole(1, 10_000), _RULES.hops, "links in a chain of events after which one no longer wakes its recipient"
    )
    content: int = setting(SIZE, _RULES.content, "the largest content of an event, as UTF-8")
    data: int = setting(SIZE, _RULES.data, "the largest data of an event, as JSON")
    plans: int = setting(whole(1, 1_000_000), _RULES.plans, "pending plans that one entity may have")
    gates: int = setting(
        whole(1, 1_000_000), _RULES.gates, "pending gates that one entity may have, those of its decisions included"
    )
    broadcasts: int = setting(whole(1, 1_000_000), _RULES.broadcasts, "broadcasts that one entity may make in 24 hours")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpoolSettings:
    path: str = setting(
        SPOOL,
        "spool/<session>.jsonl",
        "where lines wait for the hooks of a session, such as `.runtime/inject-queue/<session>.jsonl`",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SqliteSettings:
    busy: Duration = setting(DURATION, 30 * SECOND, "how long to wait while another process writes")


@dataclass(frozen=True, slots=True, kw_only=True)
class PostgresSettings:
    writers: int = setting(whole(1, 64), 2, "connections that write")


@dataclass(frozen=True, slots=True, kw_only=True)
class GatewaySettings:
    host: str = setting(HOST, "127.0.0.1", "where the gateway listens")
    port: int = setting(whole(1, 65_535), 4283, "the port it listens on")
    connections: int | str = setting(
        whole_or_auto(1, 1_000_000),
        "auto",
        "how many connections may be open at the same time; `auto` is the file limit (`ulimit -n`) less 200",
    )
    log: str = setting(one_of("console", "json"), "console", "how the gateway writes its log, to stderr")


@dataclass(frozen=True, slots=True, kw_only=True)
class JanitorSettings:
    interval: Duration = setting(DURATION, 5 * SECOND, "how often what is committed and not acted on is rung for again")


@dataclass(frozen=True, slots=True, kw_only=True)
class ResidentSettings:
    most: int = setting(whole(1, 10_000), 100, "residents that think at once")
    lease: Duration = setting(
        DURATION, 30 * SECOND, "how long nothing may be heard of a process before another goes on with its cycles"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolSettings:
    allow_private: bool = setting(
        YES_OR_NO, False, "whether tools may call addresses of this machine and of private networks"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class GateSettings:
    commands: bool = setting(YES_OR_NO, False, "whether gates may run commands, which only administrators can make")
    ci: tuple[str, ...] = setting(
        REPOSITORIES, (), "the repositories on GitHub that `ci` gates may ask about, with the login of `gh` here"
    )
    interval: Duration = setting(DURATION, 30 * SECOND, "how often what a gate awaits outside is looked at")
    limit: Duration = setting(DURATION, 10 * SECOND, "how long such a look may take")


@dataclass(frozen=True, slots=True, kw_only=True)
class DecisionSettings:
    on_answer: str | None = setting(
        COMMAND,
        None,
        "a command that is run when a decision is answered, rejected or sent back, with that as JSON on stdin",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class StopDecisionSettings:
    enabled: bool = setting(YES_OR_NO, False, "whether a guest has to ask for a decision before it stops")
    wait: Duration = setting(DURATION, 9 * MINUTE, "how long its stop then waits for the answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class HookSettings:
    format: str = setting(
        one_of("plain", "system-reminder"), "plain", "how hooks put what they tell a guest: as it is, or in a tag"
    )
    proof: Duration = setting(
        DURATION,
        30 * MINUTE,
        "how long what a hook has printed waits for a reply of the model before it is shown again",
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class CourierSettings:
    reconcile: Duration = setting(
        DURATION, 10 * MINUTE, "how often a courier asks for what is pending and in no spool yet"
    )
    nudge: str | None = setting(
        COMMAND, None, "how a courier tells an idle agent that something waits: a command, a URL, or `rewake`"
    )
    nudge_limit: Duration = setting(DURATION, 10 * SECOND, "how long a nudge may take")
    allow_private: bool = setting(
        YES_OR_NO, False, "whether nudges may go to addresses of this machine and of private networks"
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class AuthSettings:
    jwt_secret: str | None = setting(SIGNING_SECRET, None, "the secret that bearer tokens are signed with (HS256)")
    jwks_url: str | None = setting(URL, None, "where the keys are that bearer tokens are signed with")
    jwt_claim: str = setting(TEXT, "sub", "the claim of a token that names the entity, by name or alias")
    audience: str | None = setting(TEXT, None, "the audience that tokens must be for")
    issuer: str | None = setting(TEXT, None, "the issuer that tokens must be from")


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    store: str = setting(STORE, "sqlite:///gatepost.db", "where the truth is kept")
    transport: str = setting(TRANSPORT, "socket:", "what carries rings to other processes")
    agent: str | None = setting(ENTITY, None, "who I am: whose inbox is meant when no address is given")
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

    def rules(self) -> Limits:
        """What the verbs go by."""
        return Limits(
            remember=self.inbox.remember,
            attempts=self.inbox.attempts,
            fyi_wait=self.inbox.fyi_wait,
            hold=self.inbox.hold,
            hops=self.limits.hops,
            content=self.limits.content,
            data=self.limits.data,
            plans=self.limits.plans,
            gates=self.limits.gates,
            broadcasts=self.limits.broadcasts,
            commands=self.gates.commands,
            ci=self.gates.ci,
            on_answer=self.decision.on_answer is not None,
        )


def declared(kind: type = Settings, prefix: str = "") -> Iterator[tuple[str, Field[Any]]]:
    """Every setting there is, as `inbox.remember` and its field."""
    for each in fields(kind):
        if inner := each.metadata.get("section"):
            yield from declared(inner, f"{each.name}.")
        else:
            yield prefix + each.name, each


def variable(name: str) -> str:
    """The environment variable of a setting."""
    return PREFIX + name.replace(".", "__").upper()
