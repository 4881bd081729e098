"""
The services whose webhooks Gatepost can put into words, and the words: GitHub, GitLab, Sentry, Jira, Stripe and Slack.

For each service there are templates of text (`channels/wording/text_template.py`): for a kind of event, for cases of it
that say something else (the first whose match holds), and for every other kind. A name in angle brackets stands for a
part that many texts have. Nothing here is code, so a trigger's own templates can say all of it, too.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct

from gatepost.channels.wording import github as github_lines
from gatepost.core.json_limits import Json

#: the key of cases of every kind of event
ANY_KIND: Final = "*"

#: what a payload must match, and the text
Case = tuple[Mapping[str, Json], str]


class Service(Struct, frozen=True, kw_only=True):
    name: str
    #: a header that only this service sends
    header: str | None = None
    #: the kind of event is in this header, or else at one of these paths
    kind_header: str | None = None
    kind_paths: Sequence[str] = ()
    #: what only payloads of this service look like; empty if its payloads cannot be told from others
    shape: Mapping[str, Json] = {}
    #: where an action is, and how people say it, in `@action`
    action_paths: Sequence[str] = ()
    verbs: Mapping[str, str] = {}
    #: what it is about, such as a repository: the first that is there begins the line
    places: Sequence[str] = ()
    #: references to it in the service; the first that matches and has no missing value is used
    refs: Sequence[Case] = ()
    parts: Mapping[str, str] = {}
    events: Mapping[str, str] = {}
    cases: Mapping[str, Sequence[Case]] = {}
    other: str


GITHUB: Final = Service(
    name="github",
    header="x-github-event",
    kind_header="x-github-event",
    places=("repository.full_name", "organization.login", "installation.account.login", "enterprise.slug"),
    refs=(
        ({"pull_request.number": "*"}, "{{repository.full_name}}#{{pull_request.number}}"),
        ({"issue.number": "*"}, "{{repository.full_name}}#{{issue.number}}"),
        ({"discussion.number": "*"}, "{{repository.full_name}}#{{discussion.number}}"),
        ({"head_commit.id": "*"}, "{{repository.full_name}}@{{head_commit.id}}"),
        ({"release.tag_name": "*"}, "{{repository.full_name}}@{{release.tag_name}}"),
    ),
    parts=github_lines.PARTS,
    events=github_lines.EVENTS,
    cases=github_lines.CASES,
    other=github_lines.OTHER_EVENT,
)

_NO_COMMIT: Final = "0" * 40

GITLAB: Final = Service(
    name="gitlab",
    header="x-gitlab-event",
    kind_paths=("object_kind", "event_name"),
    shape={"object_kind": "*"},
    action_paths=("object_attributes.action", "action"),
    verbs={
        "approval": "approved",
        "award": "awarded",
        "close": "closed",
        "create": "created",
        "delete": "deleted",
        "merge": "merged",
        "open": "opened",
        "reopen": "reopened",
        "revoke": "revoked",
        "unapproval": "unapproved",
        "update": "updated",
    },
    places=("project.path_with_namespace", "project_path_with_namespace", "group.full_path", "group_path"),
    refs=(
        ({"merge_request.iid": "*"}, "{{project.path_with_namespace}}!{{merge_request.iid}}"),
        ({"issue.iid": "*"}, "{{project.path_with_namespace}}#{{issue.iid}}"),
        ({"object_kind": "merge_request"}, "{{project.path_with_namespace}}!{{object_attributes.iid}}"),
        ({"object_kind": "issue"}, "{{project.path_with_namespace}}#{{object_attributes.iid}}"),
    ),
    parts={
        "actor": "{{user.username}}",
        "acted": "{{user.username}} {{@action|words}}",
        "pusher": "{{user_username}}",
        "note": "{{object_attributes.note|first_line|quote}}",
    },
    events={
        "access_token": "access token {{object_attributes.name|quote}} expires on"
        " {{object_attributes.expires_at|date}}",
        "build": "job {{build_name|quote}} {{build_status|words}} (stage {{build_stage}}, {{ref|short}},"
        " commit {{sha|short}})",
        "deployment": "deployment to {{environment}} {{status|words}} ({{ref|short}}, commit {{short_sha}})",
        "emoji": "<acted> emoji {{object_attributes.name|quote}} on {{object_attributes.awardable_type}}",
        "feature_flag": "<actor> changed feature flag {{object_attributes.name|quote}}"
        " (active: {{object_attributes.active}})",
        "issue": "<acted> issue #{{object_attributes.iid}} {{object_attributes.title|quote}}",
        "merge_request": "<acted> merge request !{{object_attributes.iid}} {{object_attributes.title|quote}}"
        " (into {{object_attributes.target_branch}})",
        "milestone": "<acted> milestone {{object_attributes.title|quote}}",
        "note": "<actor> commented on {{object_attributes.noteable_type}}: <note>",
        "pipeline": "pipeline #{{object_attributes.id}} {{object_attributes.status|words}}"
        " (branch {{object_attributes.ref}}, commit {{object_attributes.sha|short}})",
        "push": "<pusher> pushed {{total_commits_count}} commits to {{ref|short}}",
        "release": "release {{tag}} {{name|quote}} {{@action|words}}",
        "tag_push": "<pusher> pushed {{ref|short}} (commit {{checkout_sha|short}})",
        "vulnerability": "vulnerability {{object_attributes.title|quote}} {{object_attributes.state|words}}"
        " ({{object_attributes.severity}})",
        "wiki_page": "<acted> wiki page {{object_attributes.title|quote}}",
        "work_item": "<acted> work item #{{object_attributes.iid}} {{object_attributes.title|quote}}",
    },
    cases={
        "note": [
            (
                {"merge_request": "*"},
                "<actor> commented on merge request !{{merge_request.iid}} {{merge_request.title|quote}}: <note>",
            ),
            ({"issue": "*"}, "<actor> commented on issue #{{issue.iid}} {{issue.title|quote}}: <note>"),
            ({"commit": "*"}, "<actor> commented on commit {{commit.id|short}}: <note>"),
        ],
        "push": [
            ({"after": _NO_COMMIT}, "<pusher> deleted {{ref|short}}"),
            (
                {"total_commits_count": 1},
                "<pusher> pushed 1 commit to {{ref|short}}: {{commits[0].message|first_line|quote}}",
            ),
            (
                {"commits[-1]": "*"},
                "<pusher> pushed {{total_commits_count}} commits to {{ref|short}},"
                " last {{commits[-1].message|first_line|quote}}",
            ),
        ],
        "tag_push": [({"after": _NO_COMMIT}, "<pusher> deleted {{ref|short}}")],
    },
    other="<actor> <pusher> {{@action|words}} {{@event|words}} {{object_attributes.title|quote}}"
    " {{object_attributes.name|quote}}",
)

SENTRY: Final = Service(
    name="sentry",
    header="sentry-hook-resource",
    kind_header="sentry-hook-resource",
    #: of the older plugin, which sends no such header
    shape={"project": "*", "culprit": "*", "event": "*"},
    places=("data.issue.project.slug", "data.project_slug", "project_slug", "project_name", "project"),
    refs=(
        ({"data.issue.shortId": "*"}, "{{data.issue.shortId}}"),
        ({"data.issue.id": "*"}, "{{data.issue.id}}"),
        ({"data.event.issue_id": "*"}, "{{data.event.issue_id}}"),
        ({"data.issue_id": "*"}, "{{data.issue_id}}"),
    ),
    parts={
        "issue": "{{data.issue.title|quote}} ({{data.issue.level}}) {{data.issue.web_url}}",
        "issue changed": "Sentry issue {{data.issue.shortId}} {{action|words}}",
    },
    events={
        "comment": "{{actor.name}} {{action|words}} a comment on Sentry issue {{data.issue_id}}:"
        " {{data.comment|first_line|quote}}",
        "error": "Sentry error {{action|words}}: {{data.error.title|quote}} ({{data.error.level}})"
        " {{data.error.web_url}}",
        "event_alert": "Sentry alert {{data.triggered_rule|quote}} {{action|words}}: {{data.event.title|quote}}"
        " ({{data.event.level}}) {{data.event.web_url}}",
        "installation": "installation of Sentry app {{data.installation.app.slug}} {{action|words}}"
        " ({{data.installation.organization.slug}})",
        "issue": "<issue changed>: <issue>",
        "metric_alert": "Sentry metric alert {{action|words}}: {{data.description_title|quote}},"
        " {{data.description_text|first_line|quote}} {{data.web_url}}",
    },
    cases={
        "issue": [
            (
                {"action": "assigned", "data.issue.assignedTo": "*"},
                "<issue changed> to {{data.issue.assignedTo.name}}: <issue>",
            ),
            ({"actor.type": "user"}, "<issue changed> by {{actor.name}}: <issue>"),
        ],
    },
    other="Sentry {{@event|words}} {{action|words}} {{level}}: {{message|quote}} {{title|quote}}"
    " {{data.issue.title|quote}} {{culprit}} {{url}}",
)

JIRA: Final = Service(
    name="jira",
    header="x-atlassian-webhook-identifier",
    kind_paths=("webhookEvent",),
    shape={"webhookEvent": "*"},
    refs=(({"issue.key": "*"}, "{{issue.key}}"),),
    parts={
        "actor": "{{user.displayName}}",
        "author": "{{comment.author.displayName}}",
        "issue": "{{issue.key}} {{issue.fields.summary|quote}}",
        "change": '{{changelog.items[0].field}} from {{changelog.items[0].fromString|quote|"nothing"}}'
        ' to {{changelog.items[0].toString|quote|"nothing"}}',
        # The old form of a text is a string, the new one a document.
        "comment": "{{comment.body|first_line|quote}} {{comment.body.content[0].content[0].text|quote}}",
    },
    events={
        "comment_created": "<author> created a comment on <issue>: <comment>",
        "comment_deleted": "<author> deleted a comment on <issue>: <comment>",
        "comment_updated": "<author> updated a comment on <issue>: <comment>",
        "jira:issue_created": '<actor> created {{issue.fields.issuetype.name|"issue"}} <issue>'
        " ({{issue.fields.priority.name}})",
        "jira:issue_deleted": '<actor> deleted {{issue.fields.issuetype.name|"issue"}} <issue>',
        "jira:issue_updated": "<actor> updated <issue> ({{issue.fields.status.name}})",
        "worklog_created": "{{worklog.author.displayName}} created a worklog of {{worklog.timeSpent}}"
        " on issue {{worklog.issueId}}",
    },
    cases={
        "jira:issue_updated": [
            ({"issue_event_type_name": "issue_commented"}, "<actor> commented on <issue>: <comment>"),
            (
                {"changelog.items[1]": "*"},
                "<actor> updated <issue>: {{changelog.items|count}} changes, first <change>",
            ),
            ({"changelog.items[0]": "*"}, "<actor> updated <issue>: <change>"),
        ],
    },
    other="<actor> {{@event|words}} <issue> {{sprint.name|quote}} {{version.name|quote}} {{project.name|quote}}"
    " {{board.name|quote}} {{attachment.filename|quote}} {{filter.name|quote}}",
)

STRIPE: Final = Service(
    name="stripe",
    header="stripe-signature",
    kind_paths=("type",),
    shape={"object": "event", "type": "*", "data.object": "*"},
    refs=(({"data.object.id": "*"}, "{{data.object.id}}"),),
    parts={
        "object": "{{type}}: {{data.object.object|words}} {{data.object.id}} {{data.object.status|words}}"
        " {{data.object.customer_email}} {{data.object.description|quote}}",
        "unit": "in the smallest unit of {{data.object.currency}}",
    },
    cases={
        ANY_KIND: [
            ({"livemode": False, "data.object.amount": "*"}, "<object>, {{data.object.amount}} <unit> (test mode)"),
            ({"livemode": False}, "<object> (test mode)"),
            ({"data.object.amount_paid": "*"}, "<object>, {{data.object.amount_paid}} <unit>"),
            ({"data.object.amount_total": "*"}, "<object>, {{data.object.amount_total}} <unit>"),
            ({"data.object.amount": "*"}, "<object>, {{data.object.amount}} <unit>"),
        ],
    },
    other="<object>",
)

SLACK: Final = Service(
    name="slack",
    header="x-slack-signature",
    kind_paths=("event.type",),
    shape={"type": "event_callback", "event": "*"},
    parts={"place": "in {{event.channel|a channel}}"},
    events={
        "app_mention": "user {{event.user}} mentioned the app <place>: {{event.text|first_line|quote}}",
        "message": 'user {{event.user|"unknown"}} wrote <place>: {{event.text|first_line|quote}}',
        "reaction_added": "user {{event.user}} added reaction {{event.reaction|quote}} in {{event.item.channel}}",
        "reaction_removed": "user {{event.user}} removed reaction {{event.reaction|quote}} in {{event.item.channel}}",
    },
    other="Slack {{@event|words}}: {{event.user}} {{event.channel}} {{event.text|first_line|quote}}",
)

SERVICES: Final = (GITHUB, GITLAB, SENTRY, JIRA, STRIPE, SLACK)
