"""
A resident's second week: default settings (by day a smaller mind), many questions, a model that counts tokens as a
provider does (the whole prompt, every time). Every question is answered, and what a question costs does not grow once
old cycles are compacted. On the way the resident asks for decisions, is reminded of gates and sees previews.
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

from tests.residents.model_server import Answer, CompletionRequest, Say, Script, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway, run_scripted_gateway
from tests.support.waits import LAST_RESORT

NIGHTLY = bool(os.environ.get("GATEPOST_NIGHTLY"))
QUESTION_COUNT = 300 if NIGHTLY else 30
#: by day a small mind is full after as few questions
MIND = {"maxTokens": 100_000, "minRecentCycles": 10} if NIGHTLY else {"maxTokens": 16_000, "minRecentCycles": 4}
QUESTION_TEXT = "Please look at what was said before and answer with what you know of it. " * 5
YES_NO_OPTIONS = [{"id": "yes", "label": "Yes"}, {"id": "no", "label": "No"}]


class QuestionModel:
    """The model of the resident. It goes by what it is shown, and keeps what the test wants to know."""

    def __init__(self) -> None:
        self.gateway: ScriptedGateway | None = None
        #: tokens of every request that shows a new batch, in order
        self.prompt_tokens: list[int] = []
        self.answered_numbers: queue.Queue[int] = queue.Queue()
        self.preview_count = 0
        self.reminder_count = 0
        self._answered_set: set[int] = set()
        self._asked_ahead: set[int] = set()
        self._lock = threading.Lock()

    def reply(self, request: CompletionRequest) -> Answer:
        assert self.gateway is not None
        self.gateway.model_server.requests.clear()  # each holds the whole mind
        with self._lock:
            return self._reply(request, self.gateway)

    def _reply(self, request: CompletionRequest, gateway: ScriptedGateway) -> Answer:
        last = max(
            (index for index, message in enumerate(request.messages) if message["role"] == "assistant"), default=0
        )
        visible_text = "\n".join(str(message.get("content")) for message in request.messages[last:])
        self.preview_count += "[INBOX PREVIEW: " in visible_text
        if "Before you end this cycle:" in visible_text:
            self.reminder_count += 1
            gates = re.findall(r"\((gate_[0-9a-f]+)\)", visible_text)
            return [Use("resolve_gate", {"gateId": gate, "reason": "done"}) for gate in gates]
        questions = [int(number) for number in re.findall(r"Question (\d+):", request.inbox)]
        if request.tool_results:
            for number in questions:
                if number not in self._answered_set:
                    self._answered_set.add(number)
                    self.answered_numbers.put(number)
            return Say(f"Responded to Husam about {questions or 'a decision'}. Nothing is pending.")
        self.prompt_tokens.append(len(json.dumps(request.messages)) // 4)
        calls = [Use("enter_space", {"spaceId": "desk"})]
        for number in questions:
            calls.append(Use("send_message", {"text": f"Answer {number}: " + "as it was said before, " * 5}))
            if number % 10 == 3:
                calls.append(
                    Use("ask_decision", {"question": f"Go on {number}?", "options": YES_NO_OPTIONS, "of": ["husam"]})
                )
            if number % 10 == 5:
                calls.append(Use("set_gate", {"name": f"check {number}", "awaits": "clerk", "instruction": "Check"}))
            if number % 10 == 7 and number not in self._asked_ahead and number < QUESTION_COUNT:
                self._asked_ahead.add(number)
                ask_question(gateway, number + 1)  # it waits while this cycle goes on, and is previewed
        return calls


def ask_question(gateway: ScriptedGateway, number: int) -> None:
    gateway.post_message("desk", f"Question {number}: {QUESTION_TEXT}", sender="husam")


def test_every_question_is_answered_and_the_cost_stays_flat(tmp_path: Path) -> None:
    model = QuestionModel()
    scripts: dict[str, Script] = {"clerk": model.reply}
    with run_scripted_gateway(tmp_path, scripts) as gateway:
        model.gateway = gateway
        gateway.create_person("husam")
        gateway.create_resident("clerk", mind=MIND)
        gateway.create_space("desk", "husam", "clerk")
        for number in range(1, QUESTION_COUNT + 1):
            if number % 10 != 8:  # those are asked ahead
                ask_question(gateway, number)
            assert model.answered_numbers.get(timeout=LAST_RESORT) == number
            for decision in gateway.get("/decisions", asked="husam", pending="true")["items"]:
                gateway.put(f"/decisions/{decision['id']}/answer", by="husam", option="yes")
        answer_numbers = list_answers(gateway)
        runs = list_runs(gateway)
        alerts = gateway.get("/inbox/admin", type="alert")["items"]
        gates = gateway.get("/gates", owner="clerk", pending="true")["items"]

    assert Counter(answer_numbers) == Counter(range(1, QUESTION_COUNT + 1)), "every question is answered, once"
    assert {(run["status"], run["limit"]) for run in runs} == {("completed", None)}
    assert all(run["summary"].startswith("Responded to Husam") for run in runs), "no closing text is lost"
    assert alerts == []
    assert gates == []
    assert model.preview_count >= QUESTION_COUNT // 10
    assert model.reminder_count == QUESTION_COUNT // 10
    costs = model.prompt_tokens
    assert any(later < earlier for earlier, later in pairwise(costs)), "old cycles were compacted"
    middle, last = costs[len(costs) // 3 : 2 * len(costs) // 3], costs[2 * len(costs) // 3 :]
    assert sum(last) / len(last) <= 1.25 * sum(middle) / len(middle), "what a question costs does not grow"
    assert max(costs) <= 1.5 * MIND["maxTokens"]


def list_answers(gateway: ScriptedGateway) -> list[int]:
    """Return the numbers of all answers in the space."""
    numbers: list[int] = []
    after = 0
    while items := gateway.get("/spaces/desk/messages", afterSeq=after, limit=100)["items"]:
        numbers += [int(message["content"].split()[1].rstrip(":")) for message in items if message["sender"] == "clerk"]
        after = items[-1]["seq"]
    return numbers


def list_runs(gateway: ScriptedGateway) -> list[dict[str, Any]]:
    runs: list[dict[str, Any]] = []
    query: dict[str, Any] = {"limit": 100}
    while True:
        page = gateway.get("/agents/clerk/runs", **query)
        runs += [run for run in page["items"] if run["status"] != "running"]
        if page["next"] is None:
            return runs
        query["after"] = page["next"]
