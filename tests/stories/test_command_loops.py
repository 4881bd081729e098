"""I13 at the command line: two agents that answer each other stop waking each other at the limit of hops."""

from collections.abc import Callable

import pytest

from gatepost.core.policy import Policy
from gatepost.core.times import HOUR, parse_instant
from tests.support.command_line import CommandLine

EITHER_WAY = True

LIMIT = Policy().hops


def push_as(cli: CommandLine, sender: str, recipient: str) -> None:
    cli.run_ok("inbox", "push", "--as", sender, "--to", recipient, "And you?")


def push_with_current_agent(cli: CommandLine, sender: str, recipient: str) -> None:
    cli.run_ok("inbox", "push", "--to", recipient, "And you?", GATEPOST_AGENT=sender)


def post_as(cli: CommandLine, sender: str, recipient: str) -> None:
    cli.run_ok("space", "post", "tea", "--as", sender, "And you?")


def post_with_current_agent(cli: CommandLine, sender: str, recipient: str) -> None:
    cli.run_ok("space", "post", "tea", "And you?", GATEPOST_AGENT=sender)


@pytest.mark.parametrize("send", [push_as, push_with_current_agent, post_as, post_with_current_agent])
def test_two_agents_stop_and_the_owner_is_told_once(
    cli: CommandLine, send: Callable[[CommandLine, str, str], None]
) -> None:
    cli.run_ok("space", "create", "Tea", "--id", "tea", "--member", "analyst", "--member", "quinn", "--member", "husam")
    sender, recipient = "analyst", "quinn"
    for hops in range(LIMIT + 3):
        send(cli, sender, recipient)
        [item] = cli.run_ok("inbox", "list", "--to", recipient, "--json").json[-1:]
        assert (item["hops"], item["wakes"]) == (hops, hops <= LIMIT)
        sender, recipient = recipient, sender
    alerts = cli.run_ok("inbox", "list", "--to", "admin", "--json").json
    alert_hours = [(item["content"].partition(":")[0], parse_instant(item["createdAt"]) // HOUR) for item in alerts]
    pairs = {summary.partition(" from ")[2] for summary, _ in alert_hours}
    assert pairs == {"'quinn' reached 'analyst'", "'analyst' reached 'quinn'"}
    assert len(alert_hours) == len({(summary.partition(" from ")[2], hour) for summary, hour in alert_hours})


def test_what_is_pushed_to_the_current_agent_itself_is_from_nobody(cli: CommandLine) -> None:
    """Nor is what an agent sends of whom the store does not know."""
    for agent in ("analyst", "stranger"):
        event = cli.run_ok("inbox", "push", "--to", "analyst", "tea", GATEPOST_AGENT=agent).out.strip()
        assert cli.run_ok("inbox", "show", event, "--json").json["sender"] is None
