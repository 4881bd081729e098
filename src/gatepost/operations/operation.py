"""
An operation: one thing that can be asked of Gatepost, declared once.

    @write("PUT /api/gates/{id}/resolution", access=ActAs("by", default="admin"), lane="{id}", errors=(Conflict,))
    class ResolveGate(Request[GateView]):
        "Resolve a gate. The first end counts."
        id: str                     # in the path, because the endpoint names it
        reason: str = ""            # in the body; in the query for GET and DELETE

A request is a frozen Struct that names its answer. Its constructor checks nothing: what comes from outside is decoded
(`decoding.py`). Names are in camel case outside, and unknown ones are refused.

*Handlers* are registered by `ResolveGate.handler`, in the module `handlers` beside: one transaction, one answer. What
must not be done in a transaction, such as to run the code of other packages, is done before (`prepared_handler`). There
are four other kinds of operation:

    batched          `prepare -> batched verb -> present`: waiting calls share one transaction (push)
    needs_gateway    not one transaction, or not possible without a running gateway (replay, health)
    stream           its answers come until the caller leaves
    raw              the request is read by its endpoint: signed bytes must not be parsed first (webhooks)
"""

import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache, cached_property
from types import new_class
from typing import Annotated, Any, ClassVar, Final, Generic, Self, TypeVar, dataclass_transform, get_args

import msgspec

from gatepost.core.signals import Frame, Topic
from gatepost.errors import GatepostError, Invalid, NotFound, quote_value
from gatepost.operations import discovery
from gatepost.operations.access import Access, Caller
from gatepost.operations.tool import Tool

R_co = TypeVar("R_co", covariant=True)
V_co = TypeVar("V_co", covariant=True)
Q = TypeVar("Q", bound="Request[Any]")
P = TypeVar("P")

#: characters of an idempotency key
MAX_KEY_LENGTH: Final = 255
#: the field of requests that can wait, and how many seconds they wait at most
WAIT: Final = "wait"
MAX_WAIT: Final = 50
#: bytes of a body
MAX_BODY: Final = 4 * 1024 * 1024
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
#: a field of a lane; after a bar, the field to use if that has no value
_LANE_FIELD: Final = re.compile(r"\{(\w+)(?:\|(\w+))?\}")


_OPTIONS: Final[dict[str, Any]] = {"frozen": True, "kw_only": True, "rename": "camel"}


@dataclass_transform(kw_only_default=True, frozen_default=True, field_specifiers=(msgspec.field,))
class _ModelMeta(msgspec.StructMeta):
    """Sets options that Structs do not inherit."""

    def __new__(mcls, name: str, bases: tuple[type, ...], namespace: dict[str, Any], **options: Any) -> Any:
        return super().__new__(mcls, name, bases, namespace, **(_OPTIONS | options))


class _Model(msgspec.Struct, metaclass=_ModelMeta):
    #: fields that may hold a secret, which a repr leaves out
    secret_fields: ClassVar[frozenset[str]] = frozenset()

    def __rich_repr__(self) -> list[tuple[str, Any]]:
        return [(name, getattr(self, name)) for name in self.__struct_fields__ if name not in self.secret_fields]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={value!r}' for name, value in self.__rich_repr__())})"


class View(_Model):
    """A model of an answer. In OpenAPI `GateView` is called `Gate`."""

    def without_duplicates(self) -> Self:
        """
        Return the answer to a request whose idempotency key its client has just made, so that a duplicate can only be
        an earlier try of the same request.
        """
        return self


class Page(View, Generic[V_co]):
    """A page of a list. `Page[GateView]` is a model of its own, which is called GatePage outside."""

    items: list[V_co]
    next: str | None

    @classmethod
    @cache
    def __class_getitem__(cls, view: Any) -> Any:
        generic = super().__class_getitem__(view)  # type: ignore[misc]
        return new_class(f"{view.__name__.removesuffix('View')}Page", (generic,)) if cls is Page else generic


class StreamedView(View):
    """One event of a stream. `data` is JSON; an event that can be resumed from has an `id`."""

    event: str
    data: str
    id: str | msgspec.UnsetType = msgspec.UNSET


