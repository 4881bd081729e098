"""
The story that channels are for: somebody asks, the agent asks back before it acts, and its answer comes to where the
question came from. Everything is real but the network: `gatepost up` is a process, Telegram, the model and the service
that transcribes are servers here, and a voice message has audio that is recognised.
"""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.channels.speech.spoken import SENTENCES, RecognitionServer, record
from tests.channels.telegram.bot_api.server import TelegramServer
from tests.residents.model_server import Answer, CompletionRequest, ModelServer, Say, Use
from tests.support.command_line import WITHOUT_GATEWAY, CommandLine
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.waits import LAST_RESORT

REQUEST = SENTENCES[1]
OPTIONS = [{"id": "yes", "label": "Yes, today"}, {"id": "no", "label": "No"}]
#: seconds


def ask_before_publishing(request: CompletionRequest) -> Answer:
    """The agent: it asks whoever wants something published, and does what the answer says."""
    if request.tool_results:
        return Say("Done for now.")
    line = request.inbox.splitlines()[1]
    if line.startswith("[Decision"):
        [session] = set(re.findall(r"session ([\w:-]+)\)", "\n".join(str(message) for message in request.messages)))
        text = "Published." if "Yes, today" in line else "It stays with us."
        return Use("reply", {"event": session, "text": text})
    session = line.rpartition("(session ")[2].partition(")")[0].partition(",")[0]
    return Use("ask_decision", {"question": "Publish it today?", "options": OPTIONS, "event": session})


@pytest.fixture
def telegram() -> Iterator[TelegramServer]:
    with TelegramServer(allows_http_webhooks=True) as telegram:
        yield telegram


@contextmanager
def run_story_gateway(cli: CommandLine, **environ: str) -> Iterator[ModelServer]:
    """While entered, the gateway runs in the home, with the agent in it."""
    with (
        ModelServer(ask_before_publishing) as model,
        run_gateway_process(cli.home, OPENAI_BASE_URL=model.url, **environ),
    ):
        cli.run_ok("agent", "add", "publisher", "--model", "openai:publisher")
        yield model


@WITHOUT_GATEWAY
def test_somebody_asks_by_voice_presses_a_button_and_is_answered_in_the_same_chat(
    cli: CommandLine, telegram: TelegramServer
) -> None:
    ana, ben = telegram.add_user(7, "Ana", "ana"), telegram.add_user(8, "Ben", "ben")
    with (
        RecognitionServer(confidence=0.9) as speech,
        run_story_gateway(cli, GATEPOST_TELEGRAM__API=telegram.url, GATEPOST_SPEECH__URL=speech.url) as model,
    ):
        words = ("--provider", "telegram", "--token", "-", "--to", "publisher", "--allow", "7", "--allow", "8")
        cli.run_ok("trigger", "add", "desk", *words, stdin=telegram.token.encode())
        telegram.send_voice(ana, record(REQUEST))
        telegram.wait_for(lambda: len(telegram.sent(ana)) == 2, LAST_RESORT)
        echo, question = telegram.sent(ana)
        assert (echo.text, echo.entities[0]["type"]) == (REQUEST, "blockquote")
        assert question.text.startswith("Publish it today?")
        assert [button["text"] for button in question.buttons] == ["Yes, today", "No"]

        telegram.press(ana, question, "Yes, today")
        telegram.wait_for(lambda: len(telegram.sent(ana)) == 3, LAST_RESORT)
        telegram.wait_for(lambda: not telegram.unanswered_queries and not question.buttons, LAST_RESORT)
        assert telegram.sent(ana)[-1].text == "Published."
        assert "Yes, today" in question.text, "the question shows what was answered"
        assert telegram.sent(ben) == []

        entries = cli.run_ok("inbox", "shared", "--session", "chat-7:user-7", "--json").json
        assert [(entry["kind"], entry["content"], entry["answer"]) for entry in entries] == [
            ("user_prompt", REQUEST, None),
            ("system_question", "Publish it today?", "Yes, today"),
            ("system_response", "Published.", None),
        ]
        assert REQUEST in model.requests[0].inbox
    assert telegram.refusals == []


@pytest.mark.nightly  # by day test_chat.py has a conversation by typing
@WITHOUT_GATEWAY
def test_somebody_types_and_answers_by_typing(cli: CommandLine) -> None:
    waiting = ("--to", "publisher", "--as", "husam", "--wait", "--for", "5m")
    with run_story_gateway(cli):
        asked = cli.run_ok("chat", REQUEST, *waiting)
        assert asked.out.splitlines() == ["Publish it today?", "  yes: Yes, today", "  no: No"]
        answered = cli.run_ok("chat", "yes, today", *waiting)
        assert (answered.out, answered.err) == ("Published.\n", "Noted: Yes, today\n")
        entries = cli.run_ok("inbox", "shared", "--session", "cli-husam", "--json").json
        assert [entry["kind"] for entry in entries] == ["user_prompt", "system_question", "system_response"]
