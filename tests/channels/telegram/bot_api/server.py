"""
A Telegram of our own: the Bot API 10.1 on a port of 127.0.0.1, and the people who use it.

It enforces the documented rules, so that a client that breaks one is told as the real server would tell it.

    with TelegramServer() as telegram:
        ana = telegram.add_user(11, "Ana", "ana")
        telegram.send_text(ana, "/start")                        # an update for the bot
        ...                                                      # a client of telegram.url with telegram.token
        telegram.wait_for(lambda: telegram.sent(ana))
        [question] = telegram.sent(ana)
        telegram.press(ana, question, "Approve")                 # a button, by its text or its index
        telegram.wait_for(lambda: not telegram.unanswered_queries)
        assert telegram.refusals == []                           # the client has kept all rules

People are in `people.py`, faults in `faults.py`, and the rules in `rules.py`, where it also says in which points this
server is stricter than the real one. The clock is `now` moved by `advance`; it decides about limits, lifetimes and
dates. A long poll waits in real time, and ends early if the clock passes its end.
"""

import asyncio
import json
import re
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Final, Self

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from tests.channels.telegram.bot_api.faults import Fault, Faults
from tests.channels.telegram.bot_api.methods import BotMethods
from tests.channels.telegram.bot_api.people import People
from tests.channels.telegram.bot_api.rules import MAX_POLL_TIMEOUT, PARAMETERS, Arguments, Refusal, read_allowed_updates
from tests.channels.telegram.bot_api.state import Bot, CallbackQuery, Chat, ChatAction, Message, User, World
from tests.channels.telegram.bot_api.updates import Poll
from tests.channels.telegram.bot_api.web import ServerThread, build_error, build_own_answer, read_values, send_response
from tests.channels.telegram.bot_api.webhooks import Delivery, Webhooks
from tests.support.waits import LAST_RESORT

_METHOD_PATH: Final = re.compile(r"/bot(?P<token>[^/]+)/(?P<method>\w+)")
_FILE_PATH: Final = re.compile(r"/file/bot(?P<token>[^/]+)/(?P<path>.+)")
_OTHER_POLL: Final = "terminated by other getUpdates request; make sure that only one bot instance is running"
_ACTIVE_WEBHOOK: Final = (
    "can't use getUpdates method while webhook is active; use deleteWebhook to delete the webhook first"
)
_NAMES: Final = {name.lower(): name for name in PARAMETERS}


@dataclass(frozen=True)
class Call:
    """A request, and how it was answered."""

    method: str
    arguments: dict[str, str]
    status: int
    #: of an error
    description: str
    #: True if a fault of the test made the answer
    is_fault: bool


