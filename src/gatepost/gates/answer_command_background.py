"""Run the command that an answer to a decision starts."""

import json
from typing import Final

from gatepost.errors import Unavailable
from gatepost.gates.condition_check import CommandRunner
from gatepost.jobs.job import Job
from gatepost.telemetry import hide_secrets

#: seconds that a command may take, well within the hold of a job
_COMMAND_TIMEOUT: Final = 60.0


async def run_answer_command(commands: CommandRunner, command: str, job: Job) -> None:
    """
    Run the command of `decision.on_answer`, with the answer as JSON on its stdin. A command that does not end with 0
    has failed, and is run again later.
    """
    result = await commands.run(command, stdin=json.dumps(job.payload, ensure_ascii=False), time_limit=_COMMAND_TIMEOUT)
    if result.code is None:
        raise Unavailable(f"decision.on_answer took over {_COMMAND_TIMEOUT:.0f} seconds")
    if result.code != 0:
        detail = f": {hide_secrets(result.first_line)}" if result.first_line else ""
        raise Unavailable(f"decision.on_answer ended with {result.code}{detail}")
