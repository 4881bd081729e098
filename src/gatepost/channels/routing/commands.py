"""`gatepost trigger route`, `trigger dead` and `trigger replay`: who gets what comes through channels."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from gatepost.channels.routing import api
from gatepost.channels.triggers.commands import triggers
from gatepost.cli import output
from gatepost.cli.command import Facts, LimitOption, Noun, Outcome, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ids, json_limits as strict
from gatepost.core.quoting import quote, render_json
from gatepost.errors import Invalid, Malformed, quote_value
from gatepost.settings import Configuration

routes = Noun(
    "route",
    "Add, list and change routing rules. A rule says who gets what comes through a channel. Of the rules that match,"
    " the one with the highest rank decides.",
)
triggers.add_command(routes)

ROUTE: Final = argument("ROUTE", "the id or the name of a rule")


def _parse_number(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 9:
        raise Invalid(f"{quote_value(text)} is not a rank", hint="use a whole number; the highest decides")
    return int(text)


def _parse_filter(text: str) -> tuple[str, Any]:
    """Return the path and the value of `PATH=VALUE`. In a payload, a number, true, false and null are just that."""
    path, equals, value = text.partition("=")
    if not equals or not path.strip():
        raise Invalid(f"{quote_value(text)} is not a filter", hint="write it as payload.repository.name=shop")
    if path.partition(".")[0] != "payload":
        return path.strip(), value  # everything else in a message is text
    try:
        parsed = strict.parse_json(value.encode(errors="surrogatepass"))
    except (Invalid, Malformed):
        return path.strip(), value
    return path.strip(), value if isinstance(parsed, dict | list) else parsed


FilterOption = Annotated[
    list[tuple[str, Any]] | None,
    option(
        "--filter",
        "PATH=VALUE",
        "a dotted path into the message, and what must be there; all must hold; repeatable",
        parse=_parse_filter,
    ),
]
_FIELDS: Final[dict[str, Any]] = {
    "channel": option("--channel", "CHANNEL"),
    "rank": option("--rank", "N", parse=_parse_number),
    "filters": None,  # --filter
    "active": None,
}


@routes.request(
    "add",
    api.CreateRoute,
    name=argument("NAME", "the name of the rule"),
    targets=option("--to", "ADDRESS", "who gets what matches; repeatable"),
    **_FIELDS,
)
def add(
    request: api.CreateRoute, configuration: Configuration, filter: FilterOption = None, json: JsonFlag = False
) -> None:
    """
    Add a rule, and print its id.

    A filter is a dotted path into the message: channel, session, kind, content, trigger, metadata.NAME, or into what
    came: payload.repository.name. The value is compared exactly: in a payload 7 is a number, and '"7"' a text.

    Examples:
      gatepost trigger route add till --filter payload.project=till --to analyst
      gatepost trigger route add vip --channel web --rank 10 --to team:web
    """
    with connect(configuration) as connection:
        route = connection.send(msgspec.structs.replace(request, filters=dict(filter or ())))
    output.done(msgspec.to_builtins(route), route.id, f"{_list_targets(route)} gets what matches", json=json)


@routes.request(
    "set",
    api.ChangeRoute,
    id=ROUTE,
    name=option("--name", "NAME"),
    targets=option("--to", "ADDRESS", "who gets what matches; repeatable"),
    **_FIELDS,
)
def set_route(
    request: api.ChangeRoute,
    configuration: Configuration,
    filter: FilterOption = None,
    no_filter: Annotated[bool, flag("--no-filter", "let it be about everything on its channel")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Change the given fields of a rule; the others stay. Filters and targets are replaced as a whole.

    Only its maker and the administrator can change a rule.

    Examples:
      gatepost trigger route set till --rank 20
      gatepost trigger route set till --filter payload.project=shop --to team:web
    """
    if filter and no_filter:
        raise Invalid("--filter and its removal cannot be combined", hint="leave one of them out")
    if filter or no_filter:
        request = msgspec.structs.replace(request, filters=dict(filter or ()))
    if request == api.ChangeRoute(id=request.id):
        raise Invalid("nothing to change", hint="give a new value, such as --rank 20 or --to ADDRESS")
    with connect(configuration) as connection:
        route = connection.send(request)
    output.done(msgspec.to_builtins(route), route.id, f"changed the rule {route.name!r}", json=json)


