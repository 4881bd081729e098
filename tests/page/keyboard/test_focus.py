"""
Whatever takes the focus when it appears gets the keys that were typed before: in every dialog, form and editor.

The places are found in the sources of the page, so none can be forgotten. A script types in each at once, without a
wait, and nothing comes before that the page asks for because of it.
"""

import re
from collections.abc import Mapping
from typing import Final, NamedTuple

from tests.page.chromium import Page
from tests.page.conftest import PageOpener
from tests.page.keyboard.test_early_keys import ANSWERS, press_early, push_mail
from tests.page.marks import by_night
from tests.page.page_clock import SOURCES
from tests.support.gateways.scripted_gateway import ScriptedGateway

#: what gives something the focus when it appears, and what is opened for it
TAKES_FOCUS: Final = re.compile(r"\bautoFocus\b|\bref=.*\bfocusOnMount\b|\.focus\(|<Dialog\b")
#: they pass the focus on to what is in other files, give it back, or have no field
OTHERS: Final = {
    "ui/focus.ts",
    "ui/dialog.tsx",
    "ui/completion.tsx",
    "shell/app.tsx",
    "shell/help.tsx",
    "shell/sidebar.tsx",
    "ui/secret-dialog.tsx",
}
HAS_VALUE: Final = """([selector, value]) => {
    const field = document.activeElement;
    return field?.matches(selector) === true && (value === "" || field.value === value);
}"""


class Place(NamedTuple):
    """Something that takes the focus, and how it is reached."""

    file: str
    path: str
    #: keys, or the button that is pressed
    opened_by: tuple[str, ...] | str
    field: str
    typed: str = "Who, TAG?"
    #: what is in the field then, if it is not what was typed
    value: str | None = None

    def type_early(self, page: Page, names: Mapping[str, str]) -> None:
        """Go there and type; `names` are for the words in capitals."""
        path, typed, value = (fill_in(text, names) for text in (self.path, self.typed, self.value or self.typed))
        page.go(path)
        keys = self.opened_by
        if isinstance(keys, str):
            page.call("focus", keys)
            keys = ("Enter",)
        press_early(page, *keys, *typed)
        page.wait_until(HAS_VALUE, [self.field, value])


def fill_in(text: str, names: Mapping[str, str]) -> str:
    return re.sub("|".join(names), lambda match: names[match[0]], text)


