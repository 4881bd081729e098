"""
Keys and one-time links, whose secrets are made here, because verbs and rules are pure; and who is calling.
`gateway/sign_in_endpoint.py` has what needs a cookie.
"""

import secrets

from msgspec.structs import asdict

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import format_rfc3339
from gatepost.directory import (
    entity_actions as directory,
    key_actions as keys,
    key_api as api,
    sign_in_actions as sign_in,
    sign_in_api,
)
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.directory.key import Key, KeyKind, get_secret_prefix
from gatepost.errors import Invalid
from gatepost.operations.access import Caller
from gatepost.operations.operation import Page
from gatepost.operations.pagination import read_page


def generate_secret(kind: KeyKind = "admin", *, public: bool = False) -> str:
    """Return a new secret for a key; the caller shows it once."""
    return get_secret_prefix("public" if public else kind) + secrets.token_urlsafe(32)


@api.CreateKey.handler
def create_key(tx: Transaction, request: api.CreateKey, caller: Caller) -> api.NewKeyView:
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
    return api.NewKeyView.of(key, key=secret)


@api.ListKeys.handler
def list_keys(tx: Reader, request: api.ListKeys, caller: Caller) -> Page[api.KeyView]:
    return read_page(tx, request, keys.list_page, **asdict(request))


@api.RevokeKey.handler
def revoke_key(tx: Transaction, request: api.RevokeKey, caller: Caller) -> api.KeyView:
    return api.KeyView.of(keys.revoke(tx, request.id))


@sign_in_api.CreateSignInLink.handler
def create_link(tx: Transaction, request: sign_in_api.CreateSignInLink, caller: Caller) -> sign_in_api.SignInLinkView:
    secret = generate_secret("link")
    return view_link(sign_in.create_link(tx, secret, request.name), secret)


def view_link(link: Key, secret: str) -> sign_in_api.SignInLinkView:
    """Return the view of a new link. Its secret is behind the `#`: browsers do not send that part to any server."""
    assert link.entity is not None
    assert link.expires_at is not None
    return sign_in_api.SignInLinkView(
        name=link.entity, path=f"/sign-in#{secret}", expires_at=format_rfc3339(link.expires_at)
    )


@sign_in_api.ShowCaller.handler
def show_caller(tx: Reader, request: sign_in_api.ShowCaller, caller: Caller) -> sign_in_api.CallerView:
    return view_caller(tx, caller)


def view_caller(tx: Reader, caller: Caller) -> sign_in_api.CallerView:
    entity = directory.find_live(tx, caller.name or ADMINISTRATOR)
    return sign_in_api.CallerView(name=entity.name, display_name=entity.display, administrator=caller.is_administrator)
