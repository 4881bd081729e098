"""
Triggers: how something outside reaches agents.

A trigger has a provider, which says how it comes: `webhook`, `telegram`, `cron` and `service` are built in, and a
package can bring others. What only its provider needs is in its configuration. Its owner is an address, so that a team
can own it; the owner and the administrator manage it.

    webhook    requests of a service, signed or with a secret
    telegram   messages to a bot
    cron       a schedule: a cron expression, an interval or a time
    service    calls with a key of an agent (`POST /api/agents/{name}/trigger`)

What people type (`gatepost chat`) needs no trigger: their credential says who they are.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Final, get_args
from urllib.parse import SplitResult, urlsplit

from msgspec import Meta, Struct, structs

from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording import dotted_path
from gatepost.core import address
from gatepost.core.json_limits import Json
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MAX_DURATION, SECOND, Duration, Instant, format_rfc3339
from gatepost.directory.entity import Entity
from gatepost.errors import Invalid, quote_value
from gatepost.inbox.event import OWN_CHANNELS, TELEGRAM
from gatepost.operations.fields import describe
from gatepost.operations.operation import FieldSet
from gatepost.plans import cron
from gatepost.plans.cron import Cron
from gatepost.reactions import RoomQuestion

#: characters of the prompt of a trigger
MAX_PROMPT_LENGTH: Final = 4_000
#: the team and the role that own triggers, if there are such agents
DEFAULT_OWNER: Final = "team:root/system3"
#: who gets what no rule and no trigger has a target for, if there are such agents
USER_AGENT: Final = "user-agent"
DEFAULT_TARGET: Final = "team:root/system4"
BUILT_IN_PROVIDERS: Final = ("webhook", "telegram", "cron", "service")
#: stands for all other providers
PACKAGE: Final = "the provider of a package"

#: begins the reference to a token that is in a variable of the environment
ENV_TOKEN: Final = "env:"  # noqa: S105 (it is no token)

_TOKEN_REFERENCE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,99}")
_MIN_INTERVAL: Final = 10 * SECOND
_MAX_REQUIRED: Final = 20
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


class DeliveryMode(ParsedEnum, description="a way of delivery"):
    POLLING = "polling"
    WEBHOOK = "webhook"


class GroupMode(ParsedEnum, description="a way to listen in groups"):
    #: only what mentions the bot, replies to it, or is a command for it
    MENTION = "mention"
    ALL = "all"
    OFF = "off"


class WakeMode(ParsedEnum, description="a time to wake"):
    NOW = "now"
    #: whenever something else wakes the recipient: the event is fyi
    NEXT = "next"


class TriggerSchedule(Struct, frozen=True, kw_only=True):
    """When a cron trigger fires: exactly one of the three."""

    cron: str | None = None
    zone: str = "UTC"
    every: Duration | None = None
    at: Instant | None = None

    def find_next(self, after: Instant, *, since: Instant) -> Instant | None:
        """Return the first time after `after`; intervals count from `since`. None if there is none."""
        if self.at is not None:
            return self.at if self.at > after else None
        if self.every is not None:
            return since + ((after - since) // self.every + 1) * self.every
        return Cron(self.cron or "", self.zone).find_next(after)

    def __str__(self) -> str:
        if self.at is not None:
            return f"at {format_rfc3339(self.at)}"
        if self.every is not None:
            return f"every {self.every // SECOND} seconds"
        return f"{self.cron} ({self.zone})"


class Heartbeat(Struct, frozen=True, kw_only=True):
    """Only fire if the target has something to do: unread fyi items, open work items or active goals."""

    #: the hour in which they begin and the one in which they end, in the zone of the schedule; `(22, 6)` is a night
    active_hours: tuple[int, int] | None = None

    def is_active(self, hour: int) -> bool:
        """Return True if an hour of the day, from 0 to 23, is an active one."""
        if self.active_hours is None:
            return True
        first, last = self.active_hours
        return first <= hour < last if first <= last else hour >= first or hour < last


class For(Struct, frozen=True):
    """In an annotation: the providers whose triggers may have a field; a field without it may be of any."""

    providers: tuple[str, ...]


_WEBHOOK: Final = For(("webhook",))
_CRON: Final = For(("cron",))
_BOT: Final = For((TELEGRAM,))
_CHANNEL: Final = For((TELEGRAM, PACKAGE))
ChannelId = Annotated[int, Meta(ge=-(2**52), le=2**52)]


class TriggerSettings(FieldSet, kw_only=True, rename=None, omit_defaults=True):
    """
    The settings of triggers. This is their only declaration: requests, views, the table in gatepost.toml, the options
    of `gatepost trigger add` and what is stored and exported are made of it.
    """

    session: Annotated[str, Meta(description="a template of the session", examples=["pr-{{number}}"])] | None = None
    requires: Annotated[
        tuple[str, ...], describe("dotted paths of metadata, or of a payload, that nothing may lack")
    ] = ()
    templates: Annotated[
        tuple[Mapping[str, Json], ...],
        describe("how the payloads of a webhook become lines"),
        For(("webhook", PACKAGE)),
    ] = ()
    allow: Annotated[tuple[ChannelId, ...], describe("the chats and users who may write to a bot"), _CHANNEL] = ()
    block: Annotated[tuple[ChannelId, ...], describe("the chats and users who may not"), _CHANNEL] = ()
    mode: Annotated[DeliveryMode, describe("how a bot gets messages; by default polling"), _BOT] = DeliveryMode.POLLING
    groups: Annotated[GroupMode, describe("what a bot reads in groups; by default mention"), _CHANNEL] = (
        GroupMode.MENTION
    )
    public_url: Annotated[str, describe("the URL of this gateway, as a channel reaches it"), _BOT] | None = None
    options: Annotated[Mapping[str, Json], describe("what the provider of another package needs"), For((PACKAGE,))] = {}


class TriggerConfig(TriggerSettings, kw_only=True, rename=None, omit_defaults=True):
    """The settings of a trigger, and what requests and files write in another way."""

    schedule: Annotated[TriggerSchedule, _CRON] | None = None
    heartbeat: Annotated[Heartbeat, _CRON] | None = None
    #: of a bot: where its token is, if it is not stored: `env:VARIABLE`
    token: Annotated[str, _CHANNEL] | None = None
    #: whether the provider of another package sends
    sends: bool = False


def _find_providers() -> dict[str, tuple[str, ...]]:
    """Return the providers of each field that not every trigger has."""
    fields = {"scheme": _WEBHOOK.providers, "secret": _WEBHOOK.providers}
    for entry in structs.fields(TriggerConfig):
        for kind in (entry.type, *get_args(entry.type)):
            for note in getattr(kind, "__metadata__", ()):
                if isinstance(note, For):
                    fields[entry.name] = note.providers
    return fields


_PROVIDERS: Final[Mapping[str, tuple[str, ...]]] = _find_providers()


class Trigger(Struct, frozen=True, kw_only=True):
    """
    A trigger. The secret of a webhook is not a field, so that showing a trigger never shows it.
    """

    number: int
    id: str
    name: str
    provider: str
    #: of a webhook
    scheme: Scheme | None
    #: the address that gets the events; None if the rules decide
    target: str | None
    #: added to every event as context
    prompt: str | None = None
    #: the address of those who manage it, and are alerted when something is wrong with it
    owner: str
    config: TriggerConfig = TriggerConfig()
    active: bool = True
    #: whether it is set in gatepost.toml, and can only be changed there
    is_from_file: bool = False
    #: of a cron trigger: when it fires next
    next_at: Instant | None = None
    #: of a channel: why it does not work, if it does not
    error: str | None = None
    created_at: Instant

    @property
    def is_built_in_channel(self) -> bool:
        """Whether it is a bot of the channel that is built in (Telegram), not one of another package."""
        return is_built_in_channel(self.provider)

    @property
    def is_channel(self) -> bool:
        """Whether people write on it: what they write is in the shared inbox, and is replied to there."""
        return self.is_built_in_channel or self.config.sends

    @property
    def metadata_prefix(self) -> str:
        """How the names of the channel's own ids begin in the metadata of its messages."""
        return f"{self.provider}_" if self.is_built_in_channel else ""

    def blocks(self, *ids: str) -> bool:
        """Return True if its block list has the id of a chat or of a user."""
        return not {str(id) for id in self.config.block}.isdisjoint(ids)

    @property
    def label(self) -> str:
        """What sentences call it."""
        return f"the {'bot' if self.is_built_in_channel else 'trigger'} {self.name!r}"

    @property
    def noun(self) -> str:
        """What its users call it."""
        return "bot" if self.is_built_in_channel else "channel"


