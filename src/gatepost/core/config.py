"""
The configuration of a resident as a document: read from people and programs, shown to them, and stored.

A document is read as a whole or not at all. The values of headers and environment variables are secrets: shown, they
are masked (`Bearer ***`), and a mask that is sent back stands for the secret that is stored, as long as it goes to the
same server: whoever may change an address without knowing the secret could have it sent to themselves.
"""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final
from urllib.parse import urlsplit

from gatepost.core.agent import (
    CODE,
    DEMO,
    Config,
    Execution,
    LoopRules,
    MindRules,
    ModelChoice,
    Phase,
    Request,
    Tool,
    ToolServer,
)
from gatepost.core.budget import Budget
from gatepost.core.event import Json
from gatepost.core.given import Given
from gatepost.core.instants import HOUR
from gatepost.core.shape import Shape

#: what every resident can do, whatever it is told to be: no tool of its own may be called so
BUILT_IN: Final = frozenset(
    {
        *("enter_space", "send_message", "read_messages", "peek_inbox", "skip"),
        *("set_memories", "get_memories", "delete_memories", "set_goals", "delete_goals"),
        *("set_plans", "get_plans", "delete_plans", "send_mail", "post_note"),
        *("ask_decision", "answer_decision", "set_gate", "resolve_gate"),
    }
)
#: more built-in tools, for those who have the skill
SKILLS: Final = ("routing",)
#: the fields of a configuration
FIELDS: Final = ("model", "description", "instructions", "tools", "mcp", "mind", "loop", "budget", "skills")

LONGEST_MODEL: Final = 300
_MASK: Final = "***"
_KIB: Final = 1024
_INSTRUCTIONS: Final = 64 * _KIB
_SCHEMA: Final = 64 * _KIB
_WHOLE: Final = 512 * _KIB
_URL: Final = 2 * _KIB
_TOOLS: Final = 128
_SERVERS: Final = 16
_SECRETS: Final = 50
_TOKENS: Final = 10_000_000
_MOST_SPENT: Final = 10**12
_METHODS: Final = ("GET", "POST", "PUT", "PATCH", "DELETE")

_TOOL_NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
_PROVIDERS: Final = ("openai", "anthropic", "ollama")
_MODEL_NAME: Final = re.compile(r"[!-~]{1,200}")
_HEADER: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}")
_VARIABLE: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,99}")
#: a secret may keep the word that says what kind it is
_SCHEME: Final = re.compile(r"([A-Za-z]{1,20}) \S+")
_NO_MODEL: Final = (
    "write PROVIDER:NAME, such as openai:gpt-5, anthropic:NAME or ollama:NAME, or demo, which needs no key"
)


REQUEST: Final = Shape(Request, "url method headers body")
TOOL: Final = Shape(
    Tool,
    "name description inputSchema=schema executionType=execution visible async=is_async timeout execution=request",
    REQUEST,
)
SERVER: Final = Shape(ToolServer, "name url headers command env")
MIND: Final = Shape(MindRules, "maxTokens minRecentCycles=recent")
PHASE: Final = Shape(Phase, "step tools")
BUDGET: Final = Shape(Budget, "tokens cycles per")
LOOP: Final = Shape(LoopRules, "maxSteps maxCalls maxTokens phases", PHASE)


def encode(config: Config) -> str:
    return json.dumps(document(config), ensure_ascii=True, separators=(",", ":"))


@lru_cache(maxsize=1_000)
def decode(text: str) -> Config:
    """Read what was encoded. The same text is read once: every cycle asks for it."""
    return parse(json.loads(text))


def parse(document: Json, *, stored: Config | None = None, masked: bool = False) -> Config:
    """
    Read a document, or say what is wrong with it. A masked secret is the stored one; where there is none it is an
    error, unless the whole document is `masked`, as others are shown it.
    """
    Given(document).json(_WHOLE)
    fields = Given(document).fields(*FIELDS)
    secrets = _Secrets(stored or Config(), masked=masked)
    tools = tuple(_tool(given, secrets) for given in fields["tools"].each(_TOOLS))
    _unique(fields["tools"], (tool.name for tool in tools))
    listed = fields["mcp"].fields("servers")["servers"]
    servers = tuple(_server(given, secrets) for given in listed.each(_SERVERS))
    _unique(listed, (server.name for server in servers))
    return Config(
        model=_model(fields["model"]),
        description=fields["description"].text(4 * _KIB),
        instructions=fields["instructions"].text(_INSTRUCTIONS),
        tools=tools,
        servers=servers,
        mind=_mind(fields["mind"]),
        loop=_loop(fields["loop"], None if servers else BUILT_IN | {tool.name for tool in tools}),
        budget=None if fields["budget"].absent else _budget(fields["budget"]),
        skills=_skills(fields["skills"]),
    )


