"""`gatepost key` and `gatepost trigger`: how others get in."""

import re
from contextlib import closing
from pathlib import Path

import pytest

from gatepost.app import open_store
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.routing import unrouted_message_actions as unrouted_messages
from gatepost.channels.routing.api import UnroutedReason
from gatepost.core.json_limits import Json
from tests.operations.access_cases import add_unrouted
from tests.support.command_line import CommandLine

EITHER_WAY = True


class TestKey:
    def test_is_shown_once(self, cli: CommandLine) -> None:
        result = cli.run_ok("key", "create", "--agent", "bead-42", "--name", "laptop")
        secret = result.out.strip()
        assert re.fullmatch(r"sk_[A-Za-z0-9_-]{43}", secret)
        assert result.err == "for 'quinn'; it is not shown again\n"
        [key] = [row for row in cli.run_ok("key", "list", "--json").json if row["name"] == "laptop"]
        assert (key["prefix"], key["kind"], key["entity"]) == (secret[:11], "agent", "quinn")
        assert secret not in cli.run_ok("key", "list").out
        assert secret.encode() not in cli.database.read_bytes()

    def test_as_json(self, cli: CommandLine) -> None:
        key = cli.run_ok("key", "create", "--json").json
        assert (key["key"][:11], key["kind"]) == (key["prefix"], "admin")

    @pytest.mark.parametrize(
        ("words", "start", "scope"),
        [
            ([], "sk_", "for the administrator"),
            (["--admin"], "sk_", "for the administrator"),
            (["--trigger", "analyst"], "sk_", "for triggering 'analyst'"),
            (["--public"], "pk_", "public"),
        ],
    )
    def test_scopes(self, cli: CommandLine, words: list[str], start: str, scope: str) -> None:
        result = cli.run_ok("key", "create", *words)
        assert result.out.startswith(start)
        assert result.err == f"{scope}; it is not shown again\n"
        column = "callers with a token" if scope == "public" else scope.removeprefix("for ")
        assert column in cli.run_ok("key", "list").out.splitlines()[-1]

    def test_is_revoked_by_its_id_or_prefix(self, cli: CommandLine) -> None:
        key = cli.run_ok("key", "create", "--agent", "analyst", "--json").json
        revoke_result = cli.run_ok("key", "revoke", key["prefix"])
        assert (revoke_result.out, revoke_result.err) == (
            f"{key['prefix']}\n",
            f"revoked the key {key['prefix']!r}: it opens nothing any more\n",
        )
        second_result = cli("key", "revoke", key["id"])
        assert (second_result.code, second_result.error) == (1, f"the key {key['prefix']!r} is revoked already")
        assert "revoked 2" in cli.run_ok("key", "list").out.splitlines()[-1]

    def test_a_key_that_can_do_everything_is_not_for_one_agent(self, cli: CommandLine) -> None:
        refusal = cli("key", "create", "--admin", "--agent", "analyst")
        assert (refusal.code, refusal.error) == (2, "give only one of --admin, --agent, --trigger and --public")

    def test_nothing_triggers_a_person(self, cli: CommandLine) -> None:
        refusal = cli("key", "create", "--trigger", "husam")
        assert (refusal.code, refusal.error) == (1, "'husam' is a person, and nothing triggers a person")

    def test_the_key_of_this_home_is_revoked_with_a_warning(self, cli: CommandLine) -> None:
        cli.run_ok("init")
        path = cli.home / "admin.key"
        result = cli.run_ok("key", "revoke", path.read_text()[:11])
        assert result.err == (
            f"revoked the key {path.read_text()[:11]!r}: it opens nothing any more\n"
            f"this was the key in {str(path)!r}: remove the file and start the gateway again:"
            " `gatepost up` makes a new one\n"
        )


