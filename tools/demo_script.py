"""
What the residents of the demo say. A small server with OpenAI's protocol answers for them, so that the screenshots show
plausible work without a key, and the same work each time.

A `Cue` belongs to an agent: if its words are in the batch that the agent reads, it makes the calls, and says its
summary when they are done. Texts with several versions come in turns. An agent without a cue in its batch skips.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import cycle
from typing import Any, Final

from gatepost.channels.provider import build_chat_session
from tests.residents.model_server import Answer, CompletionRequest, Part, PausePoint, Say, Think, Tokens, Use

_NAME: Final = re.compile(r"Your name here is (\S+)\.")

#: who writes on Telegram, and where the answers go
TELEGRAM_USER: Final = 41
TELEGRAM_SESSION: Final = build_chat_session(str(TELEGRAM_USER), str(TELEGRAM_USER))

Calls = tuple[tuple[str, Mapping[str, Any]], ...]


@dataclass(frozen=True)
class Cue:
    agent: str
    words: str
    #: what it does; one of these in turn
    versions: tuple[Calls, ...]
    summary: str
    #: of one request: prompt and completion
    tokens: tuple[int, int] = (2_800, 140)
    thought: str = ""


def post(space: str, text: str) -> Calls:
    return ("enter_space", {"spaceId": space}), ("send_message", {"text": text})


def reply(session: str, text: str) -> Calls:
    return (("reply", {"event": session, "text": text}),)


def remember(key: str, value: str) -> Calls:
    return (("set_memories", {"memories": [{"key": key, "value": value}]}),)


CUES: Final = (
    Cue(
        "analyst",
        "Morning numbers",
        (
            post("sales", "Yesterday: **212 orders**, 8,940 EUR. That is 4% more than a week before."),
            post("sales", "Yesterday: **187 orders**, 7,615 EUR. A quiet day; returns are at 1.2%."),
            post("sales", "Yesterday: **241 orders**, 10,270 EUR. The newsletter brought 38 of them."),
            post("sales", "Yesterday: **203 orders**, 8,388 EUR. Nothing unusual."),
            post("sales", "Yesterday: **226 orders**, 9,512 EUR. Gift boxes are back: 41 of them."),
        ),
        "Posted the numbers of yesterday in Sales. Nothing is pending.",
        (4_100, 210),
        "The plan asks for the numbers of yesterday. I have them from the shop.",
    ),
    Cue(
        "buyer",
        "Stock check",
        (
            post("roastery", "Stock is fine. Sidamo lasts 13 days, Huila 19, Sumatra 31."),
            post("roastery", "Stock is fine. Sidamo lasts 12 days, Huila 18, Sumatra 30."),
            post("roastery", "Huila arrives on Thursday. Sidamo lasts 11 days, Sumatra 29."),
            post("roastery", "Sidamo lasts 10 days, and a delivery takes 7. Everything else is fine."),
            post("roastery", "Sidamo lasts **9 days**, and a delivery takes 7. I will ask before I order."),
        ),
        "Reported the stock in Roastery. Nothing is pending.",
        (3_300, 120),
    ),
    Cue(
        "buyer",
        "order Sidamo now",
        (
            (
                (
                    "ask_decision",
                    {
                        "question": "Order 240 kg of Sidamo for 2,160 EUR?",
                        "options": [{"id": "yes", "label": "Order it"}, {"id": "half", "label": "Order 120 kg"}],
                    },
                ),
                *post("roastery", "The price is good until Friday, so I have asked for a decision about 240 kg."),
            ),
        ),
        "Asked for a decision about Sidamo, and said so in Roastery. A decision is pending.",
        (5_200, 260),
        "A delivery takes 7 days and the stock lasts 9. The amount is above my limit of 1,000 EUR, so I ask.",
    ),
    Cue(
        "analyst",
        "Q4 draft",
        (
            (
                *remember("report-day", "The quarterly report is due on the second Friday."),
                *post(
                    "sales",
                    "Here is the draft:\n\n| quarter | orders | revenue | growth |\n|---|---:|---:|---:|\n"
                    "| Q3 | 17,204 | 702,400 EUR | 4% |\n| Q4 | 18,911 | 765,800 EUR | **9%** |\n\n"
                    "Subscriptions grew most: 31% of all orders, up from 24%.",
                ),
            ),
        ),
        "Posted the draft of the report in Sales, and stored when it is due. Nothing is pending.",
        (7_900, 420),
        "They want one page with the growth first. I compare the orders of both quarters.",
    ),
    Cue(
        "analyst",
        "chart of subscriptions",
        (post("sales", "I will add it to page two, from January to December."),),
        "Told Jonas that the chart comes on page two. Nothing is pending.",
        (8_300, 90),
    ),
    Cue(
        "analyst",
        "large-order",
        (post("sales", "Café Lindqvist has ordered for **1,290 EUR** (order 4720), the largest order of this week."),),
        "Told Sales about the order 4720. Nothing is pending.",
        (3_200, 90),
    ),
    Cue(
        "buyer",
        "Price of Huila",
        (post("roastery", "Huila is at 8.70 EUR a kilo, 20 cents less than last month."),),
        "Posted the price of Huila in Roastery. Nothing is pending.",
        (3_000, 80),
    ),
    Cue(
        "front-desk",
        "where is order 4711",
        (reply("web-mira", "Order 4711 left the roastery yesterday at 16:40 and should arrive tomorrow."),),
        "Answered Mira about order 4711. Nothing is pending.",
        (2_100, 80),
    ),
    Cue(
        "front-desk",
        "change the address",
        (reply("web-mira", "Not any more: the parcel is on its way. I can ask the carrier to keep it at a shop."),),
        "Answered Mira about the address. Nothing is pending.",
        (2_300, 95),
    ),
    Cue(
        "front-desk",
        "What is new today",
        (
            reply(
                "web-main",
                "Three things:\n\n1. **Sidamo** is running low, and Buyer has asked you for a decision.\n"
                "2. The draft of the Q4 report is in *Sales*.\n3. Scout watches the checkout, which was slow at noon.",
            ),
        ),
        "Told the administrator what is new. Nothing is pending.",
        (3_600, 150),
    ),
    Cue(
        "front-desk",
        "When is Huila back",
        (reply(TELEGRAM_SESSION, "Huila is back **next Tuesday**: the roast is planned for Monday."),),
        "Told Lena when Huila is back. Nothing is pending.",
        (2_200, 70),
    ),
    Cue(
        "front-desk",
        "keep two bags",
        (reply(TELEGRAM_SESSION, "Two bags are kept for you until Friday, under the name *Brandt*."),),
        "Kept two bags for Lena. Nothing is pending.",
        (2_400, 75),
    ),
    Cue(
        "scout",
        "checkout is slow",
        (
            post(
                "operations",
                "The checkout took 2.4 s at noon, three times as long as usual. The payment service was slow.",
            ),
        ),
        "Explained the slow checkout in Operations. Nothing is pending.",
        (4_700, 180),
        "The timings of the shop are normal but for one step: the call of the payment service.",
    ),
    Cue(
        "scout",
        "error rate",
        (post("operations", "The error rate is back at 0.1% since 14:05. The retry of the mailer has helped."),),
        "Reported the error rate in Operations. Nothing is pending.",
        (3_900, 130),
    ),
)
#: an agent that is still writing when the screenshots are taken, the words that it answers, and what it writes
WRITER: Final = "scout"
QUESTION: Final = "look at it again"
UNFINISHED: Final = (
    "The last hour looks better: 0.9 s for the checkout, and no payment was tried twice. I also see that"
)


class ShortPause(PausePoint):
    """A pause of some seconds, unless it is opened before. A model that is silent for longer is taken as lost."""

    def wait_until_open(self) -> None:
        self.reached_event.set()
        self._open_event.wait(5)


class DemoScript:
    """Answers for all residents. `pause` holds up the unfinished answer, for nine minutes or until it is opened."""

    def __init__(self) -> None:
        self.pause = ShortPause()
        self._versions = {cue.words: cycle(cue.versions) for cue in CUES}

    def __call__(self, request: CompletionRequest) -> Answer:
        match = _NAME.search(request.system)
        name = match[1] if match else ""
        if name == WRITER and QUESTION in request.inbox:
            return self._write_slowly(request)
        cues = [cue for cue in CUES if cue.agent == name and cue.words in request.inbox]
        if request.tool_results:
            return Say(" ".join(cue.summary for cue in cues) or "Nothing is pending.")
        return list(self._build_parts(cues)) or Use("skip", {"reason": "nothing here is for me"})

    def _write_slowly(self, request: CompletionRequest) -> Answer:
        if not request.tool_results:
            return Use("enter_space", {"spaceId": "operations"})
        if self.pause.reached_event.is_set():
            return Say("Answered Jonas in Operations. Nothing is pending.")
        return [
            Use("send_message", {"text": UNFINISHED}),
            *(part for _ in range(110) for part in (self.pause, Think(" "))),
        ]

    def _build_parts(self, cues: list[Cue]) -> Iterator[Part]:
        for cue in cues:
            if cue.thought:
                yield Say(f"{cue.thought} ")
            for tool, arguments in next(self._versions[cue.words]):
                yield Use(tool, arguments)
        if cues:
            yield Tokens(sum(cue.tokens[0] for cue in cues), sum(cue.tokens[1] for cue in cues))
