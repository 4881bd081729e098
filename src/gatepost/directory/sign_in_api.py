"""The sign-in of the page: one-time links, the cookie of a browser, and who is calling."""

from typing import Annotated

from gatepost.errors import Conflict, Malformed, Refused, TooLarge, TooManyAttempts, Unauthorized, UnknownAddress
from gatepost.operations.access import Administrator, AnyEntity, Public
from gatepost.operations.fields import Time, describe
from gatepost.operations.operation import Repetition, Request, View, raw, read, write
from gatepost.operations.problems import Misdirected, NotJson

#: the group of these operations in OpenAPI
TAG = "sign_in"


class CallerView(View):
    """The one whose credential a request has."""

    name: Annotated[str, describe("the entity that the caller is; the administrator is `admin`")]
    display_name: str
    administrator: Annotated[bool, describe("whether the caller sees and does everything")]


class SignInLinkView(View):
    """A one-time link."""

    secret_fields = frozenset({"path"})

    name: Annotated[str, describe("the person that it signs in")]
    path: Annotated[str, describe("the link, without the address of the gateway; shown only now")]
    expires_at: Time


@write(
    "POST /api/sign-in/links",
    access=Administrator(),
    needs_disk_space=False,
    repetition=Repetition.NEVER,
    status=201,
    errors=(Refused, UnknownAddress),
    example={"name": "admin"},
)
class CreateSignInLink(Request[SignInLinkView]):
    """Create a link that signs a person in to the page, once, within ten minutes."""

    name: Annotated[str, describe("the person; by default the administrator")] = "admin"


@raw(
    "POST /api/sign-in",
    access=Public(),
    requires_body=True,
    errors=(Malformed, Unauthorized, Refused, Conflict, TooLarge, NotJson, Misdirected, TooManyAttempts),
    example={"token": "lk_0000000000000000000000000000000000000000000"},
)
class SignIn(Request[CallerView]):
    """
    Exchange the token of a one-time link for the cookie of the page. It is for the page itself: it needs the header
    `x-gatepost-page: 1`, and an Origin that is the gateway. A browser that is signed in as another person gets 409 and
    keeps its cookie, unless `replace` is true.
    """


@raw("DELETE /api/sign-in", access=Public(), status=204, errors=(Refused, Misdirected))
class SignOut(Request[None]):
    """Revoke the cookie of the page, and remove it. It needs the same headers as signing in."""


@read("GET /api/caller", access=AnyEntity())
class ShowCaller(Request[CallerView]):
    """Show who is calling, by its key, its token, or the cookie of the page."""
