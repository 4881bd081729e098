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
from tests.acceptance.moving import healthy, lines_of, take_all
from tests.acceptance.office import Office

SECRET = "sixteen characters at least"
KEYS = {kind: f"{'pk' if kind == 'public' else 'sk'}_{kind:-<43}" for kind in ("admin", "agent", "trigger", "public")}
ALL = Taken(entities=5, spaces=2, messages=7, plans=3, triggers=2, keys=4, events=6, items=6)
OPEN = Taken(entities=5, spaces=2, messages=7, plans=3, triggers=2, keys=3, events=6, items=6)


def furnish(kit: Kit) -> None:
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
        wish = TriggerSpec(name=name, scheme=Scheme.GITHUB, secret=SECRET, target="ana", prompt="look", owner="husam")
        store.call(triggers.add, wish)
    store.call(triggers.set_active, "chat", False)
    store.call(keys.create, kind="admin", secret=KEYS["admin"], name="admin.key")
    store.call(keys.create, kind="agent", secret=KEYS["agent"], entity="ana", name="ana's")
    store.call(keys.create, kind="trigger", secret=KEYS["trigger"], entity="ben", trigger="issues")
    store.call(keys.create, kind="public", secret=KEYS["public"])
    store.call(keys.revoke, KEYS["public"][:11])


def rooms(store: Store) -> Any:
    """Everything about spaces, plans, triggers and keys, but for numbers and ids that are each store's own."""

    def query(tx: Reader) -> Any:
        return (
            [(one.id, one.name, one.last_seq, one.created_at, one.archived_at) for one in spaces.page(tx)],
            [[*spaces.read(tx, one.id)] for one in spaces.page(tx)],
            [spaces.list_members(tx, one.id) for one in spaces.page(tx)],
            {name: spaces.count_unread(tx, name) for name in ("husam", "ana", "ben")},
            [(one.id, one.owner, one.recurrence, one.status, one.next_at, one.last_at, one.fired, one.catch_up)
             for one in plans.page(tx) if one.name != "long over"],
            [(one.name, one.scheme, one.target, one.prompt, one.owner, one.active, one.created_at)
             for one in triggers.page(tx)],
            [(one.id, one.prefix, one.kind, one.entity, one.trigger, one.name, one.created_at, one.revoked_at)
             for one in keys.page(tx)],
        )  # fmt: skip

    return store.query(query)


