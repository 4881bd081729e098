"""
What the webhooks of GitHub say: a template of text (`channels/wording/text_template.py`) for each of the events that
people route, in `EVENTS`, and one for all others. Some events say other things in some cases: for these, the first row
of `CASES` whose match holds (`channels/wording/message_template.py`) goes before it. Every text names the action, and
`channels/wording/payload_lines.py` puts the repository or the organization before it.

A name in angle brackets stands for a text in `PARTS`.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from gatepost.core.json_limits import Json

PARTS: Final[Mapping[str, str]] = {
    "actor": "{{sender.login}}",
    "acted": "{{sender.login}} {{action|words}}",
    "issue": "issue #{{issue.number}} {{issue.title|quote}}",
    "pull request": "pull request #{{pull_request.number}} {{pull_request.title|quote}}",
    "discussion": "discussion #{{discussion.number}} {{discussion.title|quote}}",
    "comment": "{{comment.body|first_line|quote}}",
    "head commit": "{{head_commit.message|first_line|quote}} ({{head_commit.id|short}})",
}

EVENTS: Final[Mapping[str, str]] = {
    "check_run": "check run {{check_run.name|quote}} {{action|words}} (commit {{check_run.head_sha|short}})",
    "check_suite": "check suite of {{check_suite.app.name|quote}} {{action|words}}"
    " (commit {{check_suite.head_sha|short}})",
    "create": "<actor> created {{ref_type}} {{ref|short}}",
    "delete": "<actor> deleted {{ref_type}} {{ref|short}}",
    "deployment_status": '<actor> {{action|words|"created"}} deployment status {{deployment_status.state|words}}'
    " of {{deployment.ref|short}} on {{deployment.environment}}",
    "discussion": "<acted> <discussion>",
    "discussion_comment": "<acted> a comment on <discussion>: <comment>",
    "issue_comment": "<acted> a comment on <issue>: <comment>",
    "issues": "<acted> <issue>",
    "pull_request": "<acted> <pull request>",
    "pull_request_review": "<acted> a review of <pull request>: {{review.state|words}}"
    " {{review.body|first_line|quote}}",
    "pull_request_review_comment": "<acted> a review comment on <pull request> ({{comment.path}}): <comment>",
    "push": "<actor> pushed commit {{after|short}} to {{ref|short}}",
    "release": "<acted> release {{release.tag_name}} {{release.name|quote}}",
    "workflow_run": "workflow {{workflow_run.name|quote}} #{{workflow_run.run_number}} {{action|words}}"
    ' (branch {{workflow_run.head_branch|"unknown"}})',
}

#: for an event that is not in `EVENTS`: who did what, its number and title, and a link; `@object` is the member of the
#: payload that is called like the event
OTHER_EVENT: Final = (
    '<actor> {{action|words|"triggered"}} {{@event|words}} #{{@object.number}} #{{pull_request.number}}'
    " #{{alert.number}} {{@object.title|quote}} {{@object.name|quote}} {{@object.summary|quote}}"
    " {{pull_request.title|quote}} <comment> {{@object.html_url}} {{alert.html_url}}"
)

CASES: Final[Mapping[str, Sequence[tuple[Mapping[str, Json], str]]]] = {
    "check_run": [
        (
            {"action": "completed"},
            "check run {{check_run.name|quote}} completed: {{check_run.conclusion|words|no conclusion}}"
            ' (commit {{check_run.head_sha|short}}, branch {{check_run.check_suite.head_branch|"unknown"}})',
        ),
        (
            {"action": "requested_action"},
            "<actor> requested action {{requested_action.identifier|quote}} of check run {{check_run.name|quote}}"
            " (commit {{check_run.head_sha|short}})",
        ),
    ],
    "check_suite": [
        (
            {"action": "completed"},
            "check suite of {{check_suite.app.name|quote}} completed: {{check_suite.conclusion|words|no conclusion}}"
            ' (commit {{check_suite.head_sha|short}}, branch {{check_suite.head_branch|"unknown"}})',
        ),
    ],
    "discussion": [
        (
            {"action": "answered"},
            "<discussion> answered by {{answer.user.login}}: {{answer.body|first_line|quote}}",
        ),
        (
            {"action": "category_changed"},
            "<actor> changed the category of <discussion> to {{discussion.category.name|quote}}",
        ),
        ({"action": ["labeled", "unlabeled"]}, "<acted> <discussion> (label {{label.name|quote}})"),
    ],
    "issue_comment": [
        (
            {"issue.pull_request": "*"},
            "<acted> a comment on pull request #{{issue.number}} {{issue.title|quote}}: <comment>",
        ),
    ],
    "issues": [
        ({"action": ["labeled", "unlabeled"], "label": "*"}, "<acted> <issue> (label {{label.name|quote}})"),
        ({"action": ["assigned", "unassigned"], "assignee": "*"}, "<acted> <issue> (assignee {{assignee.login}})"),
        (
            {"action": ["milestoned", "demilestoned"], "milestone": "*"},
            "<acted> <issue> (milestone {{milestone.title|quote}})",
        ),
        (
            {"action": "transferred", "changes.new_repository": "*"},
            "<acted> <issue> to {{changes.new_repository.full_name}}",
        ),
        ({"action": "closed", "issue.state_reason": "*"}, "<acted> <issue> ({{issue.state_reason|words}})"),
    ],
    "pull_request": [
        (
            {"action": "closed", "pull_request.merged": True},
            "<actor> merged and closed <pull request> (into {{pull_request.base.ref}})",
        ),
        ({"action": "closed"}, "<actor> closed <pull request> without a merge"),
        ({"action": "synchronize"}, "<actor> synchronized <pull request> (commit {{pull_request.head.sha|short}})"),
        (
            {"action": "review_requested", "requested_team": "*"},
            "<actor> requested a review of <pull request> from team {{requested_team.name|quote}}",
        ),
        (
            {"action": "review_requested"},
            '<actor> requested a review of <pull request> from {{requested_reviewer.login|"somebody"}}',
        ),
        (
            {"action": "review_request_removed"},
            "<actor> removed a review request of <pull request>"
            " ({{requested_reviewer.login}} {{requested_team.name|quote}})",
        ),
        ({"action": "ready_for_review"}, "<actor> marked <pull request> as ready for review"),
        ({"action": "converted_to_draft"}, "<actor> converted <pull request> to a draft"),
        ({"action": "auto_merge_enabled"}, "<actor> enabled auto-merge of <pull request>"),
        ({"action": "auto_merge_disabled"}, "<actor> disabled auto-merge of <pull request>: {{reason}}"),
        ({"action": ["enqueued", "dequeued"]}, "<pull request> {{action}} for merging ({{reason|words}})"),
        ({"action": ["labeled", "unlabeled"], "label": "*"}, "<acted> <pull request> (label {{label.name|quote}})"),
        (
            {"action": ["assigned", "unassigned"], "assignee": "*"},
            "<acted> <pull request> (assignee {{assignee.login}})",
        ),
        (
            {"action": ["milestoned", "demilestoned"], "milestone": "*"},
            "<acted> <pull request> (milestone {{milestone.title|quote}})",
        ),
        ({"action": "opened", "pull_request.draft": True}, "<actor> opened draft <pull request>"),
    ],
    "push": [
        ({"deleted": True}, "<actor> deleted {{ref|short}}"),
        ({"created": True, "commits[0]": None}, "<actor> created {{ref|short}} at commit {{after|short}}"),
        ({"created": True, "commits[1]": None}, "<actor> created {{ref|short}} with 1 new commit: <head commit>"),
        ({"created": True}, "<actor> created {{ref|short}} with {{commits|count}} new commits, last <head commit>"),
        (
            {"forced": True},
            "<actor> force-pushed {{ref|short}} to {{head_commit.message|first_line|quote}} ({{after|short}})",
        ),
        ({"commits[1]": "*"}, "<actor> pushed {{commits|count}} commits to {{ref|short}}, last <head commit>"),
        (
            {"commits[0]": "*"},
            "<actor> pushed 1 commit to {{ref|short}}: {{commits[0].message|first_line|quote}}"
            " ({{commits[0].id|short}})",
        ),
    ],
    "release": [
        ({"release.prerelease": True}, "<acted> release {{release.tag_name}} {{release.name|quote}} (prerelease)"),
        ({"release.draft": True}, "<acted> release {{release.tag_name}} {{release.name|quote}} (draft)"),
    ],
    "workflow_run": [
        (
            {"action": "completed"},
            "workflow {{workflow_run.name|quote}} #{{workflow_run.run_number}} completed:"
            ' {{workflow_run.conclusion|words|no conclusion}} (branch {{workflow_run.head_branch|"unknown"}},'
            " commit {{workflow_run.head_sha|short}})",
        ),
    ],
}