@dataclass(frozen=True, slots=True)
class CountGoals(RoomQuestion[int]):
    """Ask residents for the number of an agent's active goals, counted up to a limit."""

    agent: Entity
    limit: int


def is_built_in_channel(provider: str) -> bool:
    """Return True if the triggers of a provider are bots of the channel that is built in, Telegram."""
    return provider == TELEGRAM


def check_trigger_name(text: str) -> str:
    """Return the text if it can be the name of a trigger."""
    return address.check_name(text, "name of a trigger")


def check_new_name(text: str) -> str:
    """Return the text if a new trigger can have it as its name."""
    check_trigger_name(text)
    if text in OWN_CHANNELS:
        raise Invalid(f"{text!r} is the name of a channel", hint="take another name")
    return text


def check_provider(text: str) -> str:
    """Return the text if it can be the provider of a trigger; whether a package brings it is known elsewhere."""
    if text in OWN_CHANNELS:
        raise Invalid(
            f"what people write on {text!r} needs no trigger",
            hint="`gatepost chat` works without one; `gatepost trigger route add --channel` says who gets it",
        )
    if not text or len(text) > 63:
        raise Invalid(f"{quote_value(text)} is not a provider", hint=f"use {', '.join(BUILT_IN_PROVIDERS)}")
    return text


