"""The tools of agents with the skill `routing`."""

from typing import Any

import pytest

from gatepost.channels import intake_actions as intake
from gatepost.channels.envelope import Envelope, EnvelopeKind
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.directory.entity import EntityKind
from gatepost.directory.entity_actions import EntitySpec
from gatepost.errors import Conflict, GatepostError, Invalid, Refused
from gatepost.inbox import claim_actions as inbox
from gatepost.residents import agent_actions as agents
from gatepost.residents.tools import list_tools, load_tools
from tests.residents.tools.tool_caller import ToolCaller
from tests.support.store_context import StoreContext

SECRET = "sixteen-chars-ok"
ROUTING_TOOLS = {
    "create_route",
    "update_route",
    "disable_route",
    "list_routes",
    "list_dead_letters",
    "replay_dead_letter",
    "discard_dead_letter",
    "set_trigger",
    "list_triggers",
    "disable_trigger",
}


@pytest.fixture
def ann(ctx: StoreContext) -> ToolCaller:
    """Ann, who has the skill."""
    ctx.store.run_sync(agents.set_skills, "ann", ["routing"])
    return ToolCaller(ctx)


def keep_message(ctx: StoreContext) -> None:
    """Let a message come that nobody gets."""
    ctx.store.run_sync(triggers.add, TriggerSpec(name="shop", secret=SECRET))
    trigger = ctx.store.read_sync(triggers.show, "shop")
    envelope = Envelope(
        channel="webhook", session="shop", kind=EnvelopeKind.EVENT, content="opened", payload={"repository": "shop"}
    )
    ctx.store.run_sync(intake.receive, trigger, envelope, dedup_key="svc:shop:1")


def test_only_agents_with_the_skill_have_them() -> None:
    assert {*list_tools(["routing"])} - {*list_tools(())} == ROUTING_TOOLS
    assert {*list_tools(["routing"])} == {*load_tools()}


