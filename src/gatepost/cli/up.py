"""`gatepost up`."""

from typing import Annotated

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.command import build_verb
from gatepost.cli.parameters import Json, number, option
from gatepost.runtime.gateway_files import ADMIN_KEY


def up(
    host: Annotated[str | None, option("--host", "H", "the address to listen on")] = None,
    port: Annotated[
        int | None, number("--port", "the port to listen on; 0 chooses a free one", minimum=0, maximum=65_535)
    ] = None,
    json: Json = False,
) -> None:
    """
    Start the gateway: HTTP, live streams, plans, and all other background tasks.

    It listens on 127.0.0.1 by default. Ctrl-C stops it after the requests that it has accepted.

    Examples:
      gatepost up
      gatepost up --port 8080
    """
    from gatepost import telemetry
    from gatepost.gateway import serve

    configuration = settings.load()
    gateway = configuration.settings.gateway
    telemetry.configure_logging("json" if json else gateway.log)

    def report_ready(url: str) -> None:
        if json:
            output.document({"url": url})
            return
        output.line_out(url)
        output.talk(f"the administrator's key is in {configuration.home / ADMIN_KEY}")
        output.talk(f"see {url}/api/docs; Ctrl-C stops it")

    serve.run(configuration, host or gateway.host, gateway.port if port is None else port, ready=report_ready)


commands = [build_verb("up", up, "Start the gateway.")]
