"""`gatepost agent`: the configuration of agents, and their runs, minds, usage and budgets."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Annotated, Any, Final

import msgspec
from msgspec.structs import replace

from gatepost.cli import inputs, output
from gatepost.cli.command import LimitOption, Outcome, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core import ids
from gatepost.core.text import parse_field
from gatepost.core.times import format_rfc3339, parse_instant
from gatepost.directory import person_commands as person
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_api import EntityView
from gatepost.directory.person_commands import ALIASES, ENTITY_FIELDS, NAME, NEW_NAME, send_to_agent
from gatepost.errors import Invalid, NotFound
from gatepost.inbox.item_api import ShowAccount
from gatepost.residents import agent_api as api, agent_config_json as agent_config
from gatepost.residents.agent_commands import agents
from gatepost.residents.agent_config import DEMO, Budget, ModelChoice
from gatepost.residents.capability import Capability, parse_capability
from gatepost.residents.runs import commands as run_commands
from gatepost.residents.runs.api import ListAgentRuns, ReplayRun, RunView
from gatepost.residents.runs.mind_api import ShowMind
from gatepost.residents.usage_api import BudgetStatusView, ListBudgets, ShowUsage, UsageDimension, UsageView
from gatepost.settings import Configuration

ConfigFile = Annotated[
    dict[str, Any] | None,
    option(
        "--config",
        "FILE",
        "a configuration in JSON, or in TOML if the name ends so; - reads stdin",
        parse=inputs.read_object,
    ),
]
_FIELDS: Final[dict[str, Any]] = {
    "model": option("--model", "M", "the model: openai:NAME, anthropic:NAME, ollama:NAME, or demo, which needs no key"),
    "description": option("--description", "TEXT", "what the agent is for"),
    "instructions": option(
        "--instructions",
        "TEXT|@FILE|-",
        "its instructions; @FILE reads a file, - reads stdin",
        parse=inputs.read_text_or_file,
    ),
    **dict.fromkeys(("tools", "mcp", "mind", "loop", "budget")),  # only in a file
    "skills": option(
        "--skill", "SKILL", "what it may do besides, as a guest too: routing; repeatable", choices=agent_config.SKILLS
    ),
    "capabilities": option(
        "--capability",
        "CODE|NAME",
        "what a resident can do, by HCS-11: a code, or a name such as code-generation; repeatable",
        parse=parse_capability,
        choices=[capability.label for capability in Capability],
    ),
    **ENTITY_FIELDS,
}


@agents.request("add", api.RegisterAgent, name=NEW_NAME, aliases=ALIASES, **_FIELDS)
def add(
    request: api.RegisterAgent, configuration: Configuration, config: ConfigFile = None, json: JsonFlag = False
) -> None:
    """
    Register an agent, which gets an inbox.

    With a model, instructions or any other configuration it is a resident: a gateway runs its think cycles. Without, it
    is a guest that reads its inbox itself. Only residents have capabilities of their own.

    Examples:
      gatepost agent add analyst --model demo --instructions "Answer briefly"
      gatepost agent add support --config support.toml --instructions @support.md
      gatepost agent add quinn --team web --role reviewer --alias shop-42
    """
    fields = _merge_config(request, config)
    if fields.keys() - {"capabilities", "skills"}:  # a field that is null gets its default, and makes a resident too
        fields = {"model": DEMO} | {field: value for field, value in fields.items() if value is not None}
    with connect(configuration) as connection:
        agent = connection.send(replace(request, **fields))
    choice = _parse_model(agent.config.model) if agent.config else None
    suffix = f", a resident with the model {choice.name}" if choice else ""
    output.done(msgspec.to_builtins(agent), agent.name, f"registered {agent.name!r}{suffix}", json=json)
    _warn_of_model_problem(agent)


@agents.command("show")
def show(name: Annotated[str, NAME], json: JsonFlag = False) -> None:
    """
    Show an agent and the counts of its inbox. Of a resident, the configuration follows, with masked secrets; of a
    guest, its sessions, and whether they are reachable.

    Examples:
      gatepost agent show analyst
      gatepost agent show analyst --json
    """
    with connect() as connection:
        person.find_entity(connection, name, EntityKind.AGENT)
        agent = connection.send(api.ShowAgent(name=name))
        account = connection.send(ShowAccount(name=agent.name))
        sessions = connection.send(api.ListSessions(agent=agent.name)).items if agent.reachability else []
    if json:
        extra = {"inbox": msgspec.to_builtins(account), "sessions": msgspec.to_builtins(sessions)}
        output.document({**msgspec.to_builtins(agent), **extra})
        return
    resident_facts = _list_resident_facts(agent, agent.config) if agent.config else ()
    skills = ("skills", ", ".join(agent.skills) or None)
    reachable = ("reachable", agent.reachability.describe() if agent.reachability else None)
    output.facts(
        *person.list_facts(agent, account),
        skills,
        reachable,
        *(("session", _describe_session(session)) for session in sessions),
        *resident_facts,
    )
    if agent.config and agent.config.instructions:
        output.line_out("instructions")
        output.line_out(output.indent(agent.config.instructions))


@agents.request("set", api.ChangeAgent, name=NAME, aliases=None, **_FIELDS)
def set_agent(
    request: api.ChangeAgent,
    configuration: Configuration,
    no_team: Annotated[bool, flag("--no-team", "take it out of its team; its role goes too")] = False,
    no_capability: Annotated[bool, flag("--no-capability", "remove its capabilities")] = False,
    no_skill: Annotated[bool, flag("--no-skill", "remove its skills")] = False,
    alias: Annotated[list[str] | None, option("--alias", "ID", "one more name; repeatable")] = None,
    no_alias: Annotated[list[str] | None, option("--no-alias", "ID", "an alias to remove; repeatable")] = None,
    config: ConfigFile = None,
    json: JsonFlag = False,
) -> None:
    """
    Change the given fields of an agent; the others stay. A guest that gets a model becomes a resident.

    A file changes the fields that are in it, each as a whole. The output of `agent show --json` can be sent back: a
    masked secret stands for the stored one.

    Examples:
      gatepost agent set analyst --model openai:gpt-5
      gatepost agent set analyst --instructions @analyst.md --team finance
      gatepost agent set analyst --config tools.toml
      gatepost agent set analyst --no-team --alias shop-42
    """
    request = replace(request, **_merge_config(request, config))
    if no_team:
        if request.team is not msgspec.UNSET or request.role is not msgspec.UNSET:
            raise Invalid("--no-team cannot be combined with --team or --role")
        request = replace(request, team=None, role=None)
    for is_cleared, field, label in (
        (no_capability, "capabilities", "--capability"),
        (no_skill, "skills", "--skill"),
    ):
        if is_cleared:
            if getattr(request, field) is not msgspec.UNSET:
                raise Invalid(f"{label} and its removal cannot be combined", hint="leave one of them out")
            request = replace(request, **{field: None})
    if request == api.ChangeAgent(name=request.name) and not alias and not no_alias:
        raise Invalid("nothing to change", hint="give --model, --instructions, --config, --display, --team ...")
    with connect(configuration) as connection:
        if alias or no_alias:
            agent_before = person.find_entity(connection, request.name, EntityKind.AGENT)
            request = replace(request, aliases=_change_aliases(agent_before, alias or (), no_alias or ()))
        agent = send_to_agent(connection, request)
    suffix = f"; its configuration has version {agent.version}" if agent.resident else ""
    output.done(msgspec.to_builtins(agent), agent.name, f"changed {agent.name!r}{suffix}", json=json)
    if request.model is not msgspec.UNSET:
        _warn_of_model_problem(agent)


def _change_aliases(agent: EntityView, new: Sequence[str], removed: Sequence[str]) -> tuple[str, ...]:
    for name in removed:
        if name not in agent.aliases:
            raise NotFound(
                f"{name!r} is not an alias of {agent.name!r}",
                hint=f"it has {', '.join(map(repr, agent.aliases)) or 'none'}",
            )
    return tuple(dict.fromkeys([*(name for name in agent.aliases if name not in removed), *new]))


@agents.send("pause", api.PauseAgent, fetch=send_to_agent, name=NAME)
def pause(agent: api.AgentView) -> Outcome:
    """
    Pause a resident: it starts no cycle until `agent resume`. Its inbox fills meanwhile, and a run ends after its step.

    Example:
      gatepost agent pause analyst
    """
    return Outcome(agent.name, f"paused {agent.name!r}: a run ends after its step, and its inbox fills")


@agents.send("resume", api.ResumeAgent, fetch=send_to_agent, name=NAME)
def resume(agent: api.AgentView) -> Outcome:
    """
    Resume a paused agent, which goes on with the pending items.

    Example:
      gatepost agent resume analyst
    """
    return Outcome(agent.name, f"resumed {agent.name!r}")


@agents.list(
    "runs",
    ListAgentRuns,
    columns=("RUN", "CYCLE", "STATUS", "CAUSE", "EVENTS", "STEPS", "TOKENS", "STARTED", "LIMIT", "SUMMARY"),
    empty=lambda request: f"{request.name!r} has no runs" + (f" that are {request.status}" if request.status else ""),
    count=20,
    name=NAME,
)
def runs(run: RunView) -> TableRow:
    """
    List the runs of an agent, newest first.

    Example:
      gatepost agent runs analyst --status failed
    """
    return run_commands.build_row(run)


@agents.request(
    "usage",
    ShowUsage,
    by=option("--by", "DIMENSION", choices=list(UsageDimension)),
    **dict.fromkeys(("since", "until", "after", "limit")),
)
def usage(
    request: ShowUsage,
    configuration: Configuration,
    since: Annotated[str, option("--since", "7d", "only runs since then: how long ago, or a time")] = "7d",
    limit: LimitOption = 100,
    json: JsonFlag = False,
) -> None:
    """
    Show what agents have used, in tokens.

    The earliest groups come first, then the largest. Days and hours are those of UTC. The cause of a run is the type of
    the event that woke the agent.

    Examples:
      gatepost agent usage
      gatepost agent usage --agent analyst --by day --since 30d
      gatepost agent usage --by model --by cause --json
    """
    with connect(configuration) as connection:
        start = max(0, inputs.parse_past(since, "--since", connection.read_clock()))  # a request has no times before
        groups = connection.list_all(replace(request, since=format_rfc3339(start)), limit + 1)
    output.listing(groups, limit, _print_groups, empty=f"no runs since {format_rfc3339(start)}", json=json)


def _print_groups(groups: Sequence[UsageView]) -> None:
    """Print a row for each group, with the columns that it is grouped by."""
    names = {"starts_at": "FROM", "agent": "AGENT", "model": "MODEL", "cause": "CAUSE"}
    keys = [name for name in names if getattr(groups[0], name) is not msgspec.UNSET]
    counts = ["runs", "failed_runs", "budget_stops", "steps", "prompt_tokens", "completion_tokens"]
    headings = [*(names[key] for key in keys), "RUNS", "FAILED", "STOPPED", "STEPS", "PROMPT", "COMPLETION"]
    output.table(headings, [[str(getattr(group, name)) for name in keys + counts] for group in groups])


@agents.list(
    "budgets",
    ListBudgets,
    columns=("AGENT", "PER", "TOKENS", "CYCLES", "UNTIL", "STATE", "STOPPED", "WAITING"),
    empty="no agent has a budget",
)
def budgets(budget: BudgetStatusView) -> TableRow:
    """
    List the budgets of agents, and what is used of them.

    A budget counts in its present period, an hour or a day of UTC. It stops runs, and lets items wait.

    Example:
      gatepost agent budgets
    """
    return [
        budget.agent,
        budget.per,
        _format_share(budget.used_tokens, budget.tokens),
        _format_share(budget.used_cycles, budget.cycles),
        output.format_seconds(budget.period_end),
        "exhausted" if budget.exhausted else "",
        str(budget.stopped_runs),
        str(budget.waiting_items),
    ]


def _format_share(used: int, limit: int | None) -> str:
    return str(used) if limit is None else f"{used}/{limit}"


agents.show("mind", ShowMind, name=NAME, fetch=send_to_agent)(run_commands.mind)
agents.show(
    "replay",
    ReplayRun,
    id=argument("RUN", "the id of a run", parse=partial(ids.check, "run")),
    model=option("--model", "M", default=DEMO),
    fetch=run_commands.fetch_replay,
)(run_commands.replay)


@agents.send("wake", api.WakeAgent, name=NAME, fetch=send_to_agent)
def wake(agent: api.WokenView) -> Outcome:
    """
    Let an agent look at its inbox now. If the inbox is empty, nothing else happens.

    Example:
      gatepost agent wake analyst
    """
    return Outcome(agent.name, f"woke {agent.name!r}: it looks at its inbox")


def _merge_config(request: api.RegisterAgent | api.ChangeAgent, file: dict[str, Any] | None) -> dict[str, Any]:
    """Return the fields of a configuration: those of the file, replaced by those of the options."""
    document = dict(file or {})
    skills = document.pop("skills", msgspec.UNSET)
    if isinstance(document.get("config"), dict):  # an agent as `agent show --json` prints it
        document = document["config"]
    parse_field("--config", document, partial(agent_config.parse, is_masked=True))  # a request has no unknown fields
    options = {field: getattr(request, field) for field in ("model", "description", "instructions", "capabilities")}
    config = document | {field: value for field, value in options.items() if value is not msgspec.UNSET}
    agent_config.parse(config, is_masked=True)
    skills = skills if request.skills is msgspec.UNSET else request.skills
    return config | ({"skills": skills} if skills is not msgspec.UNSET else {})


def _parse_model(model: api.ModelView) -> ModelChoice:
    return agent_config.parse({"model": msgspec.to_builtins(model)}).model


def _warn_of_model_problem(agent: api.AgentView) -> None:
    """Warn now of what would show only in a cycle."""
    if agent.model_problem is not None:
        output.talk(f"warning: {agent.model_problem.message}")
        output.talk(f"hint: {agent.model_problem.fix}")


def _list_resident_facts(agent: api.AgentView, config: api.ConfigView) -> list[tuple[str, object]]:
    problem = agent.model_problem
    return [
        ("resident", _describe_activity(agent)),
        ("model", _parse_model(config.model).name),
        ("problem", f"{problem.message}: {problem.fix}" if problem else None),
        ("fallback", config.model.fallback),
        ("about", config.description),
        ("tools", ", ".join(f"{tool.name} ({tool.execution_type})" for tool in config.tools)),
        ("servers", ", ".join(server.name for server in config.mcp.servers)),
        ("capabilities", ", ".join(f"{Capability(code).label} ({code})" for code in config.capabilities)),
        ("steps", f"at most {config.loop.max_steps} a cycle, {config.loop.max_calls} calls in a reply"),
        ("tokens", f"at most {config.loop.max_tokens} that a cycle adds"),
        ("budget", Budget(**msgspec.structs.asdict(config.budget)) if config.budget is not None else None),
        ("mind", f"{agent.mind_tokens} of {config.mind.max_tokens} tokens"),
        ("cycles", agent.cycles),
        ("failures", agent.failures or None),
        ("version", agent.version),
    ]


def _describe_session(session: api.SessionView) -> str:
    return f"{session.id} ({session.host}, {session.state}): {session.reachability.describe()}"


def _describe_activity(agent: api.AgentView) -> str:
    if agent.paused_at is not None:
        return f"paused since {agent.paused_at}"
    if agent.rest_until is not None and parse_instant(agent.rest_until) > time.time_ns() // 1_000:
        return f"rests until {agent.rest_until}"
    return "active"