def check_field(provider: str, field: str) -> None:
    """Refuse a field that means nothing to a provider."""
    providers = _PROVIDERS[field]
    if (provider if provider in BUILT_IN_PROVIDERS else PACKAGE) not in providers:
        raise Invalid(
            f"a trigger of {provider!r} has no {field}", hint=f"leave it out: it is for {' and '.join(providers)}"
        )


def check_fields(provider: str, config: TriggerConfig) -> None:
    """Refuse a configuration with a field that means nothing to its provider."""
    defaults = TriggerConfig()
    for name in TriggerConfig.__struct_fields__:
        if name in _PROVIDERS and getattr(config, name) != getattr(defaults, name):
            check_field(provider, name)


def check_public_url(text: str) -> str:
    """Return the text if it is the URL at which a channel reaches this gateway."""
    try:
        parts = urlsplit(text)
        host, _ = parts.hostname, parts.port  # both are parsed here
    except ValueError:
        parts, host = SplitResult("", "", "", "", ""), None
    is_clean = text.isprintable() and " " not in text and not parts.query and not parts.fragment
    is_safe = is_clean and host and (parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK_HOSTS))
    if not is_safe:
        raise Invalid(f"{quote_value(text)} is not a public URL of https", hint="such as https://gatepost.example")
    return text


def check_schedule(schedule: TriggerSchedule) -> TriggerSchedule:
    """Return a schedule that has exactly one of its three forms, each valid."""
    forms = [name for name in ("cron", "every", "at") if getattr(schedule, name) is not None]
    if len(forms) != 1:
        raise Invalid(
            f"the schedule has {' and '.join(forms) or 'no time'}", hint="give one of `cron`, `every` and `at`"
        )
    if schedule.cron is not None:
        parsed = cron.parse(schedule.cron, schedule.zone)
        return TriggerSchedule(cron=parsed.expression, zone=parsed.zone)
    cron.check_zone(schedule.zone)
    if schedule.every is not None and not _MIN_INTERVAL <= schedule.every <= MAX_DURATION:
        raise Invalid(f"every {schedule.every / SECOND:g} seconds is not an interval", hint="use 10 seconds or more")
    return schedule


def parse_active_hours(text: str) -> tuple[int, int] | None:
    """Return the hours of `8-22`, and None for `always`."""
    if text == "always":
        return None
    first, _, last = text.partition("-")
    if not (first.isdecimal() and last.isdecimal() and text.isascii()) or len(text) > 5:
        raise Invalid(f"{quote_value(text)} are not hours of a day", hint="write 8-22, or always")
    return int(first), int(last)


def check_heartbeat(heartbeat: Heartbeat) -> Heartbeat:
    if heartbeat.active_hours is not None and not all(0 <= hour <= 24 for hour in heartbeat.active_hours):
        first, last = heartbeat.active_hours
        raise Invalid(f"{first} to {last} are not hours of a day", hint="such as 8 to 22")
    if heartbeat.active_hours is not None and not any(map(heartbeat.is_active, range(24))):
        first, last = heartbeat.active_hours
        raise Invalid(f"no hour is between {first} and {last}", hint="0 to 24 is the whole day")
    return heartbeat


def check_token_reference(text: str) -> str:
    """Return the text if it says where the token of a bot is."""
    if not _TOKEN_REFERENCE.fullmatch(text):
        # it is not quoted: it may be a token
        raise Invalid("it names no variable", hint="write it as env:TELEGRAM_TOKEN")
    return text


def check_requires(names: Sequence[str]) -> tuple[str, ...]:
    """Return the dotted paths of what a trigger requires."""
    if len(names) > _MAX_REQUIRED:
        raise Invalid(f"{len(names)} required fields are too many", hint=f"give at most {_MAX_REQUIRED}")
    for name in names:
        dotted_path.parse_path(name)
    return tuple(dict.fromkeys(names))