def document(config: Config, *, masked: bool = False) -> dict[str, Any]:
    """Write a configuration; `masked` is for everybody's eyes."""
    shown = with_secrets(config, _hidden) if masked else config
    return {
        "model": _model_document(config.model),
        "description": config.description,
        "instructions": config.instructions,
        "tools": [TOOL.write(tool) for tool in shown.tools],
        "mcp": {"servers": [SERVER.write(server) for server in shown.servers]},
        "mind": MIND.write(config.mind),
        "loop": LOOP.write(config.loop),
        "budget": BUDGET.write(config.budget) if config.budget is not None else None,
        "skills": list(config.skills),
    }


def with_secrets(config: Config, made: Callable[[Mapping[str, str]], Mapping[str, str]]) -> Config:
    """The same with others in place of its secrets: what its tools and servers are sent."""
    tools = (
        replace(tool, request=replace(tool.request, headers=made(tool.request.headers)) if tool.request else None)
        for tool in config.tools
    )
    servers = (replace(each, headers=made(each.headers), env=made(each.env)) for each in config.servers)
    return replace(config, tools=tuple(tools), servers=tuple(servers))


def _model(given: Given) -> ModelChoice:
    """A model, which may be as short as its name."""
    if given.absent or isinstance(given.value, str):
        return ModelChoice(name=_model_name(given, None)) if not given.absent else ModelChoice()
    fields = given.fields("provider", "name", "model", "temperature", "maxTokens", "baseUrl", "keyEnv", "fallback")
    if not fields["name"].absent and not fields["model"].absent:
        fields["model"].wrong("is a second name", hint="give `name` or `model`, not both")
    named = fields["name"] if not fields["name"].absent else fields["model"]
    provider = fields["provider"].text(100) or None
    base_url = None if fields["baseUrl"].absent else _url(fields["baseUrl"])
    if provider is not None and provider not in (*_PROVIDERS, DEMO, CODE):
        fields["provider"].wrong("is not a provider", hint=f"use {', '.join(_PROVIDERS)} or {DEMO}")
    if provider is None and base_url is not None and ":" not in str(named.value):
        provider = "openai"
    key_env = fields["keyEnv"].text(100) or None
    if key_env is not None and not _VARIABLE.fullmatch(key_env):
        fields["keyEnv"].refuse("this is not the name of an environment variable", hint="the key itself stays there")
    return ModelChoice(
        name=_model_name(named, provider),
        base_url=base_url,
        key_env=key_env,
        temperature=None if fields["temperature"].absent else fields["temperature"].number(0, 2),
        max_tokens=None if fields["maxTokens"].absent else fields["maxTokens"].whole(1, _TOKENS),
        fallback=None if fields["fallback"].absent else _model_name(fields["fallback"], None),
    )


def _model_name(given: Given, provider: str | None) -> str:
    """`provider:name`; `demo` and `code` are both in one."""
    text = given.text(LONGEST_MODEL)
    if provider in (DEMO, CODE) and text in ("", provider):
        return provider
    if provider is None and text in (DEMO, CODE):
        return text
    head, _, tail = f"{provider}:{text}".partition(":") if provider is not None else text.partition(":")
    if not text:
        given.refuse("the model has no name", hint=_NO_MODEL)
    if head not in _PROVIDERS or not _MODEL_NAME.fullmatch(tail):
        given.wrong("is not a model", hint=_NO_MODEL)
    return f"{head}:{tail}"


def _model_document(model: ModelChoice) -> dict[str, Any]:
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


