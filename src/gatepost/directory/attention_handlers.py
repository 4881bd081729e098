"""Attention of entities."""

from gatepost.core.ports import Transaction
from gatepost.directory import attention_actions as attention, attention_api as api
from gatepost.directory.entity_api import EntityView
from gatepost.directory.entity_handlers import view_entity
from gatepost.operations.access import Caller
from gatepost.operations.fields import parse_fields


@api.SetAttention.handler
def set_attention(tx: Transaction, request: api.SetAttention, caller: Caller) -> EntityView:
    fields = parse_fields(request)
    length = fields.pop("within")
    return view_entity(tx, attention.set_attention(tx, **fields, length=length))
