"""
Names that look alike: who takes the display name of somebody else is told apart by the unique name, wherever it matters
who has written or asked.
"""

import pytest

from tests.page.chromium import PHONE
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night

#: the same letters; Cyrillic ones that look like Latin ones; wide letters and capitals
LOOKALIKES = {
    "same": "Mira Vance {tag}",
    "Cyrillic": "\u041cir\u0430 V\u0430n\u0441\u0435 {tag}",
    "wide": "\uff2dIRA  VANCE. {tag}",
}


@pytest.mark.parametrize("look", LOOKALIKES)
def test_who_takes_the_name_of_a_person_is_told_apart(
    look: str, gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    person, impostor = f"mira-{tag}", f"helper-{tag}"
    gateway.post("/entities", name=person, kind="human", displayName=f"Mira Vance {tag}")
    gateway.create_resident(impostor, displayName=LOOKALIKES[look].format(tag=tag))
    gateway.create_space(tag, "admin", person, impostor)
    for sender in (person, impostor):
        gateway.post_message(tag, f"It is me, {sender}", sender)
        gateway.post("/mail", to="admin", sender=sender, subject=f"From {sender}", text="Send money.")
    question = {"question": f"Pay {tag}?", "of": ["admin"], "options": [{"id": "y", "label": "Yes"}]}
    decision = gateway.post("/decisions", asker=impostor, **question)

    page = open_page(f"/spaces/{tag}")
    for sender in (person, impostor):
        page.wait_for(f".message:has-text('It is me, {sender}') .message-head:has-text('@{sender}')")
    page.click(".members-button")
    for sender in (person, impostor):
        page.wait_for(f".member:has-text('@{sender}')")
    page.open("/inbox")
    for sender in (person, impostor):
        page.wait_for(f".item-row:has-text('From {sender}') .item-who:has-text('@{sender}')")
    page.open(f"/decisions/{decision['id']}")
    page.wait_for(f".decision-head:has-text('@{impostor}')")
    page.open("/agents")
    page.wait_for(f".agent-card:has-text('@{impostor}')")
    page.press("Control+k")
    page.type(impostor)
    page.wait_for(f".palette-result:has-text('(@{impostor})') >> nth=0")


def test_a_service_with_the_name_of_a_person_is_told_apart(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.post("/entities", name=f"mira-{tag}", kind="human", displayName=f"Mira {tag}")
    gateway.post("/inbox", to="admin", source=f"Mira {tag}", subject=f"Hello {tag}", content="It is me.")
    page = open_page("/inbox", viewport=PHONE)
    page.wait_for(f".item-row:has-text('Hello {tag}') .item-who:has-text('a service')")


def test_a_name_that_is_alone_is_shown_alone(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}", displayName=f"Ana {tag}")
    gateway.create_space(tag, "admin", f"ana-{tag}")
    gateway.post_message(tag, "Good morning", f"ana-{tag}")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(f".message:has-text('Good morning') .message-head:has-text('Ana {tag}')")
    assert page.count(".unique-name") == 0


#: a letter of Lisu among Latin ones; small capitals; a Latin letter with a hook; two letters that look like one
DISGUISES = ("Mira \ua4d1atel", "\u1d0d\u026a\u0280\u1d00 \u1d18\u1d00\u1d1b\u1d07\u029f", "Mira \u01a4atel")


@pytest.mark.parametrize("disguise", DISGUISES)
def test_a_name_of_unusual_letters_has_the_unique_one_beside_it(
    disguise: str, gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.post("/entities", name=f"eve-{tag}", kind="human", displayName=disguise)
    gateway.post("/entities", name=f"soren-{tag}", kind="human", displayName=f"S\u00f8ren \u00c5kesson {tag}")
    gateway.create_space(tag, "admin", f"eve-{tag}", f"soren-{tag}")
    gateway.post_message(tag, "It is me", f"eve-{tag}")
    gateway.post_message(tag, "And it is me", f"soren-{tag}")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(f".message:has-text('It is me') .message-head:has-text('@eve-{tag}')")
    page.wait_for(".message:has-text('And it is me')")
    assert f"@soren-{tag}" not in page.read(".message:has-text('And it is me') .message-head")
    page.open("/plans")
    page.press("c")
    page.wait_for_count(f"dialog option[value='eve-{tag}']:text('(@eve-{tag})')", 1)
