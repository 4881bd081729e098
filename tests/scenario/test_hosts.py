"""
Whole sessions of a guest in a host that behaves as Claude Code documents, through the real command, as installed by the
real command: with a gateway, and without one.
"""

import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from gatepost import app, settings
from gatepost.actions import directory
from gatepost.actions.directory import EntitySpec
from gatepost.core.entity import EntityKind
from tests.acceptance.office import Office
from tests.hosts import CAP, ClaudeCode
from tests.uplinks import Running, running

SESSION = "7c1e6a52-0d0f-4a53-9d58-6f0b0c5d2a11"


@dataclass
class House:
    """A home with the agent ann in it, who lives in Claude Code, and her person husam."""

    office: Office
    host: ClaudeCode
    gateway: Running | None

    def push(self, text: str, *words: str) -> None:
        self.office.done("inbox", "push", "--to", "ann", "--as", "husam", *words, text)

    def inbox(self, name: str) -> str:
        return self.office.done("inbox", "list", "--to", name, "--json").out

    def ask(self, question: str = "Go on?") -> str:
        """Ann asks; husam is the one who is asked."""
        options = ("--option", "continue=Go on", "--option", "stop=Stop here")
        words = ("decision", "ask", question, *options, "--of", "husam", "--as", "ann", "--session", SESSION)
        return self.office.done(*words).out.strip()

    def answer(self, decision: str, option: str) -> None:
        self.office.done("decision", "answer", decision, option, "--as", "husam")