class Request(_Model, Generic[R_co], forbid_unknown_fields=True):
    """What can be asked; `R_co` is the answer."""

    operation: ClassVar["Operation"]

    @property
    def has_own_dedup_key(self) -> bool:
        """Whether a repeat of this request is recognised by its own fields, without an Idempotency-Key."""
        return False

    @classmethod
    def handler(cls, function: Callable[[Any, Self, Caller], R_co]) -> Callable[[Any, Self, Caller], R_co]:
        """Register the function that answers in one transaction."""
        cls.operation.set_handler(function)
        return function

    @classmethod
    def prepared_handler(
        cls, build: Callable[[Self, Any], P], *, read: Callable[[Any, Self, Caller], Any] = lambda *_: None
    ) -> Callable[[Callable[[Any, Self, Caller, P], R_co]], Callable[[Any, Self, Caller, P], R_co]]:
        """
        Register the function that answers in one transaction, with what `build` has made before it, outside of any. A
        query, `read`, says what `build` needs of the store; that may have changed by then.
        """

        def register(function: Callable[[Any, Self, Caller, P], R_co]) -> Callable[[Any, Self, Caller, P], R_co]:
            cls.operation.preparation = Preparation(read, build)
            cls.operation.set_handler(function)
            return function

        return register

    @classmethod
    def gateway_handler(cls, function: Callable[[Any, Self, Caller], Any]) -> Callable[[Any, Self, Caller], Any]:
        """Register the coroutine function that answers with the help of a running gateway."""
        cls.operation.set_handler(function)
        return function

    @classmethod
    def raw_handler(cls, function: Callable[[Any, Self, Any], Any]) -> Callable[[Any, Self, Any], Any]:
        """Register the coroutine function that reads an HTTP exchange itself, and answers."""
        cls.operation.set_handler(function)
        return function

    @classmethod
    def follow_up(cls, function: Callable[[Self, R_co, bool], "Request[Any] | None"]) -> Callable[..., Any]:
        """Register the function that names the request to make after the answer was sent, or was lost (False)."""
        cls.operation.follow_up = function
        return function


class Stream(Request[R_co], kw_only=True):
    """A request whose answers come one after the other."""

    after: Annotated[str | None, msgspec.Meta(description="Last-Event-ID, for callers that cannot send it")] = None


class RequestPart(_Model, forbid_unknown_fields=True):
    """An object within a request."""


class FieldSet(_Model):
    """Fields that are declared once: requests inherit them, or are derived from them (`fields.py`), as views are."""


class Repetition(StrEnum):
    """What a repeat of the same request does."""

    #: it changes nothing
    SAFE = "safe"
    #: with the same Idempotency-Key it gets the first answer
    KEYED = "keyed"
    #: a repeat is recognised by a field or else by its Idempotency-Key
    DEDUP = "dedup"
    #: it is done again
    NEVER = "never"


class Kind(StrEnum):
    READ = "read"
    WRITE = "write"
    STREAM = "stream"
    RAW = "raw"


class BatchHandler(msgspec.Struct, frozen=True, kw_only=True):
    """A handler whose waiting calls share one transaction."""

    #: (request, caller, Idempotency-Key) -> the elements that the verb gets; an error among them is its own outcome.
    #: They may be made one by one: others have their turn in between
    prepare: Callable[[Any, Caller, str | None], Iterable[Any]]
    verb: Callable[..., Sequence[Any]]
    #: (request, outcomes) -> the answer; it may raise the error of an outcome
    present: Callable[[Any, Sequence[Any]], Any]
    #: refuses, in a query, what is too large; a caller has one such request under way
    check: Callable[..., None] | None = None
    #: says whether there is a need to check
    is_large: Callable[[Sequence[Any]], bool] = lambda _: False


class Preparation(msgspec.Struct, frozen=True):
    """
    What is done before the transaction of a handler. Its error is raised in the place of the handler: a repeat with the
    same key gets the first answer, whatever has changed since.
    """

    #: (transaction, request, caller) -> what `build` needs of the store
    read: Callable[[Any, Any, Caller], Any]
    #: (request, what was read) -> the last argument of the handler; it may take its time
    build: Callable[[Any, Any], Any]


