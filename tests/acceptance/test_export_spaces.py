"""Export and import of what surrounds inboxes: spaces, plans, triggers, keys. All of it arrives, once."""

import json
from typing import Any

import pytest

from gatepost.actions import directory, keys, maintenance, plans, spaces, transfer, triggers
from gatepost.actions.directory import EntitySpec
from gatepost.actions.merge import Taken
from gatepost.actions.triggers import TriggerSpec
from gatepost.core.entity import EntityKind
from gatepost.core.plan import PlanStatus, parse_spec
from gatepost.core.webhook import Scheme
from gatepost.errors import Conflict, GatepostError, Invalid, NotFound, UnknownAddress
from gatepost.ports import Reader, Store
from gatepost.testing import Kit
from tests.acceptance.command_line import CommandLine
from tests.acceptance.transfer_helpers import assert_healthy, export_lines, import_lines

SECRET = "sixteen characters at least"
KEYS = {kind: f"{'pk' if kind == 'public' else 'sk'}_{kind:-<43}" for kind in ("admin", "agent", "trigger", "public")}
ALL_RECORDS = Taken(entities=5, spaces=2, messages=7, plans=3, triggers=2, keys=4, events=6, items=6)
RECORDS_WITHOUT_SECRETS = Taken(entities=5, spaces=2, messages=7, plans=3, triggers=2, keys=3, events=6, items=6)


def create_spaces_plans_and_keys(kit: Kit) -> None:
    store, clock = kit.store, kit.clock
    for name in ("admin", "husam", "ana", "ben", "old"):
        kind = EntityKind.HUMAN if name in ("admin", "husam") else EntityKind.AGENT
        store.call(directory.register, EntitySpec(name=name, kind=kind))
    store.call(spaces.create, name="Q4 Report", members=["husam", "ana"])
    for number in range(3):
        clock.advance("1 second")
        store.call(spaces.post, "q4-report", sender="husam", content=f"number {number}", data={"n": [number, "\u2028"]})
    store.call(spaces.join, "q4-report", "ben")
    store.call(spaces.mark_read, "q4-report", "ana", 2)
    store.call(spaces.post, "q4-report", sender="ana", content="done")
    store.call(spaces.create, name="Closed", id="closed", members=["husam", "old"])
    for content in ("one", "two", "three"):
        store.call(spaces.post, "closed", sender="old", content=content)
    store.call(spaces.archive, "closed")
    store.call(directory.retire, "old")
    store.call(plans.set_plan, "ana", parse_spec({"name": "long over", "runAfter": "1 minute"}))
    clock.advance("2 minutes")
    store.call(plans.fire)
    clock.advance("3 days")
    store.call(plans.set_plan, "ana", parse_spec({"name": "over", "runAfter": "1 minute"}))
    store.call(
        plans.set_plan,
        "ben",
        parse_spec({"name": "daily", "cron": "0 9 * * *", "timeZone": "Europe/Berlin", "catchUp": "all"}),
    )
    store.call(plans.set_plan, "husam", parse_spec({"name": "once", "instruction": "call", "runAfter": "9 days"}))
    clock.advance("2 minutes")
    store.call(plans.fire)
    for name in ("issues", "chat"):
        trigger = TriggerSpec(
            name=name, scheme=Scheme.GITHUB, secret=SECRET, target="ana", prompt="look", owner="husam"
        )
        store.call(triggers.add, trigger)
    store.call(triggers.set_active, "chat", False)
    store.call(keys.create, kind="admin", secret=KEYS["admin"], name="admin.key")
    store.call(keys.create, kind="agent", secret=KEYS["agent"], entity="ana", name="ana's")
    store.call(keys.create, kind="trigger", secret=KEYS["trigger"], entity="ben", trigger="issues")
    store.call(keys.create, kind="public", secret=KEYS["public"])
    store.call(keys.revoke, KEYS["public"][:11])


def read_everything(store: Store) -> Any:
    """Everything about spaces, plans, triggers and keys, but for numbers and ids that are each store's own."""

    def query(tx: Reader) -> Any:
        return (
            [(row.id, row.name, row.last_seq, row.created_at, row.archived_at) for row in spaces.page(tx)],
            [[*spaces.read(tx, row.id)] for row in spaces.page(tx)],
            [spaces.list_members(tx, row.id) for row in spaces.page(tx)],
            {name: spaces.count_unread(tx, name) for name in ("husam", "ana", "ben")},
            [(row.id, row.owner, row.recurrence, row.status, row.next_at, row.last_at, row.fired, row.catch_up)
             for row in plans.page(tx) if row.name != "long over"],
            [(row.name, row.scheme, row.target, row.prompt, row.owner, row.active, row.created_at)
             for row in triggers.page(tx)],
            [(row.id, row.prefix, row.kind, row.entity, row.trigger, row.name, row.created_at, row.revoked_at)
             for row in keys.page(tx)],
        )  # fmt: skip

    return store.query(query)


