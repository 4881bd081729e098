"""Plans and triggers: a plan fires before one's eyes, payloads are tried, and unrouted messages are replayed."""

import sqlite3
from contextlib import closing

import httpx2

from tests.page.chromium import LAST_RESORT
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.page.page_clock import DELIVERY_INTERVAL
from tests.support.gateways.scripted_gateway import ScriptedGateway
from tests.support.servers.private_servers import wait_until

SECRET = "a-secret-of-at-least-thirty-two-characters"

#: count the answers to changes from now on
COUNT_CHANGES = """() => {
    const send = window.fetch;
    window.changeCount = 0;
    window.fetch = async (input, init) => {
        const response = await send(input, init);
        if (init?.method === "PATCH") window.changeCount += 1;
        return response;
    };
}"""


def test_a_plan_fires(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    page = open_page("/plans", person=tag)
    page.wait_for(".sidebar .connection.is-live")
    plan = gateway.post("/plans", owner=tag, name=f"Tea {tag}", instruction="Make tea", runAfter="3 seconds")
    page.go(f"/plans/{plan['id']}")
    page.wait_for("h1:has-text('Tea')")
    page.wait_for(".fire-row")
    page.wait_for_count(".fire-row", 1)
    page.wait_for(".view-head .badge:not(:has-text('active')):not(:has-text('pending'))")
    page.press("r")  # once more, now
    page.wait_for(".toast:has-text('gets it now')")
    page.wait_for_count(".fire-row", 2)
    assert gateway.get(f"/plans/{plan['id']}")["fired"] == 2
    page.press("g", "p")
    page.wait_for_count(f".recent-fire:has-text('Tea {tag}')", 2)
    page.press("g", "i")
    page.wait_for_count(".item-row:has-text('Make tea')", 2)


@by_night
def test_a_plan_is_made_changed_and_deleted(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors.append("404")  # the stream may say that the plan has changed before it is left
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


@by_night
def test_plans_are_disabled_and_enabled_in_the_list(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    first, second = (
        gateway.post("/plans", owner=tag, name=f"{name} {tag}", instruction="Look", cron=cron)["id"]
        for name, cron in (("First", "*/10 * * * *"), ("Second", "0 9 * * *"))
    )
    page = open_page("/plans", person=tag)
    page.wait_for_count(".lane", 2)
    page.click(f".plan-entry:has-text('First {tag}') .switch")
    page.wait_for(f".plan-row.is-disabled:has-text('First {tag}') .badge:has-text('disabled')")
    page.wait_for(f".plan-entry:has-text('First {tag}') .switch[aria-checked=false]")
    page.wait_for_count(".lane", 1)
    assert not gateway.get(f"/plans/{first}")["active"]
    page.click(".toast button:has-text('Undo')")
    page.wait_for_count(".lane", 2)
    page.wait_for_count(".plan-row.is-disabled", 0)
    assert gateway.get(f"/plans/{first}")["active"]

    page.press("j", "p")  # the selection goes with the row, so the next key is about the same plan
    page.wait_for(f"li:last-child .plan-row.is-disabled.is-selected:has-text('First {tag}')")
    assert [gateway.get(f"/plans/{id}")["active"] for id in (first, second)] == [False, True]
    page.press("Control+k")
    page.wait_for(".palette input:focus")
    page.type("enable or disable")
    page.press("Enter")
    page.wait_for(f"li:first-child .plan-row.is-selected:not(.is-disabled):has-text('First {tag}')")
    assert [gateway.get(f"/plans/{id}")["active"] for id in (first, second)] == [True, True]


@by_night
def test_what_others_disable_is_seen_at_once(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    plan = gateway.post("/plans", owner=tag, name=f"Report {tag}", instruction="Look", cron="0 9 * * *")["id"]
    page, other_page = open_page(f"/plans?owner={tag}"), open_page(f"/plans/{plan}", person=tag)
    page.wait_for(".sidebar .connection.is-live")
    page.wait_for(".plan-entry .switch[aria-checked=true]")
    other_page.wait_for(".view-head .badge:has-text('active')")
    other_page.press("p")
    other_page.wait_for(".view-head .badge:has-text('disabled')")
    other_page.wait_for(".notice:has-text('does not fire')")
    page.wait_for(".plan-entry .switch[aria-checked=false]")
    other_page.press("Control+k")
    other_page.wait_for(".palette input:focus")
    other_page.type("enable this plan")
    other_page.press("Enter")
    other_page.wait_for("button:has-text('Disable')")
    page.wait_for(".plan-entry .switch[aria-checked=true]")


@by_night
def test_keys_in_a_hurry_end_with_the_last_one(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    plan = gateway.post("/plans", owner=tag, name=f"Report {tag}", instruction="Look", cron="0 9 * * *")["id"]
    page = open_page(f"/plans/{plan}", person=tag)
    page.wait_for("button:has-text('Disable')")
    page.evaluate(COUNT_CHANGES)
    page.press("p", "p", "p")
    page.wait_until("() => window.changeCount === 3")
    page.wait_for(".view-head .badge:has-text('disabled')")
    assert not gateway.get(f"/plans/{plan}")["active"]


@by_night
def test_one_whose_time_has_passed_fires_only_after_a_question(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    fields = {"name": f"Tea {tag}", "instruction": "Make tea", "scheduledAt": "2026-01-01T10:00:00Z", "active": False}
    plan = gateway.post("/plans", owner=tag, **fields)["id"]
    page = open_page("/plans", person=tag)
    page.click(".plan-entry .switch")
    page.wait_for("dialog:has-text('It fires at once')")
    page.press("Escape")
    page.wait_for_count("dialog", 0)
    assert not gateway.get(f"/plans/{plan}")["active"]
    page.click(".plan-entry .switch")
    page.click("dialog .button:has-text('Enable')")
    page.wait_for(f".recent-fire:has-text('Tea {tag}')")
    assert gateway.get(f"/plans/{plan}")["status"] == "completed"


@by_night
def test_a_change_that_fails_is_taken_back(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    plan = gateway.post("/plans", owner=tag, name=f"Tea {tag}", instruction="Make tea", runAfter="1 hour")["id"]
    open_page.expected_errors.append("404")
    page = open_page("/plans", person=tag)
    page.delay_requests(f"/plans/{plan}")
    page.click(".plan-entry .switch[aria-checked=true]")
    page.wait_for(".plan-entry .switch[aria-checked=false]")
    gateway.delete(f"/plans/{plan}")
    page.release_requests(f"/plans/{plan}")
    page.wait_for(".toast.is-error:has-text('there is no plan')")
    page.wait_for_count(".plan-entry", 0)


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
    response = httpx2.post(url, json={"text": f"Lost {tag}"}, headers={"x-secret-key": SECRET}, timeout=LAST_RESORT)
    assert response.status_code == 202, response.text
    [letter] = [entry for entry in gateway.get("/routes/dead-letters")["items"] if entry["trigger"] == f"hook-{tag}"]
    page = open_page(f"/unrouted/{letter['id']}")
    page.wait_for(".letter-more")
    gateway.post("/routes", name=f"rule {tag}", targets=[tag], filters={"payload.text": f"Lost {tag}"})
    page.press("z")
    page.wait_for(".badge:has-text('replayed')")
    assert len(gateway.get(f"/inbox/{tag}")["items"]) == 1


def call_webhook(gateway: ScriptedGateway, name: str, **payload: str) -> None:
    url = f"{gateway.gateway.url}/hooks/{name}"
    response = httpx2.post(url, json=payload, headers={"x-secret-key": SECRET}, timeout=LAST_RESORT)
    assert response.status_code == 202, response.text


def test_an_unrouted_message_offers_its_rule(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"hook-{tag}"
    gateway.create_person(tag)
    gateway.post("/triggers", name=name, provider="webhook", scheme="header", secret=SECRET)
    call_webhook(gateway, name, action="opened", text=f"Lost {tag}")
    [letter] = [entry for entry in gateway.get("/routes/dead-letters")["items"] if entry["trigger"] == name]
    page = open_page(f"/unrouted/{letter['id']}")
    page.click(".letter-more a:has-text('Add a rule for it')")
    page.wait_for("input[name=targets]:focus")
    page.press(*tag, "Enter")
    page.wait_for(f".toast:has-text('the message was sent to {tag}')")
    [rule] = [rule for rule in gateway.get("/routes")["items"] if rule["targets"] == [tag]]
    assert rule["filters"] == {"trigger": name, "payload.action": "opened"}
    assert len(gateway.get(f"/inbox/{tag}")["items"]) == 1


def test_a_webhook_lists_what_came_and_sends_it_again(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    name = f"hook-{tag}"
    gateway.create_person(tag)
    gateway.post("/triggers", name=name, provider="webhook", scheme="header", secret=SECRET)
    page = open_page(f"/triggers/{name}/deliveries")
    page.wait_for(".empty:has-text('Nothing came')")
    call_webhook(gateway, name, text=f"Lost {tag}")
    page.wait_for(f".delivery-row:has-text('Lost {tag}'):has-text('no rule')")
    gateway.patch(f"/triggers/{name}", target=tag)
    page.click(".delivery-row >> button:has-text('Replay')")
    page.wait_for(".delivery-row .badge:has-text('replayed')")
    call_webhook(gateway, name, text=f"Found {tag}")
    page.wait_for(f".delivery-row:has-text('Found {tag}')")
    assert page.find_violations() == []
    [_, item] = gateway.get(f"/inbox/{tag}")["items"]
    gateway.post(f"/events/{item['eventId']}/done", name=tag)
    page.pass_time(DELIVERY_INTERVAL)
    page.click(".delivery-row:has(.badge:has-text('read')) >> button:has-text('Replay')")
    page.wait_for(f".toast:has-text('Pending again for {tag}')")


@by_night
def test_fires_that_are_not_remembered_are_counted(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    plan = gateway.post("/plans", owner=tag, name=f"Tea {tag}", instruction="Make tea", runAfter="1 second")["id"]
    page = open_page(f"/plans/{plan}", person=tag)
    page.wait_for_count(".fire-row", 1)
    page.wait_for_count(".past-rest", 0)
    with closing(sqlite3.connect(gateway.gateway.home / "gatepost.db", timeout=LAST_RESORT)) as database, database:
        database.execute("UPDATE plans SET fired = 5 WHERE id = ?", [plan])  # as if four had been forgotten
    page.open(f"/plans/{plan}")
    page.wait_for(".fact-line:has-text('5 times')")
    page.wait_for_count(".fire-row", 1)
    page.wait_for(".past-rest:has-text('4 earlier fires')")


@by_night
def test_a_bot_that_fails_is_not_called_open(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    name = f"bot-{tag}"
    gateway.create_person(tag)
    gateway.post("/triggers", name=name, provider="telegram", token="env:NO_SUCH_VARIABLE", owner=tag, target=tag)
    wait_until(lambda: gateway.get(f"/triggers/{name}")["error"] is not None, "the bot has failed")
    for person in ("admin", tag):
        page = open_page("/triggers", person=person)
        page.wait_for(f".trigger-row:has-text('{name}') .badge.danger:text-is('failing')")
        page.click(f".trigger-row:has-text('{name}')")
        page.wait_for(".view-head .badge:text-is('failing')")
        page.wait_for(".notice.danger:has-text('NO_SUCH_VARIABLE')")


@by_night
def test_a_plan_that_was_only_run_by_hand_is_among_recent_fires(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_person(tag)
    plan = gateway.post("/plans", owner=tag, name=f"Hand {tag}", instruction="Look", cron="0 9 * * *")
    gateway.post(f"/plans/{plan['id']}/run")
    page = open_page("/plans", person=tag)
    page.wait_for_count(f".recent-fire:has-text('Hand {tag}')", 1)
