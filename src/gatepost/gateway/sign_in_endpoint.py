"""
Sign in to the page, and out again.

The secret of a one-time link is behind the `#` of its address, and so in no request, log or Referer. The page at
`/sign-in` takes it from there, removes it from the address and the history, and sends it here; a GET changes nothing,
so that what only looks at a link (a preview, a scanner) does not use it up. The answer sets the cookie.

Without `browser_checks.py` another page could sign a person in as another person, or out. A link in a message could do
that, too, so a browser that is signed in as another person is refused (409) and uses nothing up; the page asks
the person, and sends the token again with `replace`.
"""

from collections.abc import Sequence
from typing import Final

import msgspec

from gatepost.core import typed_json
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory, sign_in_actions as sign_in
from gatepost.directory.key_handlers import generate_secret, view_caller
from gatepost.directory.sign_in_api import CallerView, SignIn, SignOut
from gatepost.errors import Conflict, Malformed, Unauthorized
from gatepost.gateway import browser_checks as browsers
from gatepost.gateway.authentication import build_page_caller
from gatepost.gateway.gateway_state import GatewayState
from gatepost.gateway.http_exchange import JSON, HttpAnswer, HttpExchange, encode
from gatepost.operations.problems import MEDIA_TYPE, NotJson, build_problem

_MAX_BODY: Final = 4 * 1024
#: characters of the name that a browser gives itself
_MAX_BROWSER_NAME: Final = 120


class _Body(msgspec.Struct, forbid_unknown_fields=True):
    token: str
    #: whether the browser may stop being signed in as another person
    replace: bool = False


class _SignedInAsAnother(Conflict):
    """The browser is signed in as another person than the one of a link."""

    type = "signed-in"

    def __init__(self, current: str, linked: str) -> None:
        super().__init__(f"this browser is signed in as {current}, and the link is for {linked}", hint="send `replace`")
        #: the names that people see
        self.current, self.linked = current, linked


@SignIn.raw_handler
async def answer_sign_in(state: GatewayState, _: SignIn, exchange: HttpExchange) -> HttpAnswer:
    browsers.check_page_request(exchange, state.hosts)
    if exchange.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise NotJson("the token is not sent as JSON", hint="send Content-Type: application/json")
    try:
        body = typed_json.decode(await exchange.read_body(_MAX_BODY), _Body)
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        raise Malformed("the body is not a JSON object with a `token`") from None
    await _check_link(state, exchange, body.token)
    secret = generate_secret("page")
    agent = exchange.headers.get("user-agent", "")  # by it a person finds the browser in a list
    browser = "".join(char for char in agent if char.isascii() and char.isprintable())[:_MAX_BROWSER_NAME]
    cookies = browsers.find_cookies(exchange)
    try:
        view = await state.store.run(_sign_in, body, secret, browser, cookies)
    except _SignedInAsAnother as error:
        names = {"signedInAs": error.current, "linkFor": error.linked}
        return HttpAnswer(encode(build_problem(error) | names), error.status, MEDIA_TYPE)
    return HttpAnswer(encode(view), headers=[("set-cookie", browsers.build_cookie(exchange, secret))])


@SignOut.raw_handler
async def answer_sign_out(state: GatewayState, _: SignOut, exchange: HttpExchange) -> HttpAnswer:
    browsers.check_page_request(exchange, state.hosts)
    cookies = browsers.find_cookies(exchange)
    if cookies:
        await state.store.run(sign_in.sign_out, cookies)
    return HttpAnswer(b"", 204, headers=[("set-cookie", browsers.build_cookie(exchange, ""))])


async def _check_link(state: GatewayState, exchange: HttpExchange, token: str) -> None:
    """
    Refuse a token that opens nothing, with a read alone, and after some of them for a minute. A valid one is taken also
    then: nobody else at the same address can keep a person out.
    """
    try:
        await state.store.read(sign_in.check_link, token)
    except Unauthorized as error:
        with state.attempt_limits.watch(exchange.scope, SignIn.operation.endpoint):
            raise error from None


def _sign_in(tx: Transaction, body: _Body, secret: str, browser: str, cookies: Sequence[str]) -> CallerView:
    linked = sign_in.check_link(tx, body.token).entity
    current = sign_in.find_person(tx, cookies)
    if linked is not None and current not in (None, linked) and not body.replace:
        raise _SignedInAsAnother(directory.find(tx, current).display, directory.find(tx, linked).display)
    key = sign_in.sign_in(tx, body.token, secret, browser=browser, replaces=cookies)
    return view_caller(tx, build_page_caller(key))
