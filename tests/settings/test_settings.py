"""Settings: where the home is, what is set, where each value came from, and what is said when one is wrong."""

import os
import re
import sys
import tomllib
from pathlib import Path

import pytest
import structlog

from gatepost import app, settings, telemetry
from gatepost.cli.home_commands import build_template
from gatepost.core.policy import Policy
from gatepost.core.times import DAY, MINUTE, SECOND
from gatepost.errors import GatepostError, Invalid, Refused, Unavailable
from gatepost.settings import Configuration, list_settings, mask_passwords, variable_name


@pytest.fixture(autouse=True)
def work_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory without a home above it."""
    folder = tmp_path / "work" / "deep"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


#: values of settings that have no default, and take no name
EXAMPLES = {
    "auth.jwt_secret": "x" * 32,
    "hedera.operator_id": "0.0.1001",
    "hedera.mirror": "https://mirror.example",
    "work.auto_add": "true",
}


def load(home: Path, toml: str = "", **environ: str) -> Configuration:
    (home / "gatepost.toml").write_text(toml)
    return settings.load({"GATEPOST_HOME": str(home), **environ})


def get_load_error(home: Path, toml: str = "", **environ: str) -> GatepostError:
    with pytest.raises(GatepostError) as error:
        load(home, toml, **environ)
    return error.value


class TestHome:
    def test_named(self, home: Path) -> None:
        assert settings.find_home({"GATEPOST_HOME": str(home)}) == (home, "GATEPOST_HOME")

    def test_named_from_here(self, work_dir: Path) -> None:
        assert settings.find_home({"GATEPOST_HOME": "mine"})[0] == work_dir / "mine"

    def test_nearest_upwards(self, work_dir: Path) -> None:
        for folder in (work_dir.parent, work_dir.parent.parent):
            (folder / ".gatepost").mkdir()
        assert settings.find_home({})[0] == work_dir.parent / ".gatepost"

    def test_a_file_of_that_name_is_no_home(self, work_dir: Path) -> None:
        (work_dir / ".gatepost").touch()
        assert settings.find_home({})[1] == "default"

    def test_else_the_users_data(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(sys, "platform", "linux")
        assert settings.find_home({"XDG_DATA_HOME": "/data"}) == (Path("/data/gatepost"), "default")
        assert settings.find_home({"XDG_DATA_HOME": "data"})[0] == Path.home() / ".local/share/gatepost"
        monkeypatch.setattr(sys, "platform", "darwin")
        assert settings.find_home({})[0] == Path.home() / "Library/Application Support/gatepost"
        monkeypatch.setattr(sys, "platform", "win32")
        assert settings.find_home({"LOCALAPPDATA": "/local"})[0] == Path("/local/gatepost")

    def test_of_another_user_only_if_named(self, work_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (work_dir / ".gatepost").mkdir()
        owner = (work_dir / ".gatepost").stat().st_uid
        if owner == 0:
            os.chown(work_dir / ".gatepost", 1234, 1234)
        monkeypatch.setattr(os, "getuid", lambda: 4321)
        with pytest.raises(Refused, match="another user") as error:
            settings.find_home({})
        assert error.value.hint == f"set GATEPOST_HOME={work_dir}/.gatepost to use it all the same"
        assert settings.find_home({"GATEPOST_HOME": str(work_dir / ".gatepost")})[0] == work_dir / ".gatepost"

    def test_no_home_directory(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(os.path, "expanduser", lambda path: path)
        with pytest.raises(Unavailable, match="no home directory"):
            settings.find_home({})


class TestFile:
    def test_inside_or_beside(self, home: Path) -> None:
        assert settings.find_file(home) is None
        file = home.parent / "gatepost.toml"
        file.touch()
        assert settings.find_file(home) == file
        (home / "gatepost.toml").touch()
        with pytest.raises(Invalid, match="two settings files"):
            settings.find_file(home)
        file.unlink()
        assert settings.find_file(home) == home / "gatepost.toml"

    def test_beside_and_somebody_elses_does_not_count(self, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        file = home.parent / "gatepost.toml"
        file.touch()
        if os.getuid() != 0:
            pytest.skip("giving files away takes root")
        os.chown(file, 1234, 1234)
        assert settings.find_file(home) is None
        os.chown(home, 1234, 1234)
        assert settings.find_file(home) == file

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"agent = ", "is not TOML: invalid value"),
            (b"agent = '\xff'", "is not valid UTF-8"),
            (b"inbox = 3", "'inbox' in .* is a section, not a value"),
        ],
    )
    def test_broken(self, home: Path, content: bytes, message: str) -> None:
        (home / "gatepost.toml").write_bytes(content)
        with pytest.raises(Invalid, match=message):
            settings.load({"GATEPOST_HOME": str(home)})


class TestValues:
    def test_defaults_are_the_rules_that_hold_without_settings(self, home: Path) -> None:
        configuration = load(home)
        assert configuration.settings.build_policy() == Policy()
        assert {value.origin for value in configuration.values.values()} == {"default"}

    def test_environment_over_file_over_default(self, home: Path) -> None:
        configuration = load(
            home, '[inbox]\nremember = "2d"\nhold = "5m"\nattempts = 7', GATEPOST_INBOX__REMEMBER="3 days"
        )
        assert configuration.settings.inbox.remember == 3 * DAY
        assert configuration.settings.inbox.hold == 5 * MINUTE
        assert configuration.settings.build_policy().attempts == 7
        assert [configuration.values[f"inbox.{name}"].origin for name in ("remember", "hold", "fyi_wait")] == [
            "GATEPOST_INBOX__REMEMBER",
            str(home / "gatepost.toml"),
            "default",
        ]

    def test_every_setting_can_be_set_in_both_places(self, home: Path) -> None:
        for name, field in list_settings():
            section, _, key = name.rpartition(".")
            text = EXAMPLES.get(name, "analyst")
            if field.default is not None:
                text = field.metadata["converter"].format(field.default)
            literal = f'"{text}"' if field.metadata["converter"].is_quoted else text
            toml = (f"[{section}]\n" if section else "") + f"{key} = {literal}\n"
            assert load(home, toml).values[name].origin == str(home / "gatepost.toml")
            assert load(home, "", **{variable_name(name): text}).values[name].origin == variable_name(name)

    def test_every_rule_is_a_setting(self) -> None:
        names = {name.rpartition(".")[2] for name, _ in list_settings()}
        permissions = {
            "can_run_commands": "commands",
            "allowed_repositories": "ci",
            "has_answer_command": "on_answer",
            "work_notify": "notify",
            "work_auto_add": "auto_add",
            "ledger": "url",
            "ledger_post": "post",
            "ledger_patience": "patience",
            "ledger_hourly": "hourly",
            "ledger_capabilities": "capabilities",
            "channel_notify": "notify",
            "has_speech": "url",
            "speech_patience": "patience",
            "wake_patience": "patience",
        }
        assert {permissions.get(name, name) for name in Policy._fields} <= names

    def test_an_empty_variable_is_unset(self, home: Path) -> None:
        assert load(home, GATEPOST_AGENT="").settings.agent is None

    def test_forms(self, home: Path) -> None:
        loaded_settings = load(home, '[limits]\ncontent = 1000\ndata = "2 MiB"\n[sqlite]\nbusy = "250ms"').settings
        assert (loaded_settings.limits.content, loaded_settings.limits.data) == (1000, 2 * 1024 * 1024)
        assert loaded_settings.sqlite.busy == SECOND // 4

    @pytest.mark.parametrize(
        "text", ["acme/shop,acme/site", ' ["acme/shop", "acme/site"] ', "acme/shop , 'acme/site',"]
    )
    def test_a_list_of_repositories(self, home: Path, text: str) -> None:
        repositories = ("acme/shop", "acme/site")
        assert (
            load(home, '[gates]\nci = ["acme/shop", "acme/site"]').settings.build_policy().allowed_repositories
            == repositories
        )
        assert load(home, GATEPOST_GATES__CI=text).settings.build_policy().allowed_repositories == repositories
        assert load(home).settings.build_policy().allowed_repositories == ()

    @pytest.mark.parametrize("value", ['"acme"', '["acme/*"]', "[1]", "7", '["acme/shop/x"]', '[["a/b"]]'])
    def test_what_is_no_list_of_repositories(self, home: Path, value: str) -> None:
        with pytest.raises(Invalid, match=r"gates\.ci in .* is wrong: ") as error:
            load(home, f"[gates]\nci = {value}")
        assert error.value.hint == 'name each as OWNER/NAME: ["acme/shop", "acme/site"]'

    def test_a_relative_store_is_relative_to_whoever_names_it(self, home: Path, work_dir: Path) -> None:
        assert load(home).settings.store.url == f"sqlite:///{home}/gatepost.db"
        assert load(home, 'store = "sqlite:///mine.db"').settings.store.url == f"sqlite:///{home}/mine.db"
        assert load(home, GATEPOST_STORE="sqlite:///mine.db").settings.store.url == f"sqlite:///{work_dir}/mine.db"
        assert load(home, GATEPOST_STORE="sqlite:////mine.db").settings.store.url == "sqlite:////mine.db"
        (home / "gatepost.toml").unlink()
        (home.parent / "gatepost.toml").write_text('store = "sqlite:///data/mine.db"')
        configuration = settings.load({"GATEPOST_HOME": str(home)})
        assert configuration.settings.store.url == f"sqlite:///{home.parent}/data/mine.db"


class TestWithoutAFolder:
    """The working directory was removed."""

    @pytest.fixture
    def deleted_dir(self, work_dir: Path) -> Path:
        (work_dir / "gone").mkdir()
        os.chdir(work_dir / "gone")
        (work_dir / "gone").rmdir()
        return work_dir

    @pytest.mark.parametrize(
        ("variable", "value"),
        [
            ("GATEPOST_AGENT", "ann"),
            ("GATEPOST_INBOX__REMEMBER", "2d"),
            ("GATEPOST_STORE", "sqlite:////data/mine.db"),
            ("GATEPOST_SPOOL__PATH", "~/spool/<session>.jsonl"),
        ],
    )
    def test_what_does_not_need_it_is_read(self, home: Path, deleted_dir: Path, variable: str, value: str) -> None:
        assert variable in {setting.origin for setting in load(home, **{variable: value}).values.values()}

    @pytest.mark.parametrize(
        ("variable", "value"),
        [("GATEPOST_STORE", "sqlite:///mine.db"), ("GATEPOST_SPOOL__PATH", "spool/<session>.jsonl")],
    )
    def test_what_is_relative_to_it_is_refused(self, home: Path, deleted_dir: Path, variable: str, value: str) -> None:
        error = get_load_error(home, **{variable: value})
        assert error.message == f"{variable} is wrong: it is relative to the working directory, and that is gone"

    @pytest.mark.parametrize("environ", [{}, {"GATEPOST_HOME": "office"}])
    def test_no_home_is_found_from_it(self, deleted_dir: Path, environ: dict[str, str]) -> None:
        with pytest.raises(Unavailable, match="the working directory is gone"):
            settings.load(environ)


class TestWrong:
    @pytest.mark.parametrize(
        ("toml", "message", "hint"),
        [
            ("stor = 'x'", "there is no setting 'stor'", "did you mean 'store'?"),
            ("[inbox]\nremembr = '1d'", "there is no setting 'inbox.remembr'", "did you mean 'inbox.remember'?"),
            ("[outbox]\nx = 1", "there is no setting 'outbox.x'", "docs/reference/settings.md lists all there are"),
            ("[inbox]\nremember = 24", "inbox.remember in .* is wrong: '24' is not a duration", "write a number and"),
            ("[inbox]\nattempts = 0", "is wrong: 0 is not a whole number from 1 to 1000", None),
            ("[inbox]\nattempts = true", "is wrong: True is not a whole number", None),
            ("[inbox]\nattempts = 1.5", "is wrong: 1.5 is not a whole number", None),
            ("[limits]\ncontent = '1GB'", "is wrong: '1GB' is not a size", "write 65536"),
            ("agent = '*'", "is wrong: '\\*' is not one entity", "give the name of one agent or person"),
            ("agent = 3", "is wrong: 3 is not the name of an entity", None),
            ("store = ''", "is wrong: '' is not a store", None),
            (
                "[spool]\npath = '~nobody-here/<session>.jsonl'",
                "is wrong: .* names a user whose home is not known",
                None,
            ),
        ],
    )
    def test_in_the_file(self, home: Path, toml: str, message: str, hint: str | None) -> None:
        error = get_load_error(home, toml)
        assert isinstance(error, Invalid)
        assert re.search(message, error.message)
        assert "\n" not in error.message
        assert str(home / "gatepost.toml") in error.message
        assert (error.hint or "").startswith(hint or "")

    @pytest.mark.parametrize(
        ("name", "value", "message", "hint"),
        [
            ("GATEPOST_STROE", "x", "there is no setting for the variable 'GATEPOST_STROE'", "did you mean"),
            (
                "GATEPOST_INBOX__REMEBER",
                "1d",
                "no setting for the variable",
                "did you mean 'GATEPOST_INBOX__REMEMBER'?",
            ),
            (
                "GATEPOST_INBOX__REMEMBER",
                "soon",
                "GATEPOST_INBOX__REMEMBER is wrong: 'soon' is not a",
                "write a number",
            ),
        ],
    )
    def test_in_the_environment(self, home: Path, name: str, value: str, message: str, hint: str) -> None:
        error = get_load_error(home, **{name: value})
        assert message in error.message
        assert (error.hint or "").startswith(hint)

    def test_variables_that_only_share_the_prefix_are_let_be(self, home: Path) -> None:
        load(home, GATEPOST_SERVICE_HOST="10.0.0.1", GATEPOST_PORT="tcp://10.0.0.1:80", GATEPOST_NIGHTLY="1")


class TestSecrets:
    @pytest.mark.parametrize(
        ("text", "masked_text"),
        [
            ("postgresql://ana:secret@db/gatepost", "postgresql://ana:***@db/gatepost"),
            ("postgresql://ana:se/cr@e:t@db/gatepost", "postgresql://ana:***@db/gatepost"),
            (
                "postgresql://db/gatepost?user=ana&password=secret&x=1",
                "postgresql://db/gatepost?user=ana&password=***&x=1",
            ),
            ("postgresql://ana@db/gatepost", "postgresql://ana@db/gatepost"),
            ("postgresql://db:secret/gatepost", "postgresql://db:***/gatepost"),
            ("postgresql://db:5432,other:5433/gatepost", "postgresql://db:5432,other:5433/gatepost"),
            ("postgresql://[::1]:5432/gatepost", "postgresql://[::1]:5432/gatepost"),
            ("'http://db:80'", "'http://db:80'"),
            ("sqlite:////var/gatepost.db", "sqlite:////var/gatepost.db"),
        ],
    )
    def test_masked(self, text: str, masked_text: str) -> None:
        assert mask_passwords(text) == masked_text

    @pytest.mark.parametrize(
        "setting",
        [
            "https://ana:open-sesame@id.example/keys",
            "https://ana:open/se@s:ame@id.example/keys",
            "https://open-sesame@id.example/keys",
            "https://id.example/keys?api_key=open-sesame&x=1",
            "https://id.example/keys?x=1&token=open-sesame",
            "https://id.example/keys?x=1&sig=open-sesame",
            "curl -u ana:open-sesame https://id.example",
            "curl --user 'ana:open-sesame' https://id.example",
            "notify --password open-sesame --to ana",
            "notify --api-token='open-sesame' --to ana",
            "BOT_TOKEN=open-sesame notify",
            'curl -H "Authorization: Bearer open-sesame" https://id.example',
            "curl -H 'X-Api-Key: open-sesame' https://id.example",
            """curl -d '{"x-secret-key": "open-sesame"}' https://id.example""",
            "notify sk_open-sesame0000",
        ],
    )
    @pytest.mark.parametrize("name", ["auth.jwks_url", "courier.nudge", "decision.on_answer"])
    def test_a_password_in_a_url_or_a_command_is_not_shown(self, home: Path, name: str, setting: str) -> None:
        configuration = load(home, **{variable_name(name): setting})
        assert configuration.values[name].value == setting
        text = str(configuration.values[name])
        assert "***" in text
        assert not re.search("sesame|open/se", text)
        assert re.search("id.example|notify", text), "the rest is"

    @pytest.mark.parametrize("form", ["console", "json"])
    def test_nor_is_it_logged(self, form: str, capsys: pytest.CaptureFixture[str]) -> None:
        telemetry.configure_logging(form)
        url = "https://ana:open-sesame@id.example/keys?token=open-sesame"
        try:
            raise ValueError(f"no answer of {url}")
        except ValueError:
            structlog.get_logger("test").exception("cannot be fetched", url=url, times=3)
        log_text = capsys.readouterr().err
        assert "sesame" not in log_text
        assert "https://ana:***@id.example/keys?token=***" in log_text

    def test_what_is_no_secret_is_shown(self, home: Path) -> None:
        command = 'tmux send-keys -t analyst "$1" Enter; author=ana max_tokens=10 git@example.com'
        assert str(load(home, **{variable_name("courier.nudge"): command}).values["courier.nudge"]) == command

    @pytest.mark.parametrize("secret", ["x", "x" * 31, "\u00e9" * 15])
    def test_a_short_secret_signs_nothing(self, home: Path, secret: str) -> None:
        error = get_load_error(home, GATEPOST_AUTH__JWT_SECRET=secret)
        size = len(secret.encode())
        assert error.message == (
            f"GATEPOST_AUTH__JWT_SECRET is wrong: the secret has {size} bytes, and HS256 needs 32 or more"
        )
        assert "openssl rand -base64 32" in (error.hint or "")
        assert error.exit == 2
        assert load(home, GATEPOST_AUTH__JWT_SECRET="\u00e9" * 16).settings.auth.jwt_secret == "\u00e9" * 16

    def test_a_store_is_shown_without_its_password(self, home: Path) -> None:
        configuration = load(home, GATEPOST_STORE="postgresql://ana:secret@db/gatepost")
        assert "secret" in configuration.settings.store.url
        assert "secret" not in str(configuration.values["store.url"])


