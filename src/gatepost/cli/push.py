"""`gatepost inbox push`."""

from typing import Annotated

from msgspec.structs import replace

from gatepost import settings
from gatepost.actions import push
from gatepost.cli import here, output, words
from gatepost.cli.here import Json
from gatepost.cli.plain import argument, flag, option
from gatepost.core import times, wire
from gatepost.core.entity import EntityKind
from gatepost.core.event import EventType, Priority, Push, PushResult, Ref, get_trust
from gatepost.errors import Invalid, UnknownAddress
from gatepost.settings import Configuration


def push_command(
    text: Annotated[str | None, argument("TEXT|-", "What to say; - reads it from stdin.")] = None,
    to: Annotated[
        str | None,
        option(
            "--to", "ADDRESS", "Who it is for: a name, an alias, team:NAME, team:NAME/ROLE, or '*' for every agent."
        ),
    ] = None,
    broadcast: Annotated[bool, flag("--broadcast", "For every agent, as --to '*'.")] = False,
    bead: Annotated[str | None, option("--bead", "ID", "For whoever has this alias.")] = None,
    session: Annotated[str | None, option("--session", "ID", "For the guest whose session this is.")] = None,
    sender: Annotated[
        str | None, option("--as", "NAME", "Who it is from; else the current agent, if it is for somebody else.")
    ] = None,
    type: Annotated[str, option("--type", "TYPE", f"One of {', '.join(EventType)}.")] = EventType.EVENT,
    source: Annotated[str, option("--source", "NAME", "What it comes through.")] = "cli",
    subject: Annotated[str | None, option("--subject", "TEXT", "A short title.")] = None,
    data: Annotated[str | None, option("--data", "JSON", "A payload; @FILE reads a file, - reads stdin.")] = None,
    priority: Annotated[str, option("--priority", "P", "critical, high, normal, low, fyi; or 0 to 4.")] = "normal",
    ttl: Annotated[str | None, option("--ttl", "10m", "How long it is worth reading; then it expires.")] = None,
    dedup_key: Annotated[
        str | None, option("--dedup-key", "KEY", "A second push with this key is recognised as a repeat.")
    ] = None,
    ref: Annotated[str | None, option("--ref", "TYPE:ID", "What it is about.")] = None,
    json: Json = False,
) -> None:
    """
    Put an event into an inbox, and print its id.

    When this returns, the event is on disk. Without an address it goes to the current agent.

    Examples:
      gatepost inbox push --to analyst "Pull the Q4 revenue numbers"
      gatepost inbox push --to team:web --type alert --source ci --priority high "The build is red"
      git log -1 | gatepost inbox push --to reviewer --subject "New commit" --dedup-key commit:41f2 -
    """
    if text is None and data is None:
        raise Invalid("there is nothing to push", hint="give TEXT, or - to read it from stdin, or --data JSON")
    if text == "-" and data == "-":
        raise Invalid("text and data cannot both be read from stdin", hint="read the data from a file: --data @FILE")
    if sum((to is not None, bead is not None, session is not None, broadcast)) > 1:
        raise Invalid("give only one of --to, --bead, --session and --broadcast")
    configuration = settings.load()
    limits = configuration.settings.build_limits()
    wish = Push(
        to="*" if broadcast else _address(to, bead, session, configuration),
        type=EventType.parse(type),
        source=source,
        sender=words.given(sender, "--as") or here.pusher(configuration),
        subject=subject,
        priority=Priority.parse(priority),
        key=dedup_key,
        ttl=times.parse_duration(ttl) if ttl is not None else None,
        ref=Ref.parse(ref) if ref is not None else None,
        data=words.data(data, limits.data) if data is not None else None,
        content=words.content(text, limits.content) if text is not None else "",
    )
    push.validate_push(wish, limits)
    if wish.data is None and not wish.content.strip():
        raise Invalid("the text is empty", hint="what wrote to stdin may have failed" if text == "-" else None)
    with here.opened(configuration) as place:
        if bead is not None:
            _check_alias(place, bead)
        if session is not None:
            wish = replace(wish, to=place.session(session).agent)
        if wish.sender is None:
            wish = replace(wish, sender=_current_sender(place, wish.to))
        wish = replace(wish, trust=get_trust(wish.type, wish.sender))
        pushed = place.call(push.push_event, lambda far: far.push, wish)
    if json:
        output.document(wire.write_push_result(pushed))
    else:
        _tell(pushed)


def _address(to: str | None, bead: str | None, session: str | None, configuration: Configuration) -> str:
    """Whom it is for, as it is written; whose a session is can be told when the store is open."""
    if words.given(session, "--session", "which"):
        return "*"
    return words.given(bead, "--bead", "which") or here.whose(to, configuration)


def _current_sender(place: here.Here, to: str) -> str | None:
    """
    Return the current agent, if it is registered: what it sends to another continues its chain (I13). What is pushed to
    the current agent itself is from nobody: whoever sits beside an agent may push to it so.
    """
    agent = here.current(place.configuration)
    if agent is None or agent == to:
        return None
    try:
        entity = place.entity(agent)
    except UnknownAddress:
        return None
    return entity.name if entity.is_live and entity.kind is EntityKind.AGENT else None


def _check_alias(place: here.Here, bead: str) -> None:
    try:
        found = place.entity(bead)
    except UnknownAddress:
        found = None
    if found is None or found.name == bead:
        raise UnknownAddress(f"nobody has the alias {bead!r}", hint="`gatepost agent add NAME --alias ID` gives one")


def _tell(pushed: PushResult) -> None:
    if pushed.broadcast is not None:
        output.line_out(pushed.event)
        output.talk("a repeat: this broadcast was made before" if pushed.duplicate else "pushed to every agent")
        return
    if not pushed.deliveries:
        output.talk("nobody else is there: nothing was stored")
        return
    output.line_out(pushed.event)
    new = [each.name for each in pushed.deliveries if not each.duplicate]
    repeated = [each.name for each in pushed.deliveries if each.duplicate]
    if new:
        output.talk(f"pushed to {_names(new)}")
    if repeated:
        output.talk(f"a repeat for {_names(repeated)}: nothing changed")


def _names(names: list[str]) -> str:
    return ", ".join(names) if len(names) <= 5 else f"{', '.join(names[:5])} and {len(names) - 5} more"
