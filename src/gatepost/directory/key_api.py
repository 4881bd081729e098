"""Keys: the secrets that authenticate callers. For the administrator only."""

from typing import Annotated

from msgspec import UNSET, Meta, UnsetType

from gatepost.directory.key import Key, KeyKind
from gatepost.errors import Conflict, NotFound
from gatepost.operations.access import Administrator
from gatepost.operations.fields import After, Limit, RecordView, Time, describe
from gatepost.operations.operation import Page, Repetition, Request, read, write

#: the group of these operations in OpenAPI
TAG = "keys"


class KeyView(RecordView[Key]):
    """A key by its prefix."""

    id: str
    prefix: str
    kind: KeyKind
    entity: str | None
    trigger: str | None
    name: str
    created_at: Time
    revoked_at: Time | None
    expires_at: Annotated[
        Time | UnsetType, describe("of a browser that is signed in: when it ends if it is not used")
    ] = UNSET


class NewKeyView(KeyView, kw_only=True):
    """A key with its secret."""

    secret_fields = frozenset({"key"})

    key: Annotated[str, describe("the key itself, shown only now")]


@write(
    "POST /api/keys",
    access=Administrator(),
    repetition=Repetition.NEVER,
    status=201,
    requires_body=True,
    errors=(NotFound,),
    example={"agent": "analyst", "name": "laptop"},
)
class CreateKey(Request[NewKeyView]):
    """
    Create a key: for one agent, for one agent's trigger, public, or else the administrator's. It is shown this once.
    """

    agent: Annotated[str | None, describe("the key acts as this entity only")] = None
    trigger: Annotated[str | None, describe("the key can trigger this agent, and nothing else")] = None
    public: Annotated[bool, describe("the key is sent with bearer tokens, and gives no access alone")] = False
    name: Annotated[str, Meta(max_length=200, description="what the key is for, shown in the list")] = ""


@read("GET /api/keys", access=Administrator())
class ListKeys(Request[Page[KeyView]]):
    """List keys by their prefixes, also revoked ones, in the order in which they were created."""

    after: After = 0
    limit: Limit = 100


@write("DELETE /api/keys/{id}", access=Administrator(), errors=(Conflict,))
class RevokeKey(Request[KeyView]):
    """Revoke a key, named by its id or prefix, for ever."""

    id: str
