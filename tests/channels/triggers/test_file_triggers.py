"""The triggers of gatepost.toml: how they are written, and how their rows follow the file."""

import tomllib
from pathlib import Path

import pytest

from gatepost import app, settings
from gatepost.channels import conversation_actions as conversations
from gatepost.channels.triggers import actions as triggers, gatepost_toml_actions as file_triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.gatepost_toml_actions import FileTrigger
from gatepost.channels.triggers.trigger import DeliveryMode, GroupMode, Heartbeat, TriggerConfig, TriggerSchedule
from gatepost.channels.webhooks import delivery_actions as webhooks
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.dry_run import dry_run_sync
from gatepost.core.times import HOUR, MINUTE, parse_instant
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, TooLarge, UnknownAddress
from gatepost.settings.trigger_tables import format_triggers, parse_triggers
from gatepost.testing import Kit
from tests.support.collected_failures import check_cases

SECRET = "sixteen-chars-ok"
FILE = """
[triggers.daily]
provider = "cron"
cron = "0 9 * * 1-5"
zone = "Europe/Berlin"
to = "ana"
prompt = "Write the report"

[triggers.pulse]
provider = "cron"
every = "30m"
heartbeat = "8-22"
owner = "ben"

[triggers.once]
provider = "cron"
at = 2026-12-24T18:00:00Z
to = "team:web"

[triggers.shop]
scheme = "github"
secret = "env:SHOP_SECRET"
session = "pr-{{number}}"

[[triggers.shop.templates]]
match = {action = ["opened", "reopened"]}
message = "{{sender.login}} {{action}} #{{number}}"

[triggers.desk]
provider = "telegram"
token = "env:DESK_TOKEN"
allow = [7, -1001]
groups = "all"
active = false
"""


def parse(text: str = FILE) -> dict[str, FileTrigger]:
    return {trigger.name: trigger for trigger in parse_triggers(tomllib.loads(text)["triggers"].items())}


@pytest.fixture
def office(kit: Kit) -> Kit:
    for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team="web"))
    return kit


def find_problem(office: Kit, trigger: FileTrigger, secret: str | None) -> GatepostError | None:
    """Do what `gatepost doctor` does, which stores nothing."""
    rows = office.store.read_sync(triggers.list_page)
    try:
        dry_run_sync(office.store, file_triggers.apply, trigger, secret)
    except GatepostError as error:
        return error
    finally:
        assert office.store.read_sync(triggers.list_page) == rows
    return None


def apply(office: Kit, text: str = FILE, secret: str | None = SECRET) -> list[str]:
    """Do what a gateway does when it starts; return the names of those that were changed or removed."""
    changed = []
    specs = parse(text) if text else {}
    for name, trigger in specs.items():
        known_secret = secret if trigger.secret_reference is not None else None
        assert find_problem(office, trigger, known_secret) is None
        if office.store.run_sync(file_triggers.apply, trigger, known_secret):
            changed.append(name)
    for name in office.store.read_sync(file_triggers.list_missing, specs.keys()):
        office.store.run_sync(file_triggers.remove, name)
        changed.append(name)
    return changed


