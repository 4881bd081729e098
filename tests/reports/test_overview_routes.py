"""What a page shows first, over HTTP: the overview, usage, fires and the history, and who sees how much of them."""

from gatepost.gates import decision_actions as decisions
from gatepost.gates.decision import Question
from gatepost.spaces import actions as spaces
from tests.gateway.test_requests import assert_problem
from tests.residents import resident_runs
from tests.support.gateways.local_gateways import Gateway

#: the databases are the same to it: which one it is shows elsewhere
POSTGRES_BY_NIGHT = True


def think(gateway: Gateway) -> str:
    """Let a resident do a run and begin another; return the id of the second."""
    resident_runs.create_resident(gateway.store)
    resident_runs.finish_run(gateway.store, resident_runs.begin_run(gateway.store))
    return resident_runs.begin_run(gateway.store).run_id


async def test_who_sees_what_of_the_overview(gateway: Gateway) -> None:
    run_id = think(gateway)
    gateway.store.run_sync(spaces.join, "q4-report", "thinker")
    gateway.store.run_sync(spaces.post, "q4-report", sender="analyst", content="hello")
    question = Question(question="Ship it?", free_text=True, respondents=("husam",))
    gateway.store.run_sync(decisions.ask, question, by="analyst")
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "thinker")) as thinker,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "designer")) as designer,
    ):
        overview = (await admin.get("/api/overview", params={"name": "husam"})).json()
        assert (overview["name"], overview["waiting"]["decisionCount"]) == ("husam", 1)
        assert [(agent["agent"], agent["run"]) for agent in overview["thinking"]] == [("thinker", run_id)]
        assert (overview["recent"]["usage"]["runs"], overview["recent"]["messageCount"]) == (2, 1)

        overview = (await thinker.get("/api/overview")).json()
        assert [(agent["agent"], agent["run"]) for agent in overview["thinking"]] == [("thinker", run_id)]
        assert overview["recent"]["runs"][0]["id"] == run_id
        assert overview["recent"]["decisions"] == []

        overview = (await analyst.get("/api/overview")).json()
        assert [(agent["agent"], agent["run"], agent["cause"]) for agent in overview["thinking"]] == [
            ("thinker", None, None)
        ]
        assert (overview["recent"]["runs"], len(overview["recent"]["decisions"])) == ([], 1)

        overview = (await designer.get("/api/overview")).json()
        assert overview["thinking"] == overview["recent"]["messages"] == overview["recent"]["decisions"] == []
        assert_problem(await designer.get("/api/overview", params={"name": "husam"}), 403)


async def test_usage_is_grouped_by_what_is_asked(gateway: Gateway) -> None:
    think(gateway)
    async with gateway.open_client() as admin:
        page = (await admin.get("/api/usage?by=day&by=model")).json()
        [group] = page["items"]
        assert (group["model"], group["runs"], page["total"]["runs"]) == ("demo", 2, 2)
        assert group["startsAt"].endswith("T00:00:00Z")
        assert "agent" not in group
        assert (await admin.get("/api/usage?by=cause&limit=1")).json()["next"] == "1"
        for query in ("by=colour", "by=day&by=hour", "since=yesterday", "until=1h"):
            assert_problem(await admin.get(f"/api/usage?{query}"), 422)
        assert_problem(await admin.get("/api/usage/runs?after=x"), 422)


async def test_a_history_is_for_the_administrator(gateway: Gateway) -> None:
    think(gateway)
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
    ):
        history = (await admin.get("/api/health/history")).json()
        assert (history["stepSeconds"], len(history["steps"])) == (60, 60)
        assert sum(step["accepted"] for step in history["steps"]) >= 2
        assert (await admin.get("/api/health/history?within=7d")).json()["stepSeconds"] == 168 * 60
        for within in ("5m", "1y", "long"):
            assert_problem(await admin.get(f"/api/health/history?within={within}"), 422)
        assert_problem(await analyst.get("/api/health/history"), 403)


async def test_unread_messages_are_counted_for_a_member(gateway: Gateway) -> None:
    gateway.store.run_sync(spaces.post, "q4-report", sender="husam", content="hello")
    async with (
        gateway.open_client() as admin,
        gateway.open_client(x_secret_key=gateway.create_key("agent", "analyst")) as analyst,
    ):
        [space] = (await analyst.get("/api/spaces")).json()["items"]
        assert (space["unread"], space["lastMessageAt"] is None) == (1, False)
        await analyst.patch("/api/spaces/q4-report/read", json={"seq": 1})
        [space] = (await analyst.get("/api/spaces")).json()["items"]
        assert space["unread"] == 0
        assert (await admin.get("/api/spaces")).json()["items"][0]["unread"] is None
