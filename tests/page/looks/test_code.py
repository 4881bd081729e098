"""Blocks of code in messages are highlighted by their language, and copied as they were written."""

from typing import Final

from tests.page.conftest import PageOpener
from tests.support.gateways.scripted_gateway import ScriptedGateway

PYTHON: Final = 'def add(a, b):  # "both"\n    return a + 0x1f + "<b>#no</b>"\n'
JSON: Final = '{"name": "Ana", "age": 7, "isLate": true}\n'
#: comments, strings and blocks that never end, in the length of a message
ENDLESS: Final = "```js\n" + "/*`" * 3_000
FENCED: Final = f"""Look:

```python
{PYTHON}```

```json
{JSON}```

```"><b class=x
plain
```
"""


def test_code_is_highlighted_and_copied(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    gateway.post_message(tag, FENCED, "admin")
    gateway.post_message(tag, ENDLESS, "admin")
    page = open_page(f"/spaces/{tag}", permissions=["clipboard-read", "clipboard-write"])
    page.wait_for_count(".message .code-block", 4)
    page.wait_until("() => document.querySelectorAll('.code-keyword').length > 2")
    kinds = "(kind) => [...document.querySelectorAll(`.message .code-${kind}`)].map((part) => part.textContent)"
    assert page.call("evaluate", kinds, "keyword") == ["def", "return", "true"]
    assert page.call("evaluate", kinds, "field") == ['"name"', '"age"', '"isLate"']
    assert page.call("evaluate", kinds, "number") == ["0x1f", "7"]
    assert page.call("evaluate", kinds, "string") == ['"<b>#no</b>"', '"Ana"']
    assert page.call("evaluate", kinds, "comment")[0] == '# "both"'
    codes = page.evaluate("() => [...document.querySelectorAll('.message pre')].map((pre) => pre.textContent)")
    assert codes[:3] == [PYTHON, JSON, "plain\n"]
    page.evaluate("() => document.querySelector('.copy-code').click()")
    page.wait_for(".toast:has-text('Copied')")
    assert page.evaluate("() => navigator.clipboard.readText()") == PYTHON.rstrip("\n")
    assert page.find_violations("color-contrast") == []
    page.use_theme("dark")
    assert page.find_violations("color-contrast") == []


def test_names_after_an_at_sign_stand_out(gateway: ScriptedGateway, open_page: PageOpener, tag: str) -> None:
    gateway.create_space(tag, "admin")
    gateway.post_message(
        tag, "@admin and **(@mira.v)**: write to me@here.org, not `@nobody` or [@link](https://a.org).", "admin"
    )
    page = open_page(f"/spaces/{tag}")
    page.wait_for(".message .mention >> nth=0")
    marked = page.evaluate("() => [...document.querySelectorAll('.message .mention')].map((name) => name.textContent)")
    assert marked == ["@admin", "@mira.v"]
