"""`gatepost trigger` for schedules, and the triggers of gatepost.toml, with a real gateway."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import httpx2

from tests.support.command_line import CommandLine, CommandResult
from tests.support.gateways.gateway_process import run_gateway_process
from tests.support.servers.private_servers import wait_until

FILE = """
[triggers.pulse]
provider = "cron"
every = "30m"
heartbeat = "8-22"
to = "analyst"

[triggers.shop]
secret = "env:SHOP_SECRET"
to = "analyst"
"""
SECRET = "a-secret-of-16-characters"


def list_lines(cli: CommandLine, name: str = "analyst") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = cli.run_ok("inbox", "list", "--to", name, "--json").json
    return items


def add_soon(cli: CommandLine, name: str, *words: str) -> tuple[CommandResult, str]:
    """Add a trigger that is due soon; return what is printed, and when that is."""
    for seconds in (1, 10, 100):  # a busy machine may need more than a second to add it
        at = (datetime.now(UTC) + timedelta(seconds=seconds)).isoformat().replace("+00:00", "Z")
        added = cli("trigger", "add", name, "--provider", "cron", "--at", at, "--to", "analyst", *words)
        if added.code == 0:
            return added, at
        assert added.error.endswith(" has passed")
    raise AssertionError("it takes minutes to add a trigger")


def test_a_trigger_fires_when_it_is_due(cli: CommandLine) -> None:
    with run_gateway_process(cli.home):
        added, _ = add_soon(cli, "report", "--prompt", "Write the report")
        assert added.out == "report\n"
        assert added.err.startswith("it fires next at ")
        wait_until(lambda: bool(list_lines(cli)), "the trigger has fired")
        [item] = list_lines(cli)
        assert (item["source"], item["content"], item["type"]) == ("report", "Write the report", "service")
        trigger = cli.run_ok("trigger", "show", "report", "--json").json
        assert (trigger["nextAt"], trigger["active"]) == (None, True)


def test_one_that_was_due_while_no_gateway_ran_fires_once_when_one_starts(cli: CommandLine) -> None:
    _, at = add_soon(cli, "report")
    wait_until(lambda: datetime.now(UTC).isoformat() > at, "it is due")
    assert list_lines(cli) == []
    with run_gateway_process(cli.home):
        wait_until(lambda: bool(list_lines(cli)), "the trigger has fired")
    add_soon(cli, "later")
    with run_gateway_process(cli.home):
        wait_until(lambda: "later" in [item["source"] for item in list_lines(cli)], "another trigger has fired")
    assert sorted(item["content"] for item in list_lines(cli)) == ["later is due", "report is due"]


def test_a_time_that_has_passed_is_refused(cli: CommandLine) -> None:
    refusal = cli("trigger", "add", "old", "--provider", "cron", "--at", "2020-01-01T00:00:00Z", "--to", "analyst")
    assert (refusal.code, refusal.error) == (2, "2020-01-01T00:00:00Z has passed")
    refusal = cli(
        "trigger", "add", "pulse", "--provider", "cron", "--every", "1h", "--heartbeat", "always", "--to", "*"
    )
    assert refusal.error == "a heartbeat cannot go to every agent"
    refusal = cli("trigger", "add", "pulse", "--provider", "cron", "--every", "1h", "--heartbeat", "9-9")
    assert refusal.error == "no hour is between 9 and 9"


def test_the_triggers_of_the_file_follow_it(cli: CommandLine) -> None:
    file = cli.home / "gatepost.toml"
    file.write_text(FILE)
    assert "SHOP_SECRET is not set" in cli("doctor").out
    with run_gateway_process(cli.home, SHOP_SECRET=SECRET) as gateway:
        rows = {row["name"]: row for row in cli.run_ok("trigger", "list", "--json").json}
        assert rows.keys() == {"pulse", "shop"}
        assert all(row["isFromFile"] for row in rows.values())
        answer = httpx2.post(f"{gateway.url}/hooks/shop", json={"a": 1}, headers={"x-secret-key": SECRET})
        assert answer.status_code == 202
        refusal = cli("trigger", "set", "pulse", "--prompt", "Look")
        assert refusal.error == "the trigger 'pulse' is set in gatepost.toml"
        assert "set in     gatepost.toml" in cli.run_ok("trigger", "show", "pulse").out
        gateway.stop()
        assert "ok     triggers   2 triggers in gatepost.toml" in cli.run_ok("doctor").out

        file.write_text(FILE.partition("[triggers.shop]")[0].replace("30m", "45m"))
        gateway.start()
        [row] = cli.run_ok("trigger", "list", "--json").json
        assert (row["name"], row["schedule"]["every"]) == ("pulse", "45m")
        assert (httpx2.post(f"{gateway.url}/hooks/shop", json={}, headers={"x-secret-key": SECRET})).status_code == 404


def test_one_that_cannot_be_used_stops_neither_the_gateway_nor_the_others(cli: CommandLine) -> None:
    cli.run_ok("trigger", "add", "pulse", "--provider", "cron", "--every", "1h", "--to", "quinn")
    unknown = '\n[triggers.lost]\nprovider = "cron"\nevery = "1h"\nto = "nobody"\n'
    (cli.home / "gatepost.toml").write_text(FILE + unknown)
    with run_gateway_process(cli.home, SHOP_SECRET=SECRET):
        rows = {row["name"]: row["isFromFile"] for row in cli.run_ok("trigger", "list", "--json").json}
        assert rows == {"pulse": False, "shop": True}
    result = cli("doctor")
    assert result.code == 1
    assert "wrong  triggers   pulse in gatepost.toml is not used: there is a trigger 'pulse' already" in result.out
    assert "wrong  triggers   lost in gatepost.toml is not used: " in result.out
    findings = [row for row in cli("doctor", "--json").json if row["check"] == "triggers"]
    assert [row["ok"] for row in findings] == [False, False]


def test_config_show_has_them_and_a_secret_in_the_file_is_refused_without_being_shown(cli: CommandLine) -> None:
    file = cli.home / "gatepost.toml"
    file.write_text(FILE)
    value = cli.run_ok("config", "show", "--json").json["triggers"]
    assert value["origin"] == str(file)
    assert value["value"].startswith("{pulse = {provider = ")
    assert "env:SHOP_SECRET" in value["value"]
    file.write_text(FILE.replace("env:SHOP_SECRET", SECRET))
    for words in (("config", "show"), ("trigger", "list"), ("up",)):
        refusal = cli(*words)
        assert (refusal.code, SECRET in refusal.err) == (2, False)
        assert refusal.error.endswith(
            "is wrong: [triggers.shop] secret: it must not be in a settings file, which is copied and shown"
        )
    assert SECRET not in json.dumps([cli("doctor").out, cli("doctor").err])
