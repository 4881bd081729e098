"""
Who may ask for an operation, as data.

A rule is checked in three steps, so that a caller learns nothing about what it may not see:

    admit    the kind of caller, before the body is read       403
    bind     the names that the request acts for               403
    find     names and aliases in the path (`executor.py`)     403 for others alike, known or not; 404 for the
                                                               administrator

A caller is the administrator, one entity (by its own key or token), or a key that can only trigger one agent.
"""

from enum import StrEnum
from typing import TYPE_CHECKING, Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from gatepost.errors import Invalid, Refused

if TYPE_CHECKING:
    from gatepost.operations.operation import Request

Q = TypeVar("Q", bound="Request[Any]")


class CallerKind(StrEnum):
    ADMINISTRATOR = "administrator"
    ENTITY = "entity"
    TRIGGER = "trigger"


class Caller(Struct, frozen=True, eq=False):
    """Who asks. Two are equal if they are the same one, whenever their tokens end."""

    kind: CallerKind
    #: the entity that it is; for the key of a trigger, the agent that it triggers; None for the administrator
    name: str | None = None
    #: when its token ends, in seconds since 1970; None for a key, which ends when it is revoked
    expires_at: int | None = None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Caller) and (self.kind, self.name) == (other.kind, other.name)

    def __hash__(self) -> int:
        return hash((self.kind, self.name))

    @property
    def entity(self) -> str | None:
        """The entity whose rows it may see; None for the administrator, who sees all."""
        return self.name if self.kind is CallerKind.ENTITY else None

    @property
    def is_administrator(self) -> bool:
        return self.kind is CallerKind.ADMINISTRATOR

    def build_refusal(self, name: str) -> Refused:
        """Return the error for a caller that names another entity."""
        if self.kind is CallerKind.TRIGGER:
            return Refused(f"this key can only trigger {self.name!r}")
        return Refused(f"this credential is {self.name!r} and cannot act as {name!r}")


ADMINISTRATOR = Caller(CallerKind.ADMINISTRATOR)


class Access:
    """A rule. By default every entity and the administrator may ask."""

    #: False if no credential is needed
    needs_credential: bool = True
    #: the field that names the entity of the rule, which the store has to find; empty if the rule needs no store
    field: str = ""

    def admit(self, caller: Caller) -> None:
        """Refuse a kind of caller that may never ask."""
        if caller.kind is CallerKind.TRIGGER:
            raise Refused(f"this key can only trigger {caller.name!r}")

    def bind(self, request: Q, caller: Caller) -> Q:  # noqa: ARG002 (other rules use it)
        """Return the request with the names for which the caller acts; refuse names that it may not act for."""
        return request

    def names_other(self, request: "Request[Any]", caller: Caller) -> bool:
        """Return True if a request names an entity other than its caller: the store has to be asked who that is."""
        return self.field != "" and getattr(request, self.field) not in (None, caller.name)


class AnyEntity(Access):
    """Every entity, for itself, and the administrator. Names in `own` must be the caller's, if they are given."""

    def __init__(self, *, own: tuple[str, ...] = ()) -> None:
        self.own = own

    def bind(self, request: Q, caller: Caller) -> Q:
        if caller.kind is CallerKind.ENTITY:
            for name in self.own:
                value = getattr(request, name)
                if value is not None and value != caller.name:
                    raise caller.build_refusal(value)
        return request


class Administrator(Access):
    """The administrator only."""

    def admit(self, caller: Caller) -> None:
        if not caller.is_administrator:
            raise Refused("this is for the administrator", hint="use the administrator's key")


class ActAs(Access):
    """
    Every entity as itself, and the administrator as any entity. A field that is not given becomes the caller's own
    name. If the administrator leaves it out or empty, it gets the `default`; if there is none, `required` refuses it.
    """

    def __init__(self, *fields: str, default: str | None = None, required: bool = False) -> None:
        self.fields = fields
        self.default = default
        self.required = required

    def bind(self, request: Q, caller: Caller) -> Q:
        changes: dict[str, str] = {}
        for name in self.fields:
            value = getattr(request, name)
            if caller.kind is CallerKind.ENTITY:
                if value is None:
                    changes[name] = caller.name or ""
                elif value != caller.name:
                    raise caller.build_refusal(value)
            elif not value and self.default is not None:
                changes[name] = self.default
            elif value is None and self.required:
                raise Invalid(f"{name!r} is missing", hint="the administrator's key must name the entity to act as")
        return replace(request, **changes) if changes else request


class NamedEntity(Access):
    """The entity that a field in the path names by its name or an alias, and the administrator."""

    def __init__(self, field: str) -> None:
        self.field = field


class NamedEntityOrOwner(NamedEntity):
    """
    The entity that a field names by its name or an alias, the entity that owns it (`entity.owner`, who is told when
    something is wrong with it), and the administrator. For what only reads, and for when it is woken: an owner changes
    nothing else. A field of the query that is not given becomes the caller's own name; the administrator sees all then.
    """

    def bind(self, request: Q, caller: Caller) -> Q:
        if caller.kind is CallerKind.ENTITY and getattr(request, self.field) is None:
            return replace(request, **{self.field: caller.name})
        return request


class TriggerKey(Access):
    """The administrator, and keys that can only trigger the agent that a field in the path names."""

    def __init__(self, field: str) -> None:
        self.field = field

    def admit(self, caller: Caller) -> None:
        if caller.kind is CallerKind.ENTITY:
            raise Refused("triggers need the administrator's key or one scoped to this agent's trigger")


class Public(Access):
    """Everybody, without a credential."""

    needs_credential = False

    def admit(self, caller: Caller) -> None:
        pass
