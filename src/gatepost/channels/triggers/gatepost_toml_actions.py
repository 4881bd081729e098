"""
Make the triggers of gatepost.toml, and keep their rows as the file says.

A gateway does this when it starts, a transaction for each trigger, so that one that cannot be made does not stop the
others; `gatepost doctor` tries it without storing anything. The file decides about everything but whether the trigger
is open, if it does not say it: a trigger that was closed by hand stays closed.

    in the file, no row                 it is made
    in the file, a row from the file    it is changed, if something differs
    in the file, another row            it is refused, unless that row is closed: then the file takes it over
    a row from the file, not in it      it is deleted; if it has conversations, it is closed, and the row is yours
"""

from collections.abc import Collection
from dataclasses import dataclass, replace
from typing import Any

from gatepost.channels import conversation_actions as conversations
from gatepost.channels.triggers import actions as triggers, rows
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.trigger import DEFAULT_OWNER, ENV_TOKEN, Trigger
from gatepost.channels.webhooks import verification as webhook
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core import address
from gatepost.core.ports import Reader, Transaction
from gatepost.errors import Conflict, GatepostError, Invalid


@dataclass(frozen=True, slots=True, kw_only=True)
class FileTrigger:
    """A trigger as the file has it."""

    #: without its secret
    spec: TriggerSpec
    #: where its secret is: `env:VARIABLE`
    secret_reference: str | None = None
    #: None if the file does not say
    active: bool | None = None
    #: why its provider, of another package, cannot be used
    problem: GatepostError | None = None

    @property
    def name(self) -> str:
        return self.spec.name


def apply(tx: Transaction, file_trigger: FileTrigger, secret: str | None) -> bool:
    """Make or change the row of a trigger; return True if something was changed. `secret` may be None: not known."""
    spec = replace(file_trigger.spec, secret=secret)
    row = _find_row(tx, file_trigger, secret)
    if row is not None and row.provider != spec.provider:
        triggers.remove(tx, row)
        row = None
    if row is None:
        triggers.add(tx, spec)
        if file_trigger.active is False:
            triggers.change(tx, spec.name, {"active": False}, from_file=True)
        return True
    changes = _find_changes(tx, row, spec)
    active = file_trigger.active if row.is_from_file else file_trigger.active is not False
    if active is not None and active != row.active:
        changes["active"] = active
    if changes:
        triggers.change(tx, spec.name, changes, from_file=True)
    return bool(changes)


def list_missing(tx: Reader, names: Collection[str]) -> list[str]:
    """Return the names of the triggers that came from the file and are not in it any more."""
    return [row.name for row in rows.list_from_file(tx) if row.name not in names]


def remove(tx: Transaction, name: str) -> None:
    """Delete a trigger that is not in the file any more; close one that has conversations."""
    row = rows.find(tx, name)
    if row is None or not row.is_from_file:
        return
    if conversations.is_used(tx, row.number):
        triggers.change(tx, name, {"active": False, "is_from_file": False}, from_file=True)
    else:
        triggers.remove(tx, row)


def _find_row(tx: Reader, file_trigger: FileTrigger, secret: str | None) -> Trigger | None:
    """Return the row of a trigger; refuse one that the file cannot have, or one without its secret."""
    spec = file_trigger.spec
    if file_trigger.problem is not None:
        raise file_trigger.problem
    row = rows.find(tx, spec.name)
    if row is not None and not row.is_from_file and row.active:
        raise Conflict(
            f"there is a trigger {spec.name!r} already that is not from gatepost.toml",
            hint=f"take another name, or let the file have it: `gatepost trigger disable {spec.name}`",
        )
    if row is not None and row.provider != spec.provider and conversations.is_used(tx, row.number):
        raise Conflict(
            f"the trigger {spec.name!r} has conversations by {row.provider!r}, and now it is one of {spec.provider!r}",
            hint="take another name",
        )
    needs_secret = row is None or row.provider != spec.provider or rows.read_secret(tx, row.number) is None
    if file_trigger.secret_reference is not None and secret is None and needs_secret:
        variable = file_trigger.secret_reference.removeprefix(ENV_TOKEN)
        raise Invalid(
            f"the secret of the trigger {spec.name!r} is not there: {variable} is not set",
            hint=f"set {variable} where the gateway runs",
        )
    return row


def _find_changes(tx: Reader, row: Trigger, spec: TriggerSpec) -> dict[str, Any]:
    """Return what the file says and the row does not."""
    config = triggers.check_config(spec.provider, spec.config)
    fields: dict[str, Any] = {
        "target": str(address.parse(spec.target)) if spec.target is not None else None,
        "prompt": triggers.validate_prompt(spec.prompt),
        "config": config,
        "owner": str(address.parse(spec.owner or DEFAULT_OWNER)),
        "is_from_file": True,
    }
    changes = {name: value for name, value in fields.items() if value != getattr(row, name)}
    if spec.secret is not None:
        scheme = (spec.scheme or Scheme.HEADER) if spec.provider == "webhook" else None
        stored_secret = webhook.prepare_secret(scheme, spec.secret) if scheme is not None else spec.secret
        if (scheme, stored_secret) != (row.scheme, rows.read_secret(tx, row.number)):
            changes |= {"scheme": scheme, "secret": spec.secret}
    return changes
