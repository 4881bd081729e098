"""
Run an operation on a store: check who asks, call the handler, return the answer.

Access and handler share one transaction, so a name that the rule finds is the one that the verb uses; a batched
operation has no handler, and its names are found before.

What the store has to do for an answer is said once, as steps (`walk_to_answer`). `LocalExecutor` takes them on its own
thread, without an event loop; `AsyncExecutor` and a gateway let the store run them together with those of other
callers, in one commit.
"""

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from enum import Enum, auto
from functools import cache
from importlib import import_module
from typing import Any, Final, NamedTuple, TypeVar, cast

import msgspec

from gatepost.core import typed_json
from gatepost.core.dry_run import dry_run, dry_run_sync
from gatepost.core.ports import Store, Transaction, needs_disk_space
from gatepost.directory.authorization_actions import authorize_names
from gatepost.errors import GatepostError, Unavailable
from gatepost.jobs.idempotency_actions import run_once
from gatepost.operations import access, discovery
from gatepost.operations.access import Caller
from gatepost.operations.decoding import get_decoder
from gatepost.operations.encoding import check_path, encode_json, refuse_nan
from gatepost.operations.operation import WAIT, Kind, Operation, Request, list_operations

R = TypeVar("R")

#: seconds between two looks at the store while a request waits
_POLL_INTERVAL: Final = 1.0
#: seconds for which the elements of one batch may be made before others have their turn
_TURN: Final = 0.002
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


@cache
def load_handler(operation: Operation) -> None:
    """
    Import the handler of one operation: a command needs no others, and must start fast. The handlers of a module
    `key_api` are in `key_handlers` beside it.
    """
    module = f"{operation.request.__module__.removesuffix('api')}handlers"
    name = _LATER_HANDLERS.get(operation.name, module)
    if operation.has_handler:
        return
    try:
        import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name:
            raise
    if not operation.has_handler:
        discovery.import_modules("handlers")


@needs_disk_space(lambda request, *_: request.operation.needs_disk_space)
def answer_request(tx: Any, request: Request[R], caller: Caller, prepared: Any = None) -> R:
    """Answer a request in this transaction; raise an error if the caller may not ask, or what it prepared is one."""
    operation = request.operation
    if operation.access.names_other(request, caller):
        request = authorize_names(tx, request, caller)
    if isinstance(prepared, GatepostError):
        raise prepared
    return cast("R", operation.call_handler(tx, request, caller, prepared))


@needs_disk_space(lambda request, *_: request.operation.needs_disk_space)
def answer_once(tx: Transaction, request: Request[Any], caller: Caller, key: str, prepared: Any = None) -> Any:
    """Return the answer as JSON. A repeat with the same key gets the first answer, through whichever door it comes."""
    operation = request.operation
    path = [getattr(request, name) for name in operation.path_fields]
    scope = _hash([operation.endpoint, path, caller.kind, caller.name])  # a database cannot index a path of any length
    return run_once(tx, scope, key, _hash(request), _answer_as_json, request, caller, prepared)


def _answer_as_json(tx: Transaction, request: Request[Any], caller: Caller, prepared: Any) -> Any:
    return msgspec.to_builtins(answer_request(tx, request, caller, prepared))


def _hash(value: Any) -> str:
    from hashlib import sha256  # most commands hash nothing, and must start fast

    return sha256(msgspec.json.encode(value)).hexdigest()


def build_gateway_error(operation: Operation) -> Unavailable:
    """Return the error of an operation that only a gateway can do."""
    return Unavailable(
        f"{operation.name} needs a gateway, and cannot be done on the store alone",
        hint="start one with `gatepost up`, and send the request with Client or SyncClient",
    )


class StepKind(Enum):
    READ = auto()
    WRITE = auto()
    #: run the verb and roll it back
    TRY = auto()
    #: call a function that may take its time, outside any transaction
    PREPARE = auto()
    #: let other callers have their turn
    PAUSE = auto()


class AnswerStep(NamedTuple):
    """What is to be done next for an answer."""

    kind: StepKind
    function: Callable[..., Any] = lambda: None
    args: tuple[Any, ...] = ()
    #: writes of one lane are done in the order of their calls
    lane: str = ""
    #: a caller has one large write under way
    is_large: bool = False


