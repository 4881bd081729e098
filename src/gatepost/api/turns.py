"""Turns of a cycle: what an agent was shown, what its model replied, and what its tools returned."""

from typing import Annotated, Any, Literal, Self, assert_never

from msgspec import Meta

from gatepost.api.fields import Count, RecordView, Source
from gatepost.core.mind import CallResult, ModelReply, Prompt, ToolCall, Turn, Usage

TurnKind = Literal["prompt", "reply", "result"]


class PromptView(RecordView[Prompt]):
    text: str
    events: list[str]


class CallView(RecordView[ToolCall]):
    id: str
    tool: str
    arguments: Annotated[str, Meta(description="JSON, as the model wrote it")]


class UsageView(RecordView[Usage]):
    prompt_tokens: Annotated[Count, Source("prompt")]
    completion_tokens: Annotated[Count, Source("completion")]


class ReplyView(RecordView[ModelReply]):
    text: str
    calls: list[CallView]
    usage: UsageView
    model: str


class ResultView(RecordView[CallResult]):
    call: str
    tool: str
    content: Annotated[str, Meta(description="JSON")]
    ok: bool


class TurnView(RecordView[Turn]):
    """What was shown, said or returned: that of the three which `kind` names."""

    kind: TurnKind
    prompt: PromptView | None
    reply: ReplyView | None
    result: ResultView | None

    @classmethod
    def of(cls, record: Turn, /, **values: Any) -> Self:
        match record:
            case Prompt():
                return cls(kind="prompt", prompt=PromptView.of(record), reply=None, result=None, **values)
            case ModelReply():
                return cls(kind="reply", prompt=None, reply=ReplyView.of(record), result=None, **values)
            case CallResult():
                return cls(kind="result", prompt=None, reply=None, result=ResultView.of(record), **values)
            case other:
                assert_never(other)
