"""Dialogs: what fails in one is said in it, and what was typed or is shown once is not lost by a click beside it."""

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night

#: press the mouse beside the dialog
CLICK_BESIDE = (
    """() => document.querySelector("dialog").dispatchEvent(new MouseEvent("mousedown", { bubbles: true }))"""
)


def click_beside(page: Page) -> None:
    page.evaluate(CLICK_BESIDE)
    page.wait_for_frames()


def test_what_is_refused_is_said_in_the_dialog(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    open_page.expected_errors = ["404", "403"]
    gateway.create_person(tag)
    page = open_page("/decisions", person=tag)
    page.press("c")
    page.wait_for("dialog input:focus")
    page.type(f"nobody-{tag}")
    page.fill("dialog [name=question]", "Ship it?")
    page.press("Control+Enter")
    page.wait_for(f"dialog [role=alert]:has-text('nobody-{tag}')")
    page.wait_until("(name) => document.activeElement.value === name", f"nobody-{tag}")
    page.wait_for_count(".toast", 0)
    click_beside(page)
    page.wait_for("dialog [name=question]")
    assert page.evaluate("() => document.querySelector('dialog [name=question]').value") == "Ship it?"


def test_a_dialog_without_a_change_closes_by_a_click_beside_it(open_page: PageOpener) -> None:
    page = open_page("/decisions")
    page.press("c")
    page.wait_for("dialog")
    click_beside(page)
    page.wait_for_count("dialog", 0)


def test_a_secret_stays_until_done(open_page: PageOpener, tag: str) -> None:
    page = open_page("/triggers")
    page.press("c")
    page.wait_for("dialog [name=name]:focus")
    page.type(f"hook-{tag}")
    page.press("Control+Enter")
    page.wait_for("dialog:has-text('The secret is not shown again')")
    page.wait_for(f"dialog code:has-text('/hooks/hook-{tag} -H \\'x-secret-key: ')")
    click_beside(page)
    page.press("Escape")
    page.wait_for_frames()
    page.wait_for_count("dialog [aria-label=Close]", 0)
    page.click("dialog button:has-text('Done')")
    page.wait_for_path(f"/triggers/hook-{tag}")


def test_a_name_is_taken_as_it_is_shown(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.post("/agents", name=f"ana-{tag}", displayName=f"Ana Lyst {tag}")
    page = open_page("/decisions")
    page.press("c")
    page.wait_for("dialog input:focus")
    page.type(f"ana LYST {tag}")
    page.press("Tab")
    page.wait_until("(name) => document.querySelector('dialog input').value === name", f"ana-{tag}")
    page.fill("dialog input >> nth=0", "admin")
    page.wait_for("dialog:has-text('You cannot ask yourself') .button.primary[disabled]")


def test_a_space_is_made_by_the_key_of_every_view(open_page: PageOpener) -> None:
    page = open_page("/spaces")
    page.press("c")
    page.wait_for("dialog.dialog")


def test_the_palette_makes_something_from_every_view(open_page: PageOpener) -> None:
    page = open_page("/plans")
    for words, path, field in (
        ("new agent", "/agents", "[data-path=name]"),
        ("add a person", "/settings", "[name=name]"),
        ("write mail", "/mail", "textarea"),
    ):
        page.press("Control+k")
        page.wait_for(".palette input:focus")
        page.type(words)
        page.press("Enter")
        page.wait_for_path(path)
        page.wait_for(f"dialog.dialog {field}")
        page.press("Escape")
        page.wait_for_count("dialog", 0)
