"""Triggers, which are managed here; `gateway/webhook_endpoints.py` receives what is sent to them."""

from collections.abc import Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict, replace

from gatepost.channels import provider_plugins as plugins
from gatepost.channels.provider_plugins import LoadedProviders
from gatepost.channels.triggers import actions as triggers, api, preview_actions as trigger_preview
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import (
    BUILT_IN_PROVIDERS,
    ENV_TOKEN,
    Heartbeat,
    Trigger,
    TriggerConfig,
    TriggerSchedule,
    TriggerSettings,
    check_field,
    check_provider,
)
from gatepost.core.ports import Reader, Transaction
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Conflict
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page

#: fields of a request that are part of the configuration, besides its token
_CONFIG_FIELDS: Final = (*TriggerSettings.__struct_fields__, "schedule", "heartbeat")
_DEFAULTS: Final = TriggerConfig()


def build_spec(request: api.AddTrigger, _: None) -> TriggerSpec:
    """Return the trigger that a request asks for, checked by its provider."""
    check_provider(request.provider)
    changes = build_changes(request, request.provider, TriggerConfig())
    fields = {name: value for name, value in changes.items() if value is not None}
    fields["config"] = plugins.prepare_config(request.provider, fields.get("config", TriggerConfig()))
    return TriggerSpec(name=request.name, provider=request.provider, **fields)


@api.AddTrigger.prepared_handler(build_spec)
def add_trigger(tx: Transaction, request: api.AddTrigger, caller: Caller, spec: TriggerSpec) -> api.TriggerView:
    return _view(tx, None, triggers.add(tx, spec, by=caller.entity))


def list_own_triggers(tx: Reader, request: api.ListTriggers, caller: Caller) -> list[Trigger]:
    return triggers.list_page(tx, by=caller.entity, **asdict(request))


def find_own_trigger(tx: Reader, request: api.ChangeTrigger | api.ShowTrigger, caller: Caller) -> Trigger:
    return triggers.find_own(tx, request.name, caller.entity)


def load_providers(request: object, answer: Trigger | Sequence[Trigger]) -> LoadedProviders | None:
    """Return the providers of other packages, if a trigger to show has one."""
    triggers = [answer] if isinstance(answer, Trigger) else answer
    is_needed = any(trigger.provider not in BUILT_IN_PROVIDERS for trigger in triggers)
    return plugins.load_providers() if is_needed else None


@api.ListTriggers.prepared_handler(load_providers, read=list_own_triggers)
def list_triggers(
    tx: Reader, request: api.ListTriggers, caller: Caller, loaded: LoadedProviders | None
) -> Page[api.TriggerView]:
    view = partial(_view, tx, loaded)
    return read_page(tx, request, triggers.list_page, view=view, by=caller.entity, **asdict(request))


@api.ShowTrigger.prepared_handler(load_providers, read=find_own_trigger)
def show_trigger(
    tx: Reader, request: api.ShowTrigger, caller: Caller, loaded: LoadedProviders | None
) -> api.TriggerView:
    return _view(tx, loaded, find_own_trigger(tx, request, caller))


class CheckedChange(NamedTuple):
    """What the provider of another package says of a change."""

    #: None if it was not asked
    config: TriggerConfig | None = None
    loaded: LoadedProviders | None = None


def check_change(request: api.ChangeTrigger, trigger: Trigger) -> CheckedChange:
    if trigger.provider in BUILT_IN_PROVIDERS:
        return CheckedChange()
    config = _find_config_to_check(request, trigger)
    return CheckedChange(
        config=plugins.prepare_config(trigger.provider, config) if config is not None else None,
        loaded=plugins.load_providers(),
    )


def _find_config_to_check(request: api.ChangeTrigger, trigger: Trigger) -> TriggerConfig | None:
    """Return the configuration that a trigger is to have; None if it stays, and the trigger is not opened."""
    config = build_changes(request, trigger.provider, trigger.config).get("config")
    return config or (trigger.config if request.active is True else None)


@api.ChangeTrigger.prepared_handler(check_change, read=find_own_trigger)
def change_trigger(
    tx: Transaction, request: api.ChangeTrigger, caller: Caller, checked: CheckedChange | None
) -> api.TriggerView:
    """Without `checked`, in the transaction of a resident's cycle, what its provider would have to check is refused."""
    checked_config, loaded = checked or CheckedChange()
    trigger = find_own_trigger(tx, request, caller)
    changes = build_changes(request, trigger.provider, trigger.config)
    if request.active is not UNSET:
        changes["active"] = request.active
    config = None if trigger.provider in BUILT_IN_PROVIDERS else _find_config_to_check(request, trigger)
    if config is not None:
        if checked_config is None or checked_config.options != config.options:
            raise Conflict(f"the options of {request.name!r} were changed at the same time", hint="try again")
        changes["config"] = replace(config, sends=checked_config.sends)
    return _view(tx, loaded, triggers.change(tx, request.name, changes, by=caller.entity))


@api.DeleteTrigger.handler
def delete_trigger(tx: Transaction, request: api.DeleteTrigger, caller: Caller) -> None:
    triggers.delete(tx, request.name, by=caller.entity)


@api.PreviewTrigger.handler
def preview_trigger(tx: Transaction, request: api.PreviewTrigger, caller: Caller) -> api.TriggerPreviewView:
    trigger = triggers.find_own(tx, request.name, caller.entity)
    preview = trigger_preview.preview(tx, trigger, request.payload, request.headers)
    events = [
        api.PreviewedEventView(
            content=event.envelope.content,
            subject=event.subject,
            session=event.envelope.session,
            priority=event.priority,
            targets=list(event.decision.targets),
            rule=event.decision.rule,
            reason=event.decision.reason,
        )
        for event in preview.events
    ]
    return api.TriggerPreviewView(events=events, skipped=preview.skipped)


def _view(tx: Reader, loaded: LoadedProviders | None, trigger: Trigger) -> api.TriggerView:
    """Return the view of a trigger; it says what is wrong with its provider if the providers were loaded before."""
    problem = plugins.find_problem(trigger.provider, loaded) if loaded is not None else None
    return api.TriggerView.of(trigger, owner=triggers.find_owner(tx, trigger), problem=problem)


def build_changes(request: api.TriggerFields, provider: str, config: TriggerConfig) -> dict[str, Any]:
    """Return the fields of a trigger that a request names; `config` is its configuration before."""
    for name in ("secret", "token"):  # one column has both
        if isinstance(getattr(request, name), str):
            check_field(provider, name)
    changes = {
        name: value
        for name in ("scheme", "secret", "target", "prompt", "owner")
        if (value := getattr(request, name)) is not UNSET
    }
    settings = {
        name: getattr(_DEFAULTS, name) if value is None else _convert(value)
        for name in _CONFIG_FIELDS
        if (value := getattr(request, name)) is not UNSET
    }
    if isinstance(request.token, str):
        is_reference = request.token.startswith(ENV_TOKEN)
        settings["token"] = request.token if is_reference else None
        changes["secret"] = None if is_reference else request.token
    if settings:
        changes["config"] = replace(config, **settings)
    return changes


def _convert(value: Any) -> Any:
    """Return a part of a configuration as its record has it."""
    match value:
        case api.ScheduleSpec():
            return TriggerSchedule(
                cron=value.cron,
                zone=value.zone or "UTC",
                every=parse_field("every", value.every, parse_duration),
                at=parse_field("at", value.at, parse_instant),
            )
        case api.HeartbeatSpec():
            return Heartbeat(active_hours=value.active_hours)
        case list():
            return tuple(value)
        case _:
            return value
