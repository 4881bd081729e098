"""Decisions about an action: what may be answered, and what the asker gets."""

from typing import Any

import pytest

from gatepost.core.json_limits import Json
from gatepost.core.policy import Policy
from gatepost.core.times import HOUR
from gatepost.directory import entity_actions as directory
from gatepost.errors import Conflict, GatepostError, Invalid, Late, TooLarge
from gatepost.gates import decision_actions as decisions, gate_actions as gates
from gatepost.gates.decision import AnswerSpec, Decision, DecisionOutcome, DecisionStatus, Option
from gatepost.gates.proposed_action import MAX_ARGS_BYTES, Action
from gatepost.inbox.event import ItemState
from gatepost.inbox.event_rendering import render_event
from gatepost.jobs import job_actions as jobs
from gatepost.testing import Kit
from tests.gates.decision_calls import (
    YES_OR_NO,
    answer_decision,
    ask_decision,
    build_question,
    end_due,
    list_decision_items,
    show_decision,
)
from tests.support.collected_failures import check_cases
from tests.support.store_context import StoreContext

ARGS: dict[str, Json] = {"to": "ben", "amount": 100}
SEND = Action(name="send_invoice", args=ARGS)
ALL_KINDS = ("accept", "edit", "respond", "ignore")


def ask_about_action(ctx: StoreContext, **fields: Any) -> Decision:
    question: dict[str, Any] = {"question": "Send it?", "options": (), "action": SEND}
    return ask_decision(ctx, **question | fields)


def read_outcome(ctx: StoreContext) -> dict[str, Any]:
    """Return the data of the last event that the asker got."""
    data: dict[str, Any] = list_decision_items(ctx, "ann")[-1].event.data
    return data


class TestAsking:
    def test_the_kinds_of_answers_are_its_options(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx)
        assert show_decision(ctx, decision) == decision
        assert (decision.action, decision.allow, decision.free_text) == (SEND, ALL_KINDS, True)
        [item] = list_decision_items(ctx, "husam")
        assert (item.event.data["action"], item.event.data["args"]) == ("send_invoice", ARGS)
        assert [option["id"] for option in item.event.data["options"]] == [*ALL_KINDS]
        assert render_event(item.event) == (
            f'[Decision {decision.id}] asked by ann: "Send it? Action: send_invoice'
            ' {\\"to\\":\\"ben\\",\\"amount\\":100}. Options: accept (run it as it is);'
            " edit (run it with other arguments); respond (answer in words instead); ignore (do not run it)."
            f' Answer with its hash {decision.context_hash}."'
        )

    def test_only_some_kinds_may_be_allowed(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx, allow=("ignore", "accept", "accept"))
        assert (decision.allow, decision.free_text) == (("accept", "ignore"), False)

    def test_a_question_without_an_action_allows_no_kinds(self, ctx: StoreContext) -> None:
        assert ask_decision(ctx).allow is None

    @check_cases(
        ("fields", "error", "message"),
        [
            ({"allow": ("approve",)}, Invalid, "'approve' is not a kind of answer to an action"),
            ({"options": YES_OR_NO}, Invalid, "`options` cannot be combined with `action`"),
            ({"free_text": True}, Invalid, "`freeText` cannot be combined with `action`"),
            ({"action": None, "options": YES_OR_NO, "allow": ("accept",)}, Invalid, "`allow` needs `action`"),
            ({"action": Action(name="", args={})}, Invalid, "'' is not the name of an action"),
            ({"action": Action(name="x\ny", args={})}, Invalid, "is not the name of an action"),
            ({"action": Action(name="x" * 201, args={})}, Invalid, "is not the name of an action"),
            ({"action": Action(name="x", args={"a": float("nan")})}, Invalid, "the args object is not JSON"),
            ({"action": Action(name="x", args={"a": "\x00"})}, Invalid, "has a NUL character"),
            ({"action": Action(name="x", args={"a": "\ud800"})}, Invalid, "is not valid Unicode"),
            (
                {"action": Action(name="x", args={"a": "x" * MAX_ARGS_BYTES})},
                TooLarge,
                "the args object is 65544 bytes as JSON, over the limit of 65536",
            ),
            ({"default": "edit", "within": HOUR}, Invalid, "'edit' cannot be the default"),
            ({"default": "respond", "within": HOUR}, Invalid, "'respond' cannot be the default"),
            ({"default": "ignore", "allow": ("accept",), "within": HOUR}, Invalid, "is not among the options"),
            ({"default": "accept"}, Invalid, "a default counts at the deadline"),
        ],
    )
    def test_what_makes_no_sense_is_refused_and_nothing_is_stored(
        self, ctx: StoreContext, fields: dict[str, Any], error: type[GatepostError], message: str
    ) -> None:
        with pytest.raises(error, match=message):
            ask_about_action(ctx, **fields)
        assert (ctx.store.read_sync(decisions.list_page), ctx.store.read_sync(gates.list_page)) == ([], [])

    def test_the_hint_about_a_default_names_those_that_can_be(self, ctx: StoreContext) -> None:
        with pytest.raises(Invalid) as error:
            ask_about_action(ctx, default="edit", within=HOUR)
        assert error.value.hint == "use accept or ignore"
        with pytest.raises(Invalid) as error:
            ask_about_action(ctx, default="edit", within=HOUR, allow=("edit",))
        assert error.value.hint == "allow accept or ignore, too, or leave it out"

    def test_arguments_fit_into_the_events_of_a_small_store(self, kit: Kit) -> None:
        """What was asked can also be answered, by the default too."""
        StoreContext(kit)
        store = kit.open(policy=Policy(data=8_000))
        action = Action(name="send", args={"a": "x" * 1_900})
        question = build_question(options=(), action=action, default="accept", within=HOUR)
        decision = store.run_sync(decisions.ask, question, by="ann")
        edit = AnswerSpec(option="edit", args={"a": "x" * 2_000}, context_hash=decision.context_hash)
        with pytest.raises(TooLarge, match="over the limit of 2000"):
            store.run_sync(decisions.answer, decision.id, edit, by="husam")
        accept = AnswerSpec(option="accept", context_hash=decision.context_hash)
        answered = store.run_sync(decisions.answer, decision.id, accept, by="husam")
        assert answered.answers[0].args == action.args


