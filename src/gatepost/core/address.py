"""
The address of a recipient.

An address is a name or an alias, `*` (also `ALL`: every agent), `team:NAME` or `team:NAME/ROLE`. Parsing checks the
form only; `directory/entity_actions.py` finds out which entities have it.
"""

import re
from typing import Final

from msgspec import Struct

from gatepost.errors import Invalid, quote_value

MAX_NAME_LENGTH: Final = 63
MAX_ALIAS_LENGTH: Final = 128
#: of any address; the longest is a role in a team
MAX_LENGTH: Final = len("team:/") + 2 * MAX_NAME_LENGTH

_EVERY_AGENT: Final = ("*", "ALL")
_NAME: Final = re.compile(rf"[a-z0-9][a-z0-9._-]{{0,{MAX_NAME_LENGTH - 1}}}")
_ALIAS: Final = re.compile(rf"[A-Za-z0-9][A-Za-z0-9._:@-]{{0,{MAX_ALIAS_LENGTH - 1}}}")


class EntityAddress(Struct, frozen=True):
    """One entity, by its name or one of its aliases."""

    name: str

    def __str__(self) -> str:
        return self.name


class TeamAddress(Struct, frozen=True):
    """Every live member of a team, or only members with one role."""

    team: str
    role: str | None = None

    def __str__(self) -> str:
        return f"team:{self.team}/{self.role}" if self.role else f"team:{self.team}"


class AllAgentsAddress(Struct, frozen=True):
    """Every live agent, each agent once."""

    def __str__(self) -> str:
        return "*"


Address = EntityAddress | TeamAddress | AllAgentsAddress


def check_name(text: str, label: str = "name") -> str:
    """Return the text if it can be the name of an entity, a team or a role."""
    if not _NAME.fullmatch(text):
        similar_name = re.sub(r"[^a-z0-9._-]+", "-", text.lower()).strip("._-")
        example = f", such as {similar_name!r}" if _NAME.fullmatch(similar_name) else ""
        raise Invalid(
            f"{quote_value(text)} is not {'an' if label.startswith('id') else 'a'} {label}",
            hint=f"use up to {MAX_NAME_LENGTH} lower-case letters, digits, dots, dashes and underscores, "
            f"a letter or digit first{example}",
        )
    if text == "all":
        raise Invalid(f"{text!r} cannot be a {label}: it reads as the address of every agent")
    return text


def check_alias(text: str) -> str:
    """Return the text if it can be an alias (a bead id, an account id)."""
    if not _ALIAS.fullmatch(text) or text.lower() == "all" or text.startswith("team:"):
        raise Invalid(
            f"{quote_value(text)} is not an alias", hint="use letters, digits and . _ : @ - and not team: or ALL"
        )
    return text


def parse(text: str) -> Address:
    """Return the address that the text says; raise Invalid if it is none."""
    if text in _EVERY_AGENT:
        return AllAgentsAddress()
    if text.startswith("team:"):
        team, slash, role = text.removeprefix("team:").partition("/")
        return TeamAddress(check_name(team, "name of a team"), check_name(role, "name of a role") if slash else None)
    if not _ALIAS.fullmatch(text):
        raise Invalid(
            f"{quote_value(text)} is not an address",
            hint="use the name or an alias of an agent or person, team:NAME, team:NAME/ROLE, or * for every agent",
        )
    return EntityAddress(text)


def is_team(text: str) -> bool:
    """Return True if the text is, or would be, the address of a team."""
    return text.startswith("team:")


def check_entity_address(text: str) -> str:
    """Return the text if it can be the name or an alias of one entity."""
    if is_team(text) or text in _EVERY_AGENT:
        raise Invalid(f"{quote_value(text)} is not one entity", hint="give the name of one agent or person")
    if not _ALIAS.fullmatch(text):
        raise Invalid(f"{quote_value(text)} is not a name", hint="give the name or an alias of an agent or person")
    return text
