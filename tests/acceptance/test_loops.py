"""I13 at the command line: two agents that answer each other stop waking each other at the limit of hops."""

from collections.abc import Callable

import pytest

from gatepost.core.limits import Limits
from gatepost.core.times import HOUR, parse_instant
from tests.acceptance.office import Office

EITHER_WAY = True

LIMIT = Limits().hops


def push_as(office: Office, sender: str, to: str) -> None:
    office.done("inbox", "push", "--as", sender, "--to", to, "And you?")


def push_with_current_agent(office: Office, sender: str, to: str) -> None:
    office.done("inbox", "push", "--to", to, "And you?", GATEPOST_AGENT=sender)


def post_as(office: Office, sender: str, to: str) -> None:
    office.done("space", "post", "tea", "--as", sender, "And you?")


def post_with_current_agent(office: Office, sender: str, to: str) -> None:
    office.done("space", "post", "tea", "And you?", GATEPOST_AGENT=sender)


@pytest.mark.parametrize("send", [push_as, push_with_current_agent, post_as, post_with_current_agent])
def test_two_agents_stop_and_the_owner_is_told_once(office: Office, send: Callable[[Office, str, str], None]) -> None:
    office.done(
        "space", "create", "Tea", "--id", "tea", "--member", "analyst", "--member", "quinn", "--member", "husam"
    )
    sender, to = "analyst", "quinn"
    for hops in range(LIMIT + 3):
        send(office, sender, to)
        [item] = office.done("inbox", "list", "--to", to, "--json").json[-1:]
        assert (item["hops"], item["wakes"]) == (hops, hops <= LIMIT)
        sender, to = to, sender
    told = office.done("inbox", "list", "--to", "admin", "--json").json
    about = [(item["content"].partition(":")[0], parse_instant(item["createdAt"]) // HOUR) for item in told]
    pairs = {words.partition(" from ")[2] for words, _ in about}
    assert pairs == {"'quinn' reached 'analyst'", "'analyst' reached 'quinn'"}
    assert len(about) == len({(words.partition(" from ")[2], hour) for words, hour in about})


def test_what_is_pushed_to_the_current_agent_itself_is_from_nobody(office: Office) -> None:
    """Nor is what an agent sends of whom the store does not know."""
    for agent in ("analyst", "stranger"):
        event = office.done("inbox", "push", "--to", "analyst", "tea", GATEPOST_AGENT=agent).out.strip()
        assert office.done("inbox", "show", event, "--json").json["sender"] is None
