"""
The configuration of a resident as a JSON document: parsed, written for people and programs, and stored.

A document is accepted as a whole or not at all. The types of its fields are in `residents/agent_config.py`; short forms
are written out before they are applied. The values of headers and environment variables are secrets. They are shown
masked (`Bearer ***`), and a mask that is sent back stands for the stored secret, but only if the server is still the
same: somebody who may change a URL without knowing the secret could otherwise have it sent to themselves.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, lru_cache
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

import msgspec
from msgspec.structs import replace

from gatepost.channels.skills import ROUTING
from gatepost.core import json_limits
from gatepost.core.json_limits import Json
from gatepost.core.text import parse_field
from gatepost.core.times import HOUR, Duration, format_duration, parse_duration
from gatepost.errors import Invalid, quote_value
from gatepost.operations import validation
from gatepost.operations.operation_tool import load_tools
from gatepost.operations.tool import Door
from gatepost.residents import agent_config as records
from gatepost.residents.capability import Capability, parse_capability
from gatepost.telemetry import hide_secrets

#: the built-in tools that are no operations (`residents/tools`)
CYCLE_TOOLS: Final = (
    *("enter_space", "send_message", "read_messages", "peek_inbox", "skip"),
    *("set_memories", "get_memories", "delete_memories", "set_goals", "delete_goals", "set_plans", "delete_plans"),
    "set_trigger",
)
#: skills that an agent may have
SKILLS: Final = (ROUTING,)
#: the fields of a configuration
FIELDS: Final = records.AgentConfig.__struct_encode_fields__

MAX_MODEL_LENGTH: Final = 300
_MASK: Final = "***"
_MAX_JSON_BYTES: Final = 64 * 1024
_MAX_SECRET_LENGTH: Final = 8 * 1024
_MAX_URL_LENGTH: Final = 2 * 1024

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
    document = json.loads(text)
    document.pop("skills", None)  # older ones have them
    return parse(document)


def parse(
    document: Json, *, stored_config: records.AgentConfig | None = None, is_masked: bool = False
) -> records.AgentConfig:
    """
    Return the configuration of a document; raise Invalid with the first thing that is wrong. A masked secret becomes
    the stored one. If none is stored it is an error, unless the whole document is masked (`is_masked`).
    """
    document = _expand(document) if isinstance(document, dict) else {} if document is None else document
    config = validation.convert(records.AgentConfig, document, labels={validation.WHOLE: "the configuration"})
    for number, tool in enumerate(config.tools):
        _check_tool(f"tools[{number}]", tool)
    for number, server in enumerate(config.mcp.servers):
        _check_server(f"mcp.servers[{number}]", server)
    _check_unique("tools", (tool.name for tool in config.tools))
    _check_unique("mcp.servers", (server.name for server in config.mcp.servers))
    _check_phases(config)
    parse_field("model.baseUrl", config.model.base_url, _check_url)
    parse_field("model.fallback", config.model.fallback, _check_model_name)
    if config.budget is not None and config.budget.tokens is None and config.budget.cycles is None:
        raise Invalid(
            "budget: a budget has `tokens`, `cycles` or both", hint='such as {"tokens": 1000000, "per": "day"}'
        )
    return _restore_secrets(config, stored_config or records.AgentConfig(), is_masked=is_masked)


def check_skills(skills: Sequence[str]) -> tuple[str, ...]:
    """Return the skills if an agent may have them, each once."""
    for number, skill in enumerate(skills):
        if skill not in SKILLS:
            raise Invalid(f"skills[{number}]: {quote_value(skill)} is not one of {', '.join(SKILLS)}")
    return tuple(dict.fromkeys(skills))


def parse_new(document: dict[str, Any]) -> records.AgentConfig:
    """Return the configuration of an agent that becomes a resident. Capabilities alone do not make it one."""
    if document.keys() == {"capabilities"}:
        raise Invalid(
            "capabilities: a guest has none of its own",
            hint="give it a `model` too, or set the capabilities of its role with `ledger.capabilities`",
        )
    return parse(document)


def build_document(config: records.AgentConfig) -> dict[str, Any]:
    """Return the configuration as a document, with its secrets."""
    document: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(config))  # which has lists, and no tuples
    provider, _, name = config.model.name.partition(":")
    document["model"] = {"provider": provider, **document["model"], "name": name or provider}
    for tool in document["tools"]:
        tool["timeout"] = format_duration(tool["timeout"])
    return document


def replace_secrets(
    config: records.AgentConfig, transform: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> records.AgentConfig:
    """Return the configuration with transformed secrets: the headers and environments of its tools and servers."""
    return _map_secrets(config, lambda _, secrets: transform(secrets))


def hide_url_secrets(config: records.AgentConfig) -> records.AgentConfig:
    """Return the configuration with `***` for what looks like a secret in a URL of its model, tools and servers."""
    tools = tuple(
        replace(tool, request=replace(tool.request, url=hide_secrets(tool.request.url))) if tool.request else tool
        for tool in config.tools
    )
    servers = tuple(
        replace(server, url=hide_secrets(server.url)) if server.url else server for server in config.mcp.servers
    )
    base_url = config.model.base_url
    model = replace(config.model, base_url=hide_secrets(base_url)) if base_url else config.model
    return replace(config, model=model, tools=tools, mcp=records.McpConfig(servers=servers))


class _ModelDocument(records.ModelChoice, frozen=True, kw_only=True, rename="camel"):
    """A model as an object: its name may lack the provider, and may be called `model`."""

    provider: str | None = None
    name: str = ""
    model: str | None = None


def _expand(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return a document without short forms, as the types of its fields want it."""
    expanded = dict(document)
    if (model := document.get("model")) is not None:
        expanded["model"] = _expand_model(model)
    if isinstance(tools := document.get("tools"), list | tuple):
        expanded["tools"] = [_expand_tool(f"tools[{number}]", tool) for number, tool in enumerate(tools)]
    if isinstance(codes := document.get("capabilities"), list | tuple):
        if len(codes) > len(Capability):
            raise Invalid(f"capabilities: {len(codes)} are too many", hint=f"there are {len(Capability)}")
        parsed = {parse_field(f"capabilities[{number}]", code, _parse_code) for number, code in enumerate(codes)}
        expanded["capabilities"] = sorted(parsed - {None})
    return expanded


