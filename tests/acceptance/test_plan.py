"""`gatepost plan`."""

import re

from tests.acceptance.office import Office

EITHER_WAY = True

DAILY = ("--name", "Daily report", "--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin", "Post the numbers")


def test_set_list_change_delete(office: Office) -> None:
    made = office.done("plan", "set", "--owner", "analyst", *DAILY)
    plan = made.out.strip()
    assert re.fullmatch(r"plan_[0-9a-f]{32}", plan)
    assert re.sub(r"\d{4}-\S+Z", "TIME", made.err) == (
        "analyst is told TIME, and again by '0 9 * * 1-5' in Europe/Berlin\n"
    )
    [listed] = office.done("plan", "list", "--json").json
    assert (listed["id"], listed["owner"], listed["timeZone"], listed["catchUp"], listed["instruction"]) == (
        plan,
        "analyst",
        "Europe/Berlin",
        "once",
        "Post the numbers",
    )
    heading, row = office.done("plan", "list").out.splitlines()
    assert heading.split() == ["PLAN", "OWNER", "NEXT", "RECURS", "FIRED", "WHAT"]
    assert row.endswith('Z  0 9 * * 1-5 Europe/Berlin  0      Daily report: "Post the numbers"')

    changed = office.done("plan", "set", "--id", plan, "--after", "5 hours", "--json").json
    assert (changed["name"], changed["cron"], changed["status"]) == ("Daily report", None, "pending")
    assert office.done("plan", "set", "--id", plan, "Post them all", "--json").json["instruction"] == "Post them all"

    assert office.done("plan", "delete", plan).out == f"{plan}\n"
    assert office.done("plan", "list").err == "there is no plan\n"
    assert "there is no plan" in office("plan", "delete", plan).error


def test_of_the_current_agent(office: Office) -> None:
    made = office.done("plan", "set", *DAILY, "--catch-up", "all", "--json", GATEPOST_AGENT="bead-42").json
    assert (made["owner"], made["catchUp"]) == ("quinn", "all")
    assert office.done("plan", "list", "--owner", "analyst").err == "there is no plan of 'analyst'\n"
    assert len(office.done("plan", "list", "--owner", "quinn", "--status", "pending", "--json").json) == 1
    assert office.done("plan", "list", "--status", "completed", "--json").json == []


def test_once_at_a_time(office: Office) -> None:
    made = office.done(
        *("plan", "set", "--owner", "analyst", "--name", "Then", "--at", "2100-01-01T00:00:00+01:00", "-", "--json"),
        stdin=b"Look\n",
    ).json
    assert (made["scheduledAt"], made["instruction"]) == ("2099-12-31T23:00:00Z", "Look")
    one = office.done("plan", "set", "--owner", "analyst", "--name", "Soon", "--after", "5h", "x")
    assert re.fullmatch(r"analyst is told \S+Z\n", one.err)
    short = office.done("plan", "list", "-n", "1")
    assert (len(short.out.splitlines()), short.err) == (2, "there are more than 1: raise --limit\n")
