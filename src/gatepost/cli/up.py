"""`gatepost up`."""

from typing import Annotated

from gatepost import settings
from gatepost.cli import output, words
from gatepost.cli.plain import Json, option
from gatepost.runtime.gateway_files import ADMIN_KEY


def up(
    host: Annotated[str | None, option("--host", "H", "Where to listen.")] = None,
    port: Annotated[str | None, option("--port", "P", "The port to listen on; 0 finds a free one.")] = None,
    json: Json = False,
) -> None:
    """
    Start the gateway: HTTP, live streams, plans, and all that runs in the background.

    It listens on 127.0.0.1 unless told otherwise, and stops at Ctrl-C when it has finished what it accepted.

    Examples:
      gatepost up
      gatepost up --port 8080
    """
    from gatepost import telemetry
    from gatepost.gateway import serve

    configuration = settings.load()
    chosen = configuration.settings.gateway
    where = words.given(host, "--host", "where") or chosen.host
    number = words.number(port, "--port", least=0, most=65_535) if port is not None else chosen.port
    telemetry.configure_logging("json" if json else chosen.log)

    def ready(url: str) -> None:
        if json:
            output.document({"url": url})
            return
        output.line_out(url)
        output.talk(f"the administrator's key is in {configuration.home / ADMIN_KEY}")
        output.talk(f"see {url}/api/docs; Ctrl-C stops it")

    serve.run(configuration, where, number, ready=ready)
