"""
A resident's second week: default settings, hundreds of questions, a model that counts tokens as a provider does (the
whole prompt, every time). Every question is answered, and what a question costs does not grow once old cycles are
compacted. On the way the resident asks for decisions, is reminded of gates and sees previews.
"""

import json
import os
import queue
import re
import threading
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

from tests.living import House, living
from tests.models import Answer, Asked, Say, Script, Use

COUNT = 300 if os.environ.get("GATEPOST_NIGHTLY") else 60
WORDS = "Please look at what was said before and answer with what you know of it. " * 5
OPTIONS = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]


class Clerk:
    """The model of the resident. It goes by what it is shown, and keeps what the test wants to know."""

    def __init__(self) -> None:
        self.house: House | None = None
        #: tokens of every request that shows a new batch, in order
        self.prompt_tokens: list[int] = []
        self.answered: queue.Queue[int] = queue.Queue()
        self.previews = 0
        self.reminders = 0
        self._done: set[int] = set()
        self._asked_ahead: set[int] = set()
        self._lock = threading.Lock()

    def reply(self, asked: Asked) -> Answer:
        assert self.house is not None
        self.house.models.asked.clear()  # each holds the whole mind
        with self._lock:
            return self._reply(asked, self.house)

    def _reply(self, asked: Asked, house: House) -> Answer:
        last = max((place for place, one in enumerate(asked.messages) if one["role"] == "assistant"), default=0)
        shown = "\n".join(str(one.get("content")) for one in asked.messages[last:])
        self.previews += "[INBOX PREVIEW: " in shown
        if "Before you end this cycle:" in shown:
            self.reminders += 1
            gates = re.findall(r"\((gate_[0-9a-f]+)\)", shown)
            return [Use("resolve_gate", {"gateId": gate, "reason": "done"}) for gate in gates]
        questions = [int(number) for number in re.findall(r"Question (\d+):", asked.inbox)]
        if asked.results:
            for number in questions:
                if number not in self._done:
                    self._done.add(number)
                    self.answered.put(number)
            return Say(f"Responded to Husam about {questions or 'a decision'}. Nothing is pending.")
        self.prompt_tokens.append(len(json.dumps(asked.messages)) // 4)
        calls = [Use("enter_space", {"spaceId": "desk"})]
        for number in questions:
            calls.append(Use("send_message", {"text": f"Answer {number}: " + "as it was said before, " * 5}))
            if number % 10 == 3:
                calls.append(Use("ask_decision", {"question": f"Go on {number}?", "options": OPTIONS, "of": ["husam"]}))
            if number % 10 == 5:
                calls.append(Use("set_gate", {"name": f"check {number}", "awaits": "clerk", "instruction": "Check"}))
            if number % 10 == 7 and number not in self._asked_ahead and number < COUNT:
                self._asked_ahead.add(number)
                ask(house, number + 1)  # it waits while this cycle goes on, and is previewed
        return calls


def ask(house: House, number: int) -> None:
    house.say("desk", f"Question {number}: {WORDS}", by="husam")


def test_every_question_is_answered_and_the_cost_stays_flat(tmp_path: Path) -> None:
    clerk = Clerk()
    scripts: dict[str, Script] = {"clerk": clerk.reply}
    with living(tmp_path, scripts) as house:
        clerk.house = house
        house.person("husam")
        house.resident("clerk")
        house.space("desk", "husam", "clerk")
        for number in range(1, COUNT + 1):
            if number % 10 != 8:  # those are asked ahead
                ask(house, number)
            assert clerk.answered.get(timeout=60) == number
            for decision in house.get("/decisions", asked="husam", pending="true")["items"]:
                house.put(f"/decisions/{decision['id']}/answer", by="husam", option="yes")
        said = list_answers(house)
        runs = list_runs(house)
        alerts = house.get("/inbox/admin", type="alert")["items"]
        gates = house.get("/gates", owner="clerk", pending="true")["items"]

    assert Counter(said) == Counter(range(1, COUNT + 1)), "every question is answered, once"
    assert {(run["status"], run["limit"]) for run in runs} == {("completed", None)}
    assert all(run["summary"].startswith("Responded to Husam") for run in runs), "no closing text is lost"
    assert alerts == []
    assert gates == []
    assert clerk.previews >= COUNT // 10
    assert clerk.reminders == COUNT // 10
    costs = clerk.prompt_tokens
    assert any(later < earlier for earlier, later in pairwise(costs)), "old cycles were compacted"
    middle, last = costs[len(costs) // 3 : 2 * len(costs) // 3], costs[2 * len(costs) // 3 :]
    assert sum(last) / len(last) <= 1.25 * sum(middle) / len(middle), "what a question costs does not grow"
    assert max(costs) <= 1.5 * 100_000


def list_answers(house: House) -> list[int]:
    """Return the numbers of all answers in the space."""
    found: list[int] = []
    after = 0
    while items := house.get("/spaces/desk/messages", afterSeq=after, limit=100)["items"]:
        found += [int(one["content"].split()[1].rstrip(":")) for one in items if one["sender"] == "clerk"]
        after = items[-1]["seq"]
    return found


def list_runs(house: House) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = house.get("/agents/clerk/runs", **query)
        runs += [run for run in page["items"] if run["status"] != "running"]
        if page["next"] is None:
            return runs
        query["after"] = page["next"]
