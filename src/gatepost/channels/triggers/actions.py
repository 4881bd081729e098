"""
Add, change and delete triggers.

A trigger belongs to an address: an entity, or a team, such as System3 of the root team. Its owners and the
administrator manage it; everybody else learns nothing of it. The secret of a webhook, and the token of a bot, are in
the row of the trigger; nothing but `read_secret` reads them, and no export has them.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from msgspec.structs import replace

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.skills import ROUTING, FindSkills
from gatepost.channels.triggers import rows as triggers, trigger as rules
from gatepost.channels.triggers.trigger import (
    DEFAULT_OWNER,
    ENV_TOKEN,
    MAX_PROMPT_LENGTH,
    DeliveryMode,
    Trigger,
    TriggerConfig,
)
from gatepost.channels.webhooks import verification as webhook
from gatepost.channels.webhooks.verification import Scheme
from gatepost.channels.wording import message_template, text_template
from gatepost.core import address
from gatepost.core.address import AllAgentsAddress, EntityAddress, TeamAddress
from gatepost.core.ports import Reader, Transaction
from gatepost.core.signals import Signal, Topic
from gatepost.core.text import find_unstorable, parse_field
from gatepost.core.times import MINUTE, SECOND, Instant, format_rfc3339
from gatepost.directory import entity_actions as directory, entity_rows as entities
from gatepost.directory.entity import Entity
from gatepost.errors import Conflict, Invalid, LimitReached, NotFound, Refused, TooLarge, UnknownAddress, quote_value

#: triggers of all owners
MAX_TRIGGERS: Final = 1_000
_HINT: Final = "`gatepost trigger list` lists them"
_MIN_INTERVAL_OF_AGENTS: Final = MINUTE


@dataclass(frozen=True, slots=True, kw_only=True)
class TriggerSpec:
    name: str
    provider: str = "webhook"
    #: of a webhook
    scheme: Scheme | None = None
    #: the secret of a webhook, or the token of a bot
    secret: str | None = field(default=None, repr=False)
    target: str | None = None
    prompt: str | None = None
    #: an address; None for the default
    owner: str | None = None
    config: TriggerConfig = field(default_factory=TriggerConfig)
    is_from_file: bool = False


def add(tx: Transaction, spec: TriggerSpec, *, by: str | None = None) -> Trigger:
    """
    Add a trigger, and return it; `by` is None for the administrator. Agents with the skill `routing`, and those who own
    triggers by default, can add what they own.
    """
    name = rules.check_new_name(spec.name)
    if by is not None:
        _require_right_to_add(tx, by)
    rules.check_provider(spec.provider)
    scheme, secret = _check_secret(spec)
    owner = _resolve_owner(tx, spec.owner, by)
    if not _is_administrator(by):
        _check_rights(TriggerConfig(), spec.config, by)
        _check_name_of_agent(tx, name)
    config = check_config(spec.provider, spec.config)
    if triggers.count(tx) >= MAX_TRIGGERS:
        raise LimitReached(f"there are {MAX_TRIGGERS} triggers, the limit", hint="delete some")
    _check_heartbeat_target(config, spec.target)
    if not spec.is_from_file:  # a file may keep one whose time has passed
        _check_time(config, tx.now)
    is_added = tx.execute(
        "channels/triggers/insert",
        name=name,
        provider=spec.provider,
        scheme=scheme,
        secret=secret,
        target=resolve_target(tx, spec.target) if spec.target is not None else None,
        prompt=validate_prompt(spec.prompt),
        owner=owner,
        config=triggers.encode_config(config),
        active=True,
        is_from_file=spec.is_from_file,
        next_at=_find_next(config, tx.now, tx.now),
        id=tx.new_id("trg"),
        now=tx.now,
    )
    if not is_added:
        raise Conflict(f"there is a trigger {name!r} already", hint="delete it first, or take another name")
    tx.after_commit(Signal(Topic("trigger", name), "added", wakes=False))
    return show(tx, name)


def has_routing_skill(tx: Reader, entity: Entity) -> bool:
    """Return True if an agent has the skill to make triggers and routing rules."""
    return ROUTING in tx.ask(FindSkills(entity))


def _require_right_to_add(tx: Reader, by: str) -> None:
    entity = directory.find_live(tx, by)
    default = address.parse(DEFAULT_OWNER)
    owners = [other.number for other in directory.resolve(tx, [default]).get(default, ())]
    if entity.name != directory.ADMINISTRATOR and entity.number not in owners and not has_routing_skill(tx, entity):
        raise Refused(
            f"{by!r} cannot add triggers", hint=f"`gatepost agent set NAME --skill {ROUTING}` gives it the skill"
        )


def _check_secret(spec: TriggerSpec) -> tuple[Scheme | None, str | None]:
    if spec.provider == "webhook":
        scheme = spec.scheme or Scheme.HEADER
        if spec.secret is None:
            raise Invalid("a webhook needs a secret", hint="give `secret`")
        if spec.secret.startswith(ENV_TOKEN):
            raise Invalid(
                f"the secret begins with {ENV_TOKEN!r}, and a webhook reads no variable",
                hint="give the secret itself with --secret @FILE; env: is for gatepost.toml",
            )
        return scheme, webhook.prepare_secret(scheme, spec.secret)
    if spec.scheme is not None:
        rules.check_field(spec.provider, "scheme")
    if spec.secret is not None:
        rules.check_field(spec.provider, "token")
    if rules.is_built_in_channel(spec.provider) and not (spec.secret or spec.config.token):
        raise Invalid("a bot needs a token", hint="give `token`: @BotFather gives you one")
    return None, spec.secret


def _is_administrator(by: str | None) -> bool:
    return by in (None, directory.ADMINISTRATOR)


def _check_rights(before: TriggerConfig, config: TriggerConfig, by: str | None, *, has_token: bool = False) -> None:
    """
    Refuse what only the administrator may change. Others could let users in; they could have any variable of the
    gateway sent to a server, or a token that is stored (`has_token`) to another server; and they could fill inboxes.
    """
    if config.allow != before.allow:
        raise Refused(f"{by!r} cannot let users in by `allow`", hint="the administrator can")
    if config.token is not None and (config.token, config.options) != (before.token, before.options):
        raise Refused(
            f"{by!r} cannot use variables of the gateway", hint="give the token itself, or ask the administrator"
        )
    if has_token and config.options != before.options:
        raise Refused(
            f"{by!r} cannot change the options of a trigger whose token is stored",
            hint="give the token again, or ask the administrator",
        )
    interval = config.schedule.every if config.schedule is not None and config.schedule != before.schedule else None
    if interval is not None and interval < _MIN_INTERVAL_OF_AGENTS:
        raise Refused(
            f"{by!r} cannot have a trigger that fires every {interval / SECOND:g} seconds", hint="use 1 minute or more"
        )


def _check_name_of_agent(tx: Reader, name: str) -> None:
    """Refuse a name by which a trigger of an agent would look like somebody else."""
    if entities.find_by_names(tx, [name]):
        raise Conflict(f"{name!r} is the name of an entity", hint="take another name")


def check_config(provider: str, config: TriggerConfig) -> TriggerConfig:
    """Return a configuration that is valid for a provider."""
    rules.check_fields(provider, config)
    if provider == "cron" and config.schedule is None:
        raise Invalid("a cron trigger needs a schedule", hint="give one of `cron`, `every` and `at`")
    if config.public_url is not None:
        rules.check_public_url(config.public_url)
    elif config.mode is DeliveryMode.WEBHOOK:
        raise Invalid(
            f"mode: a bot in webhook mode needs the URL at which {provider.title()} reaches this gateway",
            hint="give it, as with --public-url https://gatepost.example",
        )
    if config.heartbeat is not None:
        rules.check_heartbeat(config.heartbeat)
    if config.session is not None:
        parse_field("session", config.session, text_template.parse)
    if config.token is not None:
        parse_field("token", config.token, rules.check_token_reference)
    message_template.parse_templates(list(config.templates))
    schedule = rules.check_schedule(config.schedule) if config.schedule is not None else None
    return replace(config, schedule=schedule, requires=rules.check_requires(config.requires))


def change(
    tx: Transaction, name: str, changes: dict[str, Any], *, by: str | None = None, from_file: bool = False
) -> Trigger:
    """
    Change the fields of a trigger that are in `changes`: scheme and secret, target, prompt, owner, config, active. The
    secret of a webhook is stored as its scheme needs it, so a new scheme needs the secret too. What gatepost.toml sets
    is only changed `from_file`. A schedule has no slots while the trigger is inactive.
    """
    trigger = find_own(tx, name, by)
    conversations.lock_trigger(tx, trigger.number)  # a slot fires by the old trigger or the new one, not by both
    trigger = find_own(tx, name, by)
    changes = dict(changes)
    if trigger.is_from_file and not from_file and set(changes) - {"active"}:
        raise Conflict(f"the trigger {name!r} is set in gatepost.toml", hint="change it there")
    has_token = triggers.read_secret(tx, trigger.number) is not None and "secret" not in changes
    if "secret" in changes or "scheme" in changes:
        if trigger.provider == "webhook" and "secret" not in changes:
            raise Invalid("another scheme needs the secret again", hint="give `secret`")
        scheme = changes.get("scheme") or trigger.scheme
        config = changes.get("config", trigger.config)
        secret = changes.pop("secret", None)
        spec = TriggerSpec(name=name, provider=trigger.provider, scheme=scheme, secret=secret, config=config)
        changes["scheme"], secret = _check_secret(spec)
        tx.execute_later("channels/triggers/set_secret", number=trigger.number, secret=secret)
        conversations.delete_cursor(tx, trigger.number)  # another bot has other numbers
    if changes.get("target") is not None:
        changes["target"] = resolve_target(tx, changes["target"])
    if "prompt" in changes:
        changes["prompt"] = validate_prompt(changes["prompt"])
    if "owner" in changes:
        changes["owner"] = _resolve_owner(tx, changes["owner"], by)
    changed = replace(trigger, **changes)
    if changed.active and not trigger.active and (trigger.is_built_in_channel or trigger.provider == "webhook"):
        _require_secret(tx, trigger)
    if not _is_administrator(by):
        _check_rights(trigger.config, changed.config, by, has_token=has_token)
    config = check_config(trigger.provider, changed.config)
    changed = replace(changed, config=config)
    _check_heartbeat_target(config, changed.target)
    if (config.schedule, changed.active) != (trigger.config.schedule, trigger.active):
        if config.schedule != trigger.config.schedule and not from_file:
            _check_time(config, tx.now)
        changed = replace(changed, next_at=_find_next(config, tx.now, trigger.created_at) if changed.active else None)
    triggers.update(tx, changed)
    tx.after_commit(Signal(Topic("trigger", name), "changed", wakes=False))
    return show(tx, name)


def delete(tx: Transaction, name: str, *, by: str | None = None) -> None:
    """Delete a trigger; what it received stays."""
    trigger = find_own(tx, name, by)
    if trigger.is_from_file:
        raise Conflict(f"the trigger {name!r} is set in gatepost.toml", hint="remove it there")
    if conversations.is_used(tx, trigger.number):
        raise Conflict(f"the trigger {name!r} has conversations", hint="disable it instead: they keep its name")
    remove(tx, trigger)


def remove(tx: Transaction, trigger: Trigger) -> None:
    """Delete a trigger that has no conversations."""
    conversations.delete_cursor(tx, trigger.number)
    triggers.delete(tx, trigger.number)
    tx.after_commit(Signal(Topic("trigger", trigger.name), "deleted", wakes=False))


def show(tx: Reader, name: str) -> Trigger:
    trigger = triggers.find(tx, rules.check_trigger_name(name))
    if trigger is None:
        raise NotFound(f"there is no trigger {name!r}", hint=_HINT)
    return trigger


def list_page(
    tx: Reader, *, by: str | None = None, provider: str | None = None, after: int = 0, limit: int = 100
) -> list[Trigger]:
    """Return triggers in the order in which they were added; to an entity only those that it owns."""
    owned: list[Trigger] = []
    while len(owned) < limit:
        rows = triggers.list_page(tx, provider=provider, after=after, limit=limit)
        owned += [trigger for trigger in rows if by is None or is_owner(tx, trigger, by)]
        if by is None or len(rows) < limit:
            break
        after = rows[-1].number
    return owned[:limit]


def find_own(tx: Reader, name: str, by: str | None) -> Trigger:
    """
    Return a trigger to its owners and to the administrator. To others it is refused, whether it exists or not: they
    learn nothing about names that they may not see.
    """
    if by is None:
        return show(tx, name)
    try:
        trigger = triggers.find(tx, rules.check_trigger_name(name))
    except Invalid:
        trigger = None
    if trigger is None or not is_owner(tx, trigger, by):
        raise Refused(f"{by!r} owns no trigger {quote_value(name)}", hint=_HINT)
    return trigger


def find_owner(tx: Reader, trigger: Trigger) -> str:
    """
    Return the address that owns a trigger. System3 of the root team, which owns those whose owner nobody has named, is
    the administrator as long as there is no such agent.
    """
    default = address.parse(DEFAULT_OWNER)
    is_default = trigger.owner == DEFAULT_OWNER
    if is_default and not any(entity.is_live for entity in directory.resolve(tx, [default]).get(default, ())):
        return directory.ADMINISTRATOR
    return trigger.owner


def is_owner(tx: Reader, trigger: Trigger, by: str) -> bool:
    """Return True if an entity is at the address that owns a trigger."""
    target = address.parse(find_owner(tx, trigger))
    entity = directory.find(tx, by)
    return any(owner.number == entity.number for owner in directory.resolve(tx, [target]).get(target, ()))


def find_owners(tx: Reader, trigger: Trigger | None) -> list[Entity]:
    """Return who gets the alerts about a trigger: its owners, or the administrator if none of them is there."""
    owners = []
    if trigger is not None:
        target = address.parse(trigger.owner)
        owners = [entity for entity in directory.resolve(tx, [target]).get(target, ()) if entity.is_live]
    administrator = entities.find_by_names(tx, [directory.ADMINISTRATOR]).get(directory.ADMINISTRATOR)
    return owners or ([administrator] if administrator is not None else [])


def read_secret(tx: Reader, trigger: Trigger) -> str | None:
    """Return the secret of a webhook, or the token of a bot; for nobody but those who verify and send."""
    return triggers.read_secret(tx, trigger.number)


def _require_secret(tx: Reader, trigger: Trigger) -> None:
    if trigger.config.token is None and triggers.read_secret(tx, trigger.number) is None:
        raise Conflict(
            f"the trigger {trigger.name!r} was imported without its secret",
            hint="delete it, and add it with its secret",
        )


def _resolve_owner(tx: Reader, text: str | None, by: str | None) -> str:
    """Return the address of an owner; of a trigger that an entity adds, the default is that entity."""
    if by is None and text in (None, DEFAULT_OWNER):
        return DEFAULT_OWNER  # whoever that is when it is asked for
    if text is None:
        return directory.find_live(tx, by or directory.ADMINISTRATOR).name
    owner = resolve_target(tx, text)
    if isinstance(address.parse(owner), AllAgentsAddress):
        raise Invalid("not every agent can own a trigger", hint="name an entity or a team")
    if by is not None:
        target = address.parse(owner)
        entity = directory.find_live(tx, by)
        if not any(other.number == entity.number for other in directory.resolve(tx, [target]).get(target, ())):
            raise Refused(f"{by!r} is not in {owner!r}", hint="name an owner that you are, or are in")
    return owner


def _check_heartbeat_target(config: TriggerConfig, target: str | None) -> None:
    if config.heartbeat is not None and target is not None and isinstance(address.parse(target), AllAgentsAddress):
        raise Invalid("a heartbeat cannot go to every agent", hint="name an agent or a team")


def _check_time(config: TriggerConfig, now: Instant) -> None:
    """Refuse a time that has passed: it would never come."""
    if config.schedule is not None and config.schedule.at is not None and config.schedule.at <= now:
        raise Invalid(f"{format_rfc3339(config.schedule.at)} has passed", hint="give a later time")


def _find_next(config: TriggerConfig, now: Instant, since: Instant) -> Instant | None:
    return config.schedule.find_next(now, since=since) if config.schedule is not None else None


def resolve_target(tx: Reader, text: str) -> str:
    """Return the address if a live entity has it; `*` is always valid."""
    target = address.parse(text)
    entities = directory.resolve(tx, [target]).get(target)
    match target:
        case EntityAddress(name) if not entities:
            raise directory.build_unknown_error(tx, name, suggest_team=True)
        case TeamAddress() if not entities:
            raise UnknownAddress(f"no entity is in {text!r}", hint="`gatepost agent list` shows who is in which team")
        case EntityAddress() | TeamAddress() if not any(entity.is_live for entity in entities or ()):
            raise Refused(f"{text!r} is retired and receives nothing")
        case EntityAddress() | TeamAddress() | AllAgentsAddress():
            return str(target)


def validate_prompt(text: str | None) -> str | None:
    """Return the prompt if it can be stored."""
    if not text:
        return None
    if len(text) > MAX_PROMPT_LENGTH:
        raise TooLarge(f"the prompt has {len(text)} characters, over the limit of {MAX_PROMPT_LENGTH}")
    if find_unstorable(text):
        raise Invalid("the prompt has a character in it that cannot be stored", hint="remove it")
    return text
