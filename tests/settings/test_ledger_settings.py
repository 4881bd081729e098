"""The settings of the ledger: their short form, what they take, and what a public ledger needs."""

import re
from pathlib import Path

import pytest

from gatepost import settings
from gatepost.errors import Invalid
from gatepost.residents.capability import Capability
from tests.settings.test_settings import get_load_error, load


@pytest.fixture
def home(tmp_path: Path) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    return folder


def test_the_local_ledger_is_the_default(home: Path) -> None:
    assert load(home).settings.ledger.url == load(home).settings.build_policy().ledger == "local:"


@pytest.mark.parametrize("toml", ['ledger = "off"', '[ledger]\nurl = "off"', 'ledger = {url = "off"}'])
def test_the_short_form_is_the_url(home: Path, toml: str) -> None:
    configuration = load(home, toml)
    assert configuration.settings.build_policy().ledger == "off"
    assert configuration.values["ledger.url"].origin == str(home / "gatepost.toml")
    assert "ledger" not in configuration.values


@pytest.mark.parametrize("variable", ["GATEPOST_LEDGER", "GATEPOST_LEDGER__URL"])
def test_the_short_form_is_a_variable_too(home: Path, variable: str) -> None:
    configuration = load(home, 'ledger = "local:"', **{variable: "off"})
    assert configuration.settings.ledger.url == "off"
    assert configuration.values["ledger.url"].origin == variable


def test_both_variables_with_different_values_are_refused(home: Path) -> None:
    load(home, GATEPOST_LEDGER="off", GATEPOST_LEDGER__URL="off")
    load(home, GATEPOST_LEDGER="off", GATEPOST_LEDGER__URL="")
    error = get_load_error(home, GATEPOST_LEDGER="off", GATEPOST_LEDGER__URL="local:")
    assert isinstance(error, Invalid)
    assert error.message == "GATEPOST_LEDGER and GATEPOST_LEDGER__URL have different values for one setting"
    assert error.hint == "keep one of them"


@pytest.mark.parametrize(
    ("toml", "message", "hint"),
    [
        ("ledger = 'lokal'", "^ledger in .* is wrong: 'lokal' is not one of off, local:", None),
        ("[ledger]\nurl = 'lokal'", r"^ledger\.url in .* is wrong: 'lokal' is not one of off, local:", None),
        ("ledgr = 'off'", "there is no setting 'ledgr'", "did you mean 'ledger'?"),
        ("[ledger]\nulr = 'off'", "there is no setting 'ledger.ulr'", "did you mean 'ledger.url'?"),
        ("[ledger]\npost = ['mails']", "'mails' is not one of mail, notes, events", None),
        ("[ledger]\npost = 7", "7 is not a list of mail, notes, events", "choose from"),
        ("[ledger]\nhourly = 0", "0 is not a whole number from 1 to 100000", None),
        ("[hedera]\noperator_id = '2'", "'2' is not the id of a topic or an account", "write it as 0.0.123"),
        ("[hedera]\noperator_key_file = '~nobody-here/key'", "names a user whose home is not known", None),
        ("[hedera]\nmirror = 'mirror.example'", "is not the URL of a mirror node", "write it as https://"),
        ("[hedera]\nnodes = ['node:50211']", "'node:50211' is not a node", "write each as HOST:PORT=ACCOUNT"),
        ("[hedera]\nnodes = ['node:70000=0.0.3']", "'node:70000=0.0.3' is not a node", "write each as"),
        ("[hedera]\nnodes = [3]", "3 is not a node", "write each as"),
        ("[hedera]\nfund = 0", "0 is not an amount of Hbar", "write a number such as 1 or 0.5, 10000 at most"),
        ("[hedera]\nfund = 10000.1", "10000.1 is not an amount of Hbar", None),
        ("[hedera]\nfund = -1", "-1 is not an amount of Hbar", None),
        ("[hedera]\nfund = inf", "inf is not an amount of Hbar", None),
        ("[hedera]\nfund = true", "true is not an amount of Hbar", None),
    ],
)
def test_what_is_wrong_is_named(home: Path, toml: str, message: str, hint: str | None) -> None:
    error = get_load_error(home, toml)
    assert isinstance(error, Invalid)
    assert re.search(message, error.message)
    assert (error.hint or "").startswith(hint or "")


def test_a_misspelt_short_form_in_the_environment_is_refused(home: Path) -> None:
    error = get_load_error(home, GATEPOST_LEGDER="off")
    assert error.message == "there is no setting for the variable 'GATEPOST_LEGDER'"
    assert error.hint == "did you mean 'GATEPOST_LEDGER'?"


