"""Plain calls of the Bot API, for the tests of the server."""

from typing import Any, Final

import httpx2

from tests.channels.telegram.bot_api.server import TelegramServer
from tests.channels.telegram.bot_api.state import Bot
from tests.support.waits import LAST_RESORT

#: the files of the server, for the tests that are about it alone
FAKE: Final = tuple(
    f"tests/channels/telegram/bot_api/{file}.py"
    for file in (
        *("server", "methods", "rules", "state", "text", "entities", "formats", "members", "people"),
        *("updates", "web", "webhooks", "faults", "bot_client"),
    )
)


class BotClient:
    def __init__(self, telegram: TelegramServer, bot: Bot | None = None) -> None:
        self._telegram = telegram
        self._bot = bot or telegram.bot
        self.http = httpx2.Client(timeout=LAST_RESORT, verify=False, trust_env=False)

    def post(self, method: str, **values: Any) -> httpx2.Response:
        return self.http.post(f"{self._telegram.url}/bot{self._bot.token}/{method}", json=values)

    def call(self, method: str, **values: Any) -> Any:
        """Return the result of a method."""
        answer = self.post(method, **values)
        assert answer.json()["ok"] is True, answer.text
        return answer.json()["result"]

    def refuse(self, method: str, code: int, **values: Any) -> str:
        """Return the description of the error with which a method is refused."""
        answer = self.post(method, **values)
        error = answer.json()
        assert (answer.status_code, error["ok"], error["error_code"]) == (code, False, code), answer.text
        return str(error["description"])

    def poll(self, **values: Any) -> list[Any]:
        return list(self.call("getUpdates", **values))

    def download(self, path: str) -> httpx2.Response:
        return self.http.get(f"{self._telegram.url}/file/bot{self._bot.token}/{path}")