class Waiting(msgspec.Struct, frozen=True):
    """How an operation waits while its answer is empty, for as many seconds as its field `wait` says."""

    #: (request) -> the topic of the signals that an answer may have come
    get_topic: Callable[[Any], Topic]
    #: (answer) -> whether to wait for another
    is_empty: Callable[[Any], bool]


#: the third argument is the caller, or the HTTP exchange of a raw operation; a fourth is what was prepared
Handler = Callable[..., Any]


@dataclass(kw_only=True, eq=False)
class Operation:
    """A request, and how it is asked."""

    request: type[Request[Any]]
    kind: Kind
    method: str
    path: str
    access: Access
    repetition: Repetition
    status: int = 200
    #: what its handler may raise; NotFound is added if the path names something
    errors: Sequence[type[GatepostError]] = ()
    lane: str = ""
    example: Mapping[str, Any] | None = None
    needs_gateway: bool = False
    #: True if it reads by doing what it is about, in a transaction that is rolled back
    is_dry_run: bool = False
    max_body: int = MAX_BODY
    #: True if a request without a body is refused, even if none of its fields is required
    requires_body: bool = False
    #: False if the body may have any media type
    checks_media: bool = True
    #: of a stream: the events that carry its model; None if it has events of several kinds
    event: str | None = None
    #: of an answer that is not JSON, or not always
    responses: Mapping[int, Mapping[str, Any]] = field(default_factory=dict)
    #: True if a caller may be guessing: who is told too often that there is no such thing has to wait
    limits_guesses: bool = False
    #: how language models call it
    tool: Tool | tuple[Tool, ...] = ()
    #: whether it stores something new, which is refused while the disk is nearly full; DELETE does not
    needs_disk_space: bool = True
    follow_up: Callable[[Any, Any, bool], Request[Any] | None] | None = None
    batch: BatchHandler | None = None
    preparation: Preparation | None = None
    waiting: Waiting | None = None
    _handler: Handler | None = None

    @property
    def name(self) -> str:
        return self.request.__name__

    @property
    def endpoint(self) -> str:
        return f"{self.method} {self.path}"

    @property
    def can_be_first(self) -> bool:
        """Whether it can be done in a new store: it writes, and its path names nothing that must be there already."""
        return self.kind is Kind.WRITE and "{" not in self.path

    @property
    def takes_key(self) -> bool:
        """Whether a repeat with the same Idempotency-Key is recognised."""
        return self.repetition in (Repetition.KEYED, Repetition.DEDUP)

    @property
    def tools(self) -> tuple[Tool, ...]:
        return self.tool if isinstance(self.tool, tuple) else (self.tool,)

    @property
    def tag(self) -> str:
        """The group of the operation in OpenAPI: its module says `TAG`, or its room has the name."""
        module = self.request.__module__
        return str(getattr(sys.modules[module], "TAG", module.split(".")[-2]))

    @property
    def has_body(self) -> bool:
        """Whether fields that the path does not name are in the body; if not, they are in the query."""
        return self.method not in ("GET", "DELETE")

    @cached_property
    def path_fields(self) -> tuple[str, ...]:
        return tuple(_PARAMETER.findall(self.path))

    @cached_property
    def answer(self) -> Any:
        """The model of the answer; None if it has none."""
        for base in getattr(self.request, "__orig_bases__", ()):
            if arguments := get_args(base):
                return None if arguments[0] is type(None) else arguments[0]
        raise TypeError(f"{self.name} does not name its answer")

    @property
    def has_handler(self) -> bool:
        return self._handler is not None or self.batch is not None

    @property
    def handler(self) -> Handler:
        if self._handler is None:
            raise LookupError(f"{self.name} has no handler")
        return self._handler

    def call_handler(self, tx: Any, request: Request[Any], caller: Caller, prepared: Any = None) -> Any:
        """Return the answer of the handler, with what was prepared before the transaction if the operation prepares."""
        if self.preparation is None:
            return self.handler(tx, request, caller)
        return self.handler(tx, request, caller, prepared)

    def set_handler(self, function: Handler) -> None:
        if self._handler is not None:
            raise ValueError(f"{self.name} has a handler: {self._handler!r}")
        self._handler = function

    def check_key(self, key: str) -> str:
        """Return an idempotency key, or refuse it: the operation takes none, or it is not written as one."""
        if not self.takes_key:
            raise Invalid(f"{self.name} takes no idempotency key")
        if not key or len(key) > MAX_KEY_LENGTH or not key.isascii() or not key.isprintable() or key != key.strip():
            raise Invalid(
                f"{quote_value(key)} is not an idempotency key",
                hint=f"use 1 to {MAX_KEY_LENGTH} printable ASCII characters",
            )
        return key

    def build_lane(self, request: Request[Any]) -> str:
        """Return the lane of a request: those of one lane are done in the order of their calls."""

        return "".join(
            [text or getattr(request, name) or getattr(request, other) or "" for text, name, other in self._lane_parts]
        )

    @cached_property
    def _lane_parts(self) -> tuple[tuple[str, str, str], ...]:
        """The parts of the lane: each is a text, or has none, and a field with the one to use if that has no value."""
        parts: list[tuple[str, str, str]] = []
        end = 0
        for match in _LANE_FIELD.finditer(self.lane):
            parts += [(self.lane[end : match.start()], "", "")] if match.start() > end else []
            parts.append(("", match[1], match[2] or match[1]))
            end = match.end()
        return (*parts, (self.lane[end:], "", "")) if end < len(self.lane) else tuple(parts)


