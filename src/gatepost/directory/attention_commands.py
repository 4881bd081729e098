"""`gatepost attention`: what may wake an agent or disturb a person."""

from typing import Annotated

import msgspec

from gatepost.cli import output
from gatepost.cli.command import Noun
from gatepost.cli.current_agent import choose_actor
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, option
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.attention_api import SetAttention
from gatepost.directory.entity_api import EntityView, ShowEntity

attention = Noun("attention", "Say what may wake an agent or disturb a person, until a time.")
commands = [attention]

_WHOSE = option("--as", "NAME", "whose attention; by default that of the current agent, else of admin")


def _parse_level(text: str) -> AttentionLevel:
    return AttentionLevel.parse(text.replace("-", "_"))


@attention.command("set")
def set_attention(
    level: Annotated[AttentionLevel, argument("LEVEL", "focus, do-not-disturb or all", parse=_parse_level)],
    within: Annotated[str | None, option("--within", "2h", "how long, at most 30d")] = None,
    until: Annotated[str | None, option("--until", "TIME", "instead of --within: a time")] = None,
    name: Annotated[str | None, _WHOSE] = None,
    json: JsonFlag = False,
) -> None:
    """
    Say what may wake an agent or disturb a person, until a time.

    With focus, only critical items wake. With do-not-disturb, nothing does. What comes meanwhile waits in the inbox,
    and wakes at that time. `set all` ends it before. Senders are told.

    Examples:
      gatepost attention set focus --within 2h --as ann
      gatepost attention set do-not-disturb --until 2026-02-20T08:00:00Z
      gatepost attention set all --as ann
    """
    with connect() as connection:
        actor = choose_actor(name, connection.configuration)
        entity = connection.send(SetAttention(name=actor, level=level, within=within, until=until))
    _print(entity, json=json)


@attention.command("show")
def show(name: Annotated[str | None, _WHOSE] = None, json: JsonFlag = False) -> None:
    """
    Show what may wake an agent or disturb a person, and what it is doing.

    Example:
      gatepost attention show --as ann
    """
    with connect() as connection:
        entity = connection.send(ShowEntity(name=choose_actor(name, connection.configuration)))
    _print(entity, json=json)


def _print(entity: EntityView, *, json: bool) -> None:
    if json:
        output.document(msgspec.to_builtins(entity))
        return
    level = entity.attention.describe() if entity.attention else AttentionLevel.ALL.value
    output.facts(("name", entity.name), ("presence", entity.presence), ("attention", level))