class TestTemplate:
    def test_changes_nothing(self, home: Path) -> None:
        assert {value.origin for value in load(home, build_template()).values.values()} == {"default"}

    def test_every_setting_in_it_holds_when_uncommented(self, home: Path) -> None:
        lines = [
            line.removeprefix("# ") if " = " in line and not line.startswith("#  ") else line
            for line in build_template().splitlines()
        ]
        toml = "\n".join(lines)
        for name, example in EXAMPLES.items():
            key = name.rpartition(".")[2]
            toml = toml.replace(f'{key} = "..."', f'{key} = "{example}"')
        toml = toml.replace('"..."', '"analyst"')
        # but for a command and a URL that are none: there is no word in it for nothing
        assert load(home, toml).settings.build_policy() == Policy(has_answer_command=True, has_speech=True)
        assert {value.origin for value in load(home, toml).values.values()} == {str(home / "gatepost.toml")}


PYPROJECT = Path(__file__).parents[2] / "pyproject.toml"
SCHEMES = [
    ("redis://127.0.0.1", "redis"),
    ("rediss://127.0.0.1", "redis"),
    ("unix:///run/redis.sock", "redis"),
    ("nats://127.0.0.1", "nats"),
    ("tls://127.0.0.1", "nats"),
    ("postgres:", "postgres"),
]


