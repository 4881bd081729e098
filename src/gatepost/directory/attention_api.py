"""Attention: what may wake an agent or disturb a person, until a time."""

from typing import Annotated

from gatepost.core.times import parse_duration, parse_instant
from gatepost.directory.attention import AttentionLevel
from gatepost.directory.entity_api import EntityView
from gatepost.errors import NotFound, Refused
from gatepost.operations.access import NamedEntityOrOwner
from gatepost.operations.fields import Parse, describe
from gatepost.operations.operation import Request, write
from gatepost.operations.tool import Tool

#: the group of these operations in OpenAPI
TAG = "entities"


@write(
    "PUT /api/entities/{name}/attention",
    access=NamedEntityOrOwner("name"),
    needs_disk_space=False,
    lane="{name}",
    errors=(NotFound, Refused),
    example={"level": "focus", "within": "2h"},
    tool=Tool(
        name="set_attention",
        title="Say what may wake you",
        description="Say what may wake you for a while; the rest waits in your inbox.",
        answer=("attention",),
        own=("name",),
        hidden=("until",),
    ),
)
class SetAttention(Request[EntityView]):
    """
    Say what may wake an agent, or notify a person, until a time. What comes meanwhile waits in the inbox, and wakes at
    that time. An agent or a person says it for itself; its owner may, too.
    """

    name: str
    level: Annotated[
        AttentionLevel, describe("focus: only critical items wake; do_not_disturb: nothing wakes; all: everything")
    ]
    within: Annotated[str | None, describe("how long, such as 2h; at most 30d"), Parse(parse_duration)] = None
    until: Annotated[str | None, describe("instead of `within`: a time"), Parse(parse_instant)] = None
