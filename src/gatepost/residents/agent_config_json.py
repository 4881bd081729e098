"""
The configuration of a resident as a JSON document: parsed, written for people and programs, and stored.

A document is accepted as a whole or not at all. The values of headers and environment variables are secrets. They are
shown masked (`Bearer ***`), and a mask that is sent back stands for the stored secret, but only if the server is still
the same: somebody who may change a URL without knowing the secret could otherwise have it sent to themselves.
"""

import json
import re
from collections.abc import Callable, Collection, Iterable, Mapping
from functools import cache, lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from gatepost.channels.routing.rule import ROUTING
from gatepost.core.json_limits import Json
from gatepost.core.json_node import JsonNode
from gatepost.core.text import parse_field
from gatepost.core.times import HOUR, format_duration
from gatepost.errors import quote_value
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door
from gatepost.residents import agent_config as records
from gatepost.residents.capability import Capability, parse_capability

#: the built-in tools that are no operations (`residents/tools`)
CYCLE_TOOLS: Final = (
    *("enter_space", "send_message", "read_messages", "peek_inbox", "skip"),
    *("set_memories", "get_memories", "delete_memories", "set_goals", "delete_goals", "set_plans", "delete_plans"),
    "set_trigger",
)
#: skills that a configuration may name
SKILLS: Final = (ROUTING,)
#: the fields of a configuration
FIELDS: Final = (
    *("model", "description", "instructions", "tools", "mcp"),
    *("mind", "loop", "budget", "skills", "capabilities"),
)

MAX_MODEL_LENGTH: Final = 300
_MASK: Final = "***"
_KIB: Final = 1024
_MAX_INSTRUCTIONS_BYTES: Final = 64 * _KIB
_MAX_SCHEMA_BYTES: Final = 64 * _KIB
_MAX_DOCUMENT_BYTES: Final = 512 * _KIB
_MAX_URL_BYTES: Final = 2 * _KIB
_MAX_TOOLS: Final = 128
_MAX_SERVERS: Final = 16
_MAX_SECRETS: Final = 50
_MAX_TOKENS: Final = 10_000_000
_MAX_BUDGET: Final = 10**12
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROVIDERS: Final = ("openai", "anthropic", "ollama")
#: models that have no other name
_PLAIN_MODELS: Final = (records.DEMO, records.CODE, records.USER_AGENT)
_MODEL_NAME: Final = re.compile(r"[!-~]{1,200}")
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
#: a masked secret keeps the word in front of it, such as Bearer
_SECRET_SCHEME: Final = re.compile(r"([A-Za-z]{1,20}) \S+")
_MODEL_HINT: Final = (
    "write PROVIDER:NAME, such as openai:gpt-5, anthropic:NAME or ollama:NAME, or demo, which needs no key"
)


@cache
def list_built_in_tools() -> frozenset[str]:
    """Return the tools that residents have, some of them by a skill: no configured tool may have one of these names."""
    return frozenset({*CYCLE_TOOLS, *load_tools(Door.RESIDENT)})


def encode(config: records.AgentConfig) -> str:
    return json.dumps(build_document(config), ensure_ascii=True, separators=(",", ":"))


@lru_cache(maxsize=1_000)
def decode(text: str) -> records.AgentConfig:
    """Return the configuration of an encoded text. The result is cached, because every cycle asks for it."""
    return parse(json.loads(text))