class TestAnswering:
    @pytest.mark.parametrize(
        ("reply", "kind", "args", "text"),
        [
            (
                {"option": "accept"},
                "accept",
                ARGS,
                'accepted send_invoice with the arguments {"to":"ben","amount":100}',
            ),
            (
                {"option": "edit", "args": {"amount": 90}},
                "edit",
                {"amount": 90},
                'accepted send_invoice with edited arguments {"amount":90}',
            ),
            ({"option": "edit", "args": {}}, "edit", {}, "accepted send_invoice with edited arguments {}"),
            ({"option": "respond", "text": "to whom?"}, "respond", None, "responded to send_invoice: to whom?"),
            ({"text": "to whom?"}, "respond", None, "responded to send_invoice: to whom?"),
            ({"option": "ignore"}, "ignore", None, "ignored send_invoice"),
            ({"option": "ignore", "text": " "}, "ignore", None, "ignored send_invoice"),
        ],
    )
    def test_the_asker_gets_the_kind_and_the_arguments(
        self, ctx: StoreContext, reply: dict[str, Any], kind: str, args: Json, text: str
    ) -> None:
        decision = ask_about_action(ctx)
        answered = answer_decision(ctx, decision, **reply, context_hash=decision.context_hash)
        assert answered.status is DecisionStatus.ANSWERED
        [answer] = answered.answers
        assert (answer.option, answer.args) == (kind, args)
        [item] = list_decision_items(ctx, "ann")
        assert [item.event.data[name] for name in ("action", "kind", "args")] == ["send_invoice", kind, args]
        assert item.event.content == text
        assert render_event(item.event).startswith(f"[Decision {decision.id}] answered by husam: ")
        resolution = ctx.store.read_sync(gates.show, decision.gate).resolution
        assert resolution is not None
        assert resolution.reason == f"answered: {text}"
        assert [item.state for item in list_decision_items(ctx, "husam")] == [ItemState.DELIVERED]
        assert ctx.is_balanced()

    @check_cases(
        ("fields", "reply", "message", "hint"),
        [
            (
                {},
                {"option": "approve"},
                "'approve' is not an option of this decision",
                f"({', '.join(ALL_KINDS)}) or `text`",
            ),
            (
                {"allow": ("accept", "ignore")},
                {"option": "edit", "args": {}},
                "'edit' is not an",
                "give `option` (accept, ignore)",
            ),
            ({"allow": ("accept",)}, {"text": "hm"}, "cannot be answered with text alone", "give `option` (accept)"),
            ({"allow": ("accept",)}, {"text": "hm", "again": True}, "cannot be sent back", "give `option` (accept)"),
            ({}, {}, "the answer is empty", "give `option` (accept, "),
            (
                {},
                {"option": "accept", "args": {}},
                "`args` cannot be combined with the answer 'accept'",
                "use edit to change them",
            ),
            (
                {"allow": ("accept",)},
                {"option": "accept", "args": {}},
                "`args` cannot be combined with",
                "leave it out",
            ),
            (
                {},
                {"option": "accept", "text": "go"},
                "`text` cannot be combined with the answer 'accept'",
                "use respond",
            ),
            (
                {"allow": ("ignore",)},
                {"option": "ignore", "text": "go"},
                "`text` cannot be combined with",
                "leave it out",
            ),
            (
                {},
                {"option": "edit", "args": {}, "text": "go"},
                "`text` cannot be combined with the answer 'edit'",
                "use respond",
            ),
            ({}, {"option": "edit"}, "the edited arguments are missing", "give `args`"),
            ({}, {"option": "respond"}, "the response is empty", "give `text`"),
            ({}, {"option": "respond", "text": " "}, "the response is empty", "give `text`"),
            (
                {},
                {"option": "respond", "text": "x", "args": {}},
                "`args` cannot be combined with the answer 'respond'",
                "use edit",
            ),
            (
                {},
                {"args": {"amount": 90}},
                "`args` needs the answer 'edit' to an action",
                "give `option` edit, too",
            ),
            ({}, {"reject": True, "args": {}}, "`args` needs the answer", "give `option` edit"),
            ({}, {"again": True, "text": "x", "args": {}}, "`args` needs the answer", "give `option` edit"),
            (
                {"action": None, "options": YES_OR_NO},
                {"option": "yes", "args": {}},
                "`args` needs the answer",
                "leave it out",
            ),
            ({}, {"option": "edit", "args": {"a": "x" * MAX_ARGS_BYTES}}, "over the limit of 65536", "a reference"),
            ({}, {"option": "edit", "args": {"a": "\x00"}}, "has a NUL character in it", "remove it"),
            ({}, {"option": "edit", "args": {"a": float("inf")}}, "is not JSON", "no infinity"),
        ],
    )
    def test_what_is_no_answer_is_refused_and_changes_nothing(
        self, ctx: StoreContext, fields: dict[str, Any], reply: dict[str, Any], message: str, hint: str
    ) -> None:
        decision = ask_about_action(ctx, **fields)
        with pytest.raises(Invalid) as error:
            answer_decision(ctx, decision, **reply)
        assert message in error.value.message
        assert hint in (error.value.hint or "")
        assert show_decision(ctx, decision) == decision
        assert list_decision_items(ctx, "ann") == []

    def test_an_option_of_a_plain_question_may_have_the_name_of_a_kind(self, ctx: StoreContext) -> None:
        decision = ask_decision(ctx, options=(Option(id="edit", label="Edit it"),))
        answer_decision(ctx, decision, option="edit", text="the title")
        assert "kind" not in read_outcome(ctx)
        assert list_decision_items(ctx, "ann")[0].event.content == "Edit it - the title"

    def test_who_is_late_learns_the_kind_and_the_arguments(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx)
        answer_decision(ctx, decision, option="edit", args={"amount": 90})
        with pytest.raises(Late) as error:
            answer_decision(ctx, decision, "admin", option="accept")
        assert [error.value.winner[name] for name in ("by", "action", "kind", "args")] == [
            "husam",
            "send_invoice",
            "edit",
            {"amount": 90},
        ]
        assert 'accepted send_invoice with edited arguments {"amount":90}' in error.value.message

    def test_a_change_of_the_arguments_is_a_change_of_the_question(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx)
        other = ask_about_action(ctx, action=Action(name="send_invoice", args=ARGS | {"amount": 101}))
        assert decision.context_hash != other.context_hash
        with pytest.raises(Conflict, match="has changed since"):
            answer_decision(ctx, other, option="accept", context_hash=decision.context_hash)


