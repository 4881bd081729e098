"""What only the administrator may do with triggers, what only some providers have, and how many there are."""

from typing import Any

import pytest

from gatepost.channels import chat_handlers as chat, pairing_actions as pairing, reply_actions as replies
from gatepost.channels.chat_api import SendChat
from gatepost.channels.routing.rule import RouteSpec, check_rule
from gatepost.channels.triggers import actions as triggers, cron_fire_actions as schedules, rows
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.channels.triggers.api import AddTrigger, ChangeTrigger, ScheduleSpec
from gatepost.channels.triggers.trigger import (
    DeliveryMode,
    GroupMode,
    Heartbeat,
    TriggerConfig,
    TriggerSchedule,
    check_public_url,
)
from gatepost.channels.webhooks.verification import Scheme
from gatepost.core.ports import Transaction
from gatepost.core.times import HOUR, MINUTE, SECOND
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, Invalid, LimitReached, Refused
from gatepost.executor import LocalExecutor
from gatepost.export import export_actions as export
from gatepost.inbox import claim_actions as inbox, event_rendering as render
from gatepost.residents import agent_actions as agents
from gatepost.testing import Kit
from tests.support.collected_failures import check_cases

SECRET = "sixteen-chars-ok"
HOURLY = TriggerConfig(schedule=TriggerSchedule(every=HOUR))
BOT = TriggerSpec(name="desk", provider="telegram", secret="7:token", owner="ana")


@pytest.fixture
def office(kit: Kit) -> Kit:
    """Ana routes."""
    for name, kind in (("admin", EntityKind.HUMAN), ("ana", EntityKind.AGENT), ("ben", EntityKind.AGENT)):
        kit.store.run_sync(directory.register, EntitySpec(name=name, kind=kind, team="web"))
    kit.store.run_sync(agents.set_skills, "ana", ["routing"])
    return kit


def build_schedule(name: str = "daily", **schedule: Any) -> TriggerSpec:
    config = TriggerConfig(schedule=TriggerSchedule(**(schedule or {"every": HOUR})))
    return TriggerSpec(name=name, provider="cron", target="ben", prompt="Delete it.", config=config)


class TestAnOwner:
    @pytest.mark.parametrize("allow", [(66,), ()])
    def test_cannot_let_users_in(self, office: Kit, allow: tuple[int, ...]) -> None:
        spec = TriggerSpec(**{**_list_fields(BOT), "config": TriggerConfig(allow=(7,))})
        with pytest.raises(Refused, match="'ana' cannot let users in"):
            office.store.run_sync(triggers.add, spec, by="ana")
        office.store.run_sync(triggers.add, spec)
        with pytest.raises(Refused, match="'ana' cannot let users in"):
            office.store.run_sync(triggers.change, "desk", {"config": TriggerConfig(allow=allow)}, by="ana")
        unchanged = TriggerConfig(allow=(7,), block=(8,))
        assert office.store.run_sync(triggers.change, "desk", {"config": unchanged}, by="ana").config == unchanged
        office.store.run_sync(triggers.change, "desk", {"config": TriggerConfig(allow=allow)})

    def test_cannot_change_the_options_of_a_stored_token(self, office: Kit) -> None:
        spec = TriggerSpec(name="desk", provider="pigeon", secret="a token", owner="ana")
        office.store.run_sync(triggers.add, spec)
        changes = {"config": TriggerConfig(options={"url": "https://elsewhere.example"})}
        with pytest.raises(Refused, match="cannot change the options of a trigger whose token is stored"):
            office.store.run_sync(triggers.change, "desk", changes, by="ana")
        office.store.run_sync(triggers.change, "desk", {**changes, "secret": "another token"}, by="ana")

    def test_fires_at_most_once_a_minute(self, office: Kit) -> None:
        with pytest.raises(Refused, match="fires every 59 seconds"):
            office.store.run_sync(triggers.add, build_schedule(every=59 * SECOND), by="ana")
        office.store.run_sync(triggers.add, build_schedule(every=MINUTE), by="ana")
        fast = {"config": build_schedule(every=10 * SECOND).config}
        with pytest.raises(Refused, match="fires every 10 seconds"):
            office.store.run_sync(triggers.change, "daily", fast, by="ana")
        office.store.run_sync(triggers.change, "daily", fast)

    def test_cannot_take_the_name_of_an_entity(self, office: Kit) -> None:
        with pytest.raises(Conflict, match="'admin' is the name of an entity"):
            office.store.run_sync(triggers.add, build_schedule("admin"), by="ana")

    @pytest.mark.parametrize(
        ("owner", "by", "name"),
        [
            (None, "ana", "daily by ana"),
            ("team:web", "ana", '"daily by team:web"'),
            ("ana", None, "daily by ana"),
            (None, None, "daily"),
        ],
    )
    def test_is_named_in_the_line_of_a_schedule(
        self, office: Kit, owner: str | None, by: str | None, name: str
    ) -> None:
        spec = TriggerSpec(**{**_list_fields(build_schedule()), "owner": owner})
        trigger = office.store.run_sync(triggers.add, spec, by=by)
        office.clock.advance("1 hour")
        assert office.store.run_sync(schedules.fire, trigger.number)
        [item] = office.store.read_sync(inbox.list_page, "ben")
        assert render.render_event(item.event).startswith(f'[Service: {name}] "Delete it."')
        assert item.event.source == "daily"


