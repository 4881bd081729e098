"""The words of `gatepost hook`, for its help. How it is done is in `hook.py`, which is reached without any of this."""

from typing import Annotated

import typer

from gatepost.cli.hook import answer
from gatepost.cli.plain import argument, option


def hook(
    event: Annotated[str, argument("EVENT", "What happened, by the host's name.")],
    host: Annotated[str, option("--host", "HOST", "Whose words: claude, codex, gemini or cursor.")] = "claude",
    agent: Annotated[str | None, option("--agent", "NAME", "Who the agent is, whatever GATEPOST_AGENT says.")] = None,
) -> None:
    """
    Answer a hook of the program in which a guest lives.

    The program writes JSON to stdin and is answered in its own words: what waits in the guest's inbox, or why it may
    not stop yet. `gatepost hooks install` has the program call this. It fails open: whatever is wrong here, the program
    goes on, and stderr says why.

    Example:
      echo '{"session_id": "4f1c", "source": "startup"}' | gatepost hook SessionStart --host claude
    """
    raise typer.Exit(answer([event, "--host", host, *(() if agent is None else ("--agent", agent))]))
