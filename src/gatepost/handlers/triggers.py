"""Triggers, which are managed here; `gateway/webhooks.py` receives what is sent to them."""

from msgspec.structs import asdict

from gatepost.actions import webhooks
from gatepost.actions.webhooks import TriggerSpec
from gatepost.api.access import Caller
from gatepost.api.triggers import (
    AddTrigger,
    ChangeTrigger,
    DeleteTrigger,
    ListTriggers,
    ShowTrigger,
    TriggerPage,
    TriggerView,
)
from gatepost.handlers.pages import read_page
from gatepost.ports import Reader, Transaction


@AddTrigger.handler
def add_trigger(tx: Transaction, request: AddTrigger, caller: Caller) -> TriggerView:
    return TriggerView.of(webhooks.add_trigger(tx, TriggerSpec(**asdict(request))))


@ListTriggers.handler
def list_triggers(tx: Reader, request: ListTriggers, caller: Caller) -> TriggerPage:
    return read_page(tx, TriggerPage, webhooks.page_triggers, view=TriggerView.of, **asdict(request))


@ShowTrigger.handler
def show_trigger(tx: Reader, request: ShowTrigger, caller: Caller) -> TriggerView:
    return TriggerView.of(webhooks.show_trigger(tx, request.name))


@ChangeTrigger.handler
def change_trigger(tx: Transaction, request: ChangeTrigger, caller: Caller) -> TriggerView:
    return TriggerView.of(webhooks.set_trigger_active(tx, request.name, request.active))


@DeleteTrigger.handler
def delete_trigger(tx: Transaction, request: DeleteTrigger, caller: Caller) -> None:
    webhooks.delete_trigger(tx, request.name)
