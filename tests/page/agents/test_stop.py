"""A run is stopped at once from wherever it is seen, and a pause ends it after the step it is in."""

from collections.abc import Iterator

import pytest

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener, Scripts
from tests.page.marks import by_night
from tests.residents.model_server import Answer, CompletionRequest, PausePoint, Say, Use
from tests.support.gateways.scripted_gateway import ScriptedGateway


@pytest.fixture
def pause() -> Iterator[PausePoint]:
    """Where the model stands still; it is let go in the end."""
    pause = PausePoint()
    yield pause
    pause.open()


def let_think(gateway: ScriptedGateway, scripts: Scripts, name: str, pause: PausePoint) -> str:
    """Let an agent think until it is stopped; return its run."""
    scripts[name] = lambda _: [Say("Well"), pause]
    gateway.create_resident(name, displayName="Ana Lyst")
    gateway.post("/inbox", to=name, source="test", content="Think of something")
    return str(gateway.wait_for_run(name)["id"])


def test_a_run_is_stopped_in_the_space_where_it_writes(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str, pause: PausePoint
) -> None:
    name = f"ana-{tag}"
    scripts[name] = lambda _: [Say("Well"), pause]
    gateway.create_resident(name, displayName="Ana Lyst")
    gateway.create_space(f"room-{tag}", "admin", name)
    page = open_page(f"/spaces/room-{tag}")
    page.wait_for(".sidebar .connection.is-live")
    gateway.post_message(f"room-{tag}", "Hello", "admin")
    page.wait_for(".thinking:has-text('Ana Lyst') button:has-text('Stop')")
    assert page.find_violations() == []
    page.press("x")
    page.wait_for(".toast:has-text('Ana Lyst stopped')")
    page.wait_for_count(".thinking-agent", 0)
    assert [run["status"] for run in gateway.list_runs(name)] == ["cancelled"]


def test_pausing_an_agent_ends_its_run_after_the_step_and_says_so(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str, pause: PausePoint
) -> None:
    name = f"ana-{tag}"

    def script(request: CompletionRequest) -> Answer:
        return [pause, Use("set_memories", {"memories": [{"key": "due", "value": "Friday"}]})]

    scripts[name] = script
    gateway.create_resident(name)
    page = open_page(f"/agents/{name}")
    page.wait_for(".sidebar .connection.is-live")
    gateway.post("/inbox", to=name, source="test", content="Look at the date")
    page.wait_for(".view-head .badge:has-text('thinking')")
    page.press("p")
    page.wait_for(".toast:has-text('its run ends after this step')")
    page.wait_for(".view-head .badge:has-text('stops after this step')")
    pause.open()
    page.wait_for(".view-head .badge:has-text('paused')")
    page.wait_for(".run-row .badge:has-text('ended by a pause')")
    [run] = gateway.list_runs(name)
    assert (run["status"], run["limit"], run["steps"]) == ("completed", "pause", 1)
    assert [memory["key"] for memory in gateway.get(f"/agents/{name}/memories")["items"]] == ["due"]


@by_night
@pytest.mark.parametrize("place", ["card", "agent", "run"])
def test_a_run_is_stopped_by_key_and_by_button_elsewhere(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str, pause: PausePoint, place: str
) -> None:
    name = f"ana-{tag}"
    run = let_think(gateway, scripts, name, pause)
    address = {"card": "/agents", "agent": f"/agents/{name}", "run": f"/runs/{run}"}[place]
    selector = (
        f".agent-slot:has(a[href='/agents/{name}']) button" if place == "card" else ".view-head button:has-text('Stop')"
    )
    page = open_page(address)
    page.wait_for(selector)
    if place == "card":
        page.click(selector)
    else:
        page.press("x")
    page.wait_for(".toast:has-text('Ana Lyst')")
    assert [ended["status"] for ended in gateway.wait_for_runs(name, 1)] == ["cancelled"]
    page.wait_for_count(selector, 0)


@by_night
def test_only_the_administrator_stops_a_run(
    gateway: ScriptedGateway, scripts: Scripts, open_page: PageOpener, tag: str, pause: PausePoint
) -> None:
    gateway.create_person(tag)
    run = let_think(gateway, scripts, f"ana-{tag}", pause)
    gateway.patch(f"/agents/ana-{tag}", owner=tag)
    page = open_page(f"/runs/{run}", person=tag, viewport=PHONE)
    page.wait_for(".view-head .badge:has-text('running')")
    assert page.count(".view-head button") == 0