def _list_fields(spec: TriggerSpec) -> dict[str, Any]:
    return {name: getattr(spec, name) for name in spec.__slots__}


def test_there_is_a_limit_of_triggers(office: Kit, monkeypatch: pytest.MonkeyPatch) -> None:
    assert triggers.MAX_TRIGGERS == 1_000
    monkeypatch.setattr(triggers, "MAX_TRIGGERS", 2)
    for name in ("one", "two"):
        office.store.run_sync(triggers.add, build_schedule(name), by="ana")
    with pytest.raises(LimitReached, match="there are 2 triggers"):
        office.store.run_sync(triggers.add, build_schedule("three"), by="ana")


@pytest.mark.parametrize(
    ("provider", "field", "value"),
    [
        ("cron", "token", "env:BOT"),
        ("cron", "allow", (7,)),
        ("cron", "block", (7,)),
        ("cron", "templates", ({"message": "x"},)),
        ("webhook", "token", "env:BOT"),
        ("webhook", "allow", (7,)),
        ("webhook", "mode", DeliveryMode.WEBHOOK),
        ("webhook", "groups", GroupMode.ALL),
        ("webhook", "public_url", "https://gatepost.example"),
        ("webhook", "schedule", HOURLY.schedule),
        ("webhook", "heartbeat", Heartbeat()),
        ("telegram", "templates", ({"message": "x"},)),
        ("telegram", "options", {"url": "x"}),
        ("service", "templates", ({"message": "x"},)),
        ("pigeon", "mode", DeliveryMode.WEBHOOK),
        ("pigeon", "schedule", HOURLY.schedule),
    ],
)
def test_a_field_that_means_nothing_to_a_provider_is_refused(provider: str, field: str, value: Any) -> None:
    with pytest.raises(Invalid) as error:
        triggers.check_config(provider, TriggerConfig(**{field: value}))
    assert error.value.message == f"a trigger of {provider!r} has no {field}"


@check_cases(
    ("fields", "message"),
    [
        ({"provider": "cron", "token": "7:token"}, "a trigger of 'cron' has no token"),
        ({"provider": "cron", "secret": SECRET}, "a trigger of 'cron' has no secret"),
        ({"provider": "telegram", "secret": SECRET}, "a trigger of 'telegram' has no secret"),
        ({"provider": "service", "token": "7:token"}, "a trigger of 'service' has no token"),
        ({"token": "7:token-of-a-bot"}, "a trigger of 'webhook' has no token"),
        ({"provider": "cron", "scheme": Scheme.GITHUB}, "a trigger of 'cron' has no scheme"),
        ({"provider": "cli"}, "what people write on 'cli' needs no trigger"),
        ({"provider": "web"}, "what people write on 'web' needs no trigger"),
        ({"name": "cli", "secret": SECRET}, "'cli' is the name of a channel"),
        ({"name": "web", "secret": SECRET}, "'web' is the name of a channel"),
        ({"secret": "env:ISSUES_SECRET"}, "the secret begins with 'env:'"),
    ],
)
def test_what_a_request_cannot_have(office: Kit, fields: dict[str, Any], message: str) -> None:
    values = {"name": "x"} | ({"schedule": ScheduleSpec(every="1h")} if fields.get("provider") == "cron" else {})
    with pytest.raises(Invalid) as error:
        LocalExecutor(office.store).send(AddTrigger(**(values | fields)))
    assert error.value.message.startswith(message)
    assert office.store.read_sync(triggers.list_page) == []


