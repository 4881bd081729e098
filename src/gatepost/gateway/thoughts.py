"""What answers about residents look like, for the OpenAPI: what they are told to be, their runs and their minds."""

from typing import Annotated, Final, Literal, TypedDict

from msgspec import Meta

from gatepost.core import agent_config, wire
from gatepost.gateway.shapes import Count, Time, described, list_of, noun, page_of

RunStatus = Literal["running", "waiting_tool", "completed", "skipped", "failed", "cancelled"]
Secrets = Annotated[dict[str, str], Meta(description="masked; a mask that is sent back stands for what is stored")]


class Model(TypedDict):
    provider: Annotated[str, Meta(examples=["openai"])]
    name: Annotated[str, Meta(examples=["gpt-5"])]
    temperature: float | None
    maxTokens: int | None
    baseUrl: str | None
    keyEnv: str | None
    fallback: str | None


ToolRequest = noun(
    "ToolRequest", agent_config.REQUEST, method=Literal["GET", "POST", "PUT", "PATCH", "DELETE"], headers=Secrets
)
Tool = noun("Tool", agent_config.TOOL, execution=ToolRequest | None)
ToolServer = noun("ToolServer", agent_config.SERVER, headers=Secrets, env=Secrets)
Mcp = noun("Mcp", servers=list_of(ToolServer))
MindRules = noun("MindRules", agent_config.MIND)
Phase = noun("Phase", agent_config.PHASE)
Budget = noun("Budget", agent_config.BUDGET, about="What it may spend in an hour or a day, in UTC.")
LoopRules = noun("LoopRules", agent_config.LOOP, phases=list_of(Phase))
Config = noun(
    "Config",
    model=Model,
    description=str,
    instructions=str,
    tools=list_of(Tool),
    mcp=Mcp,
    mind=MindRules,
    loop=LoopRules,
    budget=Budget | None,
    skills=list[str],
)
Agent = noun(
    "Agent",
    wire.ENTITY,
    wire.RESIDENT,
    about="An agent. A resident has a configuration, which itself and the administrator are shown; a guest has none.",
    resident=bool,
    paused=bool,
    config=Config | None,
)
AgentPage = page_of(Agent)
Run = noun("Run", wire.RUN, durationMs=int | None)
RunPage = page_of(Run)
OpenCall = noun("OpenCall", wire.OPEN_CALL, about="A call of a tool that somebody outside answers.")
RunShown = noun("RunShown", wire.RUN, durationMs=int | None, calls=list_of(OpenCall))

Prompt = noun("Prompt", wire.PROMPT)
Call = noun("Call", wire.TOOL_CALL, arguments=described(str, "JSON, as the model wrote it"))
Usage = noun("Usage", wire.USAGE)
Reply = noun("Reply", wire.REPLY, calls=list_of(Call), usage=Usage)
Result = noun("Result", wire.RESULT, content=described(str, "JSON"))
_TURN: Final = {
    "about": "What was shown, said or returned: that of the three which `kind` names.",
    "kind": Literal["prompt", "reply", "result"],
    "prompt": Prompt | None,
    "reply": Reply | None,
    "result": Result | None,
}
Turn = noun("Turn", **_TURN)
Step = noun("Step", number=Annotated[int, Meta(ge=1)], at=Time, **_TURN)
StepPage = page_of(Step)
Replayed = noun(
    "Replayed",
    about="A past run, and what another model would have said and done.",
    run=str,
    model=str,
    same=bool,
    original=list_of(Step),
    replayed=list_of(Turn),
)
Mind = noun(
    "Mind",
    agent=str,
    tokens=Count,
    summaries=list[str],
    dropped=Annotated[int, Meta(ge=0, description="summaries that were let go; the runs are still there")],
    turns=list_of(Turn),
)
MemoryPage = page_of(noun("Memory", wire.MEMORY))
GoalPage = page_of(noun("Goal", wire.GOAL, priority=int))

#: what routes answer with; the shapes within them come along
ALL: Final = (Agent, AgentPage, Run, RunShown, RunPage, OpenCall, StepPage, Replayed, Mind, MemoryPage, GoalPage)