def parse(
    document: Json, *, stored_config: records.AgentConfig | None = None, is_masked: bool = False
) -> records.AgentConfig:
    """
    Return the configuration of a document; raise Invalid with the first thing that is wrong. A masked secret becomes
    the stored one. If none is stored it is an error, unless the whole document is masked (`is_masked`).
    """
    JsonNode(document).json(_MAX_DOCUMENT_BYTES)
    fields = JsonNode(document).fields(*FIELDS)
    secrets = _StoredSecrets(stored_config or records.AgentConfig(), is_masked=is_masked)
    tools = tuple(_parse_tool(node, secrets) for node in fields["tools"].items(_MAX_TOOLS))
    _check_unique(fields["tools"], (tool.name for tool in tools))
    server_list = fields["mcp"].fields("servers")["servers"]
    servers = tuple(_parse_server(node, secrets) for node in server_list.items(_MAX_SERVERS))
    _check_unique(server_list, (server.name for server in servers))
    return records.AgentConfig(
        model=_parse_model(fields["model"]),
        description=fields["description"].text(4 * _KIB),
        instructions=fields["instructions"].text(_MAX_INSTRUCTIONS_BYTES),
        tools=tools,
        servers=servers,
        mind=_parse_mind(fields["mind"]),
        loop=_parse_loop(fields["loop"], None if servers else {tool.name for tool in tools}),
        budget=None if fields["budget"].is_absent else _parse_budget(fields["budget"]),
        skills=_parse_skills(fields["skills"]),
        capabilities=_parse_capabilities(fields["capabilities"]),
    )


def parse_new(document: dict[str, Any]) -> records.AgentConfig:
    """Return the configuration of an agent that becomes a resident. Capabilities alone do not make it one."""
    if document.keys() == {"capabilities"}:
        JsonNode(document, "capabilities").reject(
            "a guest has none of its own",
            hint="give it a `model` too, or set the capabilities of its role with `ledger.capabilities`",
        )
    return parse(document)


def build_document(config: records.AgentConfig) -> dict[str, Any]:
    """Return the configuration as a document, with its secrets."""
    return {
        "model": _build_model_document(config.model),
        "description": config.description,
        "instructions": config.instructions,
        "tools": [_to_json(tool) | {"timeout": format_duration(tool.timeout)} for tool in config.tools],
        "mcp": {"servers": [_to_json(server) for server in config.servers]},
        "mind": _to_json(config.mind),
        "loop": _to_json(config.loop),
        "budget": _to_json(config.budget) if config.budget is not None else None,
        "skills": list(config.skills),
        "capabilities": list(config.capabilities),
    }


def _to_json(record: Struct) -> Any:
    """Return a record as it is read from JSON, with lists in the place of tuples."""
    return msgspec.json.decode(msgspec.json.encode(record))


