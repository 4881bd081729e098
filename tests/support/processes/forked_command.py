"""
The command `gatepost` for scripts that a shell runs: a small program that asks the fork server for the real one.

A page of the docs has dozens of commands, each of which would start an interpreter and import the package. This program
imports next to nothing. It hands over its arguments, environment, folder and standard streams, passes signals on, and
ends as the command ends. If the script has changed what an interpreter reads at its start, it becomes the real command.
"""

import os
import sys
from functools import cache
from pathlib import Path
from typing import Final

from tests.support.processes.fork_server import START_VARIABLES, get_server, select_start_variables

_PROGRAM: Final = """#!{python} -ISE
import _signal
import _socket
import marshal
import os
import sys

start_variables = {{name: os.environ[name] for name in os.environ if name.startswith({prefixes})}}
if start_variables != {expected}:
    os.execv({command!r}, sys.argv)
request = marshal.dumps({{
    "arguments": ["-m", "gatepost.cli.main", *sys.argv[1:]],
    "env": dict(os.environ),
    "cwd": os.getcwd(),
    "session": False,
}})
connection = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
connection.connect({address!r})
streams = b"".join(descriptor.to_bytes(4, sys.byteorder) for descriptor in range(3))
connection.sendmsg([len(request).to_bytes(4, "big")], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
connection.sendall(request)
pid = int.from_bytes(connection.recv(4), "big")
for number in (_signal.SIGINT, _signal.SIGTERM, _signal.SIGHUP):
    _signal.signal(number, lambda number, frame: os.kill(pid, number))
status = int.from_bytes(connection.recv(4), "big")
if os.WIFSIGNALED(status):
    _signal.signal(os.WTERMSIG(status), _signal.SIG_DFL)
    os.kill(os.getpid(), os.WTERMSIG(status))
os._exit(os.waitstatus_to_exitcode(status))
"""


@cache
def make_command_folder() -> Path:
    """Return a folder, for the PATH of a script, that has this command."""
    server = get_server()
    program = _PROGRAM.format(
        python=sys.executable,
        prefixes=START_VARIABLES,
        expected=select_start_variables(os.environ),
        command=str(Path(sys.executable).with_name("gatepost")),
        address=server.address,
    )
    file = server.folder / "gatepost"
    file.write_text(program)
    file.chmod(0o755)
    return server.folder
