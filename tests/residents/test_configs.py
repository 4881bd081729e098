"""Configurations come back as they were, keep their secrets, and are refused only in one way."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from gatepost.errors import Invalid
from gatepost.residents import agent_config_json as agent_config
from gatepost.residents.agent_config import AgentConfig, Execution, ModelChoice
from tests.residents.configs import configs
from tests.support import texts

TOOL = {"name": "weather", "execution": {"url": "https://example.com/{city}"}}


@given(configs())
def test_what_is_written_is_read_as_it_was(resident_config: AgentConfig) -> None:
    assert agent_config.parse(agent_config.build_document(resident_config)) == resident_config
    assert agent_config.decode(agent_config.encode(resident_config)) == resident_config
    assert agent_config.encode(resident_config).isascii()


@given(configs())
def test_secrets_are_masked_and_a_mask_sent_back_stands_for_them(resident_config: AgentConfig) -> None:
    masked_document = agent_config.build_document(
        agent_config.replace_secrets(resident_config, agent_config.mask_secrets)
    )
    secret_maps = [*(tool.request.headers for tool in resident_config.tools if tool.request)]
    secret_maps += [secrets for server in resident_config.mcp.servers for secrets in (server.headers, server.env)]
    masked_maps = [entry["execution"]["headers"] for entry in masked_document["tools"] if entry["execution"]]
    masked_maps += [
        secrets for entry in masked_document["mcp"]["servers"] for secrets in (entry["headers"], entry["env"])
    ]
    assert [list(secrets) for secrets in masked_maps] == [list(secrets) for secrets in secret_maps]
    assert all(value in ("***", "Bearer ***", "Basic ***") for secrets in masked_maps for value in secrets.values())
    assert agent_config.parse(masked_document, stored_config=resident_config) == resident_config
    masked_config = agent_config.parse(masked_document, is_masked=True)
    assert (
        agent_config.build_document(agent_config.replace_secrets(masked_config, agent_config.mask_secrets))
        == masked_document
    )
    if any(secret_maps):
        with pytest.raises(Invalid, match="secret"):
            agent_config.parse(masked_document)
        with pytest.raises(Invalid, match="secret"):
            agent_config.parse(masked_document, stored_config=AgentConfig())


@given(configs(), st.data())
def test_whatever_is_wrong_is_said_in_one_way(resident_config: AgentConfig, data: st.DataObject) -> None:
    """Any value of a good document replaced by another one is read, or refused in a sentence; so is any JSON."""
    document = json.loads(agent_config.encode(resident_config))
    places = list(_find_places(document))
    holder, name = data.draw(st.sampled_from(places))
    holder[name] = data.draw(texts.values | st.just(float("nan")) | st.just("***"))
    for value in (document, data.draw(texts.values)):
        parsed, message = _parse_or_message(value)
        assert parsed is None or agent_config.decode(agent_config.encode(parsed)) == parsed
        assert "\n" not in message


@pytest.mark.parametrize(
    ("document", "message", "hint"),
    [
        ({"instrutions": ""}, "'instrutions' is not a field of the configuration", "did you mean 'instructions'?"),
        ({"tools": [TOOL, {"name": "x", "tmeout": 1}]}, "'tmeout' is not a field of tools[1]", "'timeout'"),
        ({"tools": [TOOL, {"name": "x", "timeout": "-3s"}]}, "tools[1].timeout: '-3s' is not a duration", "90s"),
        ({"tools": [{"name": "x", "timeout": 3_600_001}]}, "tools[0].timeout: 3600001 is not", "at most 1h"),
        ({"tools": [{"name": "send_message"}]}, "tools[0].name: 'send_message' is a built-in tool", "another name"),
        ({"tools": [{"name": "no spaces"}]}, "tools[0].name: 'no spaces'", "64"),
        ({"tools": [TOOL, TOOL]}, "tools: two of them are called 'weather'", None),
        ({"tools": [{"name": str(n)} for n in range(129)]}, "tools: a list has more than 128 members", None),
        ({"tools": {"a": "sk_1"}}, "tools: an object is not a list", None),
        ({"tools": [{"name": "x", "executionType": "gateway"}]}, "tools[0].execution: a gateway tool needs one", "url"),
        ({"tools": [TOOL | {"executionType": "space"}]}, "tools[0].executionType: 'space'", "gateway"),
        ({"tools": [{"name": "x", "execution": {"url": "ftp://x"}}]}, "tools[0].execution.url: 'ftp://x'", "https"),
        ({"tools": [{"name": "x", "execution": {"url": "https://{h}/"}}]}, "tools[0].execution.url", "host"),
        ({"tools": [{"name": "x", "inputSchema": {"type": "array"}}]}, "tools[0].inputSchema: an object", "object"),
        ({"model": "gpt-5"}, "model: 'gpt-5' is not a model", "openai:gpt-5"),
        ({"model": "openia:gpt-5"}, "model: 'openia:gpt-5' is not a model", "openai:gpt-5"),
        ({"model": {"provider": "x", "name": "y"}}, "model.provider: 'x' is not a provider", "openai"),
        ({"model": {"name": "a:b", "model": "c"}}, "model.model: 'c'", "not both"),
        ({"model": {"name": "demo", "temperature": 3}}, "model.temperature: 3", "0 to 2"),
        ({"model": {"provider": "openai"}}, "model.model: the model has no name", "demo"),
        ({"loop": {"maxSteps": 0}}, "loop.maxSteps: 0", "1 to 200"),
        ({"loop": {"maxSteps": True}}, "loop.maxSteps: true", "1 to 200"),
        ({"budget": {"per": "day"}}, "budget: a budget has", "tokens"),
        ({"budget": {"tokens": 0}}, "budget.tokens: 0", "1 to"),
        ({"budget": {"cycles": 1.5}}, "budget.cycles: 1.5", "1 to"),
        ({"budget": {"cycles": 1, "per": "week"}}, "budget.per: 'week' is not one of day, hour", None),
        ({"loop": {"maxCalls": 0}}, "loop.maxCalls: 0", "1 to 1000"),
        ({"loop": {"phases": [{"step": 1, "tools": ["nope"]}]}}, "loop.phases[0].tools[0]: 'nope'", None),
        ({"loop": {"phases": [{"step": 2, "tools": []}] * 2}}, "loop.phases[1].step: 2", "order"),
        ({"mcp": {"servers": [{"name": "x"}]}}, "mcp.servers[0]: a server has either", "npx"),
        ({"instructions": "x" * 65_537}, "instructions: 'xxx", None),
        ({"instructions": "a\x00b"}, "instructions: 'a\\x00b' has a NUL character in it", None),
        ({"capabilities": 4}, "capabilities: 4 is not a list", None),
        ({"capabilities": [4, 19]}, "capabilities[1]: 19 is not a capability", "0 to 18"),
        ({"capabilities": [True]}, "capabilities[0]: true is not a capability", "code-generation"),
        ({"capabilities": ["code-generatoin"]}, "capabilities[0]: 'code-generatoin' is not", "'code-generation'?"),
        ({"capabilities": [0] * 20}, "capabilities: 20 are too many", "19"),
    ],
)
def test_an_error_names_the_place_and_the_fix(document: Any, message: str, hint: str | None) -> None:
    with pytest.raises(Invalid) as raised:
        agent_config.parse(document)
    assert raised.value.message.startswith(message)
    assert (hint or "") in (raised.value.hint or "")


@pytest.mark.parametrize(
    "document",
    [
        {"tools": [{"name": "x", "execution": {"url": "https://user:sk_1@example.com/"}}]},
        {"tools": [{"name": "x", "execution": {"url": "https://x", "headers": ["Authorization", "sk_1"]}}]},
        {"tools": [{"name": "x", "execution": {"url": "https://x", "headers": {"a": "sk_1\n"}}}]},
        {"tools": [{"name": "x", "execution": {"url": "https://x", "headers": {"a": {"b": "sk_1"}}}}]},
        {"tools": {"execution": {"headers": {"a": "sk_1"}}}},
        {"mcp": {"servers": [{"name": "x", "command": ["x"], "env": {"a b": "sk_1"}}]}},
        {"model": {"name": "openai:x", "keyEnv": "sk-1 sk_1"}},
    ],
)
def test_no_error_tells_a_secret(document: Any) -> None:
    with pytest.raises(Invalid) as raised:
        agent_config.parse(document)
    assert "sk_1" not in f"{raised.value.message} {raised.value.hint}"


def test_capabilities_are_codes_or_names_and_are_kept_as_codes() -> None:
    document = {"capabilities": ["workflow-automation", 4, "4", "Code Generation"]}
    config = agent_config.parse(document)
    assert config.capabilities == (4, 18)
    assert agent_config.build_document(config)["capabilities"] == [4, 18]
    assert agent_config.decode('{"skills": ["routing"]}').capabilities == (), "stored before skills were of the agent"


def test_short_forms() -> None:
    assert agent_config.parse({}) == agent_config.parse(None) == AgentConfig()
    assert agent_config.parse({"model": "ollama:llama3:8b"}).model == ModelChoice(name="ollama:llama3:8b")
    assert agent_config.parse({"model": {"provider": "demo"}}).model == ModelChoice(name="demo")
    local_model = {"model": "qwen", "baseUrl": "http://127.0.0.1:8000/v1"}
    assert agent_config.parse({"model": local_model}).model.name == "openai:qwen"
    [weather] = agent_config.parse({"tools": [TOOL]}).tools
    assert weather.execution is Execution.GATEWAY
    assert weather.request is not None
    assert weather.request.method == "POST"
    [outside_tool] = agent_config.parse({"tools": [{"name": "x", "timeout": 1_500}]}).tools
    assert (outside_tool.execution, outside_tool.timeout) == (Execution.EXTERNAL, 1_500_000)


def _parse_or_message(document: Any) -> tuple[AgentConfig | None, str]:
    try:
        return agent_config.parse(document), ""
    except Invalid as error:
        return None, error.message


def _find_places(value: Any) -> Any:
    """Every field and element, as what holds it and its name there."""
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        yield value, name
        if isinstance(inner, dict | list):
            yield from _find_places(inner)
