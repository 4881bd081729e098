"""The events of streams are declared once; whatever reads or describes them follows that list."""

import subprocess
import sys
from pathlib import Path

import jsonschema_rs
import msgspec
import pytest

from gatepost.core.signals import Topic
from gatepost.gateway.streams.event_models import CONTROL_EVENTS, EVENTS, TriggerChangeView, build_frame, encode_entry
from gatepost.gateway.streams.frames import GATE_EVENTS
from gatepost.residents.runs.run import RunStatus
from gatepost.residents.stream_api import AgentActivityView, MessageDeltaView
from tests.support.gateways.local_gateways import build_openapi, list_operations

ROOT = Path(__file__).parents[3]
ACTIVITY = AgentActivityView(agent="ann", agent_name="Ann", run_id="run_1")
DELTA = MessageDeltaView(stream_id="run_1/2.0", run_id="run_1", agent="ann", space_id="q4", delta="Hel")


def test_a_frame_has_the_fields_of_its_model() -> None:
    assert build_frame(Topic("agent", "ann"), "agent.active", ACTIVITY).data == {
        "agent": "ann",
        "agentName": "Ann",
        "runId": "run_1",
    }
    assert build_frame(Topic("space", "q4"), "space.message.streaming", DELTA).data == {
        "phase": "delta",
        "streamId": "run_1/2.0",
        "runId": "run_1",
        "agent": "ann",
        "spaceId": "q4",
        "delta": "Hel",
    }


def test_what_is_not_declared_is_not_sent() -> None:
    with pytest.raises(TypeError, match=r"agent\.active has no TriggerChangeView"):
        build_frame(Topic("agent", "ann"), "agent.active", TriggerChangeView(name="nightly"))
    with pytest.raises(TypeError, match=r"space\.message has no AgentActivityView"):
        encode_entry("space.message", ACTIVITY)
    with pytest.raises(KeyError):
        build_frame(Topic("agent", "ann"), "agent.asleep", ACTIVITY)


def test_every_end_of_a_run_and_every_gate_is_an_event() -> None:
    assert {f"run.{status}" for status in RunStatus if status is not RunStatus.RUNNING} <= EVENTS.keys()
    assert set(GATE_EVENTS) <= EVENTS.keys()


def test_openapi_has_every_event_with_the_schema_of_its_data() -> None:
    schemas = build_openapi()["components"]["schemas"]
    choices = {choice["properties"]["event"]["const"]: choice for choice in schemas["Streamed"]["oneOf"]}
    assert choices.keys() == EVENTS.keys() | CONTROL_EVENTS.keys()
    for event, models in {**EVENTS, **CONTROL_EVENTS}.items():
        schema = choices[event]["properties"]["data"]["contentSchema"]
        references = [choice["$ref"] for choice in schema.get("anyOf", [schema])]
        names = [reference.rpartition("/")[2] for reference in references]
        assert names == [model.__name__.removesuffix("View") for model in models]
        assert set(names) <= schemas.keys()
    streams = [operation for operation in list_operations().values() if "text/event-stream" in str(operation)]
    assert len(streams) == 6


def test_an_event_of_a_stream_is_one_of_the_choices() -> None:
    text = msgspec.json.encode(build_openapi()["components"]["schemas"]).replace(b"#/components/schemas/", b"#/$defs/")
    definitions = msgspec.json.decode(text)
    validator = jsonschema_rs.validator_for({"$ref": "#/$defs/Streamed", "$defs": definitions})
    assert validator.is_valid({"event": "agent.active", "data": "{}"})
    assert not validator.is_valid({"event": "agent.asleep", "data": "{}"})


def test_a_drift_of_the_typescript_client_is_found(tmp_path: Path) -> None:
    program = f"""
import sys
from pathlib import Path
from gatepost.gateway.streams import event_models
event_models.EVENTS["agent.asleep"] = event_models.EVENTS["agent.active"]
sys.path.insert(0, {str(ROOT)!r})
from tools import typescript
sys.exit(typescript.main(["--check"]))
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert result.returncode == 1
    assert "events.ts is not up to date" in result.stderr
    assert '+  "agent.asleep": AgentActivity;' in result.stderr
