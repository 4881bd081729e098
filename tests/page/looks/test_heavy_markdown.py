"""Markdown that is made to take long is shown as plain text; what people write is rendered."""

from typing import Final

from tests.page.conftest import PageOpener
from tests.page.marks import by_night
from tests.support.gateways.scripted_gateway import ScriptedGateway

pytestmark = by_night

LENGTH: Final = 2_900
#: what is repeated until the text has its length
HEAVY: Final = {
    "emphasis that never ends": "*a_",
    "emphasis of all kinds": "a*b**c***",
    "struck emphasis": "~a~~",
    "quotes in quotes": "> ",
    "lists in lists": "1) ",
    "brackets": "[",
    "links in links": "[a](",
    "tags": "<",
}
RICH: Final = """# Report of the week

The **revenue** is up by *9%*, see [the numbers](https://numbers.example/q4) and `report.sql`:

1. North: **4.2M**
   - Oslo, with _two_ new customers
     - one of them ~~small~~ large
2. South: **3.1M**

> Well done, everybody.

| region | revenue | change |
|---|---:|---:|
| North | 4.2M | +9% |
| South | 3.1M | +2% |

```python
total = sum(row["revenue"] * 2 ** 3 for row in rows)
```
"""


def build_table(columns: int, rows: int) -> str:
    """A table whose rows are shorter than its head, and filled up when they are shown."""
    return "\n".join(["|a" * columns, "|-" * columns, *["|"] * rows])


def test_heavy_markdown_is_shown_as_it_is(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    texts = {name: (part * LENGTH)[:LENGTH] for name, part in HEAVY.items()}
    texts["a table of a hundred thousand cells"] = build_table(300, 700)
    texts["links to one long address"] = f"[a]: https://a.example/{'x' * 1_000}\n\n" + "[a] " * 480
    for text in texts.values():
        gateway.post_message(tag, text, "admin")
    gateway.post_message(tag, RICH, "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".message .markdown :text-is('Report of the week')")
    plain = page.evaluate(
        "() => [...document.querySelectorAll('.message .text.plain')].map((element) => element.textContent)"
    )
    for name, text in texts.items():
        assert text.strip() in [shown.strip() for shown in plain], name


def test_what_people_write_is_rendered(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    gateway.post_message(tag, RICH, "admin")
    page = open_page(f"/spaces/{tag}")
    for selector in ("strong", "em", "del", "a[href]", "code", "ol ul ul li", "blockquote", "td", "pre"):
        page.wait_for(f".message .markdown {selector} >> nth=0")


def test_long_reports_are_rendered(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_person(tag)
    item = gateway.post("/inbox", to=tag, source="test", subject="Long", content="\n".join([RICH] * 18))
    page = open_page(f"/inbox/{tag}/{item['eventId']}", person=tag)
    page.click(".show-all")
    page.wait_for_count(".inbox-detail .markdown table", 18)


def test_a_hundred_messages_are_rendered_while_the_page_answers(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_space(tag, "admin")
    for number in range(100):
        gateway.post_message(tag, f"Number {number} **strong** {'*a_' * 300}", "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".message:has-text('Number 99 **strong**')")
    page.press("g", "i")
    page.wait_for_path("/inbox")


def test_lists_and_tables_of_a_message_are_accessible(
    gateway: ScriptedGateway, open_page: PageOpener, tag: str
) -> None:
    gateway.create_space(tag, "admin")
    nested = "\n".join("  " * depth + "- deep" for depth in range(40))
    wide = "\n".join(["|a column with a long name" * 9, "|-" * 9, "|some words in a cell" * 9])
    for text in (nested, "- " * 300 + "deep", "1. " * 9 + "deep", "- " * 9 + "deep", wide):
        gateway.post_message(tag, text, "admin")
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".message .markdown table")
    assert page.find_violations("listitem", "list", "scrollable-region-focusable") == []
