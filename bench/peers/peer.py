"""
The peers, with the settings that each is measured with.

Each has the settings of its own documentation, as it is installed, with one change: what it calls accepted is on disk.
Where that needs a setting, `settings` names it. Nobody is tuned to be woken faster or to be cheaper when idle, Gatepost
neither.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from bench.peers.installation import Environment, find_node, find_python, require_folder
from bench.support.commands import GATEPOST

#: starts a server on `config["port"]`: its command and its environment
BuildServer = Callable[[dict[str, Any]], tuple[list[str], dict[str, str]]]


@dataclass(frozen=True, slots=True)
class Peer:
    name: str
    #: of `programs`
    program: str
    environment: Environment
    #: whose versions are shown
    packages: tuple[str, ...]
    settings: str
    #: servers that it needs: postgres, redis or nats
    services: tuple[str, ...] = ()
    server: BuildServer | None = None
    #: why nobody in another process is woken; None if somebody is
    no_wake: str | None = None
    #: whether its reader is in the process that sends
    reads_in_process: bool = False
    #: whether what was accepted can be read at all
    can_read: bool = True
    #: whether a push may have a key
    has_keys: bool = False
    #: what a drain hands over, if not a text
    hands_over: str | None = "an object, to code"


def _build_gateway(config: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    environ = {"GATEPOST_HOME": config["home"]}
    if "postgres" in config:
        environ["GATEPOST_STORE"] = config["postgres"]
    return [GATEPOST, "up", "--port", str(config["port"])], environ


def _build_mail_server(config: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    command = [str(find_python(Environment.MAIL)), "-m", "mcp_agent_mail.cli", "serve-http"]
    environ = {
        "DATABASE_URL": f"sqlite+aiosqlite:///{config['folder']}/mail.sqlite3",
        "STORAGE_ROOT": f"{config['folder']}/archive",
        "CONTACT_ENFORCEMENT_ENABLED": "false",
        "LLM_ENABLED": "false",
    }
    return [*command, "--host", "127.0.0.1", "--port", str(config["port"])], environ


def _build_openclaw(config: dict[str, Any]) -> tuple[list[str], dict[str, str]]:
    home = Path(config["folder"])
    token = config["token"] = "bench-token-of-a-private-server"  # noqa: S105 - nobody else can reach it
    settings = {
        "gateway": {"mode": "local", "bind": "loopback", "auth": {"mode": "token", "token": f"{token}-2"}},
        "hooks": {"enabled": True, "token": token},
    }
    (home / "openclaw.json").write_text(json.dumps(settings), encoding="utf-8")
    script = require_folder(Environment.NODE) / "node_modules" / "openclaw" / "openclaw.mjs"
    command = [str(find_node()), str(script), "gateway", "run", "--port", str(config["port"])]
    environ = {"OPENCLAW_STATE_DIR": str(home), "OPENCLAW_CONFIG_PATH": str(home / "openclaw.json")}
    return command, environ


_QUEUES: Final = Environment.QUEUES

PEERS: Final = (
    Peer(
        name="Gatepost in a program, SQLite",
        program="gatepost_embedded",
        environment=Environment.GATEPOST,
        packages=("gatepost",),
        settings="`Gatepost.send(PushEvent)`; the reader is an agent that is a function of the same program",
        reads_in_process=True,
        has_keys=True,
        hands_over=None,
    ),
    Peer(
        name="Gatepost over HTTP, SQLite",
        program="gatepost_gateway",
        environment=Environment.GATEPOST,
        packages=("gatepost",),
        settings="`gatepost up`; `Client.send(PushEvent)`; the reader is `Client.work` in another process",
        server=_build_gateway,
        has_keys=True,
        hands_over=None,
    ),
    Peer(
        name="Gatepost over HTTP, PostgreSQL",
        program="gatepost_gateway",
        environment=Environment.GATEPOST,
        packages=("gatepost",),
        settings="the same with `store = postgresql://...`",
        services=("postgres",),
        server=_build_gateway,
        has_keys=True,
        hands_over=None,
    ),
    Peer(
        name="huey, SQLite",
        program="huey_sqlite",
        environment=_QUEUES,
        packages=("huey",),
        settings="`SqliteHuey(fsync=True, results=False)`; consumer with its defaults: one thread, which polls every"
        " 0.1 s and, without work, more and more rarely up to 10 s",
    ),
    Peer(
        name="huey, Redis",
        program="huey_redis",
        environment=_QUEUES,
        packages=("huey", "redis"),
        settings="`RedisHuey(results=False)`; consumer with one thread; Redis with `appendonly yes`,"
        " `appendfsync always`",
        services=("redis",),
    ),
    Peer(
        name="persist-queue",
        program="persist_queue",
        environment=_QUEUES,
        packages=("persist-queue",),
        settings="`FIFOSQLiteQueue(multithreading=True)`, whose `synchronous` is FULL; an item is gone when it"
        " is taken",
        no_wake="wakes threads of its own process only",
    ),
    Peer(
        name="litequeue",
        program="lite_queue",
        environment=_QUEUES,
        packages=("litequeue",),
        settings="`LiteQueue(file)` with `synchronous = FULL` (its own default is NORMAL); a connection for each"
        " thread",
        no_wake="wakes nobody: it is polled",
    ),
    Peer(
        name="procrastinate",
        program="procrastinate_postgres",
        environment=_QUEUES,
        packages=("procrastinate",),
        settings="`PsycopgConnector`, `defer_async`; `run_worker_async`, which listens to NOTIFY",
        services=("postgres",),
    ),
    Peer(
        name="DBOS, SQLite",
        program="dbos_messages",
        environment=_QUEUES,
        packages=("dbos",),
        settings="`DBOSClient.send` to a workflow that calls `DBOS.recv`, and hands each message over in a step",
        has_keys=True,
    ),
    Peer(
        name="DBOS, PostgreSQL",
        program="dbos_messages",
        environment=_QUEUES,
        packages=("dbos",),
        settings="the same on PostgreSQL",
        services=("postgres",),
        has_keys=True,
    ),
    Peer(
        name="taskiq, Redis",
        program="taskiq_on_redis",
        environment=_QUEUES,
        packages=("taskiq", "taskiq-redis"),
        settings="`RedisStreamBroker`, which acknowledges; Redis with `appendonly yes`, `appendfsync always`",
        services=("redis",),
    ),
    Peer(
        name="taskiq, NATS",
        program="taskiq_on_nats",
        environment=_QUEUES,
        packages=("taskiq", "taskiq-nats"),
        settings="`PullBasedJetStreamBroker`; NATS with JetStream and `sync_interval: always`",
        services=("nats",),
    ),
    Peer(
        name="pgmq",
        program="pgmq_sql",
        environment=_QUEUES,
        packages=("pgmq",),
        settings="installed by the SQL that is in the package from PyPI; `pgmq.send`, `pgmq.read_with_poll` and"
        " `pgmq.delete`, a connection for each thread",
        services=("postgres",),
    ),
    Peer(
        name="mcp-agent-mail",
        program="agent_mail",
        environment=Environment.MAIL,
        packages=("mcp-agent-mail",),
        settings="`serve-http` on SQLite and Git; the tools `send_message` and `fetch_inbox`; contacts are not"
        " enforced",
        server=_build_mail_server,
        no_wake="wakes nobody: an agent calls `fetch_inbox`",
        hands_over=None,
    ),
    Peer(
        name="OpenClaw's hook",
        program="openclaw_hook",
        environment=Environment.NODE,
        packages=("openclaw",),
        settings="`openclaw gateway run`; `POST /hooks/wake` with `mode: next-heartbeat`; no model",
        server=_build_openclaw,
        no_wake="starts its own session; nobody outside reads events",
        can_read=False,
        hands_over="events, to its own session",
    ),
)
