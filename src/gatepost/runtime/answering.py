"""What an answer to a decision sets off: the command of `decision.on_answer`, with the answer as JSON on its stdin."""

import json
from typing import Final

from gatepost.core.errand import Errand
from gatepost.errors import Unavailable
from gatepost.ports.command import Commands

#: seconds that it may take, well within the hold of an errand
_LIMIT: Final = 60.0


async def answered(commands: Commands, command: str, errand: Errand) -> None:
    """Run the command. One that does not end with 0 has failed, and is run again later."""
    ran = await commands.run(command, stdin=json.dumps(errand.payload, ensure_ascii=False), limit=_LIMIT)
    if ran.code is None:
        raise Unavailable(f"decision.on_answer took over {_LIMIT:.0f} seconds")
    if ran.code != 0:
        raise Unavailable(f"decision.on_answer ended with {ran.code}" + (f": {ran.said}" if ran.said else ""))
