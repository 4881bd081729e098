"""
Find the names and aliases that a request acts for, in the transaction that answers it. `operations/access.py` says who
may ask for an operation.
"""

from typing import Any, TypeVar

from msgspec.structs import replace

from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory
from gatepost.operations import access
from gatepost.operations.access import Caller
from gatepost.operations.operation import Request

Q = TypeVar("Q", bound=Request[Any])


def authorize_names(tx: Reader, request: Q, caller: Caller) -> Q:
    """
    Return the request with the name of the entity in the place of a name or alias that its rule is about. For an entity
    all others are refused alike, whether they exist or not: a credential does not tell its holder which names exist.
    The owner of an agent may name it where it only reads, or says what may wake it.
    """
    rule = request.operation.access
    if not rule.names_other(request, caller):
        return request
    name = getattr(request, rule.field)
    if not caller.is_administrator:
        entity = directory.find_or_none(tx, name)
        is_owner = entity is not None and isinstance(rule, access.NamedEntityOrOwner) and entity.owner == caller.name
        if entity is None or (entity.name != caller.name and not is_owner):
            raise caller.build_refusal(name)
        own_name = entity.name
    elif isinstance(rule, access.NamedEntity):
        own_name = directory.find(tx, name).name
    else:
        own_name = directory.require_agent(directory.find_live(tx, name)).name
    return request if name == own_name else replace(request, **{rule.field: own_name})
