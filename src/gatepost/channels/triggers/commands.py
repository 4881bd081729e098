"""`gatepost trigger`: how something outside reaches agents."""

import secrets
from base64 import b64encode
from typing import Annotated, Any, Final

import msgspec
from msgspec import UNSET

from gatepost.channels.triggers import api
from gatepost.channels.triggers.trigger import (
    BUILT_IN_PROVIDERS,
    ENV_TOKEN,
    TriggerSettings,
    check_trigger_name,
    parse_active_hours,
)
from gatepost.channels.webhooks.verification import Scheme
from gatepost.cli import inputs, output
from gatepost.cli.command import Facts, Noun, Outcome, TableRow
from gatepost.cli.gateway_or_store import connect
from gatepost.cli.parameters import JsonFlag, argument, flag, option
from gatepost.core.quoting import quote
from gatepost.errors import Invalid, quote_value
from gatepost.plans.commands import FIRE_COLUMNS, build_past_fire_row
from gatepost.reports.fire_list_api import ListTriggerFires, PastFireView
from gatepost.settings import Configuration

triggers = Noun("trigger", "Add, list and change triggers. By a trigger something outside reaches agents.")
commands = [triggers]

NAME: Final = argument("NAME", "the name of a trigger", parse=check_trigger_name)
_SECRET_BYTES: Final = 24


def _read_token(text: str) -> str:
    """Return the token of a bot; env:VARIABLE stays as it is. It is never an argument, which others can read."""
    if text != "-" and not text.startswith(("@", ENV_TOKEN)):
        raise Invalid("a token cannot be an argument", hint="give --token @FILE, - for stdin, or env:VARIABLE")
    return text if text.startswith(ENV_TOKEN) else inputs.read_secret(text)


def _parse_id(text: str) -> int:
    if not text.removeprefix("-").isdecimal() or not text.isascii() or len(text) > 20:
        raise Invalid(f"{quote_value(text)} is not the id of a chat or a user", hint="such as 7 or -1001234567890")
    return int(text)


def _parse_hours(text: str) -> api.HeartbeatSpec:
    """Return the heartbeat of `8-22`, or of `always`."""
    return api.HeartbeatSpec(active_hours=parse_active_hours(text))


def _read_templates(text: str) -> list[Any]:
    value = inputs.read_json(text)
    return value if isinstance(value, list) else [value]


def _parse_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip():
        raise Invalid(f"{quote_value(text)} is not a header", hint='write it as "X-GitHub-Event: push"')
    return name.strip(), value.strip()


#: how some fields are typed; any other is an option of its name
_FIELDS: Final[dict[str, Any]] = {
    "scheme": option("--scheme", "SCHEME", parse=Scheme.parse),
    "target": option("--to", "ADDRESS"),
    "prompt": option("--prompt", "TEXT"),
    "owner": option("--owner", "ADDRESS"),
    "session": option("--session", "TEMPLATE", "a template of its channel sessions, such as pr-{{number}}"),
    "requires": option(
        "--require",
        "PATH",
        "metadata, such as telegram_username, or a dotted path into a payload, that nothing may lack; repeatable",
    ),
    "allow": option("--allow", "ID", "a chat or a user who may write to a bot; repeatable", parse=_parse_id),
    "block": option("--block", "ID", "a chat or a user who may not; repeatable", parse=_parse_id),
    "secret": option(
        "--secret",
        "TEXT|-|@FILE",
        "the secret of the callers of a webhook; - reads stdin and @FILE a file, so that it is not in the history of"
        " your shell",
        parse=inputs.read_secret,
    ),
    "token": option(
        "--token",
        "-|@FILE|env:VAR",
        "the token of a bot; env:VAR names a variable of the gateway, and the token is not stored",
        parse=_read_token,
    ),
    "options": option("--options", "JSON|@FILE", "what the provider of a package needs", parse=inputs.read_json_object),
    # see below
    **dict.fromkeys(("templates", "schedule", "heartbeat")),
}
_UNCHANGED: Final = dict.fromkeys(api.TriggerFields.__struct_fields__)
TemplateOption = Annotated[
    list[list[Any]] | None,
    option("--template", "@FILE|JSON", "how payloads become lines; repeatable", parse=_read_templates),
]
CronOption = Annotated[str | None, option("--cron", "EXPR", "fire by a cron expression, such as '0 9 * * 1-5'")]
ZoneOption = Annotated[str | None, option("--zone", "ZONE", "the time zone of --cron and --heartbeat; by default UTC")]
EveryOption = Annotated[str | None, option("--every", "30m", "fire in this interval")]
AtOption = Annotated[str | None, option("--at", "TIME", "fire once, such as 2026-02-20T10:00:00Z")]
HeartbeatOption = Annotated[
    api.HeartbeatSpec | None,
    option(
        "--heartbeat", "8-22|always", "only fire in these hours, and if there is something to do", parse=_parse_hours
    ),
]