def replace_secrets(
    config: records.AgentConfig, transform: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> records.AgentConfig:
    """Return the configuration with transformed secrets: the headers and environments of its tools and servers."""
    tools = (
        replace(tool, request=replace(tool.request, headers=transform(tool.request.headers)) if tool.request else None)
        for tool in config.tools
    )
    servers = (
        replace(server, headers=transform(server.headers), env=transform(server.env)) for server in config.servers
    )
    return replace(config, tools=tuple(tools), servers=tuple(servers))


def _parse_model(node: JsonNode) -> records.ModelChoice:
    """Return the model of a document, which is an object or only a name."""
    if node.is_absent or isinstance(node.value, str):
        return records.ModelChoice(name=_parse_model_name(node, None)) if not node.is_absent else records.ModelChoice()
    if not isinstance(node.value, dict):
        node.reject_value("is neither text nor an object", hint=_MODEL_HINT)
    fields = node.fields("provider", "name", "model", "temperature", "maxTokens", "baseUrl", "keyEnv", "fallback")
    if not fields["name"].is_absent and not fields["model"].is_absent:
        fields["model"].reject_value("is a second name", hint="give name or model, not both")
    name_node = fields["name"] if not fields["name"].is_absent else fields["model"]
    provider = fields["provider"].text(100) or None
    base_url = None if fields["baseUrl"].is_absent else _parse_url(fields["baseUrl"])
    if provider is not None and provider not in (*_PROVIDERS, *_PLAIN_MODELS):
        fields["provider"].reject_value("is not a provider", hint=f"use {', '.join(_PROVIDERS)} or {records.DEMO}")
    if provider is None and base_url is not None and ":" not in str(name_node.value):
        provider = "openai"
    key_env = fields["keyEnv"].text(100) or None
    if key_env is not None and not _VARIABLE_NAME.fullmatch(key_env):
        fields["keyEnv"].reject("this is not the name of an environment variable", hint="the key itself stays there")
    return records.ModelChoice(
        name=_parse_model_name(name_node, provider),
        base_url=base_url,
        key_env=key_env,
        temperature=None if fields["temperature"].is_absent else fields["temperature"].number(0, 2),
        max_tokens=None if fields["maxTokens"].is_absent else fields["maxTokens"].whole(1, _MAX_TOKENS),
        fallback=None if fields["fallback"].is_absent else _parse_model_name(fields["fallback"], None),
    )


def _parse_model_name(node: JsonNode, provider: str | None) -> str:
    """Return `PROVIDER:NAME`; `demo`, `code` and `user-agent` have no name."""
    text = node.text(MAX_MODEL_LENGTH)
    if provider in _PLAIN_MODELS and text in ("", provider):
        return provider
    if provider is None and text in _PLAIN_MODELS:
        return text
    head, _, tail = f"{provider}:{text}".partition(":") if provider is not None else text.partition(":")
    if not text:
        node.reject("the model has no name", hint=_MODEL_HINT)
    if head not in _PROVIDERS or not _MODEL_NAME.fullmatch(tail):
        node.reject_value("is not a model", hint=_MODEL_HINT)
    return f"{head}:{tail}"


def _build_model_document(model: records.ModelChoice) -> dict[str, Any]:
    provider, _, name = model.name.partition(":")
    return {
        "provider": provider,
        "name": name or provider,
        "temperature": model.temperature,
        "maxTokens": model.max_tokens,
        "baseUrl": model.base_url,
        "keyEnv": model.key_env,
        "fallback": model.fallback,
    }


def _parse_tool(node: JsonNode, secrets: "_StoredSecrets") -> records.Tool:
    fields = node.fields(*records.Tool.__struct_encode_fields__)
    name = _parse_name(fields["name"], "tool")
    if name in list_built_in_tools():
        fields["name"].reject_value("is a built-in tool", hint="give yours another name")
    default_execution = records.Execution.EXTERNAL if fields["execution"].is_absent else records.Execution.GATEWAY
    execution = records.Execution(fields["executionType"].choice(*records.Execution, default=default_execution))
    if execution is not records.Execution.GATEWAY and not fields["execution"].is_absent:
        fields["executionType"].reject_value(
            "tools have no `execution`", hint="leave it out, or make it a gateway tool"
        )
    default_tool = records.Tool(name=name)
    return records.Tool(
        name=name,
        description=fields["description"].text(4 * _KIB),
        schema=_parse_schema(fields["inputSchema"]),
        execution=execution,
        visible=fields["visible"].flag(default=execution is not records.Execution.INTERNAL),
        is_async=fields["async"].flag(default=False),
        timeout=fields["timeout"].duration(HOUR, default=default_tool.timeout),
        request=_parse_request(fields["execution"], secrets, name) if execution is records.Execution.GATEWAY else None,
    )


def _parse_name(node: JsonNode, noun: str) -> str:
    name = node.text(_KIB)
    if not _TOOL_NAME.fullmatch(name):
        node.reject_value(f"is not the name of a {noun}", hint="use up to 64 letters, digits, dashes and underscores")
    return name


def _parse_schema(node: JsonNode) -> Json:
    if node.is_absent:
        return records.Tool(name="").schema
    if not isinstance(node.value, dict) or node.value.get("type") != "object":
        node.reject_value("is not the schema of an object", hint='write {"type": "object", "properties": {...}}')
    if not isinstance(node.value.get("properties", {}), dict):
        node.reject_value("has `properties` that are no object")
    return node.json(_MAX_SCHEMA_BYTES)


def _parse_request(node: JsonNode, secrets: "_StoredSecrets", tool: str) -> records.ToolRequest:
    fields = node.fields(*records.ToolRequest.__struct_encode_fields__)
    if fields["url"].is_absent:
        fields["url"].reject("a gateway tool needs one", hint="say where it is called, or make it an external tool")
    url = _parse_url(fields["url"])
    return records.ToolRequest(
        url=url,
        method=fields["method"].choice(*_METHODS, default="POST"),
        headers=secrets.read(fields["headers"], _HEADER_NAME, "tool", tool, _find_server(url)),
        body=fields["body"].json(_MAX_SCHEMA_BYTES),
    )


def _parse_url(node: JsonNode) -> str:
    """Return the URL. Its host must be fixed: arguments of a tool do not decide which server is called."""
    text = node.text(_MAX_URL_BYTES)
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        server = parts.netloc
    except ValueError:
        is_usable, server = False, ""
    if "@" in server:
        node.reject("the URL has a name or a password in it", hint="send them in a header")
    if not is_usable or not text.isprintable() or " " in text:
        node.reject_value("is not a URL", hint="it begins with https:// or http://")
    if "{" in server:
        node.reject_value("leaves it open who is called", hint="write the host as it is")
    return text


def _parse_server(node: JsonNode, secrets: "_StoredSecrets") -> records.ToolServer:
    fields = node.fields(*records.ToolServer.__struct_encode_fields__)
    name = _parse_name(fields["name"], "server")
    command = tuple(argument.text(4 * _KIB) for argument in fields["command"].items(100))
    if bool(command) is not fields["url"].is_absent or (command and not command[0]):
        node.reject("a server has either a `url` or a `command`", hint='such as ["npx", "some-server"]')
    url = None if fields["url"].is_absent else _parse_url(fields["url"])
    place = (name, _find_server(url), command)
    return records.ToolServer(
        name=name,
        url=url,
        headers=secrets.read(fields["headers"], _HEADER_NAME, "headers", *place),
        command=command,
        env=secrets.read(fields["env"], _VARIABLE_NAME, "env", *place),
    )


def _parse_mind(node: JsonNode) -> records.MindRules:
    fields, defaults = node.fields(*records.MindRules.__struct_encode_fields__), records.MindRules()
    tokens, recent = fields["maxTokens"], fields["minRecentCycles"]
    return records.MindRules(
        max_tokens=defaults.max_tokens if tokens.is_absent else tokens.whole(1_000, _MAX_TOKENS),
        min_recent_cycles=defaults.min_recent_cycles if recent.is_absent else recent.whole(1, 1_000),
    )


def _parse_loop(node: JsonNode, own_tools: Collection[str] | None) -> records.LoopRules:
    """How far a cycle may go. Where servers bring tools of their own, nobody knows yet which there are."""
    fields, defaults = node.fields(*records.LoopRules.__struct_encode_fields__), records.LoopRules()
    phases: list[records.Phase] = []
    for phase_node in fields["phases"].items(20):
        phase_fields = phase_node.fields(*records.Phase.__struct_encode_fields__)
        step = phase_fields["step"].whole(1, 200)
        if phases and step <= phases[-1].step:
            phase_fields["step"].reject_value("is not after the phase before", hint="write the phases in order")
        names = [(name, name.text(64)) for name in phase_fields["tools"].items(_MAX_TOOLS + len(list_built_in_tools()))]
        for name_node, name in names:
            is_known = own_tools is None or name in own_tools or name in list_built_in_tools()
            if not _TOOL_NAME.fullmatch(name) or not is_known:
                name_node.reject_value("is not a tool of this agent")
        phases.append(records.Phase(step=step, tools=tuple(name for _, name in names)))
    steps, calls, tokens = fields["maxSteps"], fields["maxCalls"], fields["maxTokens"]
    return records.LoopRules(
        max_steps=defaults.max_steps if steps.is_absent else steps.whole(1, 200),
        max_calls=defaults.max_calls if calls.is_absent else calls.whole(1, 1_000),
        max_tokens=defaults.max_tokens if tokens.is_absent else tokens.whole(100, _MAX_TOKENS),
        phases=tuple(phases),
    )


def _parse_budget(node: JsonNode) -> records.Budget:
    fields = node.fields(*records.Budget.__struct_encode_fields__)
    tokens, cycles = fields["tokens"], fields["cycles"]
    if tokens.is_absent and cycles.is_absent:
        node.reject("a budget has `tokens`, `cycles` or both", hint='such as {"tokens": 1000000, "per": "day"}')
    per = fields["per"].choice("hour", "day", default="day")
    return records.Budget(
        tokens=None if tokens.is_absent else tokens.whole(1, _MAX_BUDGET),
        cycles=None if cycles.is_absent else cycles.whole(1, _MAX_BUDGET),
        per="hour" if per == "hour" else "day",
    )


def _parse_skills(node: JsonNode) -> tuple[str, ...]:
    skills = [skill_node.choice(*SKILLS, default="") for skill_node in node.items(len(SKILLS))]
    return tuple(skill for skill in dict.fromkeys(skills) if skill)


def _parse_capabilities(node: JsonNode) -> tuple[int, ...]:
    codes = [_parse_capability(code_node) for code_node in node.items(len(Capability))]
    return tuple(sorted(set(codes)))


def _parse_capability(node: JsonNode) -> int:
    if not isinstance(node.value, str | int) or isinstance(node.value, bool):
        node.reject_value("is not a capability", hint="use a code, or a name such as code-generation")
    return parse_field(node.path, node.value, parse_capability)


def _check_unique(node: JsonNode, names: Iterable[str]) -> None:
    seen_names: set[str] = set()
    for name in names:
        if name in seen_names:
            node.reject(f"two of them are called {name!r}")
        seen_names.add(name)


class _StoredSecrets:
    """The secrets of the stored configuration, by their place: the name and the server of a tool or a server."""

    def __init__(self, stored_config: records.AgentConfig, *, is_masked: bool) -> None:
        self._is_masked = is_masked
        self._secrets: dict[tuple[object, ...], Mapping[str, str]] = {}
        for tool in stored_config.tools:
            if tool.request:
                self._secrets["tool", tool.name, _find_server(tool.request.url)] = tool.request.headers
        for server in stored_config.servers:
            place = (server.name, _find_server(server.url), server.command)
            self._secrets |= {("headers", *place): server.headers, ("env", *place): server.env}

    def read(self, node: JsonNode, name_pattern: re.Pattern[str], *place: object) -> dict[str, str]:
        """Return the secrets of a document by name; a mask stands for the stored one. No error quotes a secret."""
        if not isinstance(node.value, dict | None):
            node.reject("this is not an object", hint='write {"NAME": "value"}')
        stored_secrets = self._secrets.get(place, {})
        secrets: dict[str, str] = {}
        for name, secret in node.members(_MAX_SECRETS):
            if not name_pattern.fullmatch(name):
                node.reject(f"{quote_value(name)} is not a name for it")
            if not isinstance(secret.value, str) or not (secret.value.isprintable() and secret.value.isascii()):
                secret.reject("its value is not printable ASCII text")
            secrets[name] = text = secret.text(8 * _KIB)
            if not self._is_masked and mask(text) == text:
                if name not in stored_secrets or mask(stored_secrets[name]) != text:
                    secret.reject_value("stands for a secret that is not known here", hint="send the value itself")
                secrets[name] = stored_secrets[name]
        return secrets


def _find_server(url: str | None) -> tuple[str, str] | None:
    """Return the server of a URL."""
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def mask(secret: str) -> str:
    """Return what is shown of a secret: that there is one, and the word in front of it."""
    match = _SECRET_SCHEME.fullmatch(secret)
    return f"{match[1]} {_MASK}" if match else _MASK


def mask_secrets(secrets: Mapping[str, str]) -> dict[str, str]:
    """Return what everybody may see of secrets."""
    return {name: mask(secret) for name, secret in secrets.items()}
