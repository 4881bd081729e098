"""Alerts that ask for something: it is done where it is shown, and the alert goes away."""

import pytest

from gatepost import app, settings
from gatepost.channels import pairing_actions as pairing
from gatepost.channels.triggers import actions as triggers
from gatepost.channels.triggers.actions import TriggerSpec
from gatepost.core.ports import Transaction
from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway


def add_request(tx: Transaction, name: str, display: str) -> None:
    """Let a user of a new bot, which does not run, ask to be let in."""
    spec = TriggerSpec(name=name, provider="telegram", secret=f"{abs(hash(name)) % 10**9}:AAF" + "x" * 32)
    trigger = triggers.add(tx, spec)
    triggers.change(tx, trigger.name, {"active": False})
    pairing.request(tx, trigger, chat="7", user_id="7", display=display, random_bits=abs(hash(name)))


@pytest.mark.parametrize("is_let_in", [True, False])
def test_a_request_is_decided_in_the_inbox(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str, is_let_in: bool
) -> None:
    with app.prepare_store(settings.load({"GATEPOST_HOME": str(gateway.gateway.home)})) as store:
        store.run_sync(add_request, f"bot-{tag}", f"Mira {tag}")
    page = open_page(f"/inbox?text=Mira {tag}")
    page.wait_for(f".item-row:has-text('Mira {tag}')")
    page.press("Enter")
    if is_let_in:
        page.click(".inbox-detail button:has-text('Let in')")
        page.wait_for(".dialog:has-text('Mira')")
        page.click(".dialog .button.primary")
        page.wait_for(f".toast:has-text('Mira {tag} writes as')")
    else:
        page.click(".inbox-detail button:has-text('Refuse')")
        page.wait_for(".toast:has-text('Refused')")
    page.wait_for_count(f".inbox-list .item-row:has-text('Mira {tag}')", 0)
    [request] = [
        entry for entry in gateway.get("/channels/pairings", limit=1000)["items"] if entry["userName"] == f"Mira {tag}"
    ]
    assert (request["state"] == "approved") is is_let_in
