"""Configurations of residents, of every shape that is allowed."""

from hypothesis import strategies as st

from gatepost.residents import agent_config_json as agent_config
from gatepost.residents.agent_config import (
    AgentConfig,
    Budget,
    ConfiguredTool,
    Execution,
    LoopRules,
    McpConfig,
    MindRules,
    ModelChoice,
    Phase,
    ToolRequest,
    ToolServer,
)
from tests.support import texts

_letters = st.sampled_from("abcXYZ019_-")
names = st.text(_letters, min_size=1, max_size=12).filter(lambda name: name not in agent_config.list_built_in_tools())
free_texts = st.text(st.characters(exclude_characters="\x00", exclude_categories=["Cs"]), max_size=30)
secrets = st.builds(
    "{}{}".format, st.sampled_from(["", "Bearer ", "Basic "]), st.text(_letters, min_size=1, max_size=20)
)
headers = st.dictionaries(st.sampled_from(["Authorization", "X-Key", "accept"]), secrets)
urls = st.sampled_from(["https://api.example.com/v1/{id}?q={q}", "http://127.0.0.1:8080/", "https://[::1]/x"])
values = texts.values.filter(lambda value: not any(escape in repr(value) for escape in ("\\ud", "\\x00")))
models = st.sampled_from(["demo", "code", "openai:gpt-5", "anthropic:claude", "ollama:llama3:8b", "openai:demo"])

model_choices = st.builds(
    ModelChoice,
    name=models,
    base_url=st.none() | urls,
    key_env=st.none() | st.just("MY_KEY"),
    temperature=st.none() | st.floats(0, 2),
    max_tokens=st.none() | st.integers(1, 1_000_000),
    fallback=st.none() | models,
)
_counts = st.integers(1, 10**12)
_periods = st.sampled_from(["hour", "day"])
budgets = st.builds(Budget, tokens=_counts, cycles=st.none() | _counts, per=_periods) | st.builds(
    Budget, cycles=_counts, per=_periods
)
requests = st.builds(
    ToolRequest, url=urls, method=st.sampled_from(["GET", "POST", "DELETE"]), headers=headers, body=values
)


@st.composite
def tools(draw: st.DrawFn) -> ConfiguredTool:
    execution = draw(st.sampled_from(Execution))
    return draw(
        st.builds(
            ConfiguredTool,
            name=names,
            description=free_texts,
            schema=st.just({"type": "object", "properties": {"id": {"type": "string"}}}),
            execution=st.just(execution),
            visible=st.booleans(),
            is_async=st.booleans(),
            timeout=st.integers(1, 3_600_000).map(lambda millis: millis * 1_000),
            request=requests if execution is Execution.GATEWAY else st.none(),
        )
    )


servers = st.builds(ToolServer, name=names, url=urls, headers=headers) | st.builds(
    ToolServer,
    name=names,
    command=st.lists(free_texts.filter(bool), min_size=1, max_size=3).map(tuple),
    env=st.dictionaries(st.sampled_from(["TOKEN", "HOME"]), secrets),
)


@st.composite
def configs(draw: st.DrawFn) -> AgentConfig:
    own_tools = tuple(draw(st.lists(tools(), max_size=3, unique_by=lambda tool: tool.name)))
    tool_names = st.sampled_from(sorted({*agent_config.list_built_in_tools(), *(tool.name for tool in own_tools)}))
    steps = sorted(draw(st.sets(st.integers(1, 200), max_size=3)))
    return AgentConfig(
        model=draw(model_choices),
        description=draw(free_texts),
        instructions=draw(free_texts),
        tools=own_tools,
        mcp=McpConfig(servers=tuple(draw(st.lists(servers, max_size=2, unique_by=lambda server: server.name)))),
        mind=MindRules(max_tokens=draw(st.integers(1_000, 10**7)), min_recent_cycles=draw(st.integers(1, 1_000))),
        loop=LoopRules(
            max_steps=draw(st.integers(1, 200)),
            max_calls=draw(st.integers(1, 1_000)),
            max_tokens=draw(st.integers(100, 10**7)),
            phases=tuple(Phase(step=step, tools=tuple(draw(st.lists(tool_names, max_size=3)))) for step in steps),
        ),
        budget=draw(st.none() | budgets),
        capabilities=tuple(sorted(draw(st.sets(st.integers(0, 18), max_size=4)))),
    )
