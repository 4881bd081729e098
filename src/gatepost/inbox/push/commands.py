"""`gatepost inbox push`."""

from collections.abc import Sequence
from typing import Annotated, Any, Final

import msgspec

from gatepost.cli import inputs, output
from gatepost.cli.current_agent import choose_recipient, find_current_agent, find_session_agent
from gatepost.cli.gateway_or_store import CommandConnection, connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core.address import check_entity_address
from gatepost.directory import person_commands as person
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import EntityView, ShowEntity
from gatepost.errors import Invalid, UnknownAddress
from gatepost.inbox.event import EventType, Priority, Ref
from gatepost.inbox.push.api import PushEvent, PushResultView
from gatepost.settings import Configuration

FIELDS: Final[dict[str, Any]] = {
    "to": option(
        "--to",
        "ADDRESS",
        "the recipient: a name, an alias, team:NAME, team:NAME/ROLE, or '*' for every agent",
        default="",
    ),
    "type": option("--type", "TYPE", parse=EventType.parse),
    "sender": option("--as", "NAME", "the sender; by default the current agent, unless it is the recipient"),
    "source": option("--source", "NAME", "the source of the event", default="cli"),
    "subject": option("--subject", "TEXT"),
    "priority": option("--priority", "P", parse=Priority.parse, default="normal"),
    "ttl": option("--ttl", "10m"),
    "dedup_key": option("--dedup-key", "KEY", "a second push with this key is a repeat, and changes nothing"),
    "ref": option("--ref", "TYPE:ID", parse=Ref.parse),
    **dict.fromkeys(("data", "content", "occurred_at", "route", "hops")),
}


def push(
    request: PushEvent,
    configuration: Configuration,
    text: Annotated[str | None, argument("TEXT|-", "the content; - reads stdin", parse=inputs.read_text)] = None,
    broadcast: Annotated[bool, flag("--broadcast", "to every agent, as --to '*'")] = False,
    bead: Annotated[
        str | None, option("--bead", "ID", "to the entity with this alias, such as the id of its work item")
    ] = None,
    session: Annotated[
        str | None, option("--session", "ID", "to the agent of this guest session", parse=inputs.check_session)
    ] = None,
    data: Annotated[
        Any, option("--data", "JSON", "a payload; @FILE reads a file, - reads stdin", parse=inputs.read_json)
    ] = None,
    json: JsonFlag = False,
) -> None:
    """
    Push an event to an inbox, and print its id.

    When this returns, the event is on disk. Without an address it goes to the current agent.

    An alert without a key is a repeat only while an equal one of its source is pending; its line says how often it
    came.

    Examples:
      gatepost inbox push --to analyst "Pull the Q4 revenue numbers"
      gatepost inbox push --to team:web --type alert --priority high "It is red"
      git log -1 | gatepost inbox push --to reviewer --dedup-key commit:41f2 -
    """
    if text is None and data is None:
        raise Invalid("nothing to push", hint="give TEXT, or - to read it from stdin, or --data JSON")
    if sum((request.to != "", bead is not None, session is not None, broadcast)) > 1:
        raise Invalid("give only one of --to, --bead, --session and --broadcast")
    if data is None and not (text or "").strip():
        raise Invalid("the text is empty", hint="give TEXT, or - to read it from stdin, or --data JSON")
    request = msgspec.structs.replace(
        request,
        to="*" if broadcast or session else bead or choose_recipient(request.to, configuration),
        sender=request.sender or find_session_agent(configuration),
        content=text or "",
        data=data,
    )
    with connect(configuration) as connection:
        if bead is not None:
            entity = _find_entity(connection, bead)
            if entity is None or entity.name == bead:
                raise UnknownAddress(
                    f"no entity has the alias {bead!r}", hint="`gatepost agent add NAME --alias ID` gives one"
                )
        if session is not None:
            from gatepost.residents.agent_api import ShowSession  # a push without a session does without

            request = msgspec.structs.replace(request, to=connection.send(ShowSession(id=session)).agent)
        if request.sender is None:
            request = msgspec.structs.replace(request, sender=_find_current_sender(connection, request.to))
        result = connection.send(request)
    if json:
        output.document(msgspec.to_builtins(result))
    else:
        _print_result(result)


def _find_current_sender(connection: CommandConnection, to: str) -> str | None:
    """
    Return the current agent, if it is registered: what it sends to another continues its chain. An event for
    the current agent itself has no sender, because a person at the same terminal may have typed the command.
    """
    agent = find_current_agent(connection.configuration)
    if agent is None or agent == to:
        return None
    entity = _find_entity(connection, agent)
    is_agent = entity is not None and entity.retired_at is None and entity.kind is EntityKind.AGENT
    return entity.name if entity is not None and is_agent else None


def _find_entity(connection: CommandConnection, name: str) -> EntityView | None:
    try:
        return connection.send(ShowEntity(name=check_entity_address(name)))
    except UnknownAddress:
        return None


def _print_result(result: PushResultView) -> None:
    if result.event_id is None:
        output.talk("no recipients: nothing was stored")
        return
    output.line_out(result.event_id)
    if result.broadcast:
        output.talk("a repeat: this broadcast was pushed before" if result.duplicate else "pushed to every agent")
    new_names = [recipient.name for recipient in result.recipients if not recipient.duplicate]
    repeated_names = [
        f"{recipient.name} ({recipient.times} times)" if recipient.times else recipient.name
        for recipient in result.recipients
        if recipient.duplicate
    ]
    if new_names:
        output.talk(f"pushed to {_join_names(new_names)}")
    person.talk_of_waiting(result.recipients, "item")
    if repeated_names:
        is_counted = any(recipient.times for recipient in result.recipients)
        change = "only this number" if is_counted else "nothing"
        output.talk(f"a repeat for {_join_names(repeated_names)}: {change} changed")


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:5])} and {len(names) - 5} more"