class TestEnding:
    @pytest.mark.parametrize(
        ("default", "args", "text"),
        [
            ("accept", ARGS, 'accepted send_invoice with the arguments {\\"to\\":\\"ben\\",\\"amount\\":100}'),
            ("ignore", None, "ignored send_invoice"),
        ],
    )
    def test_the_default_counts_at_the_deadline(self, ctx: StoreContext, default: str, args: Json, text: str) -> None:
        decision = ask_about_action(ctx, default=default, within=HOUR)
        ctx.clock.advance(HOUR)
        end_due(ctx)
        [answer] = show_decision(ctx, decision).answers
        assert (answer.outcome, answer.option, answer.args) == (DecisionOutcome.DEFAULTED, default, args)
        [item] = list_decision_items(ctx, "ann")
        assert (item.event.data["kind"], item.event.data["args"]) == (default, args)
        assert render_event(item.event) == f'[Decision {decision.id}] defaulted: "{text}"'

    @pytest.mark.parametrize("outcome", ["rejected", "expired", "withdrawn", "orphaned"])
    def test_whatever_else_ends_it_runs_nothing(self, ctx: StoreContext, outcome: str) -> None:
        decision = ask_about_action(ctx, within=HOUR)
        match outcome:
            case "rejected":
                answer_decision(ctx, decision, reject=True, text="not mine")
            case "withdrawn":
                ctx.store.run_sync(decisions.withdraw, decision.id, by="ann")
            case "orphaned":
                ctx.store.run_sync(directory.retire, "husam")
            case _:
                ctx.clock.advance(HOUR)
                end_due(ctx)
        data = ctx.store.read_sync(decisions.show, decision.id)
        assert (data.status.value, data.answers[0].args) == (outcome, None)
        if outcome != "withdrawn":  # who withdraws it needs no event
            assert [read_outcome(ctx)[name] for name in ("outcome", "action", "kind", "args")] == [
                outcome,
                "send_invoice",
                None,
                None,
            ]

    def test_it_is_sent_back_and_revised(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx)
        sent_back = answer_decision(ctx, decision, text="less", again=True)
        assert sent_back.status is DecisionStatus.REVISING
        assert [read_outcome(ctx)[name] for name in ("kind", "args")] == [None, None]
        question = build_question(
            options=(), action=Action(name="send_invoice", args={"amount": 50}), allow=("accept",)
        )
        revision = ctx.store.run_sync(decisions.revise, decision.id, question, by="ann")
        assert (revision.iteration, revision.guidance, revision.allow) == (2, "less", ("accept",))
        answered = answer_decision(ctx, revision, option="accept")
        assert [answer.args for answer in answered.answers] == [None, {"amount": 50}]

    def test_a_revision_without_the_action_is_a_plain_question(self, ctx: StoreContext) -> None:
        decision = ask_about_action(ctx)
        revision = ctx.store.run_sync(decisions.revise, decision.id, build_question(), by="ann")
        assert (revision.action, revision.allow) == (None, None)
        assert answer_decision(ctx, revision, option="yes", text="go").answers[0].args is None
        assert "action" not in read_outcome(ctx)


def test_the_command_for_answers_gets_the_arguments(kit: Kit) -> None:
    StoreContext(kit)
    store = kit.open(policy=Policy(has_answer_command=True))
    decision = store.run_sync(decisions.ask, build_question(options=(), action=SEND), by="ann")
    accept = AnswerSpec(option="accept", context_hash=decision.context_hash)
    store.run_sync(decisions.answer, decision.id, accept, by="husam")
    [job] = store.run_sync(jobs.take, [decisions.ANSWER_JOB], "me")
    assert [job.payload[name] for name in ("action", "kind", "args")] == ["send_invoice", "accept", ARGS]