@triggers.request(
    "add",
    api.AddTrigger,
    name=NAME,
    provider=option(
        "--provider", "NAME", f"how it comes: {', '.join(BUILT_IN_PROVIDERS)}, or the provider of a package"
    ),
    **_FIELDS,
)
def add(
    request: api.AddTrigger,
    configuration: Configuration,
    template: TemplateOption = None,
    cron: CronOption = None,
    zone: ZoneOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    heartbeat: HeartbeatOption = None,
    json: JsonFlag = False,
) -> None:
    """
    Add a trigger, and print its path or its name.

    A webhook has a path on the gateway: POST /hooks/NAME. Its secret is never shown again. Slack and Stripe give you
    theirs; for the others a new one is made and printed if none is given. Callers send it in the header X-Secret-Key,
    unless the scheme is another one.

    Without --to the routing rules decide (`trigger route`), else user-agent, else System4 of the root team.

    Examples:
      gatepost trigger add jira --to analyst --prompt "Triage this"
      gatepost trigger add shop --to team:web --scheme github --secret @secret.txt
      gatepost trigger add daily --provider cron --cron "0 9 * * *" --to analyst
      gatepost trigger add pulse --provider cron --every 30m --heartbeat 8-22
      gatepost trigger add desk --provider telegram --token env:BOT --allow 7
    """
    fields = _build_fields(template, _build_schedule(cron, zone, every, at), heartbeat)
    new_secret: str | None = None
    if request.provider == "webhook" and request.secret is UNSET:
        fields["secret"] = new_secret = _generate_secret(request.scheme or Scheme.HEADER)
    with connect(configuration) as connection:
        trigger = connection.send(msgspec.structs.replace(request, **fields))
    if json:
        output.document(_build_document(trigger) | ({"secret": new_secret} if new_secret else {}))
        return
    output.line_out(_build_path(trigger) or trigger.name)
    if new_secret:
        output.line_out(new_secret)
        output.talk("the second line is the secret, which is not shown again")
    output.talk(_describe(trigger))


def _generate_secret(scheme: Scheme) -> str:
    if scheme in (Scheme.SLACK, Scheme.STRIPE):
        raise Invalid(f"{scheme.value} gives you the secret", hint="give it with --secret @FILE")
    if scheme is Scheme.STANDARD:
        return "whsec_" + b64encode(secrets.token_bytes(_SECRET_BYTES)).decode()
    return secrets.token_urlsafe(_SECRET_BYTES)


def _build_schedule(cron: str | None, zone: str | None, every: str | None, at: str | None) -> api.ScheduleSpec | None:
    if zone is not None and cron is None and every is None and at is None:
        raise Invalid("--zone needs a time", hint="give --cron, --every or --at too")
    if cron is None and every is None and at is None:
        return None
    return api.ScheduleSpec(cron=cron, zone=zone, every=every, at=at)


def _build_fields(
    template: list[list[Any]] | None,
    schedule: api.ScheduleSpec | None,
    heartbeat: api.HeartbeatSpec | None,
) -> dict[str, Any]:
    """Return the fields of a request that are given."""
    fields: dict[str, Any] = {"schedule": schedule, "heartbeat": heartbeat}
    if template:
        fields["templates"] = [part for parts in template for part in parts]
    return {name: value for name, value in fields.items() if value is not None}


