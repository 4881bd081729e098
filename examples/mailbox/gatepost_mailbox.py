"""
A channel of text files, as an example of a provider: whoever can write into a folder can write to agents.

    FOLDER/in/ana/1.txt            Ana writes by adding a file; it is removed when it is stored
    FOLDER/out/ana/0001-out_...    what Ana is sent, a file each
    FOLDER/out/ana.closed          nothing can be sent to Ana any more

The name of the folder below `in` is the user, so the rights of that folder decide who can write as whom.
"""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from gatepost.channels.provider import (
    BoundTrigger,
    ChatClosed,
    Invalid,
    MessageToSend,
    ProviderIntake,
    Unavailable,
    UserMessage,
)


class Mailbox:
    receives = True
    sends = True

    def check_options(self, options: Mapping[str, Any]) -> None:
        if not isinstance(options.get("folder"), str) or set(options) - {"folder", "interval"}:
            raise Invalid("a mailbox needs a folder", hint="""write {"folder": "/var/mailbox"}""")
        if not isinstance(options.get("interval", 1), int | float) or options.get("interval", 1) <= 0:
            raise Invalid("the interval of a mailbox is a number of seconds")

    async def receive(self, trigger: BoundTrigger, intake: ProviderIntake) -> None:
        options: Mapping[str, Any] = trigger.options
        inbox = Path(options["folder"], "in")
        while True:
            for file in await asyncio.to_thread(_list_files, inbox):
                text = await asyncio.to_thread(file.read_text, encoding="utf-8", errors="replace")
                # The time is part of the id: the next file of this name is another message.
                id = f"{file.parent.name}/{file.name}/{file.stat().st_mtime_ns}"
                await intake.take(UserMessage(id=id, user=file.parent.name, text=text))
                file.unlink(missing_ok=True)  # it is stored
            await asyncio.sleep(options.get("interval", 1))

    async def send(self, trigger: BoundTrigger, message: MessageToSend) -> str:
        options: Mapping[str, Any] = trigger.options
        return await asyncio.to_thread(_write, Path(options["folder"], "out"), message)


def _list_files(inbox: Path) -> list[Path]:
    if not inbox.is_dir():
        raise Unavailable(f"there is no folder {str(inbox)!r}")
    files = [(file.stat().st_mtime_ns, file.name, file) for file in inbox.glob("*/*.txt")]
    return [file for _, _, file in sorted(files)]


def _write(outbox: Path, message: MessageToSend) -> str:
    if not outbox.is_dir():
        raise Unavailable(f"there is no folder {str(outbox)!r}")
    if (outbox / f"{message.chat}.closed").exists():
        raise ChatClosed(f"{message.chat} takes no more messages")
    folder = outbox / message.chat
    folder.mkdir(exist_ok=True)
    names = sorted(file.name for file in folder.glob("*.txt"))
    for name in names:
        if name.endswith(f"-{message.id}.txt"):
            return name  # it was sent before
    name = f"{len(names) + 1:04}-{message.id}.txt"
    draft = folder / f"{name}.draft"
    draft.write_text(message.text_with_options, encoding="utf-8")
    draft.replace(folder / name)
    return name