class TestBetweenStores:
    @pytest.fixture(params=["from", "to"])
    def stores(self, kit: Kit, request: pytest.FixtureRequest) -> Any:
        """A furnished store and an empty one; one of them on each database in turn."""
        with Kit(clock=kit.clock) as other_kit:
            source, target = (kit, other_kit) if request.param == "from" else (other_kit, kit)
            create_spaces_plans_and_keys(source)
            yield source.store, target.store

    def test_everything_arrives_once(self, stores: tuple[Store, Store]) -> None:
        source, target = stores
        lines = export_lines(source, secrets=True)
        assert import_lines(target, lines) == ALL_RECORDS
        assert read_everything(target) == read_everything(source)
        for kind in ("admin", "agent", "trigger"):
            assert target.query(keys.find, KEYS[kind]) is not None
        assert target.query(keys.find, KEYS["public"]) is None
        assert (
            target.query(triggers.find_open, "issues").stored_secret
            == source.query(triggers.find_open, "issues").stored_secret
        )
        assert import_lines(target, lines) == Taken(known=6)
        assert read_everything(target) == read_everything(source)
        assert_healthy(target)

    def test_cut_off_anywhere_and_run_again(self, stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gatepost.actions.transfer.CHUNK", 3)
        source, target = stores
        lines = export_lines(source, secrets=True)
        for cut in range(1, len(lines), 2):
            with pytest.raises(Invalid, match="the rest is missing"):
                import_lines(target, lines[:cut])
        import_lines(target, lines)
        assert read_everything(target) == read_everything(source)
        assert_healthy(target)

    def test_into_itself_changes_nothing(self, stores: tuple[Store, Store]) -> None:
        source = stores[0]
        before = read_everything(source)
        assert import_lines(source, export_lines(source, secrets=True)) == Taken(known=6)
        assert read_everything(source) == before

    def test_what_goes_on_goes_on(self, stores: tuple[Store, Store]) -> None:
        source, target = stores
        import_lines(target, export_lines(source))
        assert target.call(spaces.post, "q4-report", sender="husam", content="next").seq == 5
        with pytest.raises(Conflict, match="is archived"):
            target.call(spaces.post, "closed", sender="husam", content="next")
        [completed_plan] = target.query(plans.page, status=PlanStatus.COMPLETED)
        assert (completed_plan.name, completed_plan.fired) == ("over", 1)
        target.call(maintenance.reap)
        assert target.call(plans.fire) == 0


class TestSecrets:
    @pytest.fixture
    def source(self, kit: Kit) -> Any:
        with Kit(clock=kit.clock) as other_kit:
            create_spaces_plans_and_keys(other_kit)
            yield other_kit

    def test_are_left_out_unasked(self, kit: Kit, source: Kit) -> None:
        text = b"\n".join(export_lines(source.store))
        assert SECRET.encode() not in text
        assert KEYS["admin"][:11].encode() not in text
        assert import_lines(kit.store, export_lines(source.store)) == RECORDS_WITHOUT_SECRETS
        assert kit.store.query(keys.find, KEYS["admin"]) is None
        assert kit.store.query(keys.find, KEYS["agent"]) is not None

    def test_a_trigger_without_its_secret_stays_closed(self, kit: Kit, source: Kit) -> None:
        import_lines(kit.store, export_lines(source.store))
        assert [trigger.active for trigger in kit.store.query(triggers.page)] == [False, False]
        with pytest.raises(NotFound, match="there is no such webhook"):
            kit.store.query(triggers.find_open, "issues")
        with pytest.raises(Conflict, match="'issues' was imported without its secret"):
            kit.store.call(triggers.set_active, "issues", True)
        kit.store.call(triggers.delete, "issues")
        assert import_lines(kit.store, export_lines(source.store, secrets=True)).triggers == 1
        assert kit.store.query(triggers.find_open, "issues").trigger.active

    def test_are_not_shown_by_showing_a_record(self, source: Kit) -> None:
        text = source.store.query(lambda tx: repr(list(transfer.records(tx, secrets=True))))
        assert "TriggerRecord" in text
        assert SECRET not in text


class TestMerging:
    @pytest.fixture
    def lines(self) -> list[bytes]:
        with Kit() as kit:
            create_spaces_plans_and_keys(kit)
            return export_lines(kit.store, secrets=True)

    def test_messages_come_after_those_that_are_here(self, kit: Kit, lines: list[bytes]) -> None:
        store = kit.store
        for name, kind in (("husam", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            store.call(directory.register, EntitySpec(name=name, kind=kind))
        store.call(spaces.create, name="Ours", id="q4-report", members=["husam"])
        for content in ("mine", "mine too"):
            store.call(spaces.post, "q4-report", sender="husam", content=content)
        import_lines(store, lines)
        messages = store.query(spaces.read, "q4-report")
        assert [message.seq for message in messages] == [1, 2, 3, 4, 5, 6]
        assert [message.content for message in messages] == [
            "mine",
            "mine too",
            "number 0",
            "number 1",
            "number 2",
            "done",
        ]
        assert store.query(spaces.show, "q4-report").name == "Ours"
        read_seqs = {member.name: member.read_seq for member in store.query(spaces.list_members, "q4-report")}
        assert read_seqs == {"husam": 2, "ana": 4, "ben": 5}
        assert_healthy(store)

    def test_what_was_revoked_here_stays_so(self, kit: Kit, lines: list[bytes]) -> None:
        import_lines(kit.store, lines)
        kit.store.call(keys.revoke, KEYS["agent"][:11])
        import_lines(kit.store, lines)
        assert kit.store.query(keys.find, KEYS["agent"]) is None

    @pytest.mark.parametrize(
        ("record", "change", "message"),
        [
            ("space", {"id": "Not An Id"}, "'Not An Id' is not a space id"),
            ("space", {"name": "\n"}, "is not a title of a space"),
            ("message", {"spaceId": "nowhere"}, "the space 'nowhere' does not stand before what is in it"),
            ("message", {"sender": "nobody"}, "nobody is called 'nobody'"),
            ("message", {"content": "x" * 300_000}, "the content is 300000 bytes"),
            ("message", {"id": "evt_" + "0" * 32}, "is the id of an event, not of a message"),
            ("member", {"name": "nobody"}, "nobody is called 'nobody'"),
            ("member", {"lastRead": "msg_" + "0" * 32}, "does not stand before who has read it"),
            ("plan", {"owner": "nobody"}, "nobody is called 'nobody'"),
            ("plan", {"name": ""}, "is not a name of a plan"),
            ("plan", {"status": "asleep"}, "'asleep' is not a status of a plan"),
            ("plan", {"status": "pending", "nextRunAt": None, "endedAt": None}, "a plan that is pending needs"),
            ("plan", {"cron": "every day"}, "'every day' is not a schedule"),
            ("trigger", {"name": "No Name"}, "'No Name' is not a name of a trigger"),
            ("trigger", {"scheme": "morse"}, "'morse' is not a webhook scheme"),
            ("trigger", {"target": "No Body"}, "'No Body'"),
            ("trigger", {"prompt": "x" * 5_000}, "the prompt has 5000 characters"),
            ("trigger", {"secret": ""}, "a secret is not empty"),
            ("trigger", {"secret": "x" * 5_000}, "the secret has 5000 characters"),
            ("key", {"hash": "abc"}, "'hash' must be the SHA-256 of a key in hexadecimal"),
            ("key", {"kind": "skeleton"}, "'kind' must be one of admin, agent, trigger, public"),
            ("key", {"kind": "agent", "entity": None, "trigger": None}, "an agent's key needs the agent"),
            ("key", {"prefix": "sk"}, "this is neither the id nor the prefix of a key"),
        ],
    )
    def test_what_is_wrong_is_named_by_its_line(
        self, lines: list[bytes], record: str, change: dict[str, Any], message: str
    ) -> None:
        index = next(position for position, line in enumerate(lines) if json.loads(line)["record"] == record)
        lines[index] = json.dumps(json.loads(lines[index]) | change).encode()
        with Kit() as kit, pytest.raises(GatepostError) as error_info:
            import_lines(kit.store, lines)
        assert message in error_info.value.message

    def test_a_line_is_named(self, lines: list[bytes]) -> None:
        index = next(position for position, line in enumerate(lines) if json.loads(line)["record"] == "plan")
        lines[index] = json.dumps(json.loads(lines[index]) | {"owner": "nobody"}).encode()
        with Kit() as kit, pytest.raises(UnknownAddress, match=f"line {index + 1}: nobody is called 'nobody'"):
            import_lines(kit.store, lines)


class TestCommands:
    def test_there_and_back(self, cli: CommandLine) -> None:
        cli.run_ok("space", "create", "Q4 Report", "--member", "husam", "--member", "analyst")
        cli.run_ok("space", "post", "q4-report", "hello", "--as", "husam")
        result = cli.run_ok("export", "--secrets", "out.jsonl")
        assert "1 space, 1 message, " in result.err
        cli.environ["GATEPOST_HOME"] = str(cli.cwd.parent / "other")
        assert "1 space, 1 message, " in cli.run_ok("import", "out.jsonl").err
        assert cli.run_ok("import", "out.jsonl", "--json").json["spaces"] == 0
