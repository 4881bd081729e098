"""Keys. Their secrets are made here, because verbs and rules are pure."""

import secrets

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.directory import key_actions as keys
from gatepost.directory.key import KeyKind, get_secret_prefix
from gatepost.directory.key_api import CreateKey, KeyPage, KeyView, ListKeys, NewKeyView, RevokeKey
from gatepost.errors import Invalid
from gatepost.operations.access import Caller
from gatepost.operations.pagination import read_page


def generate_secret(kind: KeyKind = "admin", *, public: bool = False) -> str:
    """Return a new secret for a key; the caller shows it once."""
    return get_secret_prefix("public" if public else kind) + secrets.token_urlsafe(32)


@CreateKey.handler
def create_key(tx: Transaction, request: CreateKey, caller: Caller) -> NewKeyView:
    if sum((request.agent is not None, request.trigger is not None, request.public)) > 1:
        raise Invalid("give only one of `agent`, `trigger` and `public`", hint="create a key for each")
    kind: KeyKind = "public" if request.public else "admin"
    entity = None
    if request.agent is not None:
        kind, entity = "agent", request.agent
    elif request.trigger is not None:
        kind, entity = "trigger", request.trigger
    secret = generate_secret(public=request.public)
    key = keys.create(tx, kind=kind, secret=secret, entity=entity, name=request.name)
    return NewKeyView.of(key, key=secret)


@ListKeys.handler
def list_keys(tx: Reader, request: ListKeys, caller: Caller) -> KeyPage:
    return read_page(tx, KeyPage, keys.page, view=KeyView.of, **asdict(request))


@RevokeKey.handler
def revoke_key(tx: Transaction, request: RevokeKey, caller: Caller) -> KeyView:
    return KeyView.of(keys.revoke(tx, request.id))