@triggers.request("set", api.ChangeTrigger, name=NAME, active=None, **_FIELDS)
def set_trigger(
    request: api.ChangeTrigger,
    configuration: Configuration,
    template: TemplateOption = None,
    cron: CronOption = None,
    zone: ZoneOption = None,
    every: EveryOption = None,
    at: AtOption = None,
    heartbeat: HeartbeatOption = None,
    no_target: Annotated[bool, flag("--no-target", "let the routing rules decide who gets it")] = False,
    no_template: Annotated[bool, flag("--no-template", "remove its templates")] = False,
    no_heartbeat: Annotated[bool, flag("--no-heartbeat", "fire whether there is something to do or not")] = False,
    no_session: Annotated[bool, flag("--no-session", "let its name be the channel session")] = False,
    no_allow: Annotated[bool, flag("--no-allow", "let nobody write to a bot but who is paired")] = False,
    no_block: Annotated[bool, flag("--no-block", "block no chat and no user")] = False,
    no_require: Annotated[bool, flag("--no-require", "require nothing")] = False,
    no_owner: Annotated[bool, flag("--no-owner", "let the default be its owner")] = False,
    no_public_url: Annotated[bool, flag("--no-public-url", "remove the URL of the gateway")] = False,
    json: JsonFlag = False,
) -> None:
    """
    Change the given fields of a trigger; the others stay. A list, such as --allow, is replaced as a whole.

    Another scheme of a webhook needs its secret again.

    Examples:
      gatepost trigger set jira --to team:web --prompt "Triage this"
      gatepost trigger set shop --template @shop.json --session "pr-{{number}}"
      gatepost trigger set daily --cron "0 8 * * *"
      gatepost trigger set helpdesk --allow 7 --allow -1001234567890
    """
    fields = _build_fields(template, _build_schedule(cron, zone, every, at), heartbeat)
    for is_cleared, name, label in (
        (no_target, "target", "--to"),
        (no_template, "templates", "--template"),
        (no_heartbeat, "heartbeat", "--heartbeat"),
        (no_session, "session", "--session"),
        (no_allow, "allow", "--allow"),
        (no_block, "block", "--block"),
        (no_require, "requires", "--require"),
        (no_owner, "owner", "--owner"),
        (no_public_url, "public_url", "--public-url"),
    ):
        if is_cleared:
            if name in fields or getattr(request, name) is not UNSET:
                raise Invalid(f"{label} and its removal cannot be combined", hint="leave one of them out")
            fields[name] = None
    changed = msgspec.structs.replace(request, **fields)
    if changed == api.ChangeTrigger(name=request.name):
        raise Invalid("nothing to change", hint="give a new value, such as --to ADDRESS or --prompt TEXT")
    with connect(configuration) as connection:
        trigger = connection.send(changed)
    output.done(_build_document(trigger), trigger.name, f"changed {trigger.name!r}: {_describe(trigger)}", json=json)


def _build_document(trigger: api.TriggerView) -> dict[str, Any]:
    path = _build_path(trigger)
    return {**msgspec.to_builtins(trigger), **({"path": path} if path else {})}


def _describe(trigger: api.TriggerView) -> str:
    """Return what to do next, or what happens next."""
    if trigger.scheme is not None:
        return trigger.scheme.instructions
    if trigger.next_at is not None:
        return f"it fires next at {output.format_seconds(trigger.next_at)}"
    return f"{trigger.target} gets what no rule is about" if trigger.target else "the rules decide who gets it"


@triggers.list(
    "list",
    api.ListTriggers,
    columns=("TRIGGER", "STATE", "PROVIDER", "SCHEME", "TO", "PROMPT"),
    empty=lambda request: f"no triggers of {request.provider!r}" if request.provider else "no triggers yet",
)
def list_triggers(trigger: api.TriggerView) -> TableRow:
    """
    List the triggers that you own; for the administrator all.

    Examples:
      gatepost trigger list
      gatepost trigger list --provider telegram
    """
    prompt = quote(trigger.prompt) if trigger.prompt else ""
    scheme = trigger.scheme.value if trigger.scheme is not None else ""
    return [trigger.name, _get_state(trigger), trigger.provider, scheme, trigger.target or "rules", prompt]


@triggers.show("show", api.ShowTrigger, name=NAME, document=_build_document)
def show(trigger: api.TriggerView) -> Facts:
    """
    Show a trigger, without its secret or token.

    Example:
      gatepost trigger show github-main
    """
    heartbeat = trigger.heartbeat
    hours = "-".join(map(str, heartbeat.active_hours)) if heartbeat and heartbeat.active_hours else "always"
    return [
        ("trigger", trigger.name),
        ("state", _get_state(trigger)),
        ("problem", trigger.problem or trigger.error),
        ("provider", trigger.provider),
        ("path", _build_path(trigger)),
        ("scheme", trigger.scheme),
        ("proof", trigger.scheme.instructions if trigger.scheme is not None else None),
        ("to", trigger.target or "whom the rules name"),
        ("prompt", trigger.prompt),
        ("fires", _describe_schedule(trigger.schedule) if trigger.schedule else None),
        ("next", output.format_seconds(trigger.next_at)),
        ("heartbeat", hours if heartbeat else None),
        ("token", trigger.token),
        *((name.replace("_", " "), _format(getattr(trigger, name))) for name in TriggerSettings.__struct_fields__),
        ("owner", trigger.owner),
        ("set in", "gatepost.toml" if trigger.is_from_file else None),
        ("since", trigger.created_at),
    ]


