"""`gatepost person`."""

import msgspec

from gatepost.api.entities import RegisterEntity
from gatepost.api.inbox import ShowAccount
from gatepost.cli import entities, output
from gatepost.cli.connect import connect
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.plain import Json, Limit, Noun
from gatepost.core.entity import EntityKind

app = Noun(help="People: what they get waits until they say it is done.")


@app.verb("add")
def add(
    name: NewName,
    display: Display = None,
    team: Team = None,
    role: Role = None,
    alias: Alias = None,
    owner: Owner = None,
    json: Json = False,
) -> None:
    """
    Register a person: from now on they have an inbox.

    Example:
      gatepost person add husam --display "Husam"
    """
    request = RegisterEntity(
        name=name,
        kind=EntityKind.HUMAN,
        display_name=display,
        team=team,
        role=role,
        owner=owner,
        aliases=tuple(alias or ()),
    )
    with connect() as connection:
        person = connection.send(request)
    output.done(msgspec.to_builtins(person), person.name, f"registered {person.name!r}", json=json)


@app.verb("list")
def list_(team: Team = None, retired: Retired = False, limit: Limit = "1000", json: Json = False) -> None:
    """
    List the people, in order of registration.

    Example:
      gatepost person list
    """
    entities.list_(EntityKind.HUMAN, team=team, retired=retired, limit=limit, json=json)


@app.verb("show")
def show(name: Name, json: Json = False) -> None:
    """
    Show a person and the accounts of their inbox.

    Example:
      gatepost person show husam
    """
    with connect() as connection:
        person = entities.find_entity(connection, name, EntityKind.HUMAN)
        account = connection.send(ShowAccount(name=person.name))
    if json:
        output.document({**msgspec.to_builtins(person), "inbox": msgspec.to_builtins(account)})
        return
    output.facts(*entities.list_facts(person, account))


@app.verb("retire")
def retire(name: Name, json: Json = False) -> None:
    """
    Let a person receive nothing from now on. What they have stays.

    Example:
      gatepost person retire husam
    """
    entities.retire(name, EntityKind.HUMAN, json=json)