def _expand_model(value: Any) -> dict[str, Any]:
    """Return a model, which is an object or only a name, with its whole name: `PROVIDER:NAME`."""
    if isinstance(value, str):
        return {"name": parse_field("model", value, _check_model_name)}
    if not isinstance(value, dict):
        raise Invalid(f"model: {quote_value(value, show_items=False)} is neither text nor an object", hint=_MODEL_HINT)
    model = validation.convert(_ModelDocument, value, ("model",))
    if model.name and model.model is not None:
        raise Invalid(f"model.model: {quote_value(model.model)} is a second name", hint="give name or model, not both")
    provider, field, name = model.provider, "name" if model.name else "model", model.name or model.model or ""
    if provider is not None and provider not in (*_PROVIDERS, *_PLAIN_MODELS):
        raise Invalid(
            f"model.provider: {quote_value(provider)} is not a provider",
            hint=f"use {', '.join(_PROVIDERS)} or {records.DEMO}",
        )
    if provider is None and model.base_url is not None and ":" not in name:
        provider = "openai"
    if provider in _PLAIN_MODELS and name in ("", provider):
        whole_name = provider
    else:
        whole_name = f"{provider}:{name}" if provider is not None and name else name
        parse_field(f"model.{field}", whole_name, _check_model_name)
    rest = {key: inner for key, inner in value.items() if key not in ("provider", "name", "model")}
    return {**rest, "name": whole_name}