def _tool(given: Given, secrets: "_Secrets") -> Tool:
    fields = given.fields(*TOOL.types)
    name = fields["name"].text(_KIB)
    if not _TOOL_NAME.fullmatch(name):
        fields["name"].wrong("is not the name of a tool", hint="use up to 64 letters, digits, dashes and underscores")
    if name in BUILT_IN:
        fields["name"].wrong("is a built-in tool", hint="give yours another name")
    usual = Execution.EXTERNAL if fields["execution"].absent else Execution.GATEWAY
    execution = Execution(fields["executionType"].choice(*Execution, default=usual))
    if execution is not Execution.GATEWAY and not fields["execution"].absent:
        fields["executionType"].wrong("tools have no `execution`", hint="leave it out, or make it a gateway tool")
    usual_tool = Tool(name=name)
    return Tool(
        name=name,
        description=fields["description"].text(4 * _KIB),
        schema=_schema(fields["inputSchema"]),
        execution=execution,
        visible=fields["visible"].flag(default=execution is not Execution.INTERNAL),
        is_async=fields["async"].flag(default=False),
        timeout=fields["timeout"].duration(HOUR, default=usual_tool.timeout),
        request=_request(fields["execution"], secrets, name) if execution is Execution.GATEWAY else None,
    )


def _schema(given: Given) -> Json:
    if given.absent:
        return Tool(name="").schema
    if not isinstance(given.value, dict) or given.value.get("type") != "object":
        given.wrong("is not the schema of an object", hint='write {"type": "object", "properties": {...}}')
    if not isinstance(given.value.get("properties", {}), dict):
        given.wrong("has `properties` that are no object")
    return given.json(_SCHEMA)


def _request(given: Given, secrets: "_Secrets", tool: str) -> Request:
    fields = given.fields(*REQUEST.types)
    if fields["url"].absent:
        fields["url"].refuse("a gateway tool needs one", hint="say where it is called, or make it an external tool")
    url = _url(fields["url"])
    return Request(
        url=url,
        method=fields["method"].choice(*_METHODS, default="POST"),
        headers=secrets.read(fields["headers"], secrets.of_tool(tool, url), _HEADER),
        body=fields["body"].json(_SCHEMA),
    )


def _url(given: Given) -> str:
    """An address of the web. Who is called is not for the arguments of a tool to say."""
    text = given.text(_URL)
    try:
        parts = urlsplit(text)
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        server = parts.netloc
    except ValueError:
        usable, server = False, ""
    if "@" in server:
        given.refuse("the URL has a name or a password in it", hint="send them in a header")
    if not usable or not text.isprintable() or " " in text:
        given.wrong("is not a URL", hint="it begins with https:// or http://")
    if "{" in server:
        given.wrong("leaves it open who is called", hint="write the host as it is")
    return text


def _server(given: Given, secrets: "_Secrets") -> ToolServer:
    fields = given.fields(*SERVER.types)
    name = fields["name"].text(_KIB)
    if not _TOOL_NAME.fullmatch(name):
        fields["name"].wrong("is not the name of a server", hint="use up to 64 letters, digits, dashes and underscores")
    command = tuple(each.text(4 * _KIB) for each in fields["command"].each(100))
    if bool(command) is not fields["url"].absent or (command and not command[0]):
        given.refuse("a server has either a `url` or a `command`", hint='such as ["npx", "some-server"]')
    url = None if fields["url"].absent else _url(fields["url"])
    headers, env = secrets.of_server(name, url, command)
    return ToolServer(
        name=name,
        url=url,
        headers=secrets.read(fields["headers"], headers, _HEADER),
        command=command,
        env=secrets.read(fields["env"], env, _VARIABLE),
    )


def _mind(given: Given) -> MindRules:
    fields, usual = given.fields(*MIND.types), MindRules()
    tokens, recent = fields["maxTokens"], fields["minRecentCycles"]
    return MindRules(
        max_tokens=usual.max_tokens if tokens.absent else tokens.whole(1_000, _TOKENS),
        recent=usual.recent if recent.absent else recent.whole(1, 1_000),
    )


