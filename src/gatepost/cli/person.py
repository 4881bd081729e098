"""`gatepost person`."""

from gatepost.actions.directory import EntitySpec
from gatepost.cli import entities, here, output
from gatepost.cli.entities import Alias, Display, Name, NewName, Owner, Retired, Role, Team
from gatepost.cli.here import Json, Limit
from gatepost.cli.plain import Noun
from gatepost.core import wire
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
    newcomer = EntitySpec(
        name=name, kind=EntityKind.HUMAN, display=display, team=team, role=role, owner=owner, aliases=alias or ()
    )
    with here.opened() as place:
        entity = entities.register(place, newcomer)
    output.done(wire.write_entity(entity), entity.name, f"registered {entity.name!r}", json=json)


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
    with here.opened() as place:
        entity = entities.expect(place.entity(name), EntityKind.HUMAN)
        account = entities.account_of(place, entity)
    if json:
        output.document(wire.write_entity(entity) | {"inbox": wire.write_account(account)})
        return
    output.facts(*entities.facts(entity, account))


@app.verb("retire")
def retire(name: Name, json: Json = False) -> None:
    """
    Let a person receive nothing from now on. What they have stays.

    Example:
      gatepost person retire husam
    """
    entities.retire(name, EntityKind.HUMAN, json=json)