@pytest.mark.parametrize(("url", "extra"), SCHEMES)
def test_a_missing_driver_names_the_extra_that_brings_it(
    url: str, extra: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in ("redis", "nats", "jetstream", "postgres_notify"):
        monkeypatch.setitem(sys.modules, f"gatepost.transports.{module}", None)
    environ = {"GATEPOST_HOME": str(tmp_path), "GATEPOST_STORE": "postgresql://127.0.0.1/x", "GATEPOST_TRANSPORT": url}
    configuration = settings.load(environ)
    with pytest.raises(Unavailable) as error:
        app.build_transport(configuration)
    assert error.value.hint == f"pip install 'gatepost[{extra}]'"
    if extra != "postgres":
        for open_configured in (
            lambda: app.build_subscription(configuration, "ann"),
            lambda: app.build_intake_queue(configuration),
        ):
            with pytest.raises(Unavailable) as error:
                open_configured()
            assert error.value.hint == f"pip install 'gatepost[{extra}]'"


@pytest.mark.parametrize("scheme", ["postgres", "postgresql"])
def test_a_missing_driver_of_a_store_names_its_extra(scheme: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gatepost.stores.postgres", None)
    with pytest.raises(Unavailable) as error:
        app.open_store(f"{scheme}://user:secret@127.0.0.1/x")
    assert error.value.hint == "pip install 'gatepost[postgres]'"
    assert "secret" not in error.value.message


def test_every_scheme_and_every_extra_is_known(tmp_path: Path) -> None:
    """What the settings take, and what the package offers."""
    project = tomllib.loads(PYPROJECT.read_text())["project"]
    assert set(app._EXTRAS.values()) <= project["optional-dependencies"].keys()
    schemes = {url.partition(":")[0] for url, _ in SCHEMES}
    for scheme in ("memory", "socket", *schemes):
        url = next((url for url, _ in SCHEMES if url.startswith(f"{scheme}:")), f"{scheme}:")
        assert settings.load({"GATEPOST_HOME": str(tmp_path), "GATEPOST_TRANSPORT": url}).settings.transport == url
    assert schemes <= app._EXTRAS.keys()