@pytest.mark.parametrize(
    ("text", "post"),
    [("mail,notes", ("mail", "notes")), ('["notes", "mail", "mail"]', ("mail", "notes")), ("[]", ())],
)
def test_what_is_posted(home: Path, text: str, post: tuple[str, ...]) -> None:
    configuration = load(home, GATEPOST_LEDGER__POST=text)
    assert configuration.settings.ledger.post == configuration.settings.build_policy().ledger_post == post


def test_capabilities_by_role(home: Path) -> None:
    roles = (("engineer", ("code-generation", 16)), ("lead", ()))
    toml = '[ledger.capabilities]\nengineer = ["code-generation", 16]\nlead = []'
    loaded_settings = load(home, toml).settings
    assert loaded_settings.ledger.capabilities == roles
    codes = dict(loaded_settings.build_policy().ledger_capabilities)
    assert codes == {"engineer": (Capability.CODE_GENERATION, 16), "lead": ()}
    text = '{"engineer" = ["code-generation", 16], "lead" = []}'
    loaded = load(home, GATEPOST_LEDGER__CAPABILITIES=text)
    assert loaded.settings.ledger.capabilities == roles
    assert str(loaded.values["ledger.capabilities"]) == text


@pytest.mark.parametrize(
    "entry",
    ["engineer = 'code-generation'", "engineer = ['flying']", "engineer = [true]", "engineer = [-1]", "'a b' = []"],
)
def test_a_wrong_capability_is_refused(home: Path, entry: str) -> None:
    with pytest.raises(Invalid, match=r"ledger\.capabilities in"):
        load(home, f"[ledger.capabilities]\n{entry}")


@pytest.mark.parametrize(
    ("text", "tinybars", "shown"),
    [
        ("1", 100_000_000, "1"),
        ("0.5", 50_000_000, "0.5"),
        ("0.00000001", 1, "0.00000001"),
        ("20.0", 2 * 10**9, "20"),
    ],
)
def test_an_amount_is_kept_in_tinybars(home: Path, text: str, tinybars: int, shown: str) -> None:
    for configuration in (load(home, f"[hedera]\nfund = {text}"), load(home, GATEPOST_HEDERA__FUND=text)):
        assert configuration.settings.hedera.fund == tinybars
        assert str(configuration.values["hedera.fund"]) == shown


def test_the_network_of_hedera(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    nodes = '["127.0.0.1:50211=0.0.3", "[::1]:50212=0.0.4"]'
    toml = f'[hedera]\noperator_key_file = "keys/operator"\nmirror = "http://127.0.0.1:5551/"\nnodes = {nodes}'
    configuration = load(home, toml)
    hedera = configuration.settings.hedera
    assert hedera.operator_key_file == str(home / "keys/operator")
    assert hedera.mirror == "http://127.0.0.1:5551"
    assert hedera.nodes == (("127.0.0.1:50211", "0.0.3"), ("[::1]:50212", "0.0.4"))
    assert str(configuration.values["hedera.nodes"]) == nodes
    variable = "GATEPOST_HEDERA__OPERATOR_KEY_FILE"
    assert load(home, **{variable: "key"}).settings.hedera.operator_key_file == str(tmp_path / "key")
    assert load(home, **{variable: "~/key"}).settings.hedera.operator_key_file == str(Path.home() / "key")
    assert settings.resolve_variables({variable: "key"}, "/there") == {variable: "/there/key"}
    assert load(home).settings.hedera.operator_key_file is None


def test_a_ledger_that_is_not_public_needs_no_other_setting(home: Path) -> None:
    for url in ("off", "local:"):
        settings.check_ledger(load(home, GATEPOST_LEDGER=url).settings)


@pytest.mark.parametrize(
    ("toml", "name"),
    [
        ("url = 'hedera:mainnet'\n[hedera]\noperator_id = '0.0.2'\noperator_key_file = 'key'", "ledger.public"),
        ("url = 'hedera:testnet'\n[hedera]\noperator_key_file = 'key'", "hedera.operator_id"),
        ("url = 'hedera:testnet'\n[hedera]\noperator_id = '0.0.2'", "hedera.operator_key_file"),
    ],
)
def test_a_public_ledger_needs_others(home: Path, toml: str, name: str) -> None:
    loaded_settings = load(home, f"[ledger]\n{toml}").settings
    with pytest.raises(Invalid, match=f"the ledger 'hedera:[a-z]+' needs the setting '{name}'") as error:
        settings.check_ledger(loaded_settings)
    assert name.rpartition(".")[2] in (error.value.hint or "")


def test_a_public_ledger_with_all_it_needs(home: Path) -> None:
    hedera = "[hedera]\noperator_id = '0.0.2'\noperator_key_file = 'key'\n"
    settings.check_ledger(load(home, f"ledger = 'hedera:testnet'\n{hedera}").settings)
    settings.check_ledger(load(home, f"{hedera}[ledger]\nurl = 'hedera:mainnet'\npublic = true").settings)
