"""huey on Redis: a task with the text as its argument, and the consumer with one thread."""

from collections.abc import Callable
from typing import Any

from huey import RedisHuey


def build_huey(config: dict[str, Any], receive: Callable[[str], None]) -> tuple[Any, Any]:
    huey = RedisHuey("bench", url=config["redis"], results=False)

    @huey.task()
    def handle(text: str) -> None:
        receive(text)

    return huey, handle


def open_sender(config: dict[str, Any]) -> Callable[[str, str | None], Any]:
    _, handle = build_huey(config, lambda _: None)
    return lambda text, _key: handle(text)


def work(config: dict[str, Any], receive: Callable[[str], None]) -> None:
    huey, _ = build_huey(config, receive)
    huey.create_consumer(workers=1).run()