def _check_model_name(text: str) -> str:
    """Return the text if it is `PROVIDER:NAME`; `demo`, `code` and `user-agent` have no name."""
    provider, _, name = text.partition(":")
    if not text:
        raise Invalid("the model has no name", hint=_MODEL_HINT)
    if text not in _PLAIN_MODELS and (provider not in _PROVIDERS or not _MODEL_NAME.fullmatch(name)):
        raise Invalid(f"{quote_value(text)} is not a model", hint=_MODEL_HINT)
    return text


def _expand_tool(place: str, tool: Any) -> Any:
    """Return a tool with what follows from its other fields, and its timeout in microseconds."""
    if not isinstance(tool, dict):
        return tool
    fields = {name: value for name, value in tool.items() if value is not None}
    execution = fields.get("executionType", "gateway" if "execution" in fields else "external")
    if "timeout" in fields:
        fields["timeout"] = parse_field(f"{place}.timeout", fields["timeout"], _parse_timeout)
    return {"executionType": execution, "visible": execution != "internal", **fields}


def _parse_timeout(value: Any) -> Duration:
    """Return a timeout that is written as `30s` or as whole milliseconds."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    timeout = value * 1_000 if is_number else parse_duration(value if isinstance(value, str) else repr(value))
    if not 0 < timeout <= HOUR:
        raise Invalid(
            f"{quote_value(value)} is not a timeout", hint="use at most 1h, such as 30s; a number is milliseconds"
        )
    return timeout


def _parse_code(value: Any) -> int:
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise Invalid(
            f"{quote_value(value, show_items=False)} is not a capability",
            hint="use a code, or a name such as code-generation",
        )
    return parse_capability(value)


def _check_tool(place: str, tool: records.ConfiguredTool) -> None:
    if tool.name in list_built_in_tools():
        raise Invalid(f"{place}.name: {tool.name!r} is a built-in tool", hint="give yours another name")
    if (tool.execution is records.Execution.GATEWAY) is not (tool.request is not None):
        if tool.request is None:
            raise Invalid(
                f"{place}.execution: a gateway tool needs one",
                hint="say where it is called: `url`; or make it an external tool",
            )
        raise Invalid(
            f"{place}.executionType: {tool.execution.value!r} tools have no `execution`",
            hint="leave it out, or make it a gateway tool",
        )
    if not isinstance(tool.schema, dict) or tool.schema.get("type") != "object":
        raise Invalid(
            f"{place}.inputSchema: {quote_value(tool.schema, show_items=False)} is not the schema of an object",
            hint='write {"type": "object", "properties": {...}}',
        )
    if not isinstance(tool.schema.get("properties", {}), dict):
        raise Invalid(f"{place}.inputSchema: its `properties` are not an object")
    json_limits.encode_json(tool.schema, f"{place}.inputSchema", _MAX_JSON_BYTES)
    if tool.request is not None:
        parse_field(f"{place}.execution.url", tool.request.url, _check_url)
        json_limits.encode_json(tool.request.body, f"{place}.execution.body", _MAX_JSON_BYTES)


def _check_url(text: str) -> str:
    """Return the URL. Its host must be fixed: arguments of a tool do not decide which server is called."""
    try:
        parts = urlsplit(text)
        is_usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        server = parts.netloc
    except ValueError:
        is_usable, server = False, ""
    if "@" in server:
        raise Invalid("the URL has a name or a password in it", hint="send them in a header")
    if not is_usable or not text.isprintable() or " " in text or len(text) > _MAX_URL_LENGTH:
        raise Invalid(f"{quote_value(text)} is not a URL", hint="it begins with https:// or http://")
    if "{" in server:
        raise Invalid(f"{quote_value(text)} names no fixed host", hint="write the host as it is")
    return text


def _check_server(place: str, server: records.ToolServer) -> None:
    if bool(server.command) is (server.url is not None) or (server.command and not server.command[0]):
        raise Invalid(f"{place}: a server has either a `url` or a `command`", hint='such as ["npx", "some-server"]')
    parse_field(f"{place}.url", server.url, _check_url)


def _check_unique(field: str, names: Iterable[str]) -> None:
    seen_names: set[str] = set()
    for name in names:
        if name in seen_names:
            raise Invalid(f"{field}: two of them are called {name!r}")
        seen_names.add(name)


def _check_phases(config: records.AgentConfig) -> None:
    """Check the phases of the loop. Where servers bring tools of their own, nobody knows yet which there are."""
    own_names = {tool.name for tool in config.tools}
    last_step = 0
    for number, phase in enumerate(config.loop.phases):
        place = f"loop.phases[{number}]"
        if phase.step <= last_step:
            raise Invalid(f"{place}.step: {phase.step} is not after the phase before", hint="write the phases in order")
        last_step = phase.step
        for place_in_list, name in enumerate(phase.tools):
            if not config.mcp.servers and name not in own_names and name not in list_built_in_tools():
                raise Invalid(
                    f"{place}.tools[{place_in_list}]: {quote_value(name)} is not a tool of this agent",
                    hint=validation.suggest(name, sorted(own_names | list_built_in_tools())),
                )


class _SecretPlace(NamedTuple):
    path: str
    names: re.Pattern[str]
    #: the name of a tool or a server, and where it is: nobody else gets its secrets
    owner: tuple[object, ...]


def _map_secrets(
    config: records.AgentConfig, transform: Callable[[_SecretPlace, Mapping[str, str]], Mapping[str, str]]
) -> records.AgentConfig:
    tools = list(config.tools)
    for number, tool in enumerate(config.tools):
        if (request := tool.request) is not None:
            owner = ("tool", tool.name, _find_server(request.url))
            place = _SecretPlace(f"tools[{number}].execution.headers", _HEADER_NAME, owner)
            tools[number] = replace(tool, request=replace(request, headers=transform(place, request.headers)))
    servers = list(config.mcp.servers)
    for number, server in enumerate(servers):
        path, where = f"mcp.servers[{number}]", (server.name, _find_server(server.url), server.command)
        headers = transform(_SecretPlace(f"{path}.headers", _HEADER_NAME, ("headers", *where)), server.headers)
        env = transform(_SecretPlace(f"{path}.env", _VARIABLE_NAME, ("env", *where)), server.env)
        servers[number] = replace(server, headers=headers, env=env)
    return replace(config, tools=tuple(tools), mcp=records.McpConfig(servers=tuple(servers)))


def _restore_secrets(
    config: records.AgentConfig, stored_config: records.AgentConfig, *, is_masked: bool
) -> records.AgentConfig:
    """Return a configuration with stored secrets in the place of their masks. No error quotes a secret."""
    stored: dict[tuple[object, ...], Mapping[str, str]] = {}
    _map_secrets(stored_config, lambda place, secrets: stored.setdefault(place.owner, secrets))

    def restore(place: _SecretPlace, secrets: Mapping[str, str]) -> dict[str, str]:
        return {name: restore_secret(place, name, secret) for name, secret in secrets.items()}

    def restore_secret(place: _SecretPlace, name: str, secret: str) -> str:
        if not place.names.fullmatch(name):
            raise Invalid(f"{place.path}: {quote_value(name)} is not a name for it")
        if not (secret.isprintable() and secret.isascii()) or len(secret) > _MAX_SECRET_LENGTH:
            raise Invalid(
                f"{place.path}.{name}: its value is not printable ASCII text",
                hint=f"use at most {_MAX_SECRET_LENGTH} characters",
            )
        if is_masked or mask(secret) != secret:
            return secret
        stored_secret = stored.get(place.owner, {}).get(name)
        if stored_secret is None or mask(stored_secret) != secret:
            raise Invalid(
                f"{place.path}.{name}: {secret!r} stands for a secret that is not known here",
                hint="send the value itself",
            )
        return stored_secret

    return _map_secrets(config, restore)


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
