"""
Run an operation on a store: check who asks, call the handler, return the answer.

Access and handler share one transaction, so a name that the rule finds is the one that the verb uses. `LocalExecutor`
runs operations in this process, without event loop or web framework; a gateway uses the same `execute_once`, and the
same `execute` and `authorize_names` of `directory/authorization_actions.py`.
"""

from collections.abc import Sequence
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any, Final, TypeVar, cast

import msgspec

from gatepost.core.dry_run import dry_run_sync
from gatepost.core.ports import Store, Transaction, needs_room
from gatepost.directory.authorization_actions import authorize_names, execute
from gatepost.errors import GatepostError, Unavailable
from gatepost.jobs.idempotency_actions import run_once
from gatepost.operations import access, discovery
from gatepost.operations.access import Caller
from gatepost.operations.decoding import get_decoder
from gatepost.operations.encoding import check_path, encode_json, refuse_nan
from gatepost.operations.operation import Kind, Operation, Request, list_operations

R = TypeVar("R")

#: operations whose handler lies in a later room than their request
_LATER_HANDLERS: Final = {
    "AskDecision": "gatepost.channels.reply_handlers",
    "ReplyToEvent": "gatepost.channels.reply_handlers",
    "TriggerAgent": "gatepost.channels.webhooks.service_call_handlers",
}


@cache
def load_operations() -> tuple[Operation, ...]:
    """Return every operation, with its handler unless it needs a gateway."""
    operations = list_operations()
    discovery.import_modules("handlers")
    return tuple(operations)


def load_handler(operation: Operation) -> None:
    """
    Import the handler of one operation: a command needs no others, and must start fast. The handlers of a module
    `key_api` are in `key_handlers` beside it.
    """
    module = f"{operation.request.__module__.removesuffix('api')}handlers"
    name = _LATER_HANDLERS.get(operation.name, module)
    if find_spec(name) is not None:
        import_module(name)
    if not operation.has_handler:
        discovery.import_modules("handlers")


@needs_room(lambda request, *_: request.operation.needs_room)
def execute_once(tx: Transaction, request: Request[Any], caller: Caller, key: str, prepared: Any = None) -> Any:
    """Return the answer as JSON. A repeat with the same key gets the first answer, through whichever door it comes."""
    operation = request.operation
    path = [getattr(request, name) for name in operation.path_fields]
    scope = _hash([operation.endpoint, path, caller.kind, caller.name])  # a database cannot index a path of any length
    return run_once(tx, scope, key, _hash(request), _execute_as_json, request, caller, prepared)


def _execute_as_json(tx: Transaction, request: Request[Any], caller: Caller, prepared: Any) -> Any:
    return msgspec.to_builtins(execute(tx, request, caller, prepared))


def _hash(value: Any) -> str:
    from hashlib import sha256  # most commands hash nothing, and must start fast

    return sha256(msgspec.json.encode(value)).hexdigest()


def build_gateway_error(operation: Operation) -> Unavailable:
    """Return the error of an operation that only a gateway can do."""
    return Unavailable(
        f"{operation.name} needs a gateway, and cannot be done on the store alone",
        hint="start one with `gatepost up`, and send the request with Client or SyncClient",
    )


class LocalExecutor:
    """Answers requests of one caller on a store in this process."""

    def __init__(self, store: Store, caller: Caller = access.ADMINISTRATOR) -> None:
        self._store = store
        self._caller = caller

    def send(self, request: Request[R], *, key: str | None = None) -> R:
        """
        Return the answer; `key` makes a request the same as an earlier one. A Struct checks nothing when it is made, so
        the request is encoded and decoded once.
        """
        operation = request.operation
        load_handler(operation)
        if key is not None:
            operation.check_key(key)
        if operation.needs_gateway:
            raise build_gateway_error(operation)
        operation.access.admit(self._caller)
        refuse_nan(request)
        check_path(request)
        checked: Request[R] = get_decoder(operation).decode_json(encode_json(request))
        checked = operation.access.bind(checked, self._caller)
        if operation.batch is not None:
            return self._send_batched(checked, key)
        if operation.is_dry_run:
            return dry_run_sync(self._store, execute, checked, self._caller)
        if operation.kind is Kind.READ:
            return self._store.read_sync(execute, checked, self._caller)
        prepared = None
        if operation.preparation is not None:
            try:
                found = self._store.read_sync(operation.preparation.read, checked, self._caller)
                prepared = operation.preparation.build(checked, found)
            except GatepostError as error:
                prepared = error
        if key is not None:
            document = self._store.run_sync(execute_once, checked, self._caller, key, prepared)
            return cast("R", None if operation.answer is None else msgspec.convert(document, operation.answer))
        answer = self._store.run_sync(execute, checked, self._caller, prepared)
        if operation.follow_up is not None and (following := operation.follow_up(checked, answer, True)) is not None:
            self._store.run_sync(execute, following, self._caller)
        return answer

    def _send_batched(self, request: Request[R], key: str | None) -> R:
        batch = request.operation.batch
        assert batch is not None
        request = self._store.read_sync(authorize_names, request, self._caller)
        elements = batch.prepare(request, self._caller, key)
        valid_elements = list_valid(elements)
        if batch.check is not None and batch.is_large(valid_elements):
            self._store.read_sync(batch.check, valid_elements)
        outcomes = self._store.run_sync(batch.verb, valid_elements) if valid_elements else []
        return cast("R", batch.present(request, merge_outcomes(elements, outcomes)))


def list_valid(elements: Sequence[Any]) -> Sequence[Any]:
    """Return the elements of a batch that are no errors."""
    return [element for element in elements if not isinstance(element, GatepostError)]


def merge_outcomes(elements: Sequence[Any], outcomes: Sequence[Any]) -> Sequence[Any]:
    """Return the outcome of each element: an error is its own."""
    if len(outcomes) == len(elements):
        return outcomes
    remaining = iter(outcomes)
    return [element if isinstance(element, GatepostError) else next(remaining) for element in elements]
