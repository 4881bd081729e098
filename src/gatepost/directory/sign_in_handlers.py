"""One-time links, whose secrets are made here, and who is calling. `gateway/sign_in_route.py` has what needs a
cookie."""

from gatepost.core.ports import Reader, Transaction
from gatepost.core.times import format_rfc3339
from gatepost.directory import entity_actions as directory, sign_in_actions as sign_in
from gatepost.directory.entity_actions import ADMINISTRATOR
from gatepost.directory.key import Key
from gatepost.directory.key_handlers import generate_secret
from gatepost.directory.sign_in_api import CallerView, CreateSignInLink, ShowCaller, SignInLinkView
from gatepost.operations.access import Caller


@CreateSignInLink.handler
def create_link(tx: Transaction, request: CreateSignInLink, caller: Caller) -> SignInLinkView:
    secret = generate_secret("link")
    return view_link(sign_in.create_link(tx, secret, request.name), secret)


def view_link(link: Key, secret: str) -> SignInLinkView:
    """Return the view of a new link. Its secret is behind the `#`: browsers do not send that part to any server."""
    assert link.entity is not None
    assert link.expires_at is not None
    return SignInLinkView(name=link.entity, path=f"/sign-in#{secret}", expires_at=format_rfc3339(link.expires_at))


@ShowCaller.handler
def show_caller(tx: Reader, request: ShowCaller, caller: Caller) -> CallerView:
    return view_caller(tx, caller)


def view_caller(tx: Reader, caller: Caller) -> CallerView:
    entity = directory.find_live(tx, caller.name or ADMINISTRATOR)
    return CallerView(name=entity.name, display_name=entity.display, administrator=caller.is_administrator)
