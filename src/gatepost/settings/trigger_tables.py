"""
The triggers of a settings file: a table each.

    [triggers.daily]
    provider = "cron"
    cron = "0 9 * * 1-5"
    zone = "Europe/Berlin"
    to = "analyst"
    prompt = "Write the report"

    [triggers.shop]
    scheme = "github"
    secret = "env:SHOP_SECRET"

The fields are called as the options of `gatepost trigger add`. A secret is only named: settings files are copied, shown
and kept in version control, and secrets must not be in them.
"""

import json
from collections.abc import Iterable, Mapping
from datetime import date, time
from typing import Any

import msgspec

from gatepost.channels.triggers.actions import TriggerSpec, check_config
from gatepost.channels.triggers.gatepost_toml_actions import FileTrigger
from gatepost.channels.triggers.trigger import (
    Heartbeat,
    TriggerConfig,
    TriggerSchedule,
    TriggerSettings,
    check_field,
    check_new_name,
    check_provider,
    check_token_reference,
    parse_active_hours,
)
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core import address, typed_json
from gatepost.core.text import parse_field
from gatepost.core.times import parse_duration, parse_instant
from gatepost.errors import Invalid
from gatepost.operations.validation import explain


class TriggerTable(TriggerSettings, kw_only=True, rename=None, forbid_unknown_fields=True):
    provider: str = "webhook"
    scheme: Scheme | None = None
    #: `env:VARIABLE`, as that of `token`
    secret: str | None = None
    token: str | None = None
    to: str | None = None
    prompt: str | None = None
    owner: str | None = None
    cron: str | None = None
    zone: str | None = None
    every: str | None = None
    at: str | None = None
    #: `8-22`, or `always`
    heartbeat: str | None = None
    active: bool | None = None


def parse_triggers(tables: Iterable[tuple[str, Any]]) -> list[FileTrigger]:
    """Return the triggers of a settings file; an error names the table, and never a secret."""
    return [_parse_trigger(name, table) for name, table in tables]


def _parse_trigger(name: str, table: Any) -> FileTrigger:
    check_new_name(name)
    if not isinstance(table, dict):
        raise Invalid(f"{name!r} is not a table", hint=f"write [triggers.{name}] above its fields")
    try:
        return _build_trigger(name, _read_table(table))
    except Invalid as error:
        raise Invalid(f"[triggers.{name}] {error.message}", hint=error.hint) from None


def _read_table(table: Mapping[str, Any]) -> TriggerTable:
    # TOML has dates and times of its own
    values = {key: value.isoformat() if isinstance(value, date | time) else value for key, value in table.items()}
    try:
        return typed_json.convert(values, TriggerTable)
    except msgspec.ValidationError:
        raise explain(TriggerTable, values) from None


def _build_trigger(name: str, table: TriggerTable) -> FileTrigger:
    check_provider(table.provider)
    for field in ("secret", "token"):
        text = getattr(table, field)
        if text is not None:
            _check_reference(field, text)
            check_field(table.provider, field)
    for field in ("to", "owner"):
        parse_field(field, getattr(table, field), address.parse)
    config = TriggerConfig(
        **{name: getattr(table, name) for name in TriggerSettings.__struct_fields__},
        schedule=_build_schedule(table),
        heartbeat=_build_heartbeat(table.heartbeat),
        token=table.token,
    )
    if table.provider == "webhook" and table.secret is None:
        raise Invalid("a webhook needs a secret", hint='name the variable that has it: secret = "env:SHOP_SECRET"')
    spec = TriggerSpec(
        name=name,
        provider=table.provider,
        scheme=table.scheme,
        target=table.to,
        prompt=table.prompt,
        owner=table.owner,
        config=check_config(table.provider, config),
        is_from_file=True,
    )
    return FileTrigger(spec=spec, secret_reference=table.secret, active=table.active)


def _check_reference(field: str, text: str) -> None:
    try:
        check_token_reference(text)
    except Invalid:
        raise Invalid(
            f"{field}: it must not be in a settings file, which is copied and shown",
            hint=f'put it in a variable of the environment, and name that: {field} = "env:SHOP_{field.upper()}"',
        ) from None


def _build_schedule(table: TriggerTable) -> TriggerSchedule | None:
    if table.cron is None and table.every is None and table.at is None:
        if table.zone is not None:
            raise Invalid("`zone` needs a time", hint="give `cron`, `every` or `at` too")
        return None
    return TriggerSchedule(
        cron=table.cron,
        zone=table.zone or "UTC",
        every=parse_field("every", table.every, parse_duration),
        at=parse_field("at", table.at, parse_instant),
    )


def _build_heartbeat(text: str | None) -> Heartbeat | None:
    return parse_field("heartbeat", text, lambda hours: Heartbeat(active_hours=parse_active_hours(hours)))


def format_triggers(tables: Iterable[tuple[str, Any]]) -> str:
    """Return the tables as one line of TOML."""
    return _format_value(dict(tables))


def _format_value(value: Any) -> str:
    match value:
        case dict():
            parts = (f"{_format_key(key)} = {_format_value(inner)}" for key, inner in value.items())
            return f"{{{', '.join(parts)}}}"
        case list() | tuple():
            return f"[{', '.join(map(_format_value, value))}]"
        case bool():
            return str(value).lower()
        case date() | time():
            return value.isoformat()
        case str():
            return json.dumps(value, ensure_ascii=False)
        case _:
            return str(value)


def _format_key(key: str) -> str:
    is_bare = key.replace("-", "").replace("_", "").isalnum() and key.isascii()
    return key if is_bare else json.dumps(key, ensure_ascii=False)
