"""`gatepost channel`: the channels on which people write, and the users who are let in."""

from collections.abc import Sequence
from functools import partial
from typing import Annotated, Final

import msgspec

from gatepost.channels import conversation_api as api
from gatepost.channels.conversation import PairingState
from gatepost.cli import output
from gatepost.cli.command import LimitOption, Noun, Outcome, TableRow
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ids
from gatepost.core.address import check_entity_address
from gatepost.core.quoting import quote
from gatepost.errors import Invalid
from gatepost.inbox.event import USER_CHANNELS

channels = Noun("channel", "List the channels on which people write, and let users in.")
commands = [channels]

_PAIRING: Final = argument("ID", "the id of a pairing, such as pair_...", parse=partial(ids.check, "pair"))


@channels.list(
    "list",
    api.ListChannels,
    columns=("CHANNEL", "STATE", "PROVIDER", "MODE", "SESSIONS", "WAITING", "ERROR"),
    empty="no channels",
)
def list_channels(channel: api.ChannelStatusView) -> TableRow:
    """
    List the channels: cli and web, which are built in, and bots.

    WAITING counts the users who wait to be let in: `gatepost channel pair` lists them.

    Example:
      gatepost channel list
    """
    return [
        channel.name,
        "closed" if not channel.active else "failing" if channel.error else "open",
        channel.provider,
        channel.mode or "",
        str(channel.sessions),
        str(channel.requests),
        quote(channel.error) if channel.error else "",
    ]


@channels.list(
    "sessions",
    api.ListChannelSessions,
    columns=("SESSION", "CHANNEL", "PERSON", "USER", "LAST"),
    empty="no sessions yet",
    channel=option("--channel", "CHANNEL", f"only this channel or bot, such as {USER_CHANNELS[0]}"),
    person=option("--person", "NAME", "only those of this person", parse=check_entity_address),
)
def sessions(session: api.ChannelSessionView) -> TableRow:
    """
    List the conversations, in the order in which they began.

    Examples:
      gatepost channel sessions
      gatepost channel sessions --channel helpdesk --person husam
    """
    return [
        session.session_id,
        session.trigger or session.channel,
        session.person or "",
        quote(session.user_name) if session.user_name else "",
        output.format_seconds(session.last_at),
    ]


@channels.command("pair")
def pair(
    code: Annotated[str | None, argument("CODE", "the code that the user was given, or the id of the request")] = None,
    person: Annotated[
        str | None,
        option("--person", "NAME", "who the user is; by default a new person", parse=check_entity_address),
    ] = None,
    refuse: Annotated[bool, flag("--refuse", "do not let the user in")] = False,
    all: Annotated[bool, flag("--all", "list also who was let in or refused, and requests that expired")] = False,
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    Let a user of a bot in. Without CODE, list the users who wait.

    A user whom a bot does not know gets a code there, which is valid for an hour and once. Ask the user for it on a way
    that you trust: a name on a channel proves nothing. Only the administrator can let users in.

    Examples:
      gatepost channel pair
      gatepost channel pair K7M2QX4R --person husam
      gatepost channel pair K7M2QX4R --refuse
    """
    if code is None and (person is not None or refuse):
        raise Invalid("no CODE is given", hint="`gatepost channel pair` without options lists the requests")
    if code is not None and all:
        raise Invalid("--all cannot be combined with CODE", hint="leave one of them out")
    if refuse and person is not None:
        raise Invalid("--person cannot be combined with --refuse", hint="leave one of them out")
    with connect() as connection:
        if code is None:
            _list_pairings(connection, None if all else PairingState.REQUESTED, limit, json=json)
            return
        if refuse:
            view = connection.send(api.RefusePairing(code=code))
            message = f"refused {quote(view.user_name)}"
        else:
            view = connection.send(api.ApprovePairing(code=code, person=person))
            message = f"{quote(view.user_name)} writes to {view.trigger} as {view.person}"
    output.done(msgspec.to_builtins(view), view.person or view.id, message, json=json)


def _list_pairings(connection: CommandConnection, state: PairingState | None, limit: int, *, json: bool) -> None:
    pairings = connection.list_all(api.ListPairings(state=state), limit + 1)
    empty = "nobody waits to be let in" if state is not None else "nobody has asked to be let in yet"
    output.listing(pairings, limit, _print_pairings, empty=empty, json=json)


def _print_pairings(pairings: Sequence[api.PairingView]) -> None:
    rows = [
        [
            view.id,
            view.state.value,
            view.trigger,
            quote(view.user_name),
            view.user_id,
            view.person or "",
            output.format_seconds(view.answered_at or view.created_at),
        ]
        for view in pairings
    ]
    output.table(("ID", "STATE", "BOT", "USER", "USER ID", "PERSON", "SINCE"), rows)


@channels.send("unpair", api.EndPairing, id=_PAIRING)
def unpair(view: api.PairingView) -> Outcome:
    """
    End a pairing: the user has to ask again. `gatepost channel pair --all` lists the ids.

    A user on the allow list of the bot is let in again with the next message: remove the id there first.

    Example:
      gatepost channel unpair pair_01997ec27ab07f2c8ed1f2a3b4c5d6e7
    """
    return Outcome(view.id, f"{quote(view.user_name)} is not {view.person} any more")
