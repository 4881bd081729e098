"""What requests about decisions may say, and what answers look like."""

from collections.abc import Sequence
from typing import Annotated, Final, Literal

from msgspec import Meta
from msgspec.structs import replace
from pydantic import Field

from gatepost.core import decision as core
from gatepost.core import wire
from gatepost.core.event import Priority
from gatepost.gateway.shapes import Ref, described, list_of, noun, page_of
from gatepost.gateway.wire import Body, example

Who = Annotated[str | None, Field(description="the caller itself, where that can be nobody else")]


class _Deadline(Body):
    deadline: Annotated[str | None, Field(description="a time", examples=["2026-02-20T10:00:00Z"])] = None
    within: Annotated[str | None, Field(description="a duration from now, instead", examples=["2h"])] = None


class Choice(Body):
    id: Annotated[str, Field(description="a short word")]
    label: str
    description: str = ""


class Reference(Body):
    type: str
    id: str


class Revision(_Deadline):
    model_config = example(
        question="Ship version 2 on Monday instead?",
        options=[{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait"}],
    )

    question: str
    options: Annotated[Sequence[Choice], Field(description="up to 20")] = ()
    free_text: Annotated[bool, Field(description="whether it may be answered in words")] = False
    urgency: Annotated[int | str, Field(description="0 to 4, or critical, high, normal, low, fyi")] = 2
    default: Annotated[str | None, Field(description="the option that counts at the deadline")] = None
    context: Annotated[str | None, Field(description="what whoever answers should know")] = None
    ref: Annotated[Reference | None, Field(description="what it is about")] = None
    asker: Who = None

    def wish(self) -> core.Question:
        return wire.QUESTION.read(self.document(), urgency=Priority.parse(self.urgency))


class NewDecision(Revision):
    model_config = example(
        asker="analyst",
        of=["husam"],
        question="Ship version 2 today?",
        options=[{"id": "ship", "label": "Ship it"}, {"id": "wait", "label": "Wait", "description": "until Monday"}],
        freeText=True,
        default="wait",
        within="2h",
    )

    of: Annotated[Sequence[str], Field(description="names or teams; else the owner of the asker")] = ()
    session: Annotated[str | None, Field(description="the guest session that asks")] = None

    def wish(self) -> core.Question:
        return replace(super().wish(), respondents=tuple(self.of), session=self.session)


class AnswerWish(Body):
    model_config = example(option="ship")

    option: str | None = None
    text: Annotated[str | None, Field(description="words; alone only where they are allowed")] = None
    again: Annotated[bool, Field(description="send the question back, with words: at most two times")] = False
    reject: Annotated[bool, Field(description="refuse to decide")] = False
    context_hash: Annotated[str | None, Field(description="of the question that was read: a changed one is 409")] = None
    by: Who = None

    def reply(self) -> core.AnswerSpec:
        return wire.ANSWER_SPEC.read(self.document())


_Round = Annotated[int, Meta(ge=1)]
Option = noun("Option", wire.OPTION)
DecisionAnswer = noun(
    "DecisionAnswer",
    wire.ANSWER,
    about="How a round of a decision ended.",
    by=described(str | None, "null when nobody did anything: at the deadline"),
    iteration=_Round,
)
Decision = noun(
    "Decision",
    wire.DECISION,
    options=list_of(Option),
    contextHash=described(str, "of the question as it stands; send it back with the answer"),
    ref=Ref | None,
    iteration=_Round,
    guidance=described(str | None, "what was said by whoever sent the last round back"),
    status=Literal["pending", "revising", "answered", "rejected", "expired", "withdrawn", "orphaned"],
    overdue=bool,
    answer=described(DecisionAnswer | None, "the one that counts"),
    answers=described(list_of(DecisionAnswer), "of all rounds"),
)
DecisionPage = page_of(Decision)

ALL: Final = (Decision, DecisionPage)