class TelegramServer(People, Faults):
    """Runs while it is entered. `stop` and `start` in between close and open its port, and lose nothing."""

    def __init__(
        self,
        *,
        now: Callable[[], float] = time.time,
        has_limits: bool = True,
        allows_http_webhooks: bool = False,
        username: str = "gatepost_bot",
    ) -> None:
        """`now` is in seconds since 1970. Webhooks on loopback, with http and on any port, have to be allowed."""
        world = World(now)
        People.__init__(self, world)
        Faults.__init__(self)
        self._methods = BotMethods(world, has_limits=has_limits)
        self._webhooks = Webhooks(world, allows_http=allows_http_webhooks)
        self._thread: ServerThread | None = None
        self._port = 0
        self._errors: list[BaseException] = []
        #: every request, in the order in which they were answered
        self.calls: list[Call] = []
        #: how many requests have come, by method; `file` are downloads
        self.requests: Counter[str] = Counter()
        self.add_bot(username)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()
        if error is None and self._errors:
            raise self._errors[0]

    def start(self) -> None:
        if self._thread is None:
            self._thread = ServerThread(self._serve, self._port)
            self._port = self._thread.port

    def stop(self) -> None:
        """Close the port and all connections, also those of requests that wait."""
        if self._thread is not None:
            self._thread.stop()
            self._thread = None

    @property
    def url(self) -> str:
        """The address to use instead of https://api.telegram.org."""
        return f"http://127.0.0.1:{self._port}"

    def now(self) -> float:
        return self._world.now()

    def advance(self, seconds: float) -> None:
        """Move the clock."""
        self._world.advance(seconds)

    def sent(self, chat: Chat | User | int, bot: Bot | None = None) -> list[Message]:
        """Return what bots have written to a chat, or one bot, in order. Deleted messages are among them."""
        with self._world.changed:
            id = chat if isinstance(chat, int) else chat.id
            place = chat if isinstance(chat, Chat) else self._world.find_chat(bot or self.bot, id)
            messages = place.messages.values() if place else ()
            return [message for message in messages if message.sender.is_bot and bot in {None, message.sender}]

    @property
    def actions(self) -> list[ChatAction]:
        return self._world.actions

    @property
    def reactions(self) -> dict[tuple[int, int], list[str]]:
        """The emoji by chat id and message id."""
        return self._world.reactions

    @property
    def unanswered_queries(self) -> list[CallbackQuery]:
        """The callback queries that no bot has answered, oldest first: those buttons still show a spinner."""
        with self._world.changed:
            return [query for query in self._world.queries.values() if not query.is_answered]

    @property
    def refusals(self) -> list[Call]:
        """The requests that broke a rule."""
        return [call for call in self.calls if call.status >= 400 and not call.is_fault]

    def is_polling(self, bot: Bot | None = None) -> bool:
        """Return True if a getUpdates of a bot waits now."""
        return (bot or self.bot).poll is not None

    def wait_for(self, condition: Callable[[], object], timeout: float = LAST_RESORT) -> None:
        """Block until a condition is true; it is looked at whenever something has changed here."""
        with self._world.changed:
            if not self._world.changed.wait_for(condition, timeout):
                raise TimeoutError(f"it was not so within {timeout} s; requests: {dict(self.requests)}")

    async def wait_until(self, condition: Callable[[], object]) -> None:
        """The same, without holding up a loop."""
        await asyncio.to_thread(self.wait_for, condition)

    def deliver_pending(self, bot: Bot | None = None, *, is_forced: bool = False) -> list[Delivery]:
        """Post the updates that are due to the webhook, once each, or all if forced. Block until all have an answer."""
        assert self._thread is not None, "the server is stopped"
        delivery = self._webhooks.deliver(bot or self.bot, is_forced=is_forced)
        return asyncio.run_coroutine_threadsafe(delivery, self._thread.loop).result(LAST_RESORT)

    async def deliver(self, bot: Bot | None = None, *, is_forced: bool = False) -> list[Delivery]:
        """The same, without holding up a loop."""
        return await asyncio.to_thread(self.deliver_pending, bot, is_forced=is_forced)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        request = Request(scope, receive)
        try:
            path = _METHOD_PATH.fullmatch(request.url.path)
            file = _FILE_PATH.fullmatch(request.url.path)
            if path is not None:
                method = _NAMES.get(path["method"].lower(), path["method"])
                await self._answer_with_faults(request, send, path["token"], method, None)
            elif file is not None:
                await self._answer_with_faults(request, send, file["token"], "file", file["path"])
            else:
                await build_error(Refusal(404, "no such path"))(scope, receive, send)
        except (asyncio.CancelledError, ClientDisconnect):
            return  # the server stops, or the client has gone
        except Exception as error:
            self._errors.append(error)
            raise

    async def _answer_with_faults(
        self, request: Request, send: Send, token: str, method: str, path: str | None
    ) -> None:
        fault = self.take_fault(method)
        with self._world.change():
            self.requests[method] += 1
        values: dict[str, str] = {}
        try:
            values = await read_values(request)
            if fault.hold is not None:
                await fault.hold.pass_through()
            response = build_own_answer(fault) or await self._answer(request, token, method, path, values)
        except Refusal as refusal:
            response = build_error(refusal)
        self._record(method, values, response, fault)
        await send_response(request, send, response, fault)

    async def _answer(
        self, request: Request, token: str, method: str, path: str | None, values: dict[str, str]
    ) -> Response:
        bot = self._world.bots.get(token)
        if bot is None:
            raise Refusal(401, "Unauthorized")
        if path is not None:
            return self._download(bot, path)
        if method not in PARAMETERS:
            raise Refusal(404, "method not found")
        arguments = Arguments(method, values)
        if method == "getUpdates":
            result: Any = await self._get_updates(request, bot, arguments)
        else:
            with self._world.change():
                methods = {**self._methods.methods, **self._webhooks.methods}
                result = methods[method](bot, arguments)
        return JSONResponse({"ok": True, "result": result})

    async def _get_updates(self, request: Request, bot: Bot, arguments: Arguments) -> list[Any]:
        offset = arguments.get_integer("offset", 0, 0)
        limit = arguments.get_integer("limit", 100, 1, 100)
        timeout = min(arguments.get_integer("timeout", 0, 0), MAX_POLL_TIMEOUT)
        kinds = read_allowed_updates(arguments)
        with self._world.change():
            if bot.webhook is not None:
                raise Refusal(409, _ACTIVE_WEBHOOK)
            if bot.poll is not None:
                bot.poll.end(Refusal(409, _OTHER_POLL))
            if kinds is not None:
                bot.allowed_updates = kinds
            updates = self._list_updates(bot, offset, limit)
            if updates or not timeout:
                bot.poll = None
                return updates
            bot.poll = poll = Poll(self.now() + timeout)
        ends_at = time.monotonic() + timeout
        watcher = asyncio.create_task(_end_when_disconnected(request, poll))
        try:
            while True:
                await poll.wait_until_woken(ends_at - time.monotonic())
                with self._world.changed:
                    if poll.error is not None:
                        raise poll.error
                    updates = self._list_updates(bot, offset, limit)
                    if updates or time.monotonic() >= ends_at or self.now() >= poll.deadline:
                        return updates
        finally:
            watcher.cancel()
            with self._world.change():
                if bot.poll is poll:
                    bot.poll = None

    def _list_updates(self, bot: Bot, offset: int, limit: int) -> list[Any]:
        bot.queue.expire(self.now())
        bot.queue.confirm(offset)
        return [update.body for update in bot.queue.pending[:limit]]

    def _download(self, bot: Bot, path: str) -> Response:
        with self._world.changed:
            file, ends_at = bot.links.get(path, (None, 0.0))
            if file is None or self.now() >= ends_at:
                raise Refusal(404, "no such file")
            return Response(file.content, media_type="application/octet-stream")

    def _record(self, method: str, values: dict[str, str], response: Response, fault: Fault) -> None:
        description = ""
        if response.status_code >= 400 and isinstance(response, JSONResponse):
            description = json.loads(bytes(response.body)).get("description", "")
        with self._world.change():
            self.calls.append(Call(method, values, response.status_code, description, fault.answer is not None))


async def _end_when_disconnected(request: Request, poll: Poll) -> None:
    """End a poll whose client has gone."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
    poll.end(ClientDisconnect())
