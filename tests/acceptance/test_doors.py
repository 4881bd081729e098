"""`gatepost key` and `gatepost trigger`: how others get in."""

import re
from pathlib import Path

import pytest

from tests.acceptance.office import Office

EITHER_WAY = True


class TestKey:
    def test_is_shown_once(self, office: Office) -> None:
        made = office.done("key", "create", "--agent", "bead-42", "--name", "laptop")
        secret = made.out.strip()
        assert re.fullmatch(r"sk_[A-Za-z0-9_-]{43}", secret)
        assert made.err == "for 'quinn'; it is not shown again\n"
        [key] = [each for each in office.done("key", "list", "--json").json if each["name"] == "laptop"]
        assert (key["prefix"], key["kind"], key["entity"]) == (secret[:11], "agent", "quinn")
        assert secret not in office.done("key", "list").out
        assert secret.encode() not in office.database.read_bytes()

    def test_as_json(self, office: Office) -> None:
        made = office.done("key", "create", "--json").json
        assert (made["key"][:11], made["kind"]) == (made["prefix"], "admin")

    @pytest.mark.parametrize(
        ("words", "start", "scope"),
        [
            ([], "sk_", "the administrator's"),
            (["--trigger", "analyst"], "sk_", "for triggering 'analyst'"),
            (["--public"], "pk_", "public"),
        ],
    )
    def test_scopes(self, office: Office, words: list[str], start: str, scope: str) -> None:
        made = office.done("key", "create", *words)
        assert made.out.startswith(start)
        assert made.err == f"{scope}; it is not shown again\n"
        assert scope in office.done("key", "list").out.splitlines()[-1]

    def test_is_revoked_by_its_id_or_prefix(self, office: Office) -> None:
        made = office.done("key", "create", "--agent", "analyst", "--json").json
        gone = office.done("key", "revoke", made["prefix"])
        assert (gone.out, gone.err) == (made["prefix"] + "\n", "revoked\n")
        again = office("key", "revoke", made["id"])
        assert (again.code, again.error) == (1, f"the key {made['prefix']!r} is revoked already")
        assert "revoked 2" in office.done("key", "list").out.splitlines()[-1]


class TestTrigger:
    def test_add_list_show_close_open_delete(self, office: Office) -> None:
        added = office.done("trigger", "add", "jira", "--to", "analyst", "--prompt", "Triage this")
        path, secret = added.out.splitlines()
        assert (path, len(secret) >= 32) == ("/hooks/jira", True)
        assert added.err.endswith("\ncallers send the secret in the header X-Secret-Key\n")
        heading, row = office.done("trigger", "list").out.splitlines()
        assert heading.split() == ["TRIGGER", "STATE", "SCHEME", "TO", "PROMPT"]
        assert row.split(maxsplit=4) == ["jira", "open", "header", "analyst", '"Triage this"']
        shown = office.done("trigger", "show", "jira")
        assert "path     /hooks/jira\n" in shown.out
        assert "proof    callers send the secret in the header X-Secret-Key\n" in shown.out
        assert secret not in shown.out
        assert office.done("trigger", "disable", "jira").err == "closed\n"
        assert not office.done("trigger", "show", "jira", "--json").json["active"]
        assert office.done("trigger", "enable", "jira", "--json").json["active"]
        assert "there is a trigger 'jira' already" in office("trigger", "add", "jira", "--to", "analyst").error
        assert office.done("trigger", "delete", "jira").out == "jira\n"
        assert office.done("trigger", "list").err == "there is no trigger\n"

    def test_a_secret_of_ones_own(self, office: Office, tmp_path: Path) -> None:
        (tmp_path / "secret").write_text("a secret of one's own\n")
        for name, words in (("a", ["@" + str(tmp_path / "secret")]), ("b", ["-"])):
            added = office.done(
                *("trigger", "add", name, "--to", "team:web", "--scheme", "github", "--secret", *words),
                stdin=b"a secret of one's own\n",
            )
            said = "callers sign with the secret, in the header X-Hub-Signature-256\n"
            assert (added.out, added.err) == (f"/hooks/{name}\n", said)

    @pytest.mark.parametrize("scheme", ["header", "bearer", "standard-webhooks", "github"])
    def test_a_secret_is_made_for_every_scheme_that_has_none_of_its_own(self, office: Office, scheme: str) -> None:
        added = office.done("trigger", "add", "hook", "--to", "analyst", "--scheme", scheme, "--json").json
        assert (added["path"], added["scheme"], bool(added["secret"])) == ("/hooks/hook", scheme, True)
