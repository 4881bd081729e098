"""Commands within the session of a guest: its agent is meant, and chains of events go on."""

import pytest

from tests.guests.hooks.hook_calls import run_hook
from tests.support.command_line import ACCESS_MODES, CommandLine


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_a_push_for_a_session_goes_to_whoever_is_in_it(cli: CommandLine) -> None:
    run_hook(cli, "SessionStart")
    push_result = cli.run_ok("inbox", "push", "--session", "s-1", "--json", "tea")
    assert [recipient["name"] for recipient in push_result.json["recipients"]] == ["analyst"]
    refusal = cli("inbox", "push", "--session", "s-2", "tea")
    assert (refusal.code, refusal.error) == (1, "there is no guest session 's-2'")
    usage_error = cli("inbox", "push", "--session", "s-1", "--to", "quinn", "tea")
    assert (usage_error.code, usage_error.error) == (2, "give only one of --to, --bead, --session and --broadcast")


def test_within_a_session_its_agent_is_meant(cli: CommandLine) -> None:
    run_hook(cli, "SessionStart")
    push_result = cli.run_ok("inbox", "push", "--json", "tea", CLAUDE_CODE_SESSION_ID="s-1")
    assert [recipient["name"] for recipient in push_result.json["recipients"]] == ["analyst"]


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_what_is_pushed_within_a_session_goes_on_with_its_chain(cli: CommandLine) -> None:
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    assert "tea" in run_hook(cli, "SessionStart").out
    for words in (("--to", "quinn"), ("--to", "quinn", "--as", "analyst")):
        push_result = cli.run_ok("inbox", "push", *words, "--json", "on", CLAUDE_CODE_SESSION_ID="s-1")
        assert cli.run_ok("inbox", "show", push_result.json["eventId"], "--json").json["hops"] == 1
    outside_result = cli.run_ok("inbox", "push", "--to", "quinn", "--json", "on")
    assert cli.run_ok("inbox", "show", outside_result.json["eventId"], "--json").json["hops"] == 0


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_so_does_what_is_planned_there(cli: CommandLine) -> None:
    cli.run_ok("inbox", "push", "--to", "analyst", "tea")
    assert "tea" in run_hook(cli, "SessionStart").out
    words = ("plan", "set", "--owner", "analyst", "--name", "later", "--after", "3m", "Look", "--json")
    session_result = cli.run_ok(*words, CLAUDE_CODE_SESSION_ID="s-1")
    assert (session_result.json["hops"], cli.run_ok(*words).json["hops"]) == (1, 0)
    change = ("plan", "set", "--id", cli.run_ok(*words).json["id"], "--after", "4m", "--json")
    assert cli.run_ok(*change, CLAUDE_CODE_SESSION_ID="s-1").json["hops"] == 1


@pytest.mark.parametrize("cli", ACCESS_MODES, indirect=True)
def test_a_plan_and_a_message_from_there_are_its_agents(cli: CommandLine) -> None:
    run_hook(cli, "SessionStart")
    cli.run_ok("space", "create", "Tea", "--id", "tea", "--member", "analyst")
    plan_result = cli.run_ok("plan", "set", "--name", "p", "--after", "1h", "x", "--json", CLAUDE_CODE_SESSION_ID="s-1")
    post_result = cli.run_ok("space", "post", "tea", "hello", "--json", CLAUDE_CODE_SESSION_ID="s-1")
    assert (plan_result.json["owner"], post_result.json["sender"]) == ("analyst", "analyst")
