"""Turns of a cycle: what an agent was shown, what its model replied, and what its tools returned."""

from typing import Annotated, Literal, Self, assert_never

from msgspec import Meta

from gatepost.api.fields import Count
from gatepost.api.operation import View
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall, Turn, Usage

TurnKind = Literal["prompt", "reply", "result"]


class PromptView(View):
    text: str
    events: list[str]

    @classmethod
    def of(cls, prompt: Prompt) -> Self:
        return cls(text=prompt.text, events=list(prompt.events))


class CallView(View):
    id: str
    tool: str
    arguments: Annotated[str, Meta(description="JSON, as the model wrote it")]

    @classmethod
    def of(cls, call: ToolCall) -> Self:
        return cls(id=call.id, tool=call.tool, arguments=call.arguments)


class UsageView(View):
    prompt_tokens: Count
    completion_tokens: Count

    @classmethod
    def of(cls, usage: Usage) -> Self:
        return cls(prompt_tokens=usage.prompt, completion_tokens=usage.completion)


class ReplyView(View):
    text: str
    calls: list[CallView]
    usage: UsageView
    model: str

    @classmethod
    def of(cls, reply: ModelReply) -> Self:
        return cls(
            text=reply.text,
            calls=[CallView.of(call) for call in reply.calls],
            usage=UsageView.of(reply.usage),
            model=reply.model,
        )


class ResultView(View):
    call: str
    tool: str
    content: Annotated[str, Meta(description="JSON")]
    ok: bool

    @classmethod
    def of(cls, result: CallResult) -> Self:
        return cls(call=result.call, tool=result.tool, content=result.content, ok=result.ok)


class TurnView(View):
    """What was shown, said or returned: that of the three which `kind` names."""

    kind: TurnKind
    prompt: PromptView | None
    reply: ReplyView | None
    result: ResultView | None

    @classmethod
    def of(cls, turn: Turn) -> Self:
        match turn:
            case Prompt():
                return cls(kind="prompt", prompt=PromptView.of(turn), reply=None, result=None)
            case ModelReply():
                return cls(kind="reply", prompt=None, reply=ReplyView.of(turn), result=None)
            case CallResult():
                return cls(kind="result", prompt=None, reply=None, result=ResultView.of(turn))
            case other:
                assert_never(other)