class TestRoutes:
    def test_are_made_changed_disabled_and_read(self, ann: ToolCaller) -> None:
        made = ann.use("create_route", name="shop", targets=["bob"], filters={"payload.repository": "shop"}, rank=3)
        assert (made["madeBy"], made["channel"], made["rank"], made["active"]) == ("ann", "*", 3, True)
        changed = ann.use("update_route", route="shop", channel="webhook", targets=["bob", "ann"])
        assert changed["id"] == made["id"], "an argument's own name is not that of a field of the answer"
        assert (changed["channel"], changed["targets"], changed["rank"]) == ("webhook", ["bob", "ann"], 3)
        assert not ann.use("disable_route", route=made["id"])["active"]
        assert ann.use("update_route", route="shop", active=True)["active"]
        assert [route["id"] for route in ann.use("list_routes")["routes"]] == [made["id"]]
        with pytest.raises(Invalid, match="nothing to change"):
            ann.use("update_route", route="shop")

    def test_of_others_cannot_be_changed(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ann.use("create_route", name="shop", targets=["bob"])
        ctx.store.run_sync(agents.set_skills, "bob", ["routing"])
        bob = ToolCaller(ctx, "bob")
        assert [route["name"] for route in bob.use("list_routes")["routes"]] == ["shop"]
        with pytest.raises(Refused, match="the rule 'shop' was made by 'ann'"):
            bob.use("disable_route", route="shop")

    def test_are_not_for_an_agent_that_has_lost_the_skill(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(agents.set_skills, "ann", [])
        for tool in ("list_routes", "list_dead_letters"):
            with pytest.raises(Refused, match="'ann' lacks the skill 'routing'"):
                ann.use(tool)


def test_a_message_that_nobody_got_is_read_and_replayed(ann: ToolCaller, ctx: StoreContext) -> None:
    keep_message(ctx)
    [letter] = ann.use("list_dead_letters")["deadLetters"]
    assert (letter["trigger"], letter["content"], letter["reason"]) == ("shop", "opened", "no_route")
    assert letter["payload"] == {"repository": "shop"}
    ann.use("create_route", name="shop", targets=["bob"], filters={"payload.repository": "shop"})
    assert ann.use("replay_dead_letter", id=letter["id"])["targets"] == ["bob"]
    assert ann.use("list_dead_letters")["deadLetters"] == []
    [item] = ctx.store.read_sync(inbox.list_page, "bob")
    assert item.event.content == "opened"


class TestTriggers:
    def test_that_fire_by_a_schedule_are_made_changed_and_disabled(self, ann: ToolCaller) -> None:
        made = ann.use("set_trigger", name="pulse", every="30m", target="bob", activeHours=[8, 22], timeZone="UTC")
        assert (made["provider"], made["owner"], made["target"]) == ("cron", "ann", "bob")
        assert (made["schedule"]["every"], made["heartbeat"]) == ("30m", {"activeHours": [8, 22]})
        changed = ann.use("set_trigger", name="pulse", prompt="Well?", target="")
        assert (changed["prompt"], changed["target"], changed["schedule"]["every"]) == ("Well?", None, "30m")
        assert ann.use("set_trigger", name="pulse", cron="0 9 * * *")["schedule"]["cron"] == "0 9 * * *"
        assert not ann.use("disable_trigger", name="pulse")["active"]
        assert ann.use("set_trigger", name="pulse", active=True)["active"]
        assert [trigger["name"] for trigger in ann.use("list_triggers")["triggers"]] == ["pulse"]

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"name": "pulse"}, Invalid),
            ({"name": "pulse", "every": "soon"}, Invalid),
            ({"name": "pulse", "every": "1h", "cron": "@daily"}, Invalid),
            ({"name": "pulse", "every": "1h", "activeHours": [8]}, Invalid),
            ({"name": "shop", "every": "1h"}, Conflict),
        ],
    )
    def test_that_are_not_valid_are_not_made(
        self, ann: ToolCaller, ctx: StoreContext, arguments: dict[str, Any], error: type[GatepostError]
    ) -> None:
        keep_message(ctx)
        with pytest.raises(error):
            ann.use("set_trigger", **arguments)
        assert ann.use("list_triggers")["triggers"] == []

    def test_of_a_team_are_managed_by_its_members_without_their_secret(
        self, ann: ToolCaller, ctx: StoreContext
    ) -> None:
        ctx.store.run_sync(
            directory.register, EntitySpec(name="eve", kind=EntityKind.AGENT, team="root", role="system3")
        )
        ctx.store.run_sync(directory.update, "ann", team="root", role="system3")
        ctx.store.run_sync(triggers.add, TriggerSpec(name="shop", secret=SECRET))
        changed = ann.use("set_trigger", name="shop", session="pr-{{number}}", target="bob")
        assert (changed["owner"], changed["session"]) == ("team:root/system3", "pr-{{number}}")
        assert SECRET not in str(ann.use("list_triggers"))

    def test_of_a_package_are_listed_and_disabled(self, ann: ToolCaller, ctx: StoreContext) -> None:
        ctx.store.run_sync(triggers.add, TriggerSpec(name="bell", provider="doorbell", owner="ann"))
        assert [trigger["provider"] for trigger in ann.use("list_triggers")["triggers"]] == ["doorbell"]
        assert not ann.use("disable_trigger", name="bell")["active"]

    def test_of_others_are_refused(self, ann: ToolCaller, ctx: StoreContext) -> None:
        keep_message(ctx)
        with pytest.raises(Refused, match="'ann' owns no trigger 'shop'"):
            ann.use("disable_trigger", name="shop")


def test_a_schedule_begins_when_it_is_set(ann: ToolCaller, ctx: StoreContext) -> None:
    ann.use("set_trigger", name="pulse", every="1h", target="bob")
    trigger = ctx.store.read_sync(triggers.show, "pulse")
    assert trigger.next_at == trigger.created_at + HOUR
