"""`gatepost init`, `config` and `up`: create a home, show its settings, and run its gateway."""

import os
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import Annotated

from gatepost import paths, settings
from gatepost.cli import output
from gatepost.cli.command import Noun, build_verb
from gatepost.cli.gateway_or_store import find_gateway, get_folder
from gatepost.cli.parameters import JsonFlag, NoOpenFlag, number, option
from gatepost.errors import Invalid, Unavailable
from gatepost.settings import FILE, HOME, Converter, gateway_files, list_settings, variable_name, write_value


def init(
    template: Annotated[
        str | None, option("--template", "NAME", "a team of agents to make, too", choices=["viable-system"])
    ] = None,
    json: JsonFlag = False,
) -> None:
    """
    Create a home here: the folder .gatepost with a settings file, a store, the person admin and their key.

    With GATEPOST_HOME set, that folder is the home. It can be run again: what exists is not changed.

    The template viable-system makes System1 to System5 of the team root, on the model demo, and the user-agent, so that
    what people write on channels reaches somebody. Give them other models with `gatepost agent set`.

    Examples:
      gatepost init
      gatepost init --template viable-system
    """
    from gatepost import app

    home = Path(os.environ.get("GATEPOST_HOME") or HOME).expanduser()
    home = home if home.is_absolute() else get_folder() / home
    steps = [("home", str(home), paths.make_home(home)), *_write_files(home)]
    configuration = settings.load({**os.environ, "GATEPOST_HOME": str(home)})
    find_gateway(configuration)  # a store beside that of the gateway is not made
    reports: list[str] = []
    with app.prepare_store(configuration, report=reports.append) as store:
        steps.append(("store", str(configuration.values["store.url"]), bool(reports)))
        new = gateway_files.ensure_admin_key(store, home)
        steps.append(("key", str(home / gateway_files.ADMIN_KEY), new))
        if template is not None:
            from gatepost.residents.team_template_actions import make_team

            steps += [("agent", name, is_new) for name, is_new in store.run_sync(make_team, template)]
    if json:
        output.document([{"what": what, "where": where, "made": new} for what, where, new in steps])
        return
    output.table(["", "WHAT", "WHERE"], [["made" if new else "found", what, where] for what, where, new in steps])
    output.talk("next: gatepost agent add NAME, then gatepost inbox push --to NAME TEXT")


def _write_files(home: Path) -> Iterator[tuple[str, str, bool]]:
    """Write the settings file, with all settings commented out, and keep the home out of version control."""
    file = settings.find_file(home)
    if file is None:
        _write(home / FILE, build_template())
    yield "settings", str(file or home / FILE), file is None
    if home.name == HOME and not (home / ".gitignore").exists():
        _write(home / ".gitignore", "*\n")


def build_template() -> str:
    """Return a settings file with every setting, at its default and commented out."""
    parts = ["# Settings of Gatepost. The variable in brackets sets the same, and takes precedence.\n"]
    for section, group in groupby(list_settings(), key=lambda pair: pair[0].rpartition(".")[0]):
        parts.append(f"\n[{section}]\n" if section else "")
        for name, field in group:
            converter: Converter = field.metadata["converter"]
            parts.append(f"\n# {field.metadata['meaning']} [{variable_name(name)}]\n")
            parts.append(f"# {name.rpartition('.')[2]} = {write_value(converter, field.default)}\n")
            parts += [f"#   {line}\n" for line in field.metadata["example"].splitlines()]
    return "".join(parts)


def _write(path: Path, text: str) -> None:
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise Unavailable(f"{str(path)!r} cannot be written: {error.strerror}") from None


config = Noun("config", "Show the settings.")


@config.command("show")
def show(json: JsonFlag = False) -> None:
    """
    Show every setting, its value, and where the value comes from. Passwords are masked.

    Example:
      gatepost config show
    """
    configuration = settings.load()
    rows = [("home", str(configuration.home), configuration.home_origin)]
    rows += [(name, str(value), value.origin) for name, value in configuration.values.items()]
    if json:
        output.document({name: {"value": value or None, "origin": origin} for name, value, origin in rows})
    else:
        output.table(["SETTING", "VALUE", "FROM"], rows)


def up(
    host: Annotated[str | None, option("--host", "H", "the address to listen on")] = None,
    port: Annotated[
        int | None, number("--port", "the port to listen on; 0 chooses a free one", minimum=0, maximum=65_535)
    ] = None,
    person: Annotated[str | None, option("--as", "NAME", "the person whom the link signs in")] = None,
    no_open: NoOpenFlag = False,
    json: JsonFlag = False,
) -> None:
    """
    Start the gateway: HTTP, live streams, plans, and all other background tasks.

    It listens on 127.0.0.1 by default, and prints its address. At a terminal it also prints a link that signs the
    administrator in to the page, once, within ten minutes, and opens it if there is a desktop. Elsewhere the output may
    be a log that others read: `gatepost sign-in` prints a link then. Ctrl-C stops the gateway after the requests that
    it has accepted.

    With --json, or with json in the setting gateway.log, every line is JSON.

    Examples:
      gatepost up
      gatepost up --port 8080
    """
    from gatepost import telemetry
    from gatepost.directory.entity_actions import ADMINISTRATOR
    from gatepost.directory.sign_in_commands import open_page
    from gatepost.gateway import serve

    if person is not None and not sys.stdout.isatty():
        raise Invalid(
            "--as is for the link to the page, which is printed only to a terminal",
            hint=f"leave it out, and run `gatepost sign-in --as {person}` when the gateway runs",
        )
    configuration = settings.load()
    find_gateway(configuration)  # two gateways of a home share its store
    gateway = configuration.settings.gateway
    as_json = json or gateway.log == "json"
    telemetry.configure_logging("json" if as_json else gateway.log)
    log = telemetry.get_logger("gatepost.gateway")
    for warning in settings.find_near_misses(os.environ):
        log.warning(warning)

    def report_ready(url: str, link: str | None) -> None:
        if as_json:
            output.live({"url": url, "signIn": link})
        else:
            output.line_out(url)
            if link is not None:
                output.line_out(link)
                output.talk("open the second line to sign in to the page: it works once")
            output.talk(f"`gatepost sign-in` prints {'another' if link else 'a link that signs you in to the page'}")
            output.talk(f"the administrator's key is in {configuration.home / gateway_files.ADMIN_KEY}")
            output.talk(f"see {url}/api/docs; Ctrl-C stops it")
        if link is not None and not no_open:
            open_page(link)

    serve.run(
        configuration,
        host or gateway.host,
        gateway.port if port is None else port,
        ready=report_ready,
        person=(person or ADMINISTRATOR) if sys.stdout.isatty() else None,
    )


commands = [
    build_verb("init", init, "Create a home for this folder."),
    config,
    build_verb("up", up, "Start the gateway."),
]