def _format(setting: Any) -> object:
    """Return a setting as people read it; nothing if it is empty."""
    if isinstance(setting, tuple):
        is_plain = all(isinstance(item, str | int) for item in setting)
        return ", ".join(map(str, setting)) if is_plain else len(setting)
    return msgspec.json.encode(setting).decode() if isinstance(setting, dict) and setting else setting or None


def _describe_schedule(schedule: Any) -> str:
    if schedule.cron is not None:
        return f"{schedule.cron} {schedule.zone}"
    return f"every {schedule.every}" if schedule.every is not None else f"at {output.format_seconds(schedule.at)}"


@triggers.request(
    "test",
    api.PreviewTrigger,
    name=NAME,
    payload=argument("JSON|@FILE|-", "the payload; @FILE reads a file, - reads stdin", parse=inputs.read_json),
    headers=None,
)
def run_test(
    request: api.PreviewTrigger,
    configuration: Configuration,
    header: Annotated[
        list[tuple[str, str]] | None,
        option("--header", "NAME:VALUE", "a header of the request; repeatable", parse=_parse_header),
    ] = None,
    json: JsonFlag = False,
) -> None:
    """
    Show what would become of a payload, and who would get it.

    Nothing is stored, and no secret is needed. The payload of a bot is an update of Telegram, or a message.

    Examples:
      gatepost trigger test shop @payload.json --header "X-GitHub-Event: push"
      gatepost trigger test helpdesk @update.json
      gatepost trigger test helpdesk '{"content": "Where is my order?"}'
    """
    with connect(configuration) as connection:
        preview = connection.send(msgspec.structs.replace(request, headers=dict(header or ())))
    if json:
        output.document(msgspec.to_builtins(preview))
        return
    _print_preview(preview)


def _print_preview(preview: api.TriggerPreviewView) -> None:
    if preview.events:
        output.table(
            ("TO", "RULE", "SESSION", "EVENT"),
            [
                [
                    ", ".join(event.targets) or f"nobody ({event.reason})",
                    event.rule or "",
                    event.session,
                    event.content or "(the payload)",
                ]
                for event in preview.events
            ],
        )
    if preview.skipped:
        output.talk(f"no event: {preview.skipped}")


@triggers.list(
    "fires",
    ListTriggerFires,
    columns=(*FIRE_COLUMNS, "CONTENT"),
    empty=lambda request: f"no fire of the trigger {request.name!r} is remembered",
    count=20,
    name=NAME,
)
def fires(fire: PastFireView) -> TableRow:
    """
    List the last events of a cron trigger or a webhook.

    The newest is first: when the trigger has fired, or what came through the webhook.

    Examples:
      gatepost trigger fires nightly
      gatepost trigger fires github-main
    """
    return [*build_past_fire_row(fire), quote(fire.subject or fire.content)]


@triggers.send("enable", api.ChangeTrigger, name=NAME, active=True, **_UNCHANGED)
def enable(trigger: api.TriggerView) -> Outcome:
    """
    Open a trigger that was closed.

    Example:
      gatepost trigger enable github-main
    """
    return Outcome(trigger.name, f"{_build_path(trigger) or trigger.name} is open again")


@triggers.send("disable", api.ChangeTrigger, name=NAME, active=False, **_UNCHANGED)
def disable(trigger: api.TriggerView) -> Outcome:
    """
    Close a trigger: nothing comes through it. A webhook answers as if it did not exist.

    Example:
      gatepost trigger disable github-main
    """
    path = _build_path(trigger)
    message = f"{path} is closed: it answers as if it did not exist" if path else f"{trigger.name} is closed"
    return Outcome(trigger.name, message)


@triggers.send("delete", api.DeleteTrigger, name=NAME)
def delete(request: api.DeleteTrigger) -> Outcome:
    """
    Delete a trigger; the events that came through it stay.

    Example:
      gatepost trigger delete github-main
    """
    return Outcome(request.name, f"deleted the trigger {request.name!r}", {"name": request.name, "deleted": True})


triggers.import_verbs("gatepost.channels.routing.commands", "route", "dead", "replay")


def _get_state(trigger: api.TriggerView) -> str:
    if trigger.active and trigger.problem:
        return "no provider"
    if trigger.error:
        return "failing"
    return "open" if trigger.active else "closed"


def _build_path(trigger: api.TriggerView) -> str | None:
    return f"/hooks/{trigger.name}" if trigger.provider == "webhook" else None