#: the steps to an answer: each is sent what the last one returned, or gets its error; the answer is what it returns
Steps = Generator[AnswerStep, Any, Any]


def walk_to_answer(request: Request[Any], caller: Caller, key: str | None = None) -> Steps:
    """Return the steps that answer a request; `key` is its idempotency key."""
    walk = _walk_once if request.operation.batch is None else _walk_batch
    return walk(request, caller, key)


def _walk_once(request: Request[Any], caller: Caller, key: str | None) -> Steps:
    operation = request.operation
    if operation.is_dry_run:
        return (yield AnswerStep(StepKind.TRY, answer_request, (request, caller)))
    prepared = None
    if operation.preparation is not None:
        try:
            stored = yield AnswerStep(StepKind.READ, operation.preparation.read, (request, caller))
            prepared = yield AnswerStep(StepKind.PREPARE, operation.preparation.build, (request, stored))
        except GatepostError as error:
            prepared = error
    if operation.kind is Kind.READ:
        return (yield AnswerStep(StepKind.READ, answer_request, (request, caller, prepared)))
    lane = operation.build_lane(request)
    if key is None:
        return (yield AnswerStep(StepKind.WRITE, answer_request, (request, caller, prepared), lane))
    return (yield AnswerStep(StepKind.WRITE, answer_once, (request, caller, key, prepared), lane))


def _walk_batch(request: Request[Any], caller: Caller, key: str | None) -> Steps:
    operation = request.operation
    batch = operation.batch
    assert batch is not None
    if operation.access.names_other(request, caller):
        request = yield AnswerStep(StepKind.READ, authorize_names, (request, caller))
    elements, turn_end = [], time.monotonic() + _TURN
    for element in batch.prepare(request, caller, key):
        elements.append(element)
        if time.monotonic() > turn_end:
            yield AnswerStep(StepKind.PAUSE)
            turn_end = time.monotonic() + _TURN
    valid_elements = [element for element in elements if not isinstance(element, GatepostError)]
    outcomes: Sequence[Any] = []
    if valid_elements:
        is_large = batch.check is not None and batch.is_large(valid_elements)
        if is_large:
            yield AnswerStep(StepKind.READ, cast("Callable[..., None]", batch.check), (valid_elements,))
        lane = operation.build_lane(request)
        outcomes = yield AnswerStep(StepKind.WRITE, batch.verb, (valid_elements,), lane, is_large)
    return batch.present(request, _merge_outcomes(elements, outcomes))


def _merge_outcomes(elements: Sequence[Any], outcomes: Sequence[Any]) -> Sequence[Any]:
    """Return the outcome of each element: an error is its own."""
    if len(outcomes) == len(elements):
        return outcomes
    remaining = iter(outcomes)
    return [element if isinstance(element, GatepostError) else next(remaining) for element in elements]


def take_steps_sync(store: Store, steps: Steps) -> Any:
    """Take the steps to an answer on this thread, and return it."""
    try:
        step = next(steps)
        while True:
            try:
                result = _take_step_sync(store, step)
            except GatepostError as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        return end.value


def _take_step_sync(store: Store, step: AnswerStep) -> Any:
    match step.kind:
        case StepKind.READ:
            return store.read_sync(step.function, *step.args)
        case StepKind.WRITE:
            return store.run_sync(step.function, *step.args)
        case StepKind.TRY:
            return dry_run_sync(store, step.function, *step.args)
        case StepKind.PREPARE | StepKind.PAUSE:
            return step.function(*step.args)


async def take_steps(store: Store, steps: Steps, large_writes: AbstractAsyncContextManager[Any] | None = None) -> Any:
    """
    Take the steps to an answer one after the other in an event loop, and return it. Steps of other callers run
    meanwhile, and writes share commits. `large_writes` is held during a large write.
    """
    try:
        step = next(steps)
        while True:
            try:
                if step.kind is StepKind.WRITE and not step.is_large:
                    result = await store.run(step.function, *step.args, lane=step.lane)
                else:
                    async with large_writes if step.is_large and large_writes is not None else nullcontext():
                        result = await _take_step(store, step)
            except GatepostError as error:
                step = steps.throw(error)
            else:
                step = steps.send(result)
    except StopIteration as end:
        return end.value