_OPERATIONS: Final[dict[str, Operation]] = {}


def read(endpoint: str, *, access: Access, **options: Any) -> Callable[[type[Q]], type[Q]]:
    """Declare a request that changes nothing."""
    return _declare(endpoint, kind=Kind.READ, access=access, repetition=Repetition.SAFE, **options)


def write(
    endpoint: str, *, access: Access, repetition: Repetition = Repetition.KEYED, **options: Any
) -> Callable[[type[Q]], type[Q]]:
    """Declare a request that changes something."""
    return _declare(endpoint, kind=Kind.WRITE, access=access, repetition=repetition, **options)


def stream(endpoint: str, *, access: Access, **options: Any) -> Callable[[type[Q]], type[Q]]:
    """Declare a request whose answers come one after the other."""
    rules = {"kind": Kind.STREAM, "repetition": Repetition.SAFE, "needs_gateway": True}
    return _declare(endpoint, access=access, **rules, **options)


def raw(endpoint: str, *, access: Access, **options: Any) -> Callable[[type[Q]], type[Q]]:
    """Declare a request whose bytes its endpoint reads."""
    rules = {"kind": Kind.RAW, "repetition": Repetition.NEVER, "needs_gateway": True}
    return _declare(endpoint, access=access, **rules, **options)


def _declare(endpoint: str, **options: Any) -> Callable[[type[Q]], type[Q]]:
    method, _, path = endpoint.partition(" ")

    def register(request: type[Q]) -> type[Q]:
        if endpoint in _OPERATIONS:
            raise ValueError(f"{endpoint} is declared twice")
        operation = Operation(
            request=request, method=method, path=path, **({"needs_disk_space": method != "DELETE"} | options)
        )
        if operation.path_fields:
            operation.errors = (NotFound, *operation.errors)
        if missing := set(operation.path_fields) - set(request.__struct_fields__):
            raise TypeError(f"{request.__name__} has no field {min(missing)!r}, which its path names")
        request.operation = _OPERATIONS[endpoint] = operation
        return request

    return register


def list_operations() -> Sequence[Operation]:
    """Return every operation, group by group: whatever was imported first."""
    discovery.import_modules("api")
    return tuple(sorted(_OPERATIONS.values(), key=lambda operation: operation.tag))


#: by the name of an event: the models that its data may have
EventTable = Mapping[str, tuple[type[View], ...]]


def build_frame(table: EventTable, topic: Topic, event: str, data: View) -> Frame:
    """Return a frame of a live stream: an event that only readers of that moment see."""
    check_event(table, event, data)
    return Frame(topic, event, msgspec.to_builtins(data))


def check_event(table: EventTable, event: str, data: View) -> None:
    """Raise an error if the event has no such model."""
    if type(data) not in table[event]:
        raise TypeError(f"{event} has no {type(data).__name__}: see `EVENTS`")
