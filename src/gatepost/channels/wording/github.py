"""
What the webhooks of GitHub say: a template of text (`channels/wording/text_template.py`) for each event, in `EVENTS`.
Some events say other things in some cases: for these, the first row of `CASES` whose match holds
(`channels/wording/message_template.py`) goes before it. Every text names the action, and
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
    "alert": "alert #{{alert.number}}",
    "head commit": "{{head_commit.message|first_line|quote}} ({{head_commit.id|short}})",
    "app": "GitHub App {{installation.app_slug}}",
}

EVENTS: Final[Mapping[str, str]] = {
    "branch_protection_configuration": "<acted> the branch protection",
    "branch_protection_rule": "<acted> branch protection rule {{rule.name|quote}}",
    "check_run": "check run {{check_run.name|quote}} {{action|words}} (commit {{check_run.head_sha|short}})",
    "check_suite": "check suite of {{check_suite.app.name|quote}} {{action|words}}"
    " (commit {{check_suite.head_sha|short}})",
    "code_scanning_alert": "code scanning <alert> {{alert.rule.description|quote}} {{action|words}} on {{ref|short}}",
    "commit_comment": "<acted> a comment on commit {{comment.commit_id|short}}: <comment>",
    "create": "<actor> created {{ref_type}} {{ref|short}}",
    "custom_property": "<acted> custom property {{definition.property_name|quote}}",
    "custom_property_values": "<acted> custom property values",
    "delete": "<actor> deleted {{ref_type}} {{ref|short}}",
    "dependabot_alert": "Dependabot <alert> {{action|words}}: {{alert.security_advisory.summary|quote}}"
    " in {{alert.dependency.package.name}} ({{alert.security_advisory.severity}})",
    "deploy_key": "<acted> deploy key {{key.title|quote}}",
    "deployment": '<actor> {{action|words|"created"}} a deployment of {{deployment.ref|short}}'
    " to {{deployment.environment}}",
    "deployment_protection_rule": "<acted> a deployment protection rule for environment {{environment}}",
    "deployment_review": "<acted> a deployment review for environment {{environment}}"
    " of workflow run {{workflow_run.name|quote}} #{{workflow_run.run_number}}",
    "deployment_status": '<actor> {{action|words|"created"}} deployment status {{deployment_status.state|words}}'
    " of {{deployment.ref|short}} on {{deployment.environment}}",
    "discussion": "<acted> <discussion>",
    "discussion_comment": "<acted> a comment on <discussion>: <comment>",
    "fork": "<actor> forked the repository to {{forkee.full_name}}",
    "github_app_authorization": "<acted> the authorization of the GitHub App",
    "gollum": "<actor> {{pages[0].action}} wiki page {{pages[0].title|quote}}",
    "installation": "<acted> the installation of <app>",
    "installation_repositories": "<acted> repositories of the installation of <app>",
    "installation_target": "<acted> the account {{account.login}} (was {{changes.login.from}})",
    "issue_comment": "<acted> a comment on <issue>: <comment>",
    "issue_dependencies": "<acted>: issue #{{blocked_issue.number}} {{blocked_issue.title|quote}}"
    " by issue #{{blocking_issue.number}} {{blocking_issue.title|quote}}",
    "issues": "<acted> <issue>",
    "label": "<acted> label {{label.name|quote}}",
    "marketplace_purchase": "<acted> marketplace plan {{marketplace_purchase.plan.name|quote}}"
    " for {{marketplace_purchase.account.login}}",
    "member": "<acted> member {{member.login}}",
    "membership": "<acted> member {{member.login}} (team {{team.name|quote}})",
    "merge_group": "merge group {{merge_group.head_commit.message|first_line|quote}} {{action|words}}"
    " for {{merge_group.base_ref|short}} ({{reason|words}})",
    "meta": "<acted> this webhook",
    "milestone": "<acted> milestone {{milestone.title|quote}}",
    "org_block": "<acted> user {{blocked_user.login}}",
    "organization": "<acted> the organization",
    "package": "<acted> {{package.package_type}} package {{package.name|quote}} {{package.package_version.version}}",
    "page_build": "Pages build of {{build.pusher.login}} {{build.status}} (commit {{build.commit|short}}):"
    " {{build.error.message|quote}}",
    "personal_access_token_request": "<acted> the request of {{personal_access_token_request.owner.login}}"
    " for a personal access token",
    "ping": "<actor> connected webhook {{hook_id}}; ping: {{zen|quote}}",
    "project": "<acted> project {{project.name|quote}}",
    "project_card": "<acted> project card {{project_card.note|first_line|quote}} {{project_card.content_url}}",
    "project_column": "<acted> project column {{project_column.name|quote}}",
    "projects_v2": "<acted> project #{{projects_v2.number}} {{projects_v2.title|quote}}",
    "projects_v2_item": "<acted> a project item ({{projects_v2_item.content_type}})",
    "projects_v2_status_update": "<acted> a project status update: {{projects_v2_status_update.status|words}}"
    " {{projects_v2_status_update.body|first_line|quote}}",
    "public": "<actor> made the repository public",
    "pull_request": "<acted> <pull request>",
    "pull_request_review": "<acted> a review of <pull request>: {{review.state|words}}"
    " {{review.body|first_line|quote}}",
    "pull_request_review_comment": "<acted> a review comment on <pull request> ({{comment.path}}): <comment>",
    "pull_request_review_thread": "<acted> a review thread on <pull request> ({{thread.comments[0].path}})",
    "push": "<actor> pushed commit {{after|short}} to {{ref|short}}",
    "registry_package": "<acted> {{registry_package.package_type}} package {{registry_package.name|quote}}"
    " {{registry_package.package_version.version}}",
    "release": "<acted> release {{release.tag_name}} {{release.name|quote}}",
    "repository": "<acted> the repository",
    "repository_advisory": "repository advisory {{action|words}}: {{repository_advisory.ghsa_id}}"
    " {{repository_advisory.summary|quote}} ({{repository_advisory.severity}})",
    "repository_dispatch": "<actor> dispatched {{action|quote}} on branch {{branch}}",
    "repository_import": "<actor> imported the repository: {{status}}",
    "repository_ruleset": "<acted> ruleset {{repository_ruleset.name|quote}}",
    "repository_vulnerability_alert": "vulnerability <alert> {{action|words}}: {{alert.affected_package_name}}"
    " {{alert.affected_range}} ({{alert.severity}})",
    "secret_scanning_alert": "secret scanning <alert> {{action|words}}: {{alert.secret_type_display_name}}"
    " ({{alert.resolution|words}})",
    "secret_scanning_alert_location": "location of secret scanning <alert> {{action|words}}: {{location.details.path}}",
    "secret_scanning_scan": "secret scanning scan {{action|words}}: {{type|words}} of {{source|words}}",
    "security_advisory": "security advisory {{action|words}}: {{security_advisory.ghsa_id}}"
    " {{security_advisory.summary|quote}} ({{security_advisory.severity}})",
    "security_and_analysis": "<actor> changed the security and analysis settings",
    "sponsorship": "<acted>: sponsorship of {{sponsorship.sponsorable.login}}"
    " by {{sponsorship.sponsor.login}} ({{sponsorship.tier.name}})",
    "star": "<acted> a star of the repository",
    "status": "status of commit {{sha|short}}: {{context}} {{state}}: {{description|quote}}",
    "sub_issues": "<acted>: issue #{{sub_issue.number}} {{sub_issue.title|quote}}"
    " of issue #{{parent_issue.number}} {{parent_issue.title|quote}}",
    "team": "<acted> team {{team.name|quote}}",
    "team_add": "<actor> added team {{team.name|quote}} to the repository",
    "watch": "<acted> watching the repository",
    "workflow_dispatch": "<actor> dispatched workflow {{workflow|quote}} on {{ref|short}}",
    "workflow_job": 'job {{workflow_job.name|quote}} {{action|words}} (branch {{workflow_job.head_branch|"unknown"}})',
    "workflow_run": "workflow {{workflow_run.name|quote}} #{{workflow_run.run_number}} {{action|words}}"
    ' (branch {{workflow_run.head_branch|"unknown"}})',
}

#: for an event that is not in `EVENTS`; `@object` is the member of the payload that is called like the event
OTHER_EVENT: Final = "<acted> {{@event|words}} #{{@object.number}} {{@object.title|quote}} {{@object.name|quote}}"

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
    "code_scanning_alert": [
        (
            {"action": "closed_by_user"},
            "code scanning <alert> {{alert.rule.description|quote}} closed by user <actor>"
            " ({{alert.dismissed_reason}})",
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
    "gollum": [
        ({"pages[1]": "*"}, "<actor> changed {{pages|count}} wiki pages, first {{pages[0].title|quote}}"),
    ],
    "installation": [
        ({"action": ["suspend", "unsuspend"]}, "<acted>ed the installation of <app>"),
        ({"action": "new_permissions_accepted"}, "<actor> accepted new permissions of <app>"),
    ],
    "installation_repositories": [
        ({"action": "added"}, "<actor> added repositories to the installation of <app>: {{repositories_added}}"),
        (
            {"action": "removed"},
            "<actor> removed repositories from the installation of <app>: {{repositories_removed}}",
        ),
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
    "organization": [
        ({"action": "member_added"}, "<actor> added member {{membership.user.login}}"),
        ({"action": "member_removed"}, "<actor> removed member {{membership.user.login}}"),
        ({"action": "member_invited"}, "<actor> invited member {{user.login}} {{invitation.email}}"),
        ({"action": "renamed"}, "<actor> renamed the organization (was {{changes.login.from}})"),
    ],
    "projects_v2_item": [
        (
            {"changes.field_value.field_name": "*"},
            "<acted> {{changes.field_value.field_name|quote}} of a project item ({{projects_v2_item.content_type}})",
        ),
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
    "repository": [
        ({"action": "renamed"}, "<actor> renamed the repository (was {{changes.repository.name.from}})"),
        (
            {"action": "transferred"},
            "<actor> transferred the repository (from {{changes.owner.from.user.login}}"
            " {{changes.owner.from.organization.login}})",
        ),
    ],
    "repository_vulnerability_alert": [
        (
            {"action": "create"},
            "vulnerability <alert> created: {{alert.affected_package_name}} {{alert.affected_range}}"
            " ({{alert.severity}})",
        ),
        (
            {"action": "dismiss"},
            "<actor> dismissed vulnerability <alert>: {{alert.affected_package_name}} {{alert.affected_range}}"
            " ({{alert.dismiss_reason}})",
        ),
    ],
    "team": [
        ({"action": "added_to_repository"}, "<actor> added team {{team.name|quote}} to the repository"),
        ({"action": "removed_from_repository"}, "<actor> removed team {{team.name|quote}} from the repository"),
    ],
    "workflow_job": [
        (
            {"action": "completed"},
            "job {{workflow_job.name|quote}} completed: {{workflow_job.conclusion|words|no conclusion}}"
            ' (workflow {{workflow_job.workflow_name|quote}}, branch {{workflow_job.head_branch|"unknown"}})',
        ),
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