class TestTables:
    def test_have_the_fields_of_the_command(self) -> None:
        specs = parse()
        assert specs["daily"].spec == TriggerSpec(
            name="daily",
            provider="cron",
            target="ana",
            prompt="Write the report",
            config=TriggerConfig(schedule=TriggerSchedule(cron="0 9 * * 1-5", zone="Europe/Berlin")),
            is_from_file=True,
        )
        pulse = specs["pulse"].spec
        assert (pulse.config.heartbeat, pulse.owner) == (Heartbeat(active_hours=(8, 22)), "ben")
        assert pulse.config.schedule == TriggerSchedule(every=30 * MINUTE)
        assert specs["once"].spec.config.schedule == TriggerSchedule(at=parse_instant("2026-12-24T18:00:00Z"))
        shop = specs["shop"]
        assert (shop.spec.scheme, shop.secret_reference, shop.spec.secret) == (Scheme.GITHUB, "env:SHOP_SECRET", None)
        assert len(shop.spec.config.templates) == 1
        desk = specs["desk"]
        assert (desk.spec.config.allow, desk.spec.config.groups) == ((7, -1001), GroupMode.ALL)
        assert (desk.spec.config.token, desk.spec.config.mode) == ("env:DESK_TOKEN", DeliveryMode.POLLING)
        assert (desk.active, shop.active) == (False, None)

    def test_are_shown_as_they_are_written(self) -> None:
        tables = tomllib.loads(FILE)["triggers"]
        text = format_triggers(tables.items())
        assert "\n" not in text
        assert tomllib.loads(f"triggers = {text}")["triggers"] == tables

    @pytest.mark.parametrize(
        ("table", "problem"),
        [
            ('provider = "cron"', "a cron trigger needs a schedule"),
            ('provider = "cron"\ncron = "0 25 * * *"', "is not a schedule"),
            ('provider = "cron"\ncron = "@daily"\nevery = "1h"', "the schedule has cron and every"),
            ('provider = "cron"\nevery = "often"', "every: "),
            ('provider = "cron"\nevery = "1s"', "is not an interval"),
            ('provider = "cron"\nat = 2026-12-24T18:00:00', "at: "),
            ('provider = "cron"\nat = 18:00:00', "at: '18:00:00'"),
            ('provider = "cron"\nevery = "1h"\ntoken = "env:T"', "a trigger of 'cron' has no token"),
            ('provider = "cron"\nevery = "1h"\nallow = [7]', "a trigger of 'cron' has no allow"),
            ('provider = "cli"', "what people write on 'cli' needs no trigger"),
            ('provider = "cron"\ncron = "@daily"\nzone = "Mars/Base"', "is not a time zone"),
            ('provider = "cron"\nevery = "1h"\nheartbeat = "8"', "heartbeat: '8' are not hours"),
            ('provider = "cron"\nevery = "1h"\nheartbeat = "8-8"', "no hour is between 8 and 8"),
            ('provider = "cron"\nzone = "UTC"', "`zone` needs a time"),
            ('provider = "cron"\nevery = "1h"\nto = "No Name"', "to: "),
            ('provider = "cron"\nevery = "1h"\nprompt = 7', "prompt"),
            ('provider = "cron"\nevery = "1h"\npromt = "x"', "promt"),
            ('scheme = "github"', "a webhook needs a secret"),
            ('provider = "telegram"\ntoken = "env:T"\nallow = [7, 99999999999999999999999]', "allow[1]: 9999"),
            (
                'provider = "telegram"\ntoken = "env:T"\nblock = [-9999999999999999]',
                "block[0]: -9999999999999999 is less",
            ),
            ('scheme = "gitbub"\nsecret = "env:X"', "scheme"),
            ('secret = "env:X"\nevery = "1h"', "has no schedule"),
            ('secret = "env:X"\nsession = "{{"', "session: "),
            ('secret = "env:X"\ntemplates = [{mesage = "x"}]', "mesage"),
        ],
    )
    def test_what_is_wrong_is_said_with_the_name_of_the_table(self, table: str, problem: str) -> None:
        with pytest.raises(Invalid) as error:
            parse(f"[triggers.shop]\n{table}")
        assert error.value.message.startswith("[triggers.shop] ")
        assert problem in error.value.message

    @pytest.mark.parametrize("field", ["secret", "token"])
    def test_a_secret_is_refused_and_not_repeated(self, field: str) -> None:
        with pytest.raises(Invalid, match="must not be in a settings file") as error:
            parse(f'[triggers.shop]\n{field} = "open-sesame-open-sesame"')
        assert "sesame" not in f"{error.value.message} {error.value.hint}"
        with pytest.raises(Invalid) as error:
            parse(f"[triggers.shop]\n{field} = 1234567890123456")
        assert "123456" not in f"{error.value.message} {error.value.hint}"

    def test_they_are_a_setting(self, tmp_path: Path) -> None:
        (tmp_path / "gatepost.toml").write_text(FILE + '[inbox]\nremember = "3d"\n')
        configuration = settings.load({"GATEPOST_HOME": str(tmp_path)})
        assert [name for name, _ in configuration.settings.triggers] == ["daily", "pulse", "once", "shop", "desk"]
        assert configuration.values["triggers"].origin == str(tmp_path / "gatepost.toml")
        assert str(configuration.values["triggers"]).startswith('{daily = {provider = "cron", cron = "0 9 * * 1-5"')
        pairs = app.build_file_triggers(configuration, {"SHOP_SECRET": f" {SECRET}\n"})
        assert {trigger.name: secret for trigger, secret in pairs} == {
            **dict.fromkeys(("daily", "pulse", "once", "desk")),
            "shop": SECRET,
        }
        assert SECRET not in repr(configuration)
        (tmp_path / "gatepost.toml").write_text("")
        configuration = settings.load({"GATEPOST_HOME": str(tmp_path)})
        assert (configuration.settings.triggers, str(configuration.values["triggers"])) == ((), "{}")
        assert app.build_file_triggers(configuration) == []

    @pytest.mark.parametrize("text", ["triggers = 7", 'triggers = "x"', "[triggers]\nshop = 7", '[triggers."a b"]'])
    def test_what_is_no_table_is_refused(self, tmp_path: Path, text: str) -> None:
        (tmp_path / "gatepost.toml").write_text(text)
        with pytest.raises(Invalid, match="triggers in"):
            settings.load({"GATEPOST_HOME": str(tmp_path)})