async def _take_step(store: Store, step: AnswerStep) -> Any:
    from asyncio import sleep, to_thread  # slow to import, and most commands have no event loop

    match step.kind:
        case StepKind.READ:
            return await store.read(step.function, *step.args)
        case StepKind.WRITE:
            return await store.run(step.function, *step.args, lane=step.lane)
        case StepKind.TRY:
            return await dry_run(store, step.function, *step.args)
        case StepKind.PREPARE:
            return await to_thread(step.function, *step.args)
        case StepKind.PAUSE:
            return await sleep(0)


class LocalExecutor:
    """Answers requests of one caller on a store in this process, on the thread of the caller."""

    def __init__(self, store: Store, caller: Caller = access.ADMINISTRATOR) -> None:
        self._store = store
        self._caller = caller

    def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer; `key` makes a request the same as an earlier one."""
        checked = _check(request, self._caller, key)
        end = _find_end(checked)
        while True:
            steps = walk_to_answer(checked, self._caller, key)
            answer = _build_answer(checked, take_steps_sync(self._store, steps), key)
            pause = _find_pause(checked, answer, end)
            if pause is None:
                break
            time.sleep(pause)
        if (following := _find_following(checked, answer)) is not None:
            self._store.run_sync(answer_request, following, self._caller)
        return cast("R", answer)


class AsyncExecutor:
    """Answers requests of one caller on a store in this process, together with what others ask in this event loop."""

    def __init__(self, store: Store, caller: Caller = access.ADMINISTRATOR) -> None:
        self._store = store
        self._caller = caller

    async def send(self, request: Request[R], *, key: str | None = None) -> R:
        """Return the answer; `key` makes a request the same as an earlier one."""
        from asyncio import sleep

        checked = _check(request, self._caller, key)
        end = _find_end(checked)
        while True:
            steps = walk_to_answer(checked, self._caller, key)
            answer = _build_answer(checked, await take_steps(self._store, steps), key)
            pause = _find_pause(checked, answer, end)
            if pause is None:
                break
            await sleep(pause)
        if (following := _find_following(checked, answer)) is not None:
            lane = following.operation.build_lane(following)
            await self._store.run(answer_request, following, self._caller, lane=lane)
        return cast("R", answer)


def _check(request: Request[R], caller: Caller, key: str | None) -> Request[R]:
    """
    Return the request if its caller may make it. A Struct checks nothing when it is made, so it is encoded and decoded
    once.
    """
    operation = request.operation
    load_handler(operation)
    if key is not None:
        operation.check_key(key)
    if operation.needs_gateway:
        raise build_gateway_error(operation)
    operation.access.admit(caller)
    refuse_nan(request)
    check_path(request)
    checked: Request[R] = get_decoder(operation).decode_json(encode_json(request))
    return operation.access.bind(checked, caller)


def _build_answer(request: Request[Any], answer: Any, key: str | None) -> Any:
    """Return the model of an answer: with a key it was stored as JSON."""
    operation = request.operation
    if key is None or operation.batch is not None or operation.is_dry_run or operation.kind is Kind.READ:
        return answer
    return None if operation.answer is None else typed_json.convert(answer, operation.answer)


def _find_end(request: Request[Any]) -> float:
    """Return the time until which a request waits while its answer is empty."""
    return 0.0 if request.operation.waiting is None else time.monotonic() + getattr(request, WAIT)


def _find_pause(request: Request[Any], answer: Any, end: float) -> float | None:
    """Return how long to wait before a request is made again; None if it has its answer."""
    waiting = request.operation.waiting
    if waiting is None:
        return None
    remaining = end - time.monotonic()
    return None if remaining <= 0 or not waiting.is_empty(answer) else min(remaining, _POLL_INTERVAL)


def _find_following(request: Request[Any], answer: Any) -> Request[Any] | None:
    """Return the request that follows an answer which has reached its caller, such as the ack of a drain."""
    follow_up = request.operation.follow_up
    return follow_up(request, answer, True) if follow_up is not None else None
