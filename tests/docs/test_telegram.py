"""The guide to Telegram is true: Husam follows it, with a gateway and our own Bot API server."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import User
from tests.docs.test_readme import Block, is_as_expected, parse_blocks, run_block
from tests.support.gateways.gateway_process import run_gateway_process

PROJECT = Path(__file__).parents[2]
PAGE = (PROJECT / "docs" / "telegram.md").read_text(encoding="utf-8")
CODE = "K7M2QX4R"
#: where the gateway has to run for what follows
GATEWAY_HEADING = "\n## Let yourself in"


@pytest.fixture
def server() -> Iterator[TelegramServer]:
    with TelegramServer(has_limits=False) as server:
        yield server


def write(server: TelegramServer, husam: User, text: str) -> None:
    """Write to the bot, and wait until the gateway has taken it."""
    server.send_text(husam, text)
    server.wait_for(lambda: not server.bot.queue.pending)


def prepare(block: Block, server: TelegramServer, husam: User) -> Block:
    """Do what the page tells the reader to do on Telegram before a block; return the block with the real code."""
    match block.text.split()[1:4]:
        case ["channel", "pair", *rest]:
            if not server.sent(husam):
                write(server, husam, "hello")
                server.wait_for(lambda: server.sent(husam))
            if rest:
                [message] = server.sent(husam)
                [code] = re.findall(r"Your code is (\w+)\.", message.text)
                return Block(block.kind, block.text.replace(CODE, code), block.expected)
        case ["inbox", "peek", _]:
            write(server, husam, "How far is the report?")
        case ["inbox", "shared", _]:
            *_, question = server.sent(husam)
            server.press(husam, question, "Yes, today")
            server.wait_for(lambda: question.edits)
        case _:
            pass
    return block


def check_chat(block: Block, server: TelegramServer, husam: User) -> None:
    """Check what Husam sees after a block."""
    match block.text.split()[1:3]:
        case ["reply", _]:
            server.wait_for(lambda: server.sent(husam)[-1].text == "Half of it is done.")
            assert server.sent(husam)[-1].entities == [{"type": "bold", "offset": 0, "length": 4}]
        case ["decision", "ask"]:
            server.wait_for(lambda: server.sent(husam)[-1].buttons)
            *_, question = server.sent(husam)
            assert [button["text"] for button in question.buttons] == ["Yes, today", "no"]
        case ["inbox", "shared"]:
            *_, question = server.sent(husam)
            assert question.text == "Publish it today?\n\nhusam: Yes, today"
        case ["trigger", "set"] if "webhook" in block.text:
            server.wait_for(lambda: server.bot.webhook is not None)
            assert server.bot.webhook is not None
            assert server.bot.webhook.url in PAGE
        case ["trigger", "set"]:
            server.wait_for(server.is_polling)
        case _:
            pass


def test_what_it_shows_is_so(server: TelegramServer, tmp_path: Path) -> None:
    husam = server.add_user(7, "Husam", "husam")
    run_block(Block("command", "gatepost init"), tmp_path)
    (tmp_path / "bot.token").write_text(f"{server.token}\n")
    offline_text, _, online_text = PAGE.partition(GATEWAY_HEADING)
    for block in parse_blocks(offline_text):
        assert is_as_expected(output := run_block(block, tmp_path), block.expected), f"{block.text}\n{output}"
    with run_gateway_process(tmp_path / ".gatepost", GATEPOST_TELEGRAM__API=server.url):
        server.wait_for(server.is_polling)
        blocks = list(parse_blocks(online_text))
        assert len(blocks) > 8
        for block in blocks:
            output = run_block(prepare(block, server, husam), tmp_path)
            assert is_as_expected(output, block.expected), f"{block.text}\n{output}"
            check_chat(block, server, husam)
    assert {call.status for call in server.refusals} <= {409}, "polling learns so that there is a webhook to remove"


def test_its_table_has_messages_that_the_code_has() -> None:
    sources = " ".join(path.read_text(encoding="utf-8") for path in (PROJECT / "src").rglob("*.py"))
    sources = re.sub(r"""["']\s*f?["']""", "", sources)
    rows = re.findall(r"^\| `([^`]+)`.*\|$", PAGE.partition("## If something is wrong")[2], re.MULTILINE)
    assert len(rows) > 10
    for row in rows:
        for piece in row.split("..."):
            assert piece.strip() in sources, row


@pytest.mark.parametrize("target", sorted(set(re.findall(r"\]\(([^)#:]+)\)", PAGE))))
def test_its_links_lead_somewhere(target: str) -> None:
    assert (PROJECT / "docs" / target).exists()
