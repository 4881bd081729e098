"""
The think cycle of a resident.

    batch -> [ask the model -> run the tools that it calls -> check the inbox]* -> summary

The model sees the system prompt, which is built for each cycle; summaries of old cycles; the recent cycles; and this
cycle. Every step is in the journal before the next step begins (`residents/runs/journal_actions.py` argues why that is
enough), so a cycle that resumes after a crash continues from the last step. `Cycle` is always built from the journal
alone, also at the beginning.

Between steps the cycle checks the inbox. Critical items are taken into the cycle in full and journalled. The other
items are shown as a preview, which is not journalled.
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import aclosing
from typing import Any, Final

import structlog
from msgspec.structs import replace

from gatepost.channels import reply_actions as replies
from gatepost.channels.conversation import Conversation
from gatepost.core.escaping import escape_unsafe
from gatepost.core.signals import Topic
from gatepost.errors import Conflict, GatepostError, Lost, Unavailable
from gatepost.inbox import event_rendering as render
from gatepost.inbox.event import Item, Priority
from gatepost.operations.operation import build_frame
from gatepost.residents import agent_actions as agents, stream_api
from gatepost.residents.background.cycle_outcome import (
    CycleDeps,
    CycleFinished,
    CycleOutcome,
    CyclePaused,
    handle_model_failure,
    write_journal,
)
from gatepost.residents.background.text_streaming import Streams, build_call_key
from gatepost.residents.background.toolkit import (
    BuiltInTool,
    DeferredTool,
    OutsideTool,
    Tool,
    Toolkit,
    build_failure,
    parse_success,
)
from gatepost.residents.budget_actions import ExhaustedBudget, find_exhausted_budget
from gatepost.residents.mind_compaction import estimate_usage, render_summaries, take_recent_turns, trim_turns, weigh
from gatepost.residents.model_failures import ModelFailed, Trouble, choose_model
from gatepost.residents.model_port import (
    CallDelta,
    CallResult,
    ChatRequest,
    Model,
    ModelReply,
    Prompt,
    TextDelta,
    ToolCall,
    Turn,
)
from gatepost.residents.reply_reminder import build_reminder
from gatepost.residents.runs import (
    deferred_call_actions as deferred_calls,
    ending_actions as endings,
    journal_actions as journal,
)
from gatepost.residents.runs.cycle_limits import RunLimit, describe_limit, drop_extra_calls, find_limit
from gatepost.residents.runs.journal_actions import RunLease
from gatepost.residents.runs.resume_actions import LeasedRun
from gatepost.spaces import actions as spaces

log = structlog.get_logger("gatepost.cycle")

_SKIP_TOOL: Final = "skip"
_PEEK_TOOL: Final = "peek_inbox"
#: items in a preview
_PREVIEW_ITEMS: Final = 5
#: characters of a tool's result in a live frame
_MAX_LIVE_RESULT: Final = 1_000
#: characters of a summary
_MAX_SUMMARY: Final = 1_000


async def think(deps: CycleDeps, leased_run: LeasedRun) -> CycleOutcome:
    """Run a cycle from its last journalled step to its end."""
    async with deps.open_toolkit(leased_run.run_lease.resident) as toolkit:
        cycle = Cycle(deps, leased_run, toolkit)
        cycle.announce("agent.active")
        try:
            return await cycle.run()
        except ModelFailed as model_failure:
            return await cycle.handle_failure(model_failure)
        except GatepostError:
            raise
        except Exception as error:
            log.exception("cycle broke", run=leased_run.run_lease.run.id, error=repr(error))
            internal_failure = ModelFailed(Trouble.OTHER, f"something went wrong inside: {type(error).__name__}")
            return await cycle.handle_failure(internal_failure)
        finally:
            cycle.cancel_streams("the cycle ended before it was sent")
            cycle.announce("agent.inactive")


class Cycle:
    def __init__(self, deps: CycleDeps, leased_run: LeasedRun, toolkit: Toolkit) -> None:
        self._deps = deps
        self._store = deps.store
        self._run_lease: RunLease = leased_run.run_lease
        self._toolkit = toolkit
        self._turns: list[Turn] = [step.turn for step in leased_run.steps]
        self._effect_count = leased_run.run_lease.run.effects
        self._active_space = _find_active_space(self._turns)
        #: while the agent isolates an item that makes cycles fail, it takes in nothing but the batch
        self._is_isolated = leased_run.run_lease.resident.batch_limit is not None
        assert leased_run.context is not None, "a resident with a model has a context"
        self._system = _build_system_prompt(leased_run.context.system, toolkit)
        #: the summaries of old cycles, and the turns of recent ones
        mind = leased_run.context.mind
        self._summary_turns: list[Turn] = [summary_turn] if (summary_turn := render_summaries(mind.past_cycles)) else []
        self._past_turns: list[Turn] = list(mind.turns)
        #: the most tokens that the model is shown
        self._max_tokens = leased_run.run_lease.resident.config.mind.max_tokens
        self._spaces = leased_run.context.spaces
        self._streams: Streams | None = None
        #: the items that wait in the inbox, if the last step has read them
        self._waiting_items: list[Item] | None = None

    async def run(self) -> CycleOutcome:
        """Run tools and ask the model until the cycle ends; raise `ModelFailed` if the model does not answer."""
        while True:
            for index, call in self._list_unanswered_calls():
                if (outcome := await self._handle_call(index, call)) is not None:
                    return outcome
            if (limit := find_limit(self._turns, self._run_lease.resident.config.loop)) is not None:
                return await self._stop_at_limit(limit)
            if (exhausted := await self._find_exhausted()) is not None:
                return await self._stop_at_limit(RunLimit.BUDGET, exhausted)
            if self._count_replies() and await self._store.read(agents.is_paused, self._run_lease.resident.number):
                return await self._stop_at_limit(RunLimit.PAUSE)
            preview = await self._check_inbox() if self._count_replies() and not self._is_isolated else None
            reply = drop_extra_calls(await self._ask_model(preview), self._run_lease.resident.config.loop)
            if reply.calls:
                await self._write_journal(journal.record_step, len(self._turns) + 1, reply)
                self._turns.append(reply)
                continue
            step, summary = len(self._turns) + 1, _flatten(reply.text)
            is_last = find_limit([*self._turns, reply], self._run_lease.resident.config.loop) is not None
            finish_result = await self._write_journal(
                endings.finish_run,
                step,
                reply,
                summary=summary,
                context_tokens=self._max_tokens,
                can_continue=not is_last,
                reply_reminder=build_reminder(self._turns),
            )
            if not isinstance(finish_result, Prompt):
                return CycleFinished(finish_result)
            self._turns += [reply, finish_result]  # a gate or a person waits for the agent: it is the next prompt

    async def handle_failure(self, model_failure: ModelFailed) -> CycleOutcome:
        """Cancel what live readers see of the reply, and record the failure."""
        if self._streams is not None:
            await self._streams.wait_for_permissions()
        self.cancel_streams(model_failure.reason)
        return await handle_model_failure(self._deps, self._run_lease, model_failure, effects=self._effect_count)

    def cancel_streams(self, reason: str) -> None:
        """Tell live readers that messages which are still being written will not be sent."""
        if self._streams is not None:
            self._streams.cancel(reason)

    def announce(self, event: str) -> None:
        """Send a frame to the readers of the agent, and of every space that it was in when the cycle began."""
        run = self._run_lease.run
        activity = stream_api.AgentActivityView(
            agent=run.agent, agent_name=self._run_lease.resident.display, run_id=run.id
        )
        frames = [
            build_frame(stream_api.EVENTS, Topic("space", space.id), event, replace(activity, space_id=space.id))
            for space in self._spaces
        ]
        self._deps.send([build_frame(stream_api.EVENTS, Topic("agent", run.agent), event, activity), *frames])

    def _list_unanswered_calls(self) -> list[tuple[int, ToolCall]]:
        """Return the calls of the last reply that have no result yet, each with its index in the reply."""
        result_count = 0
        for turn in reversed(self._turns):
            if isinstance(turn, ModelReply):
                return list(enumerate(turn.calls))[result_count:]
            result_count += isinstance(turn, CallResult)
        return []

    def _count_replies(self) -> int:
        return sum(isinstance(turn, ModelReply) for turn in self._turns)

    async def _find_exhausted(self) -> ExhaustedBudget | None:
        """Return the budget that is used up, or None. A cycle that has begun asks its model at least once."""
        resident = self._run_lease.resident
        if resident.config.budget is None or not self._count_replies():
            return None
        return await self._store.read(find_exhausted_budget, resident)

    async def _stop_at_limit(self, limit: RunLimit, exhausted: ExhaustedBudget | None = None) -> CycleOutcome:
        """End the cycle at a limit; its summary keeps the last words of the model."""
        replies = [turn for turn in self._turns if isinstance(turn, ModelReply)]
        reason = describe_limit(limit, self._run_lease.resident.config, replies[-1])
        note = f"(This cycle ended at {reason}. What it was about may be unfinished.)"
        last_text = next((_flatten(reply.text) for reply in reversed(replies) if reply.text.strip()), "")
        summary = f"{last_text[: _MAX_SUMMARY - len(note) - 1]} {note}".strip()
        step, until = len(self._turns) + 1, exhausted.until if exhausted is not None else None
        has_more = await self._write_journal(
            endings.stop_at_limit, step, limit, note, summary=summary, context_tokens=self._max_tokens, rest_until=until
        )
        return CyclePaused(exhausted.seconds) if exhausted is not None else CycleFinished(has_more)

    async def _check_inbox(self) -> Prompt | None:
        """Take critical items into the cycle; return a preview of the others."""
        waiting_items, self._waiting_items = self._waiting_items, None
        if waiting_items is None:
            waiting_items = await self._store.read(journal.list_waiting_items, self._run_lease.resident.number)
        has_critical = any(item.event.priority is Priority.CRITICAL for item in waiting_items)
        if has_critical and (
            token_budget := journal.count_pullable_bytes(self._run_lease, sum(map(weigh, self._turns)))
        ):
            prompt: Prompt | None = await self._write_journal(
                journal.pull_critical_items, len(self._turns) + 1, token_budget
            )
            if prompt is not None:
                self._turns.append(prompt)
            waiting_items = [item for item in waiting_items if item.event.priority is not Priority.CRITICAL]
        if not waiting_items:
            return None
        count = "1 new event" if len(waiting_items) == 1 else f"{len(waiting_items)} new events"
        lines = [render.preview(item.event) for item in waiting_items[:_PREVIEW_ITEMS]]
        footer = "(They will come to you in your next cycle. If one cannot wait, take it now with peek_inbox.)"
        return Prompt("\n".join([f"[INBOX PREVIEW: {count} waiting]", *lines, footer]))

    def _select_turns(self) -> list[Turn]:
        return trim_turns([*self._summary_turns, *self._past_turns, *self._turns], self._max_tokens)

    async def _ask_model(self, preview: Prompt | None) -> ModelReply:
        """Return the reply of the model; if the context is too long for it, ask again with less of the past."""
        while True:
            try:
                return await self._request_reply(preview)
            except ModelFailed as model_failure:
                if model_failure.trouble is not Trouble.LENGTH:
                    raise
                self.cancel_streams("it is written anew")
                if not self._shrink_context():
                    raise ModelFailed(Trouble.CONTENT, model_failure.reason) from None

    def _shrink_context(self) -> bool:
        """Halve the context by leaving out the past; return False if this cycle alone is too long."""
        turns = self._select_turns()
        self._max_tokens = sum(map(weigh, turns)) // 2
        remaining = self._max_tokens - sum(map(weigh, self._turns))
        self._past_turns = take_recent_turns(self._past_turns, remaining - sum(map(weigh, self._summary_turns)))
        if not self._past_turns:
            self._summary_turns = take_recent_turns(self._summary_turns, remaining)
        return self._select_turns() != turns

    async def _request_reply(self, preview: Prompt | None) -> ModelReply:
        config = self._run_lease.resident.config
        turns = self._select_turns()
        step = self._count_replies() + 1
        request = ChatRequest(
            system=self._system,
            turns=[*turns, preview] if preview else turns,
            tools=[spec for spec in self._toolkit.specs(step) if not (self._is_isolated and spec.name == _PEEK_TOOL)],
            temperature=config.model.temperature,
            max_tokens=config.model.max_tokens,
        )
        self._streams = Streams(
            self._run_lease.run,
            len(self._turns) + 1,
            self._active_space,
            self._can_speak,
            self._deps.send,
            self._find_conversation,
        )
        model = await self._open_model()
        async with aclosing(model.respond(request)) as stream:
            async for part in stream:
                match part:
                    case CallDelta():
                        self._streams.add_delta(part)
                    case TextDelta():
                        pass
                    case ModelReply(usage=usage):
                        if usage.prompt > 0 and usage.completion > 0:
                            return part
                        return replace(part, usage=estimate_usage(usage, request.system, request.turns, part))
        raise ModelFailed(Trouble.OTHER, "the model ended without a reply")

    async def _open_model(self) -> Model:
        try:
            return await self._deps.get_model(choose_model(self._run_lease.resident))
        except GatepostError as error:
            raise ModelFailed(Trouble.AUTH, error.message) from None

    async def _can_speak(self, space: str) -> bool:
        try:
            await self._store.read(spaces.show, space, viewer=self._run_lease.run.agent)
        except GatepostError:
            return False
        return True

    async def _find_conversation(self, event: str) -> Conversation | None:
        try:
            return await self._store.read(replies.find_conversation, event, self._run_lease.run.agent)
        except GatepostError:
            return None

    async def _handle_call(self, index: int, call: ToolCall) -> CycleOutcome | None:
        """Run the tool of a call and journal its result; return the outcome if the call ends the cycle."""
        step = len(self._turns) + 1
        reply_step = max(number for number, turn in enumerate(self._turns, 1) if isinstance(turn, ModelReply))
        call_key = build_call_key(reply_step, index)
        try:
            tool = self._toolkit.find(call.tool, self._count_replies())
            arguments = tool.parse_arguments(call.arguments)
            if tool.name == _PEEK_TOOL and self._is_isolated:
                raise Conflict("nothing more can be taken in this cycle")
            if tool.name == _SKIP_TOOL and not self._effect_count:
                return CycleFinished(await self._write_journal(endings.skip_run))
            result = await self._run_tool(tool, call, step, call_key, arguments)
        except (Lost, Unavailable):
            raise
        except GatepostError as error:
            result = build_failure(call, error.message, error.hint)
            await self._write_journal(journal.record_step, step, result, call_key)
        self._turns.append(result)
        if self._streams is not None and self._streams.is_tracked(index):
            fields = parse_success(result)
            stored_id = fields.get("messageId") or fields.get("id")
            await self._streams.finish(index, message=stored_id, reason="it was not sent")
        return None

    async def _run_tool(
        self, tool: Tool, call: ToolCall, step: int, call_key: str, arguments: Mapping[str, Any]
    ) -> CallResult:
        result: CallResult
        match tool:
            case BuiltInTool(name="skip"):
                raise Conflict("something was done in this cycle already", hint="end with your summary instead")
            case BuiltInTool():
                is_last = len(self._list_unanswered_calls()) == 1
                outcome = await self._write_journal(
                    journal.run_tool, step, call, call_key, arguments, self._active_space, include_waiting=is_last
                )
                result, self._active_space, self._waiting_items = (
                    outcome.result,
                    outcome.active_space,
                    outcome.waiting_items,
                )
                self._effect_count += tool.has_effect
            case OutsideTool(is_async=False):
                result = await self._run_outside_tool(tool, call, f"{self._run_lease.run.id}/{call_key}", arguments)
                await self._write_journal(journal.record_step, step, result, call_key, has_effect=True)
                self._effect_count += 1
            case OutsideTool() | DeferredTool():
                job_arguments = arguments if isinstance(tool, OutsideTool) else None
                result = await self._write_journal(deferred_calls.defer_call, step, call, call_key, job_arguments)
                self._effect_count += 1
                call_id = parse_success(result).get("callId")
                fields = {"arguments": arguments, "call_id": call_id}
                self._send_frame("run.waiting_tool", stream_api.ToolWaitingView, call, visible=tool.visible, **fields)
        return result

    async def _run_outside_tool(
        self, tool: OutsideTool, call: ToolCall, id: str, arguments: Mapping[str, Any]
    ) -> CallResult:
        """Run a tool outside the store: at least once, because a lost answer looks the same as a lost request."""
        if tool.visible:
            self._send_frame("tool.started", stream_api.ToolStartedView, call, arguments=arguments)
        result = await tool.run(id, call, arguments)
        if tool.visible:
            event = "tool.done" if result.ok else "tool.error"
            self._send_frame(event, stream_api.ToolResultView, call, result=result.content[:_MAX_LIVE_RESULT])
        return result

    def _send_frame(
        self, event: str, model: type[stream_api.ToolUseView], call: ToolCall, *, visible: bool = True, **fields: Any
    ) -> None:
        """Send a frame to the readers of the run and, if the tool is `visible`, to those of the active space."""
        run, space = self._run_lease.run, self._active_space if visible else None
        use = model(tool_call_id=call.id, tool_name=call.tool, run_id=run.id, agent=run.agent, **fields)
        frames = (
            [build_frame(stream_api.EVENTS, Topic("space", space), event, replace(use, space_id=space))]
            if space
            else []
        )
        self._deps.send([build_frame(stream_api.EVENTS, Topic("run", run.id), event, use), *frames])

    def _write_journal(self, verb: Callable[..., Any], *args: Any, **kwargs: Any) -> Coroutine[Any, Any, Any]:
        return write_journal(self._store, self._run_lease, verb, *args, **kwargs)


def _build_system_prompt(system: str, toolkit: Toolkit) -> str:
    """Return the system prompt, with the troubles of the tools in this cycle."""
    if not toolkit.troubles:
        return system
    return f"{system}\n\nUNAVAILABLE TOOLS\n" + "\n".join(f"- {escape_unsafe(trouble)}" for trouble in toolkit.troubles)


def _flatten(text: str) -> str:
    """Return a text on one line, cut to the length of a summary."""
    return " ".join(text.split())[:_MAX_SUMMARY]


def _find_active_space(turns: Sequence[Turn]) -> str | None:
    """Return the space that the agent is in: the last one that it entered in this cycle."""
    active_space: str | None = None
    for turn in turns:
        if isinstance(turn, CallResult) and turn.tool == "enter_space":
            space = parse_success(turn).get("spaceId")
            active_space = space if isinstance(space, str) else active_space
    return active_space