def _loop(given: Given, tools: Iterable[str] | None) -> LoopRules:
    """How far a cycle may go. Where servers bring tools of their own, nobody knows yet which there are."""
    fields, usual = given.fields(*LOOP.types), LoopRules()
    phases: list[Phase] = []
    for each in fields["phases"].each(20):
        phase = each.fields(*PHASE.types)
        step = phase["step"].whole(1, 200)
        if phases and step <= phases[-1].step:
            phase["step"].wrong("is not after the phase before", hint="write the phases in order")
        names = [(name, name.text(64)) for name in phase["tools"].each(_TOOLS + len(BUILT_IN))]
        for where, name in names:
            if not _TOOL_NAME.fullmatch(name) or (tools is not None and name not in tools):
                where.wrong("is not a tool of this agent")
        phases.append(Phase(step=step, tools=tuple(name for _, name in names)))
    steps, calls, tokens = fields["maxSteps"], fields["maxCalls"], fields["maxTokens"]
    return LoopRules(
        max_steps=usual.max_steps if steps.absent else steps.whole(1, 200),
        max_calls=usual.max_calls if calls.absent else calls.whole(1, 1_000),
        max_tokens=usual.max_tokens if tokens.absent else tokens.whole(100, _TOKENS),
        phases=tuple(phases),
    )


def _budget(given: Given) -> Budget:
    fields = given.fields(*BUDGET.types)
    tokens, cycles = fields["tokens"], fields["cycles"]
    if tokens.absent and cycles.absent:
        given.refuse("a budget has `tokens`, `cycles` or both", hint='such as {"tokens": 1000000, "per": "day"}')
    per = fields["per"].choice("hour", "day", default="day")
    return Budget(
        tokens=None if tokens.absent else tokens.whole(1, _MOST_SPENT),
        cycles=None if cycles.absent else cycles.whole(1, _MOST_SPENT),
        per="hour" if per == "hour" else "day",
    )


def _skills(given: Given) -> tuple[str, ...]:
    found = [each.choice(*SKILLS, default="") for each in given.each(len(SKILLS))]
    return tuple(skill for skill in dict.fromkeys(found) if skill)


def _unique(given: Given, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            given.refuse(f"two of them are called {name!r}")
        seen.add(name)


class _Secrets:
    """What is stored of the values that nobody is shown."""

    def __init__(self, stored: Config, *, masked: bool) -> None:
        self._tools = {
            (tool.name, _whose(tool.request.url)): tool.request.headers for tool in stored.tools if tool.request
        }
        self._servers = {
            (server.name, _whose(server.url), server.command): (server.headers, server.env) for server in stored.servers
        }
        self._masked = masked

    def of_tool(self, name: str, url: str) -> Mapping[str, str]:
        return self._tools.get((name, _whose(url)), {})

    def of_server(
        self, name: str, url: str | None, command: tuple[str, ...]
    ) -> tuple[Mapping[str, str], Mapping[str, str]]:
        return self._servers.get((name, _whose(url), command), ({}, {}))

    def read(self, given: Given, stored: Mapping[str, str], form: re.Pattern[str]) -> dict[str, str]:
        """Names and secrets. No error quotes a secret."""
        if not isinstance(given.value, dict | None):
            given.refuse("this is not an object", hint='write {"NAME": "value"}')
        found: dict[str, str] = {}
        for name, secret in given.members(_SECRETS):
            if not form.fullmatch(name):
                given.refuse(f"{name[:60]!r} is not a name for it")
            if not isinstance(secret.value, str) or not (secret.value.isprintable() and secret.value.isascii()):
                secret.refuse("its value is not printable ASCII text")
            found[name] = self._unmasked(secret, stored.get(name))
        return found

    def _unmasked(self, given: Given, stored: str | None) -> str:
        text = given.text(8 * _KIB)
        if self._masked or mask(text) != text:
            return text
        if stored is None or mask(stored) != text:
            given.wrong("stands for a secret that is not known here", hint="send the value itself")
        return stored


def _whose(url: str | None) -> tuple[str, str] | None:
    """The server that is sent what goes to a URL."""
    if url is None:
        return None
    parts = urlsplit(url)
    return parts.scheme, parts.netloc.lower()


def mask(secret: str) -> str:
    """What is shown of a secret: that there is one, and the word before it that is none."""
    found = _SCHEME.fullmatch(secret)
    return f"{found[1]} {_MASK}" if found else _MASK


def _hidden(secrets: Mapping[str, str]) -> dict[str, str]:
    return {name: mask(secret) for name, secret in secrets.items()}
