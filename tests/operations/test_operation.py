"""Declarations of operations: lanes, bodies that must be sent, whom a request acts for, and reprs without secrets."""

import pytest

from gatepost.errors import Invalid, Refused
from gatepost.gates.gate_api import AddGate, ResolveGate
from gatepost.operations.access import ADMINISTRATOR, Caller, CallerKind
from gatepost.operations.decoding import get_decoder
from gatepost.operations.operation import list_operations
from gatepost.residents.agent_api import ChangeAgent, RegisterAgent


@pytest.mark.parametrize(
    ("request_", "lane"),
    [
        (AddGate(name="Sign-off", owner="analyst", made_by="husam"), "analyst"),
        (AddGate(name="Sign-off", made_by="husam"), "husam"),
        (AddGate(name="Sign-off"), ""),
    ],
)
def test_a_lane_can_name_a_field_for_one_without_a_value(request_: AddGate, lane: str) -> None:
    assert AddGate.operation.build_lane(request_) == lane


def test_a_body_can_be_required_though_none_of_its_fields_is() -> None:
    decoder = get_decoder(ResolveGate.operation)
    assert decoder.decode({"id": "gate_1"}, b"", b"{}") == ResolveGate(id="gate_1")
    with pytest.raises(Invalid, match="the body is missing"):
        decoder.decode({"id": "gate_1"}, b"", b"")


@pytest.mark.parametrize("by", [None, ""])
def test_the_administrator_who_names_nobody_acts_as_itself(by: str | None) -> None:
    bound = ResolveGate.operation.access.bind(ResolveGate(id="gate_1", by=by), ADMINISTRATOR)
    assert bound.by == "admin"


def test_an_entity_cannot_act_as_a_name_that_is_empty() -> None:
    with pytest.raises(Refused, match="cannot act as ''"):
        ResolveGate.operation.access.bind(ResolveGate(id="gate_1", by=""), Caller(CallerKind.ENTITY, "analyst"))


def test_a_repr_shows_no_secret_of_a_configuration() -> None:
    headers = {"authorization": "Bearer sk_1"}
    tool = {"name": "revenue", "execution": {"url": "https://crm.example.com", "headers": headers}}
    server = {"name": "files", "command": ["files"], "env": {"FILES_KEY": "sk_1"}}
    for request in (
        RegisterAgent(name="analyst", model="demo", tools=[tool], mcp={"servers": [server]}),
        ChangeAgent(name="analyst", model="demo", tools=[tool], mcp={"servers": [server]}),
    ):
        for text in (repr(request), str(request), repr(request.__rich_repr__())):
            assert "sk_1" not in text
            assert "analyst" in text


def test_operations_are_in_the_order_of_their_groups() -> None:
    groups = [operation.tag for operation in list_operations()]
    assert groups == sorted(groups)
