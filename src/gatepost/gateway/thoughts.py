"""What answers about residents look like, for the OpenAPI: what they are told to be, their runs and their minds."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from gatepost.core import wire
from gatepost.gateway.shapes import Time, described, list_of, noun, page_of

RunStatus = Literal["running", "waiting_tool", "completed", "skipped", "failed", "cancelled"]


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

#: what routes answer with; the shapes within them come along
ALL: Final = (Run, RunShown, RunPage, OpenCall, StepPage, Replayed)
