"""The commands that connect the agent programs of this machine."""

import os
import shlex

from gatepost import paths
from gatepost.core.ports import Reader
from gatepost.directory import entity_actions as directory
from gatepost.guests import setup_api as api
from gatepost.guests.hooks.hook_context import locate_program
from gatepost.operations.access import Caller


@api.ShowAgentSetup.handler
def show_agent_setup(tx: Reader, request: api.ShowAgentSetup, caller: Caller) -> api.AgentSetupView:
    agent = directory.require_agent(directory.find_live(tx, request.name))
    program = os.path.abspath(locate_program() or "gatepost")  # noqa: PTH100 (no link is followed)
    home, origin = paths.find_home(os.environ)
    is_found = origin == paths.DEFAULT_ORIGIN
    own_options = ["--agent", agent.name, *([] if is_found else ["--home", os.path.abspath(home)])]  # noqa: PTH100
    return api.AgentSetupView(
        commands=[
            api.SetupCommandView(
                host=host,
                title=title,
                command=shlex.join([program, "setup", "--host", host, *own_options]),
            )
            for host, title in api.TITLES.items()
        ],
        mcp_command=[program, "mcp", "--as", agent.name],
        mcp_env={} if is_found else {paths.HOME_VARIABLE: os.path.abspath(home)},  # noqa: PTH100
    )
