"""`gatepost config`."""

from gatepost import settings
from gatepost.cli import output
from gatepost.cli.plain import Json, Noun

app = Noun(help="What is set here.")


@app.verb("show")
def show(json: Json = False) -> None:
    """
    Show every setting, its value, and where that came from. Passwords are left out.

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
