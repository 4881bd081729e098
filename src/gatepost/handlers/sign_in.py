"""One-time links, whose secrets are made here, and who is calling. `gateway/sign_in.py` has what needs a cookie."""

from gatepost.actions import directory, sign_in
from gatepost.actions.directory import ADMINISTRATOR
from gatepost.api.access import Caller
from gatepost.api.sign_in import CallerView, CreateSignInLink, ShowCaller, SignInLinkView
from gatepost.core.key import Key
from gatepost.core.times import format_rfc3339
from gatepost.handlers.keys import generate_secret
from gatepost.ports import Reader, Transaction


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