@pytest.fixture(params=["alone", "with a gateway"])
def house(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> Iterator[House]:
    home, here = tmp_path / "home", tmp_path / "project"
    here.mkdir()
    monkeypatch.chdir(here)
    environ = {"GATEPOST_HOME": str(home), "NO_COLOR": "1"}
    with app.prepare_store(settings.load(environ)) as store:
        store.call(directory.register, EntitySpec(name="husam", kind=EntityKind.HUMAN))
        store.call(directory.register, EntitySpec(name="ann", kind=EntityKind.AGENT, owner="husam"))
    office = Office(home, here, monkeypatch, capsys, environ)
    installed = office.done("hooks", "install", "--scope", "local").out.strip()
    monkeypatch.setenv("GATEPOST_HOME", str(home))
    monkeypatch.setenv("GATEPOST_AGENT", "ann")
    host = ClaudeCode(Path(installed), here, session=SESSION)
    if request.param == "alone":
        yield House(office, host, None)
        return
    with running(home) as gateway:
        yield House(office, host, gateway)


def shown(host: ClaudeCode, text: str) -> int:
    """How often the model was shown it."""
    return sum(each.count(text) for each in (*host.context, *host.feedback))


def test_a_guest_reads_its_inbox_once_wherever_its_host_shows_it(house: House) -> None:
    host = house.host
    house.push("before the start")
    assert "before the start" in host.start().context
    house.push("before a prompt")

    def tx(seen: str) -> None:
        if "before a prompt" in seen:
            house.push("while a tool runs")
            assert "while a tool runs" in host.use().context
            house.push("before the end")

    host.model = tx
    assert host.say("Do it") == 1, "what came before the end makes it go on, once"
    house.push("before compaction")
    assert "before compaction" in host.compact().context
    host.rest()
    house.push("after the end")
    host.end()
    for text in ("before the start", "before a prompt", "while a tool runs", "before the end", "before compaction"):
        assert shown(host, text) == 1, text
    assert shown(host, "after the end") == 0
    assert "after the end" in house.inbox("ann")
    assert host.feedback == []


def test_a_decision_keeps_it_until_it_is_answered_and_the_answer_is_told(house: House) -> None:
    host = house.host
    asked: list[str] = []

    def tx(seen: str) -> None:
        if not asked:
            asked.append(house.ask())
        elif "not answered yet" in seen:
            house.answer(asked[0], "continue")

    host.start()
    host.model = tx
    assert host.say("Do it") == 2, host.feedback
    assert len(host.feedback) == 1
    assert "Go on?" in host.feedback[0]
    assert "answered by" in host.context[-1]
    assert asked[0] in host.context[-1]
    assert shown(host, "answered by") == 1


def test_where_it_has_to_ask_before_it_stops_it_waits_for_the_answer(house: House) -> None:
    (house.office.home / "gatepost.toml").write_text("[stop_decision]\nenabled = true\n")
    host = house.host
    answers = ["continue", "stop"]
    people: list[threading.Thread] = []

    def tx(seen: str) -> None:
        if "ask for a decision" in seen:
            words = ("decision", "answer", house.ask(f"What {len(answers)}?"), answers.pop(0), "--as", "husam")
            people.append(threading.Thread(target=house.office.process, args=words))
            people[-1].start()

    host.start()
    host.model = tx
    continuations = host.say("Do it")
    for person in people:
        person.join()
    assert answers == [], "it was asked for twice: after it went on, the first no longer counts"
    assert [("ask for a decision" in each) for each in host.feedback] == [True, True]
    assert shown(host, 'answered by husam: "Go on"') == 1, host.context
    assert shown(host, 'answered by husam: "Stop here"') == 0, "that lets it go, and is no reason to go on"
    assert continuations == 3, "told to ask, told to go on, told to ask"


def test_a_gate_that_does_not_open_lets_go_after_three(house: House) -> None:
    house.office.done("gate", "add", "Sign-off", "--owner", "ann", "--awaits", "husam", "--instruction", "Wait for it.")
    host = house.host
    host.start()
    assert host.say("Do it") == 3
    assert len(host.feedback) == 3
    assert all("Wait for it." in each for each in host.feedback)
    assert sum("lets the agent stop" in each for each in host.shown) == 1
    assert '"alert"' in house.inbox("husam")
    house.push("more")
    host.say("Go on")
    assert shown(host, "more") == 1, "it is held again, and reads its inbox as before"
    assert len(host.feedback) == 6


def test_gates_of_the_session_hold_until_they_are_marked(house: House) -> None:
    host, done = house.host, house.office.done
    done("gate", "register", "tested", "--hint", "run the tests")
    done("gate", "register", "careful", "--hook", "PreToolUse", "--hint", "look before you leap")
    done("hooks", "install", "--scope", "local")
    host.start()
    assert "look before you leap" in host.use().blocked
    done("gate", "mark", "careful", "--session", SESSION)
    assert not host.use().blocked

    def tx(seen: str) -> None:
        if "run the tests" in seen:
            done("gate", "mark", "tested", "--session", SESSION)

    host.model = tx
    assert host.say("Do it") == 1
    assert len(host.feedback) == 2
    assert host.say("And that") == 0, "a mark stays"


def test_a_soft_gate_warns_once(house: House) -> None:
    host = house.host
    house.office.done("gate", "register", "said", "--soft")
    host.start()
    assert (host.say("Do it"), host.say("And that")) == (0, 0)
    warned = [each for each in host.shown if "said" in each]
    assert len(warned) == 1
    assert shown(host, "said") == 0, "it is for the person"
    assert not any("work-update" in each for each in host.shown), "there are no work items"


def test_a_tool_that_failed_shows_the_inbox_too(house: House) -> None:
    host = house.host
    host.start()
    house.push("while a tool fails")
    assert "while a tool fails" in host.use(fails=True).context
    assert shown(host, "while a tool fails") == 1


def test_an_inbox_that_is_never_empty_makes_it_go_on_five_times_at_most(house: House) -> None:
    host = house.host
    count = 0

    def tx(_: str) -> None:
        nonlocal count
        count += 1
        house.push(f"number {count}.")

    host.start()
    host.model = tx
    assert host.say("Do it") == 5 < CAP
    assert count == 6
    assert [shown(host, f"number {n}.") for n in range(1, 7)] == [1] * 5 + [0]
    host.model = lambda _: None
    host.say("And now")
    assert shown(host, "number 6.") == 1


def test_a_gateway_that_goes_away_is_done_without(house: House) -> None:
    host = house.host
    host.start()
    house.push("one")
    host.say("Do it")
    if house.gateway is not None:
        house.gateway.kill()
    house.push("two")
    host.say("Go on")
    assert [shown(host, text) for text in ("one", "two")] == [1, 1]
    assert '"pending"' not in house.inbox("ann")