class TestTrigger:
    def test_add_list_show_close_open_delete(self, cli: CommandLine) -> None:
        add_result = cli.run_ok("trigger", "add", "jira", "--to", "analyst", "--prompt", "Triage this")
        path, secret = add_result.out.splitlines()
        assert (path, len(secret) >= 32) == ("/hooks/jira", True)
        assert add_result.err.endswith("\ncallers send the secret in the header X-Secret-Key\n")
        heading, row = cli.run_ok("trigger", "list").out.splitlines()
        assert heading.split() == ["TRIGGER", "STATE", "PROVIDER", "SCHEME", "TO", "PROMPT"]
        assert row.split(maxsplit=5) == ["jira", "open", "webhook", "header", "analyst", '"Triage this"']
        show_result = cli.run_ok("trigger", "show", "jira")
        assert "path      /hooks/jira\n" in show_result.out
        assert "proof     callers send the secret in the header X-Secret-Key\n" in show_result.out
        assert secret not in show_result.out
        assert (
            cli.run_ok("trigger", "disable", "jira").err == "/hooks/jira is closed: it answers as if it did not exist\n"
        )
        assert not cli.run_ok("trigger", "show", "jira", "--json").json["active"]
        assert cli.run_ok("trigger", "enable", "jira", "--json").json["active"]
        assert "there is a trigger 'jira' already" in cli("trigger", "add", "jira", "--to", "analyst").error
        assert cli.run_ok("trigger", "delete", "jira").out == "jira\n"
        assert cli.run_ok("trigger", "list").err == "no triggers yet\n"

    def test_a_secret_of_ones_own(self, cli: CommandLine, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("a secret of one's own\n")
        for name, words in (("a", ["@" + str(tmp_path / "secret")]), ("b", ["-"])):
            result = cli.run_ok(
                *("trigger", "add", name, "--to", "team:web", "--scheme", "github", "--secret", *words),
                stdin=b"a secret of one's own\n",
            )
            message = "callers sign with the secret, in the header X-Hub-Signature-256\n"
            assert (result.out, result.err) == (f"/hooks/{name}\n", message)

    @pytest.mark.parametrize("scheme", ["header", "bearer", "standard-webhooks", "github"])
    def test_a_secret_is_made_for_every_scheme_that_has_none_of_its_own(self, cli: CommandLine, scheme: str) -> None:
        trigger = cli.run_ok("trigger", "add", "hook", "--to", "analyst", "--scheme", scheme, "--json").json
        assert (trigger["path"], trigger["scheme"], bool(trigger["secret"])) == ("/hooks/hook", scheme, True)

    def test_lists_and_the_session_can_be_emptied(self, cli: CommandLine) -> None:
        words = ("--provider", "telegram", "--token", "env:BOT", "--allow", "7", "--block", "8", "--session", "s")
        others = ("--require", "telegram_username", "--owner", "analyst", "--public-url", "https://bot.example.com")
        cli.run_ok("trigger", "add", "desk", *words, *others)
        removals = ("--no-allow", "--no-block", "--no-session", "--no-require", "--no-owner", "--no-public-url")
        emptied = cli.run_ok("trigger", "set", "desk", *removals, "--json").json
        assert (emptied["allow"], emptied["block"], emptied["session"]) == ([], [], None)
        assert (emptied["requires"], emptied["owner"], emptied["publicUrl"]) == ([], "admin", None)
        assert "hint: --no-allow empties it" in cli("trigger", "set", "desk", "--allow", "").err
        refusal = cli("trigger", "set", "desk", "--allow", "7", "--no-allow")
        assert refusal.error == "--allow and its removal cannot be combined"

    def test_a_secret_is_not_the_name_of_a_variable(self, cli: CommandLine) -> None:
        refusal = cli("trigger", "add", "issues", "--secret", "env:ISSUES_SECRET")
        assert (refusal.code, refusal.error) == (2, "the secret begins with 'env:', and a webhook reads no variable")
        assert "give the secret itself with --secret @FILE; env: is for gatepost.toml" in refusal.err

    def test_a_filter_that_never_matches_is_refused(self, cli: CommandLine) -> None:
        refusal = cli("trigger", "route", "add", "z", "--to", "analyst", "--filter", "repository.name=shop")
        assert "the filter 'repository.name' never matches" in refusal.error

    def test_what_is_given_is_changed(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "shop", "--scheme", "github", "--to", "analyst")
        assert cli.run_ok("trigger", "set", "shop", "--no-target", "--prompt", "Look").out == "shop\n"
        words = ["--template", '{"match": {"draft": true}, "skip": true}', "--session", "pr-{{number}}"]
        shop = cli.run_ok("trigger", "set", "shop", *words, "--json").json
        assert (shop["target"], shop["prompt"], shop["session"]) == (None, "Look", "pr-{{number}}")
        assert cli.run_ok("trigger", "set", "shop", "--no-template", "--json").json["templates"] == []
        for words, error in (
            ([], "nothing to change"),
            (["--scheme", "slack"], "another scheme needs the secret again"),
            (["--to", "analyst", "--no-target"], "--to and its removal cannot be combined"),
            (["--cron", "@daily"], "a trigger of 'webhook' has no schedule"),
            (["--to", "nobody-here"], "there is no entity 'nobody-here'"),
        ):
            refusal = cli("trigger", "set", "shop", *words)
            assert (refusal.code, refusal.error) == (2, error)

    def test_of_a_schedule(self, cli: CommandLine) -> None:
        words = ["--cron", "0 9 * * 1-5", "--zone", "Europe/Berlin", "--to", "analyst"]
        result = cli.run_ok("trigger", "add", "daily", "--provider", "cron", *words)
        assert (result.out, result.err.startswith("it fires next at 20")) == ("daily\n", True)
        cli.run_ok("trigger", "add", "pulse", "--provider", "cron", "--every", "30m", "--heartbeat", "8-22")
        shown = cli.run_ok("trigger", "show", "pulse").out
        assert "fires      every 30m\n" in shown
        assert "heartbeat  8-22\n" in shown
        assert "to         whom the rules name\n" in shown
        assert cli.run_ok("trigger", "set", "pulse", "--no-heartbeat", "--json").json["heartbeat"] is None
        for words, error in (
            ([], "a cron trigger needs a schedule"),
            (["--every", "5s"], "every 5 seconds is not an interval"),
            (["--zone", "UTC"], "--zone needs a time"),
            (["--every", "1h", "--heartbeat", "noon"], "--heartbeat: 'noon' are not hours of a day"),
        ):
            refusal = cli("trigger", "add", "x", "--provider", "cron", *words)
            assert (refusal.code, refusal.error) == (2, error)

    def test_of_a_bot(self, cli: CommandLine, tmp_path: Path) -> None:
        token = "7:abcdefghijklmnopqrstuvwxyz"
        (tmp_path / "token").write_text(f"{token}\n")
        bot = ("--provider", "telegram", "--allow", "7", "--allow", "-100", "--mode", "webhook", "--groups", "all")
        refusal = cli("trigger", "add", "bot", *bot, "--token", "env:BOT")
        assert "a bot in webhook mode needs the URL" in refusal.error
        refusal = cli("trigger", "add", "bot", *bot, "--token", "env:BOT", "--public-url", "http://x")
        assert refusal.error == "'http://x' is not a public URL of https"
        url = ("--public-url", "https://gatepost.example")
        result = cli.run_ok("trigger", "add", "bot", *bot, *url, "--token", f"@{tmp_path / 'token'}", "--to", "analyst")
        assert (result.out, result.err) == ("bot\n", "analyst gets what no rule is about\n")
        shown = cli.run_ok("trigger", "show", "bot").out
        assert "allow       7, -100\n" in shown
        assert token not in shown
        by_stdin = cli.run_ok("trigger", "set", "bot", "--token", "-", "--json", stdin=token.encode()).json
        assert (by_stdin["token"], by_stdin["mode"], by_stdin["groups"]) == (None, "webhook", "all")
        assert cli.run_ok("trigger", "set", "bot", "--token", "env:BOT", "--json").json["token"] == "env:BOT"
        assert cli("trigger", "add", "other", "--provider", "telegram").error == "a bot needs a token"
        assert "is not the id of a chat" in cli("trigger", "set", "bot", "--allow", "me").error

    def test_shows_what_would_happen(self, cli: CommandLine, tmp_path: Path) -> None:
        cli.run_ok("trigger", "add", "shop", "--scheme", "github", "--session", "issue-{{issue.number}}")
        payload = '{"action": "opened", "issue": {"number": 7, "title": "Till"}, "sender": {"login": "ann"}}'
        (tmp_path / "payload.json").write_text(payload)
        words = ("trigger", "test", "shop", f"@{tmp_path / 'payload.json'}", "--header", "X-GitHub-Event: issues")
        heading, row = cli.run_ok(*words).out.splitlines()
        assert heading.split() == ["TO", "RULE", "SESSION", "EVENT"]
        assert row.split(maxsplit=3) == ["nobody", "(no_route)", "issue-7", 'ann opened issue #7 "Till"']
        cli.run_ok("trigger", "set", "shop", "--template", '[{"skip": true, "reason": "never"}]')
        skipped = cli.run_ok(*words)
        assert (skipped.out, skipped.err) == ("", "no event: never\n")
        assert cli.run_ok("trigger", "dead", "--json").json == []
        assert cli("trigger", "test", "shop", "{}", "--header", "odd").code == 2


class TestRoute:
    def test_add_list_show_set_disable_delete(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "shop")
        add_result = cli.run_ok(
            *("trigger", "route", "add", "to-shop", "--channel", "webhook", "--rank", "-5", "--to", "analyst"),
            *("--filter", "payload.repository=shop", "--filter", "payload.stars=7", "--filter", "session=7"),
        )
        assert add_result.err == "analyst gets what matches\n"
        route = cli.run_ok("trigger", "route", "show", "to-shop", "--json").json
        assert add_result.out == f"{route['id']}\n"
        assert route["filters"] == {"payload.repository": "shop", "payload.stars": 7, "session": "7"}
        heading, row = cli.run_ok("trigger", "route", "list").out.splitlines()
        assert heading.split() == ["ROUTE", "NAME", "STATE", "RANK", "CHANNEL", "TO", "FILTERS"]
        assert row.split()[1:6] == ["to-shop", "active", "-5", "webhook", "analyst"]
        assert cli.run_ok("trigger", "route", "set", "to-shop", "--rank", "9", "--json").json["rank"] == 9
        assert cli.run_ok("trigger", "route", "set", "to-shop", "--no-filter", "--json").json["filters"] == {}
        assert cli.run_ok("trigger", "route", "disable", "to-shop").err.startswith("the rule 'to-shop' decides about")
        assert not cli.run_ok("trigger", "route", "show", route["id"], "--json").json["active"]
        assert cli.run_ok("trigger", "route", "enable", "to-shop", "--json").json["active"]
        assert "already" in cli("trigger", "route", "add", "to-shop", "--to", "analyst").error
        assert cli.run_ok("trigger", "route", "delete", "to-shop").out == "to-shop\n"
        assert cli.run_ok("trigger", "route", "list").err == "no rules yet\n"

    @pytest.mark.parametrize(
        ("words", "error"),
        [
            (["add", "x"], "--to is missing"),
            (["add", "x", "--to", "analyst", "--filter", "odd"], "--filter: 'odd' is not a filter"),
            (["add", "x", "--to", "analyst", "--filter", "a..b=1"], "--filter: "),
            (["add", "x", "--to", "analyst", "--rank", "high"], "--rank: 'high' is not a rank"),
            (["set", "x"], "nothing to change"),
        ],
    )
    def test_what_is_wrong_is_said(self, cli: CommandLine, words: list[str], error: str) -> None:
        refusal = cli("trigger", "route", *words)
        assert refusal.code == 2
        assert error.removeprefix("--filter: ") in refusal.error

    def test_a_payload_that_nobody_got_is_listed_on_one_line(self, cli: CommandLine) -> None:
        cli.run_ok("trigger", "add", "shop")
        payload: Json = {"number": 7, "title": "<b>"}
        envelope = Envelope(channel="webhook", session="shop", kind=EnvelopeKind.EVENT, content="", payload=payload)
        with closing(open_store(f"sqlite:///{cli.database}")) as store:
            store.run_sync(unrouted_messages.insert, 1, envelope, UnroutedReason.NO_ROUTE, None)
        _, row = cli.run_ok("trigger", "dead").out.splitlines()
        assert row.endswith('  no_route  {"number":7,"title":"\\u003cb>"}')

    def test_a_message_that_nobody_got_is_listed_and_replayed(self, cli: CommandLine) -> None:
        assert cli.run_ok("trigger", "dead").err == "no unrouted messages\n"
        refusal = cli("trigger", "replay", "evt_01")
        assert (refusal.code, refusal.error) == (2, "'evt_01' is the id of an event, not of an unrouted message")
        cli.run_ok("trigger", "add", "shop")
        with closing(open_store(f"sqlite:///{cli.database}")) as store:
            id = store.run_sync(add_unrouted, 1)
        assert id is not None
        heading, row = cli.run_ok("trigger", "dead").out.splitlines()
        assert heading.split() == ["MESSAGE", "AT", "TRIGGER", "SESSION", "REASON", "CONTENT"]
        assert [row.split()[place] for place in (0, 2, 4, 5)] == [id, "shop", "no_route", '"something"']
        still = cli("trigger", "replay", id)
        assert (still.code, still.error) == (1, f"the message {id!r} still has nowhere to go (no_route)")
        cli.run_ok("trigger", "route", "add", "all", "--to", "analyst")
        replayed = cli.run_ok("trigger", "replay", id)
        assert (replayed.out, replayed.err) == (f"{id}\n", "it went to analyst\n")
        assert cli("trigger", "replay", id).code == 1
        assert "replayed by admin" in cli.run_ok("trigger", "dead", "--replayed").out
        with closing(open_store(f"sqlite:///{cli.database}")) as store:
            other = store.run_sync(add_unrouted, 1)
        assert other is not None
        discarded = cli.run_ok("trigger", "dead", "--discard", other)
        assert (discarded.out, discarded.err) == (f"{other}\n", "discarded\n")
        assert cli.run_ok("trigger", "dead").err == "no unrouted messages\n"
        assert (
            cli("trigger", "dead", "--discard", other).error
            == f"the message {other!r} was discarded by 'admin' already"
        )
        assert "discarded by admin" in cli.run_ok("trigger", "dead", "--replayed").out
