"""
Triggers: how something outside reaches agents.

A trigger has a provider, which says how it comes: `webhook`, `telegram`, `cron`, `service` and `cli` are built in, and
a package can bring others. What only its provider needs is in its configuration. Its owner is an address, so that a
team can own it; the owner and the administrator manage it.

    webhook    requests of a service, signed or with a secret
    telegram   messages to a bot
    cron       a schedule: a cron expression, an interval or a time
    service    calls with a key of an agent (`POST /api/agents/{name}/trigger`)
    cli        what people type (`gatepost chat`)
"""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gatepost.core import address, cron
from gatepost.core.event import Json
from gatepost.core.text import ParsedEnum
from gatepost.core.times import MAX_DURATION, SECOND, Duration, Instant, format_rfc3339
from gatepost.core.webhook import Scheme
from gatepost.errors import Invalid, quote_value

#: characters of the prompt of a trigger
MAX_PROMPT_LENGTH: Final = 4_000
#: the team and the role that own triggers, if there are such agents
DEFAULT_OWNER: Final = "team:root/system3"
#: who gets what no rule and no trigger has a target for, if there are such agents
USER_AGENT: Final = "user-agent"
DEFAULT_TARGET: Final = "team:root/system4"
#: the channels on which people write; what they write is in the shared inbox
USER_CHANNELS: Final = ("telegram", "cli", "web")
BUILT_IN_PROVIDERS: Final = ("webhook", "telegram", "cron", "service", "cli")

#: begins the reference to a token that is in a variable of the environment
ENV_TOKEN: Final = "env:"  # noqa: S105 (it is no token)

_TOKEN_REFERENCE: Final = re.compile(r"env:[A-Za-z_][A-Za-z0-9_]{0,99}|file:")
_MIN_INTERVAL: Final = 10 * SECOND
_MAX_REQUIRED: Final = 20


class DeliveryMode(ParsedEnum, description="a way of delivery"):
    POLLING = "polling"
    WEBHOOK = "webhook"


class GroupMode(ParsedEnum, description="a way to listen in groups"):
    #: only what mentions the bot, replies to it, or is a command for it
    MENTION = "mention"
    ALL = "all"
    OFF = "off"


class TriggerSchedule(Struct, frozen=True, kw_only=True):
    """When a cron trigger fires: exactly one of the three."""

    cron: str | None = None
    zone: str = "UTC"
    every: Duration | None = None
    at: Instant | None = None

    def find_next(self, after: Instant, *, since: Instant) -> Instant | None:
        """Return the first time after `after`; intervals count from `since`. None if there is none."""
        if self.at is not None:
            return self.at if self.at > after or after < since else None
        if self.every is not None:
            return since + ((max(after, since) - since) // self.every + 1) * self.every
        return cron.parse(self.cron or "", self.zone).find_next(after)

    def __str__(self) -> str:
        if self.at is not None:
            return f"at {format_rfc3339(self.at)}"
        if self.every is not None:
            return f"every {self.every // SECOND} seconds"
        return f"{self.cron} ({self.zone})"


class Heartbeat(Struct, frozen=True, kw_only=True):
    """Only fire if the target has something to do: unread fyi items, open work items or active goals."""

    #: the first and the last hour, in the zone of the schedule; the day may be in between
    active_hours: tuple[int, int] | None = None


class TriggerConfig(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What only the provider of a trigger needs."""

    #: a template for the session of a webhook, a service or a cron trigger: `pr-{{number}}`; default: its name
    session: str | None = None
    #: metadata that every message must have
    requires: tuple[str, ...] = ()
    #: of a webhook: how payloads become lines (`core/message_template.py`)
    templates: tuple[Mapping[str, Json], ...] = ()
    schedule: TriggerSchedule | None = None
    heartbeat: Heartbeat | None = None
    #: of a channel: the ids of chats and users that may write, and those that may not
    allow: tuple[int, ...] = ()
    block: tuple[int, ...] = ()
    mode: DeliveryMode = DeliveryMode.POLLING
    groups: GroupMode = GroupMode.MENTION
    #: of a bot: where its token is: `env:VARIABLE`, or `file:` for the file that Gatepost keeps
    token: str | None = None
    #: of a channel in webhook mode: the URL of this gateway, as the channel reaches it
    public_url: str | None = None
    #: what a provider of another package needs
    options: Mapping[str, Json] = {}


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
    created_at: Instant


def check_trigger_name(text: str) -> str:
    """Return the text if it can be the name of a trigger."""
    return address.check_name(text, "name of a trigger")


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


def check_heartbeat(heartbeat: Heartbeat) -> Heartbeat:
    if heartbeat.active_hours is not None and not all(0 <= hour <= 24 for hour in heartbeat.active_hours):
        first, last = heartbeat.active_hours
        raise Invalid(f"{first} to {last} are not hours of a day", hint="such as 8 to 22")
    return heartbeat


def check_token_reference(text: str) -> str:
    """Return the text if it says where the token of a bot is."""
    if not _TOKEN_REFERENCE.fullmatch(text):
        raise Invalid(f"{quote_value(text)} names no variable", hint="write it as env:TELEGRAM_TOKEN")
    return text


def check_requires(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of metadata that a trigger requires."""
    if len(names) > _MAX_REQUIRED:
        raise Invalid(f"{len(names)} required fields are too many", hint=f"give at most {_MAX_REQUIRED}")
    for name in names:
        if not name.isidentifier() or not name.isascii():
            raise Invalid(f"{quote_value(name)} is not the name of a field", hint="such as telegram_chat_id")
    return tuple(dict.fromkeys(names))
