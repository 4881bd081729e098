"""Plans and triggers: a plan fires before one's eyes, payloads are tried, and messages that nobody got are replayed."""

import httpx2

from tests.page.conftest import PageOpener
from tests.scripted_gateway import ScriptedGateway

SECRET = "a-secret-of-at-least-thirty-two-characters"


def test_a_plan_fires(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/plans", person=tag)
    page.wait_for(".sidebar .connection.is-live")
    plan = gateway.post("/plans", owner=tag, name=f"Tea {tag}", instruction="Make tea", runAfter="3 seconds")
    page.open(f"/plans/{plan['id']}")
    page.wait_for("h1:has-text('Tea')")
    page.wait_for(".fire-row")
    page.wait_for_count(".fire-row", 1)
    page.wait_for(".view-head .badge:not(:has-text('active')):not(:has-text('pending'))")
    page.press("g", "p")
    page.wait_for(f".recent-fire:has-text('Tea {tag}')")
    page.press("g", "i")
    page.wait_for(".item-row:has-text('Make tea')")


def test_a_plan_is_made_changed_and_deleted(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/plans", person=tag)
    page.press("c")
    page.wait_for("dialog")
    page.fill("dialog [name=name]", f"Report {tag}")
    page.fill("dialog [name=instruction]", "Write the report")
    page.click("dialog .button.primary")
    page.wait_for_count("dialog", 0)
    [plan] = gateway.get("/plans", owner=tag)["items"]
    page.open(f"/plans/{plan['id']}")
    page.press("#")
    page.click("dialog .button:has-text('Delete')")
    page.wait_for_path("/plans")
    assert gateway.get("/plans", owner=tag, status="pending")["items"] == []


def test_a_payload_is_tried_before_it_comes(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/triggers", name=f"hook-{tag}", target=tag, secret=SECRET)
    page = open_page(f"/triggers/hook-{tag}")
    page.press("t")
    page.wait_for_path(f"/triggers/hook-{tag}/test")
    page.fill(".test-form textarea >> nth=0", '{"action": "opened", "number": 7}')
    page.click(".test-form .button.primary")
    page.wait_for(f".test-event:has-text('{tag}')")
    assert gateway.get(f"/inbox/{tag}")["items"] == [], "nothing was sent"
    page.press("Escape", "p")
    page.wait_for("button:has-text('Enable')")
    assert not gateway.get(f"/triggers/hook-{tag}")["active"]
    page.press("p")
    page.wait_for("button:has-text('Disable')")


def test_a_message_that_nobody_got_is_replayed(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    gateway.post("/triggers", name=f"hook-{tag}", secret=SECRET)
    url = f"{gateway.gateway.url}/hooks/hook-{tag}"
    response = httpx2.post(url, json={"text": f"Lost {tag}"}, headers={"x-secret-key": SECRET})
    assert response.status_code == 202, response.text
    [letter] = [entry for entry in gateway.get("/routes/dead-letters")["items"] if entry["trigger"] == f"hook-{tag}"]
    page = open_page(f"/unrouted/{letter['id']}")
    page.wait_for(".letter-more")
    gateway.post("/routes", name=f"rule {tag}", targets=[tag], filters={"payload.text": f"Lost {tag}"})
    page.press("z")
    page.wait_for(".badge:has-text('replayed')")
    assert len(gateway.get(f"/inbox/{tag}")["items"]) == 1