class TestRows:
    def test_are_made_once_and_say_that_they_are_from_the_file(self, office: Kit) -> None:
        assert apply(office) == ["daily", "pulse", "once", "shop", "desk"]
        rows = {row.name: row for row in office.store.read_sync(triggers.list_page)}
        assert all(row.is_from_file for row in rows.values())
        assert {name for name, row in rows.items() if not row.active} == {"desk"}
        assert rows["pulse"].next_at == rows["pulse"].created_at + 30 * MINUTE
        assert office.store.read_sync(webhooks.find_open_trigger, "shop").stored_secret == SECRET
        office.signal_sink.clear()
        assert apply(office) == []
        assert office.signal_sink.signals == []

    def test_are_changed_with_the_file_only(self, office: Kit) -> None:
        apply(office)
        before = office.store.read_sync(triggers.show, "pulse")
        changes = FILE.replace("30m", "1h").replace('to = "ana"', 'to = "ben"').replace("Write the report", "Write it")
        assert apply(office, changes.replace('owner = "ben"', 'owner = "ana"')) == ["daily", "pulse"]
        daily, pulse = (office.store.read_sync(triggers.show, name) for name in ("daily", "pulse"))
        assert (daily.target, daily.prompt, pulse.owner) == ("ben", "Write it", "ana")
        assert (pulse.id, pulse.next_at) == (before.id, before.created_at + HOUR)
        with pytest.raises(Conflict, match=r"is set in gatepost\.toml"):
            office.store.run_sync(triggers.change, "daily", {"prompt": "another"})
        with pytest.raises(Conflict, match=r"is set in gatepost\.toml"):
            office.store.run_sync(triggers.delete, "daily")

    def test_one_that_was_closed_by_hand_stays_closed(self, office: Kit) -> None:
        apply(office)
        office.store.run_sync(triggers.change, "daily", {"active": False})
        assert apply(office) == []
        assert not office.store.read_sync(triggers.show, "daily").active
        assert apply(office, FILE + '\n[triggers.last]\nprovider = "cron"\nevery = "1h"\n') == ["last"]
        assert apply(office, FILE.replace("zone =", "active = true\nzone =")) == ["daily", "last"]
        assert office.store.read_sync(triggers.show, "daily").active

    def test_a_new_secret_or_scheme_is_stored(self, office: Kit) -> None:
        apply(office)
        assert apply(office, secret="another-sixteen-chars") == ["shop"]
        assert office.store.read_sync(webhooks.find_open_trigger, "shop").stored_secret == "another-sixteen-chars"
        assert apply(office, FILE.replace('"github"', '"header"'), secret="another-sixteen-chars") == ["shop"]
        assert office.store.read_sync(triggers.show, "shop").scheme is Scheme.HEADER

    def test_without_its_secret_one_is_not_made_but_one_that_has_it_stays(self, office: Kit) -> None:
        shop = parse()["shop"]
        problem = find_problem(office, shop, None)
        assert problem is not None
        assert problem.message == "the secret of the trigger 'shop' is not there: SHOP_SECRET is not set"
        with pytest.raises(Invalid, match="SHOP_SECRET is not set"):
            office.store.run_sync(file_triggers.apply, shop, None)
        apply(office)
        assert apply(office, secret=None) == []
        assert office.store.read_sync(webhooks.find_open_trigger, "shop").stored_secret == SECRET

    def test_those_that_are_not_in_the_file_any_more_are_deleted(self, office: Kit) -> None:
        office.store.run_sync(triggers.add, TriggerSpec(name="mine", secret=SECRET, target="ana"))
        apply(office)
        assert apply(office, "") == ["daily", "pulse", "once", "shop", "desk"]
        assert [row.name for row in office.store.read_sync(triggers.list_page)] == ["mine"]

    def test_one_with_conversations_is_closed_instead_and_opened_when_it_comes_back(self, office: Kit) -> None:
        text = FILE.replace("active = false", "")
        apply(office, text)
        desk = office.store.read_sync(triggers.show, "desk")
        office.store.run_sync(
            conversations.ensure_session, "telegram", "chat-7:user-7", trigger=desk, chat="7", user_id="7"
        )
        apply(office, "")
        [row] = office.store.read_sync(triggers.list_page)
        assert (row.name, row.active, row.is_from_file) == ("desk", False, False)
        assert "desk" in apply(office, text)
        row = office.store.read_sync(triggers.show, "desk")
        assert (row.number, row.active, row.is_from_file) == (desk.number, True, True)
        cron = '[triggers.desk]\nprovider = "cron"\nevery = "1h"'
        with pytest.raises(Conflict, match="has conversations by 'telegram'"):
            office.store.run_sync(file_triggers.apply, parse(cron)["desk"], None)

    def test_a_name_of_another_trigger_is_refused_until_that_is_closed(self, office: Kit) -> None:
        config = TriggerConfig(schedule=TriggerSchedule(every=HOUR))
        mine = office.store.run_sync(triggers.add, TriggerSpec(name="daily", provider="cron", config=config))
        daily = parse()["daily"]
        with pytest.raises(Conflict, match=r"not from gatepost\.toml") as error:
            office.store.run_sync(file_triggers.apply, daily, None)
        assert error.value.hint is not None
        assert "`gatepost trigger disable daily`" in error.value.hint
        assert office.store.read_sync(triggers.show, "daily") == mine
        office.store.run_sync(triggers.change, "daily", {"active": False})
        assert office.store.run_sync(file_triggers.apply, daily, None)
        row = office.store.read_sync(triggers.show, "daily")
        assert (row.number, row.is_from_file, row.active, row.target) == (mine.number, True, True, "ana")

    def test_another_provider_makes_another_trigger(self, office: Kit) -> None:
        apply(office)
        before = office.store.read_sync(triggers.show, "shop")
        text = '[triggers.shop]\nprovider = "cron"\nevery = "1h"'
        assert apply(office, text)[0] == "shop"
        row = office.store.read_sync(triggers.show, "shop")
        assert (row.provider, row.scheme, row.is_from_file) == ("cron", None, True)
        assert row.id != before.id

    @check_cases(
        ("old", "new", "error"),
        [
            ('to = "ana"', 'to = "nobody"', UnknownAddress),
            ('to = "ana"', 'to = "team:none"', UnknownAddress),
            ('to = "ana"', 'to = "ana"\nowner = "nobody"', UnknownAddress),
            ('to = "ana"', 'to = "*"\nheartbeat = "8-22"', Invalid),
            ("Write the report", "x" * 5_000, TooLarge),
            ('"cron"\ncron = "0 9 * * 1-5"\nzone = "Europe/Berlin"', '"telegram"', Invalid),
            (
                '"cron"\ncron = "0 9 * * 1-5"\nzone = "Europe/Berlin"',
                '"telegram"\ntoken = "env:T"\nscheme = "header"',
                Invalid,
            ),
        ],
    )
    def test_what_is_wrong_is_found_before(self, office: Kit, old: str, new: str, error: type[GatepostError]) -> None:
        daily = parse(FILE.replace(old, new))["daily"]
        assert isinstance(find_problem(office, daily, None), error)
        with pytest.raises(error):
            office.store.run_sync(file_triggers.apply, daily, None)
        assert office.store.read_sync(triggers.list_page) == []

    def test_one_whose_target_has_retired_stays(self, office: Kit) -> None:
        apply(office)
        office.store.run_sync(directory.retire, "ana")
        assert apply(office) == []

    def test_a_time_that_has_passed_may_stay_in_the_file(self, office: Kit) -> None:
        text = '[triggers.once]\nprovider = "cron"\nat = 2020-01-01T00:00:00Z'
        assert apply(office, text) == ["once"]
        assert office.store.read_sync(triggers.show, "once").next_at is None