class TestBetweenStores:
    @pytest.fixture(params=["from", "to"])
    def stores(self, kit: Kit, request: pytest.FixtureRequest) -> Any:
        """A furnished store and an empty one; one of them on each database in turn."""
        with Kit(clock=kit.clock) as other:
            source, target = (kit, other) if request.param == "from" else (other, kit)
            furnish(source)
            yield source.store, target.store

    def test_everything_arrives_once(self, stores: tuple[Store, Store]) -> None:
        source, target = stores
        lines = lines_of(source, secrets=True)
        assert take_all(target, lines) == ALL
        assert rooms(target) == rooms(source)
        for kind in ("admin", "agent", "trigger"):
            assert target.query(keys.find, KEYS[kind]) is not None
        assert target.query(keys.find, KEYS["public"]) is None
        assert (
            target.query(triggers.find_open, "issues").stored_secret
            == source.query(triggers.find_open, "issues").stored_secret
        )
        assert take_all(target, lines) == Taken(known=6)
        assert rooms(target) == rooms(source)
        healthy(target)

    def test_cut_off_anywhere_and_run_again(self, stores: tuple[Store, Store], monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("gatepost.actions.transfer.CHUNK", 3)
        source, target = stores
        lines = lines_of(source, secrets=True)
        for cut in range(1, len(lines), 2):
            with pytest.raises(Invalid, match="the rest is missing"):
                take_all(target, lines[:cut])
        take_all(target, lines)
        assert rooms(target) == rooms(source)
        healthy(target)

    def test_into_itself_changes_nothing(self, stores: tuple[Store, Store]) -> None:
        source = stores[0]
        before = rooms(source)
        assert take_all(source, lines_of(source, secrets=True)) == Taken(known=6)
        assert rooms(source) == before

    def test_what_goes_on_goes_on(self, stores: tuple[Store, Store]) -> None:
        source, target = stores
        take_all(target, lines_of(source))
        assert target.call(spaces.post, "q4-report", sender="husam", content="next").seq == 5
        with pytest.raises(Conflict, match="is archived"):
            target.call(spaces.post, "closed", sender="husam", content="next")
        [over] = target.query(plans.page, status=PlanStatus.COMPLETED)
        assert (over.name, over.fired) == ("over", 1)
        target.call(maintenance.reap)
        assert target.call(plans.fire) == 0


class TestSecrets:
    @pytest.fixture
    def source(self, kit: Kit) -> Any:
        with Kit(clock=kit.clock) as other:
            furnish(other)
            yield other

    def test_are_left_out_unasked(self, kit: Kit, source: Kit) -> None:
        text = b"\n".join(lines_of(source.store))
        assert SECRET.encode() not in text
        assert KEYS["admin"][:11].encode() not in text
        assert take_all(kit.store, lines_of(source.store)) == OPEN
        assert kit.store.query(keys.find, KEYS["admin"]) is None
        assert kit.store.query(keys.find, KEYS["agent"]) is not None

    def test_a_trigger_without_its_secret_stays_closed(self, kit: Kit, source: Kit) -> None:
        take_all(kit.store, lines_of(source.store))
        assert [one.active for one in kit.store.query(triggers.page)] == [False, False]
        with pytest.raises(NotFound, match="there is no such webhook"):
            kit.store.query(triggers.find_open, "issues")
        with pytest.raises(Conflict, match="'issues' was imported without its secret"):
            kit.store.call(triggers.set_active, "issues", True)
        kit.store.call(triggers.delete, "issues")
        assert take_all(kit.store, lines_of(source.store, secrets=True)).triggers == 1
        assert kit.store.query(triggers.find_open, "issues").trigger.active

    def test_are_not_shown_by_showing_a_record(self, source: Kit) -> None:
        shown = source.store.query(lambda tx: repr(list(transfer.records(tx, secrets=True))))
        assert "TriggerRecord" in shown
        assert SECRET not in shown


class TestMerging:
    @pytest.fixture
    def lines(self) -> list[bytes]:
        with Kit() as kit:
            furnish(kit)
            return lines_of(kit.store, secrets=True)

    def test_messages_come_after_those_that_are_here(self, kit: Kit, lines: list[bytes]) -> None:
        store = kit.store
        for name, kind in (("husam", EntityKind.HUMAN), ("ana", EntityKind.AGENT)):
            store.call(directory.register, EntitySpec(name=name, kind=kind))
        store.call(spaces.create, name="Ours", id="q4-report", members=["husam"])
        for content in ("mine", "mine too"):
            store.call(spaces.post, "q4-report", sender="husam", content=content)
        take_all(store, lines)
        said = store.query(spaces.read, "q4-report")
        assert [each.seq for each in said] == [1, 2, 3, 4, 5, 6]
        assert [each.content for each in said] == ["mine", "mine too", "number 0", "number 1", "number 2", "done"]
        assert store.query(spaces.show, "q4-report").name == "Ours"
        read = {one.name: one.read_seq for one in store.query(spaces.list_members, "q4-report")}
        assert read == {"husam": 2, "ana": 4, "ben": 5}
        healthy(store)

    def test_what_was_revoked_here_stays_so(self, kit: Kit, lines: list[bytes]) -> None:
        take_all(kit.store, lines)
        kit.store.call(keys.revoke, KEYS["agent"][:11])
        take_all(kit.store, lines)
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
        at = next(place for place, line in enumerate(lines) if json.loads(line)["record"] == record)
        lines[at] = json.dumps(json.loads(lines[at]) | change).encode()
        with Kit() as kit, pytest.raises(GatepostError) as caught:
            take_all(kit.store, lines)
        assert message in caught.value.message

    def test_a_line_is_named(self, lines: list[bytes]) -> None:
        at = next(place for place, line in enumerate(lines) if json.loads(line)["record"] == "plan")
        lines[at] = json.dumps(json.loads(lines[at]) | {"owner": "nobody"}).encode()
        with Kit() as kit, pytest.raises(UnknownAddress, match=f"line {at + 1}: nobody is called 'nobody'"):
            take_all(kit.store, lines)


class TestCommands:
    def test_there_and_back(self, office: Office) -> None:
        office.done("space", "create", "Q4 Report", "--member", "husam", "--member", "analyst")
        office.done("space", "post", "q4-report", "hello", "--as", "husam")
        told = office.done("export", "--secrets", "out.jsonl")
        assert "1 space, 1 message, " in told.err
        office.environ["GATEPOST_HOME"] = str(office.here.parent / "other")
        assert "1 space, 1 message, " in office.done("import", "out.jsonl").err
        assert office.done("import", "out.jsonl", "--json").json["spaces"] == 0
