"""`gatepost plan`."""

import re

from tests.support.command_line import CommandLine

EITHER_WAY = True

DAILY_ARGS = ("--name", "Daily report", "--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin", "Post the numbers")


def test_set_list_change_delete(cli: CommandLine) -> None:
    set_result = cli.run_ok("plan", "set", "--owner", "analyst", *DAILY_ARGS)
    plan = set_result.out.strip()
    assert re.fullmatch(r"plan_[0-9a-f]{32}", plan)
    assert re.sub(r"\d{4}-\S+Z", "TIME", set_result.err) == (
        "analyst gets it at TIME, and again by '0 9 * * 1-5' in Europe/Berlin\n"
    )
    [plan_document] = cli.run_ok("plan", "list", "--json").json
    assert (
        plan_document["id"],
        plan_document["owner"],
        plan_document["timeZone"],
        plan_document["catchUp"],
        plan_document["instruction"],
    ) == (
        plan,
        "analyst",
        "Europe/Berlin",
        "once",
        "Post the numbers",
    )
    heading, row = cli.run_ok("plan", "list").out.splitlines()
    assert heading.split() == ["PLAN", "OWNER", "NEXT", "RECURS", "FIRED", "INSTRUCTION"]
    assert row.endswith('Z  0 9 * * 1-5 Europe/Berlin  0      Daily report: "Post the numbers"')

    changed_plan = cli.run_ok("plan", "set", "--id", plan, "--after", "5 hours", "--json").json
    assert (changed_plan["name"], changed_plan["cron"], changed_plan["status"]) == ("Daily report", None, "pending")
    assert cli.run_ok("plan", "set", "--id", plan, "Post them all", "--json").json["instruction"] == "Post them all"

    assert cli.run_ok("plan", "delete", plan).out == f"{plan}\n"
    assert cli.run_ok("plan", "list").err == "no plans yet\n"
    assert "there is no plan" in cli("plan", "delete", plan).error


def test_disable_and_enable(cli: CommandLine) -> None:
    plan = cli.run_ok("plan", "set", "--owner", "analyst", *DAILY_ARGS).out.strip()
    disabled = cli.run_ok("plan", "disable", plan)
    assert (disabled.out, disabled.err) == (f"{plan}\n", "disabled: analyst gets it no more until it is enabled\n")
    [document] = cli.run_ok("plan", "list", "--json").json
    assert (document["active"], document["nextRunAt"], document["status"]) == (False, None, "pending")
    assert re.search(r"analyst\s+disabled\s+0 9 \* \* 1-5 Europe/Berlin", cli.run_ok("plan", "list").out)
    assert re.search(r"^state +disabled$", cli.run_ok("plan", "show", plan).out, re.MULTILINE)
    assert cli.run_ok("plan", "next", "--within", "7d").err == "nothing fires within 7d\n"

    renamed = cli.run_ok("plan", "set", "--id", plan, "--name", "Weekly report")
    assert renamed.err == f"analyst gets it once it is enabled: `gatepost plan enable {plan}`\n"
    assert not cli.run_ok("plan", "show", plan, "--json").json["active"]

    enabled = cli.run_ok("plan", "enable", plan)
    assert re.sub(r"\d{4}-\S+Z", "TIME", enabled.err) == (
        "enabled: analyst gets it at TIME, and again by '0 9 * * 1-5' in Europe/Berlin\n"
    )
    assert cli.run_ok("plan", "enable", plan, "--json").json["active"]
    facts = cli.run_ok("plan", "show", plan).out
    for fact in (r"name +Weekly report", r"state +pending", r"fires +0 9 \* \* 1-5 Europe/Berlin", r"fired +0 times"):
        assert re.search(f"^{fact}$", facts, re.MULTILINE), facts
    cli.run_ok("plan", "delete", plan)
    for verb in ("enable", "disable", "show"):
        assert "there is no plan" in cli("plan", verb, plan).error


def test_of_the_current_agent(cli: CommandLine) -> None:
    plan = cli.run_ok("plan", "set", *DAILY_ARGS, "--catch-up", "all", "--json", GATEPOST_AGENT="bead-42").json
    assert (plan["owner"], plan["catchUp"]) == ("quinn", "all")
    assert cli.run_ok("plan", "list", "--owner", "analyst").err == "no plans of 'analyst'\n"
    assert len(cli.run_ok("plan", "list", "--owner", "quinn", "--status", "pending", "--json").json) == 1
    assert cli.run_ok("plan", "list", "--status", "completed", "--json").json == []


def test_a_time_in_the_past_is_a_mistake(cli: CommandLine) -> None:
    refusal = cli("plan", "set", "--owner", "analyst", "--name", "Then", "--at", "2020-01-01T00:00:00Z", "Look")
    assert (refusal.code, refusal.error) == (2, "--at: '2020-01-01T00:00:00Z' is in the past")
    assert cli.run_ok("plan", "list").err == "no plans yet\n"


def test_a_time_without_a_zone_is_answered_with_two_that_have_one(cli: CommandLine) -> None:
    refusal = cli("plan", "set", "--owner", "analyst", "--name", "Then", "--at", "2099-02-20 10:00", "Look")
    assert (refusal.code, refusal.error.removeprefix("--at: ")) == (2, "'2099-02-20 10:00' has no time zone")
    assert "write 2099-02-20T10:00:00Z for UTC, or an offset: 2099-02-20T10:00:00+01:00" in refusal.err


def test_needs_an_instruction(cli: CommandLine) -> None:
    words = ("plan", "set", "--owner", "analyst", "--name", "Then", "--after", "5h")
    plan = cli.run_ok(*words, "Look").out.strip()
    for refusal in (cli(*words), cli(*words, " "), cli("plan", "set", "--id", plan, "")):
        assert (refusal.code, refusal.error) == (2, "a plan needs an instruction")


def test_once_at_a_time(cli: CommandLine) -> None:
    plan = cli.run_ok(
        *("plan", "set", "--owner", "analyst", "--name", "Then", "--at", "2100-01-01T00:00:00+01:00", "-", "--json"),
        stdin=b"Look\n",
    ).json
    assert (plan["scheduledAt"], plan["instruction"]) == ("2099-12-31T23:00:00Z", "Look")
    set_result = cli.run_ok("plan", "set", "--owner", "analyst", "--name", "Soon", "--after", "5h", "x")
    assert re.fullmatch(r"analyst gets it at \d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ\n", set_result.err)
    list_result = cli.run_ok("plan", "list", "-n", "1")
    assert (len(list_result.out.splitlines()), list_result.err) == (2, "there are more than 1: raise --limit\n")
