"""`gatepost channel`: list the channels, and let users in."""

import json

import pytest

from gatepost import app, settings
from gatepost.channels import conversation_actions as conversations, pairing_actions as pairing
from gatepost.channels.triggers import actions as triggers
from gatepost.core.ports import Transaction
from gatepost.directory import entity_actions as directory
from tests.support.command_line import CommandLine


def ask(cli: CommandLine, user: int, name: str) -> str:
    """Ask to be let in, as a user of the bot; return the code."""

    def request(tx: Transaction) -> str | None:
        bot = triggers.show(tx, "desk")
        return pairing.request(tx, bot, chat=str(user), user_id=str(user), display=name, random_bits=user**9)

    with app.prepare_store(settings.load({"GATEPOST_HOME": str(cli.home)})) as store:
        code = store.run_sync(request)
    assert code is not None
    return code


def begin_session(cli: CommandLine, base: str) -> None:
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(cli.home)})) as store:
        bot = store.read_sync(triggers.show, "desk")
        husam = store.read_sync(directory.find, "husam")
        store.run_sync(conversations.ensure_session, "telegram", base, trigger=bot, person=husam, display="Hu\x1bsam")


@pytest.fixture
def bot(cli: CommandLine) -> CommandLine:
    cli.run_ok("trigger", "add", "desk", "--provider", "telegram", "--token", "env:BOT", "--to", "analyst")
    return cli


def test_a_user_is_let_in_by_the_code_and_let_go_by_the_id(bot: CommandLine) -> None:
    assert "nobody waits to be let in" in bot.run_ok("channel", "pair").err
    code = ask(bot, 66, "Eve\x1b[2J")
    [request] = bot.run_ok("channel", "pair", "--json").json
    assert (request["trigger"], request["userId"], request["state"]) == ("desk", "66", "requested")
    table = bot.run_ok("channel", "pair").out
    assert request["id"] in table
    assert code not in table
    assert "\x1b" not in table
    assert bot.run_ok("channel", "list", "--json").json[-1]["requests"] == 1

    approved = bot.run_ok("channel", "pair", code, "--person", "husam")
    assert (approved.out, "writes to desk as husam" in approved.err) == ("husam\n", True)
    [row] = bot.run_ok("channel", "pair", "--all", "--json").json
    assert (row["person"], row["state"]) == ("husam", "approved")
    ended = bot.run_ok("channel", "unpair", row["id"])
    assert (ended.out, "is not husam any more" in ended.err) == (f"{row['id']}\n", True)
    again = bot("channel", "unpair", row["id"])
    assert (again.code, again.error) == (1, f"the pairing {row['id']!r} is denied, not approved")


def test_a_user_is_refused_and_a_new_person_is_made(bot: CommandLine) -> None:
    refused = bot.run_ok("channel", "pair", ask(bot, 66, "Eve"), "--refuse", "--json").json
    assert (refused["state"], refused["person"]) == ("denied", None)
    assert bot.run_ok("channel", "pair", ask(bot, 67, "Zoe B.")).out == "zoeb\n"


def test_wrong_codes_are_all_the_same(bot: CommandLine) -> None:
    code = ask(bot, 66, "Eve")
    bot.run_ok("channel", "pair", code)
    answers = {bot("channel", "pair", attempt).error for attempt in (code, "AAAAAAAA")}
    assert answers == {"no request has this code, or it is not valid any more"}
    malformed = bot("channel", "pair", "12")
    assert (malformed.code, malformed.error) == (2, "this is not a code")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--person", "husam"), "no CODE is given"),
        (("--refuse",), "no CODE is given"),
        (("K7M2QX4R", "--refuse", "--person", "husam"), "--person cannot be combined with --refuse"),
        (("K7M2QX4R", "--all"), "--all cannot be combined with CODE"),
    ],
)
def test_what_does_not_go_together_is_refused(bot: CommandLine, words: tuple[str, ...], message: str) -> None:
    refused = bot("channel", "pair", *words)
    assert (refused.code, refused.error) == (2, message)


def test_channels_and_sessions_are_listed(bot: CommandLine) -> None:
    begin_session(bot, "chat--100:user-9")
    bot.run_ok("chat", "hello", "--to", "analyst")
    listed = {channel["name"]: channel for channel in bot.run_ok("channel", "list", "--json").json}
    assert list(listed) == ["cli", "web", "desk"]
    assert (listed["desk"]["mode"], listed["desk"]["sessions"], listed["cli"]["sessions"]) == ("polling", 1, 1)
    sessions = bot.run_ok("channel", "sessions", "--json").json
    assert [session["sessionId"] for session in sessions] == ["chat--100:user-9", "cli-main"]
    for words in (("--channel", "desk"), ("--channel", "telegram"), ("--person", "husam")):
        [session] = bot.run_ok("channel", "sessions", *words, "--json").json
        assert session["sessionId"] == "chat--100:user-9"
    table = bot.run_ok("channel", "sessions").out
    assert "\x1b" not in table
    assert bot.run_ok("channel", "sessions", "--channel", "nosuch").out == ""


def test_an_update_is_tested_without_being_stored(bot: CommandLine) -> None:
    update = {
        "update_id": 1,
        "message": {
            "message_id": 1,
            "date": 1,
            "from": {"id": 7, "first_name": "Eve"},
            "chat": {"id": 7, "type": "private"},
            "text": "hello",
        },
    }
    tested = bot.run_ok("trigger", "test", "desk", json.dumps(update))
    assert "no event: its sender is not paired: it gets a code" in tested.err
    assert bot.run_ok("channel", "pair", "--all", "--json").json == []
    bot.run_ok("trigger", "set", "desk", "--allow", "7")
    [event] = bot.run_ok("trigger", "test", "desk", json.dumps(update), "--json").json["events"]
    assert (event["content"], event["session"], event["targets"]) == ("hello", "chat-7:user-7", ["analyst"])