def test_a_secret_is_not_the_name_of_a_variable(office: Kit) -> None:
    LocalExecutor(office.store).send(AddTrigger(name="issues", secret=SECRET))
    with pytest.raises(Invalid) as error:
        LocalExecutor(office.store).send(ChangeTrigger(name="issues", secret="env:ISSUES_SECRET"))
    assert error.value.hint == "give the secret itself with --secret @FILE; env: is for gatepost.toml"


@pytest.mark.parametrize(
    "url", ["not a url", "http://x", "https://", "ftp://x", "https://a b", "https://x:port", "//x"]
)
def test_a_public_url_is_one_of_https(url: str) -> None:
    with pytest.raises(Invalid, match="is not a public URL of https"):
        check_public_url(url)


@pytest.mark.parametrize("url", ["https://x.example", "https://x.example:8443/bots/", "http://127.0.0.1:4283"])
def test_a_public_url_may_have_a_port_and_a_path(url: str) -> None:
    assert check_public_url(url) == url


def test_webhook_mode_needs_a_url() -> None:
    with pytest.raises(Invalid, match="a bot in webhook mode needs the URL"):
        triggers.check_config("telegram", TriggerConfig(mode=DeliveryMode.WEBHOOK))


@pytest.mark.parametrize("path", ["repository.name", "Payload.name", "[0]", "sender"])
def test_a_filter_that_never_matches_is_refused(path: str) -> None:
    with pytest.raises(Invalid) as error:
        check_rule(RouteSpec(name="z", targets=("ana",), filters={path: "shop"}))
    assert f"the filter {path!r} never matches" in error.value.message
    assert "payload.repository.name" in str(error.value.hint)


def test_who_is_let_in_by_the_list_is_not_let_in_by_the_administrator(office: Kit) -> None:
    bot = office.store.run_sync(triggers.add, TriggerSpec(**{**_list_fields(BOT), "config": TriggerConfig(allow=(7,))}))
    office.store.run_sync(pairing.admit, bot, chat="7", user_id="7", display="Eve")
    [row] = office.store.read_sync(pairing.list_page)
    assert (row.state, row.answered_by) == ("approved", None)


@pytest.mark.parametrize("secrets", [False, True])
def test_no_token_of_any_provider_is_in_an_export(office: Kit, secrets: bool) -> None:
    office.store.run_sync(triggers.add, BOT)
    office.store.run_sync(triggers.add, TriggerSpec(name="loft", provider="pigeon", secret="7:token"))
    office.store.run_sync(triggers.add, TriggerSpec(name="issues", scheme=Scheme.GITHUB, secret=SECRET))
    lines: list[bytes] = []
    office.store.read_sync(export.export_store, lines.append, secrets=secrets)
    text = b"".join(lines).decode()
    assert "loft" in text
    assert "7:token" not in text
    assert (SECRET in text) is secrets


def test_a_trigger_that_is_called_cli_does_not_break_replies(office: Kit) -> None:
    """Older stores may have one."""
    office.store.run_sync(_insert_trigger, "cli")
    office.store.run_sync(chat.send, SendChat(content="Hello?", to="ana"), sender="admin")
    [item] = office.store.read_sync(inbox.list_page, "ana")
    trigger, _ = office.store.read_sync(replies.find_route, item.event, office.store.read_sync(directory.find, "ana"))
    assert trigger is None


def _insert_trigger(tx: Transaction, name: str) -> None:
    tx.execute(
        "channels/triggers/insert",
        id=tx.new_id("trg"),
        name=name,
        provider=name,
        scheme=None,
        secret=None,
        target=None,
        prompt=None,
        owner="admin",
        config=rows.encode_config(TriggerConfig()),
        active=True,
        is_from_file=False,
        next_at=None,
        now=tx.now,
    )