@routes.list(
    "list", api.ListRoutes, columns=("ROUTE", "NAME", "STATE", "RANK", "CHANNEL", "TO", "FILTERS"), empty="no rules yet"
)
def list_routes(route: api.RouteView) -> TableRow:
    """
    List the rules, in the order in which they were made.

    Example:
      gatepost trigger route list
    """
    return [
        route.id,
        route.name,
        "active" if route.active else "inactive",
        str(route.rank),
        route.channel,
        _list_targets(route),
        _list_filters(route),
    ]


@routes.show("show", api.ShowRoute, id=ROUTE)
def show(route: api.RouteView) -> Facts:
    """
    Show a rule.

    Example:
      gatepost trigger route show shop
    """
    return [
        ("route", route.id),
        ("name", route.name),
        ("state", "active" if route.active else "inactive"),
        ("rank", route.rank),
        ("channel", route.channel),
        ("filters", _list_filters(route)),
        ("to", _list_targets(route)),
        ("made by", route.made_by),
        ("since", route.created_at),
        ("changed", route.updated_at if route.updated_at != route.created_at else None),
    ]


_OTHERS: Final[dict[str, Any]] = dict.fromkeys(("name", "targets", "channel", "rank", "filters"))


@routes.send("enable", api.ChangeRoute, id=ROUTE, active=True, **_OTHERS)
def enable(route: api.RouteView) -> Outcome:
    """
    Let a rule decide again.

    Example:
      gatepost trigger route enable shop
    """
    return Outcome(route.id, f"the rule {route.name!r} decides again")


@routes.send("disable", api.ChangeRoute, id=ROUTE, active=False, **_OTHERS)
def disable(route: api.RouteView) -> Outcome:
    """
    Let a rule decide about nothing; it is kept.

    Example:
      gatepost trigger route disable shop
    """
    return Outcome(route.id, f"the rule {route.name!r} decides about nothing any more")


@routes.send("delete", api.DeleteRoute, id=ROUTE)
def delete(request: api.DeleteRoute) -> Outcome:
    """
    Delete a rule.

    Example:
      gatepost trigger route delete shop
    """
    return Outcome(request.id, f"deleted the rule {request.id!r}", {"id": request.id, "deleted": True})


def _parse_message(text: str) -> str:
    return ids.check("dead", text)


DiscardOption = Annotated[
    str | None,
    option("--discard", "MESSAGE", "discard this one instead, without routing it", parse=_parse_message),
]


@triggers.request("dead", api.ListDeadLetters, after=None, limit=None)
def dead(
    request: api.ListDeadLetters,
    configuration: Configuration,
    discard: DiscardOption = None,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    List unrouted messages, which nobody got, the oldest first.

    Such a message is kept: add a rule, or a target to its trigger, and replay it; or discard it.

    Examples:
      gatepost trigger dead
      gatepost trigger dead --replayed --json
      gatepost trigger dead --discard dead_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    with connect(configuration) as connection:
        if discard is not None:
            message = connection.send(api.DiscardDeadLetter(id=discard))
            output.done(msgspec.to_builtins(message), message.id, "discarded", json=json)
            return
        items = connection.list_all(request, limit + 1)
    output.listing(items, limit, _print_messages, empty="no unrouted messages", json=json)


def _print_messages(items: Sequence[api.UnroutedMessageView]) -> None:
    output.table(["MESSAGE", "AT", "TRIGGER", "SESSION", "REASON", "CONTENT"], map(_build_message_row, items))


def _build_message_row(message: api.UnroutedMessageView) -> TableRow:
    state = message.reason.value
    if message.replayed_by or message.discarded_by:
        state = f"replayed by {message.replayed_by}" if message.replayed_by else f"discarded by {message.discarded_by}"
    return [
        message.id,
        output.format_seconds(message.created_at),
        message.trigger or message.channel,
        message.session_id,
        state,
        quote(message.content) if message.content else render_json(message.payload),
    ]


@triggers.send("replay", api.ReplayDeadLetter, id=argument("MESSAGE", "its id", parse=_parse_message))
def replay(message: api.ReplayedMessageView) -> Outcome:
    """
    Route an unrouted message again, by the current rules.

    Example:
      gatepost trigger replay dead_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return Outcome(message.id, f"it went to {', '.join(message.targets)}")


def _list_targets(route: api.RouteView) -> str:
    return ", ".join(route.targets)


def _list_filters(route: api.RouteView) -> str:
    return ", ".join(f"{path}={msgspec.json.encode(value).decode()}" for path, value in route.filters.items())
