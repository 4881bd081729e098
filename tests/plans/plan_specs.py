"""Plans to set, from the JSON that a request has."""

import json
from collections.abc import Mapping
from typing import Any

from gatepost.operations.decoding import get_decoder
from gatepost.plans.api import CreatePlan
from gatepost.plans.handlers import build_spec
from gatepost.plans.plan import PlanSpec


def parse_spec(fields: Mapping[str, Any]) -> PlanSpec:
    """Return the spec of a plan to make or, with an id, to change; raise Invalid if a request would be refused."""
    body = {name: value for name, value in fields.items() if name != "id"}
    request = get_decoder(CreatePlan.operation).decode_json(json.dumps(body).encode())
    assert isinstance(request, CreatePlan)
    return build_spec(request, fields.get("id"))
