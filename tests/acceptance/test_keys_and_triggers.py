"""`gatepost key` and `gatepost trigger`: how others get in."""

import re
from pathlib import Path

import pytest

from tests.acceptance.command_line import CommandLine

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
        assert heading.split() == ["TRIGGER", "STATE", "SCHEME", "TO", "PROMPT"]
        assert row.split(maxsplit=4) == ["jira", "open", "header", "analyst", '"Triage this"']
        show_result = cli.run_ok("trigger", "show", "jira")
        assert "path     /hooks/jira\n" in show_result.out
        assert "proof    callers send the secret in the header X-Secret-Key\n" in show_result.out
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