PLACES: Final = (
    Place(
        "ui/confirm-dialog.tsx", "/agents/ana-TAG/about", ".agent-about button:has-text('Retire')", "dialog .danger", ""
    ),
    Place("shell/palette.tsx", "/", ("Control+k",), ".palette input"),
    Place("agents/agent-dialog.tsx", "/agents", ("c",), "dialog [data-path=name]", "TAG"),
    Place(
        "agents/agent-dialog.tsx", "/agents/ana-TAG", ("e",), "dialog [data-path=displayName]", value="ana-TAGWho, TAG?"
    ),
    Place("agents/connect-dialog.tsx", "/agents", ("n",), "dialog [name=name]", "TAG"),
    Place("agents/connect-dialog.tsx", "/agents/guest-TAG", ("n",), "dialog [name=way]", "codex", "codex"),
    Place("agents/address-field.tsx", "/gates", ("c",), "dialog .field"),
    Place(
        "agents/attention.tsx",
        "/settings/notifications",
        "[aria-label='Change what may disturb Administrator']",
        "dialog select",
        "",
    ),
    Place("agents/replay.tsx", "/runs/RUN", ("z",), ".replay-form .field", value="demoWho, TAG?"),
    Place("channels/approve-dialog.tsx", "/channels/pairing", ("c",), "dialog [name=code]"),
    Place("chat/start.tsx", "/chat", ("c",), "dialog select", "ana-TAG", "ana-TAG"),
    Place("decisions/delegate-button.tsx", "/decisions/TEXT", "[aria-label='Pass the decision on']", "dialog .field"),
    Place(
        "decisions/arguments-form.tsx",
        "/decisions/ACTION",
        "[data-form=edit]",
        ".answer-form input",
        value="7Who, TAG?",
    ),
    Place(
        "decisions/arguments-form.tsx",
        "/decisions/EMPTY",
        "[data-form=edit]",
        ".answer-form textarea",
        value="{}Who, TAG?",
    ),
    Place("decisions/card.tsx", "/decisions/TEXT", "[data-form=text]", ".answer-form textarea"),
    Place("decisions/card.tsx", "/decisions/AGAIN", "[data-form=again]", ".answer-form textarea"),
    Place("decisions/ask-dialog.tsx", "/decisions", ("c",), "dialog .field"),
    Place("decisions/gate-dialog.tsx", "/gates", ("c",), "dialog .field"),
    Place("decisions/decisions.tsx", "/decisions", ("j", "r"), ".decision .field, .decision .button", ""),
    Place("inbox/detail.tsx", "/inbox", ("r",), ".inbox-detail .answer-form textarea"),
    Place("inbox/head.tsx", "/inbox", ("f",), ".inbox-filters [type=search]"),
    Place("inbox/push-dialog.tsx", "/inbox", ("c",), "dialog textarea"),
    Place("inbox/snooze-dialog.tsx", "/inbox", ("h",), "dialog .snooze-choice", ""),
    Place(
        "ledger/request-dialog.tsx",
        "/ledger/connections",
        "main button:has-text('Connect an agent outside')",
        "dialog .field",
    ),
    Place("mail/compose-dialog.tsx", "/mail", ("c",), "dialog .field"),
    Place("plans/plan-dialog.tsx", "/plans", ("c",), "dialog [name=name]"),
    Place("settings/people.tsx", "/settings", ("c",), "dialog [name=name]"),
    Place("settings/keys.tsx", "/settings", "section[aria-label=Keys] > button", "dialog .field"),
    Place("spaces/composer.tsx", "/spaces/TAG", ("r",), ".composer textarea"),
    Place("spaces/create-dialog.tsx", "/spaces", "main header button", "dialog .field"),
    Place("triggers/route-form.tsx", "/routes", ("c",), "form [name=name]"),
    Place("triggers/trigger-dialog.tsx", "/triggers", ("c",), "dialog [name=name]"),
)


def test_every_field_that_takes_the_focus_is_here() -> None:
    files = {
        file.relative_to(SOURCES).as_posix() for file in SOURCES.rglob("*.ts*") if TAKES_FOCUS.search(file.read_text())
    }
    assert files - OTHERS == {place.file for place in PLACES} | {"shell/sign-in.tsx"}


@by_night
def test_keys_that_come_early_reach_every_field(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_resident(f"ana-{tag}")
    gateway.post("/agents", name=f"guest-{tag}")
    gateway.create_space(tag, "admin", f"ana-{tag}")
    push_mail(gateway, "admin", f"ana-{tag}", tag)
    gateway.post_message(tag, "Hello", "admin")
    asked = {"asker": f"ana-{tag}", "of": ["admin"], "question": tag}
    text = {"options": [{"id": "y", "label": "Yes"}], "freeText": True}
    questions = {"TEXT": text, "AGAIN": text, "ACTION": build_action(order=7), "EMPTY": build_action()}
    ids = {word: gateway.post("/decisions", **asked, **fields)["id"] for word, fields in questions.items()}
    ids |= {"RUN": gateway.wait_for_runs(f"ana-{tag}", 1)[0]["id"], "TAG": tag}
    page = open_page("/")
    for place in PLACES:
        place.type_early(page, ids)
        page.press("Escape")
        page.go("/there-is-no-such-view")


@by_night
def test_keys_that_come_before_the_screen_to_sign_in_reach_its_field(open_page: PageOpener) -> None:
    open_page.expected_errors = ["401"]
    page = open_page.open_stranger()
    page.delay_requests(ANSWERS)
    page.call("goto", "/")
    page.press(*"a link")
    page.release_requests(ANSWERS)
    page.wait_until(HAS_VALUE, ["[name=link]", "a link"])


def build_action(**arguments: object) -> dict[str, object]:
    return {"action": {"name": "pay", "args": arguments}}
