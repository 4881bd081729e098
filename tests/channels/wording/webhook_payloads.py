"""
Short payloads of webhooks, and the line of each. They are written by us, after what the services document.
"""

from typing import Any

REPOSITORY = {"full_name": "acme/shop"}
SENDER = {"login": "octocat"}
ISSUE = {"number": 3, "title": "The till is stuck"}
PULL_REQUEST = {"number": 7, "title": "Fix the till", "draft": False, "merged": False, "base": {"ref": "main"}}
COMMIT = "6113728f27ae82c7b1a177c8d03f9e96e0adf246"
HEAD = {"id": COMMIT, "message": "Fix the till\n\nIt was stuck."}

GITHUB: list[tuple[str, dict[str, Any], str]] = [
    (
        "pull_request",
        {"action": "opened", "pull_request": PULL_REQUEST},
        'octocat opened pull request #7 "Fix the till"',
    ),
    (
        "pull_request",
        {"action": "closed", "pull_request": PULL_REQUEST | {"merged": True}},
        'octocat merged and closed pull request #7 "Fix the till" (into main)',
    ),
    (
        "pull_request",
        {"action": "review_requested", "pull_request": PULL_REQUEST, "requested_reviewer": {"login": "ana"}},
        'octocat requested a review of pull request #7 "Fix the till" from ana',
    ),
    (
        "pull_request_review",
        {
            "action": "submitted",
            "pull_request": PULL_REQUEST,
            "review": {"state": "changes_requested", "body": "No\ntest"},
        },
        'octocat submitted a review of pull request #7 "Fix the till": changes requested "No"',
    ),
    (
        "issues",
        {"action": "labeled", "issue": ISSUE, "label": {"name": "bug"}},
        'octocat labeled issue #3 "The till is stuck" (label "bug")',
    ),
    ("issues", {"action": "something_new", "issue": ISSUE}, 'octocat something new issue #3 "The till is stuck"'),
    (
        "issue_comment",
        {"action": "created", "issue": ISSUE | {"pull_request": {}}, "comment": {"body": '  \n> quoted "text"\nmore'}},
        'octocat created a comment on pull request #3 "The till is stuck": "> quoted \'text\'"',
    ),
    (
        "push",
        {"ref": "refs/heads/main", "after": COMMIT, "commits": [HEAD], "head_commit": HEAD},
        'octocat pushed 1 commit to branch main: "Fix the till" (6113728)',
    ),
    (
        "push",
        {"ref": "refs/heads/main", "after": COMMIT, "commits": [HEAD] * 3, "head_commit": HEAD},
        'octocat pushed 3 commits to branch main, last "Fix the till" (6113728)',
    ),
    (
        "push",
        {"ref": "refs/heads/main", "after": COMMIT, "forced": True, "commits": [HEAD], "head_commit": HEAD},
        'octocat force-pushed branch main to "Fix the till" (6113728)',
    ),
    (
        "push",
        {"ref": "refs/tags/v1", "created": True, "after": COMMIT, "commits": []},
        "octocat created tag v1 at commit 6113728",
    ),
    (
        "push",
        {"ref": "refs/heads/old", "deleted": True, "commits": [], "head_commit": None},
        "octocat deleted branch old",
    ),
    ("create", {"ref": "fix", "ref_type": "branch"}, "octocat created branch fix"),
    (
        "check_run",
        {
            "action": "completed",
            "check_run": {
                "name": "lint",
                "conclusion": "timed_out",
                "head_sha": COMMIT,
                "check_suite": {"head_branch": "fix"},
            },
        },
        'check run "lint" completed: timed out (commit 6113728, branch fix)',
    ),
    (
        "workflow_run",
        {
            "action": "completed",
            "workflow_run": {"name": "CI", "run_number": 9, "conclusion": None, "head_sha": COMMIT},
        },
        'workflow "CI" #9 completed: no conclusion (branch unknown, commit 6113728)',
    ),
    ("release", {"action": "published", "release": {"tag_name": "v1", "name": None}}, "octocat published release v1"),
    (
        "discussion",
        {
            "action": "answered",
            "discussion": {"number": 4, "title": "Why?"},
            "answer": {"body": "So.", "user": {"login": "bo"}},
        },
        'discussion #4 "Why?" answered by bo: "So."',
    ),
    ("fork", {"forkee": {"full_name": "bo/shop"}}, "octocat triggered fork"),
    ("star", {"action": "created"}, "octocat created star"),
    (
        "dependabot_alert",
        {
            "action": "created",
            "alert": {
                "number": 2,
                "html_url": "https://github.example/alerts/2",
                "dependency": {"package": {"name": "left-pad"}},
                "security_advisory": {"summary": "Pads too far", "severity": "low"},
            },
        },
        "octocat created dependabot alert #2 https://github.example/alerts/2",
    ),
    (
        "brand_new",
        {"action": "made_up", "brand_new": {"number": 5, "title": "New", "html_url": "https://github.example/5"}},
        'octocat made up brand new #5 "New" https://github.example/5',
    ),
    (
        "pull_request_review_thread",
        {"action": "resolved", "pull_request": PULL_REQUEST, "thread": {"comments": []}},
        'octocat resolved pull request review thread #7 "Fix the till"',
    ),
    (
        "commit_comment",
        {"action": "created", "comment": {"commit_id": COMMIT, "body": "Why?\nIt was fine."}},
        'octocat created commit comment "Why?"',
    ),
]


SENTRY_ISSUE = {
    "id": "117",
    "shortId": "SHOP-1A",
    "title": "TypeError: till is undefined",
    "level": "error",
    "web_url": "https://sentry.example/issues/117/",
    "project": {"slug": "shop", "name": "Shop"},
}
SENTRY: list[tuple[str, dict[str, Any], str]] = [
    (
        "issue",
        {"action": "created", "data": {"issue": SENTRY_ISSUE}, "actor": {"type": "application", "name": "Sentry"}},
        'shop: Sentry issue SHOP-1A created: "TypeError: till is undefined" (error) https://sentry.example/issues/117/',
    ),
    (
        "issue",
        {"action": "resolved", "data": {"issue": SENTRY_ISSUE}, "actor": {"type": "user", "name": "Ana"}},
        'shop: Sentry issue SHOP-1A resolved by Ana: "TypeError: till is undefined" (error)'
        " https://sentry.example/issues/117/",
    ),
    (
        "issue",
        {"action": "assigned", "data": {"issue": SENTRY_ISSUE | {"assignedTo": {"name": "Bo"}}}},
        'shop: Sentry issue SHOP-1A assigned to Bo: "TypeError: till is undefined" (error)'
        " https://sentry.example/issues/117/",
    ),
    (
        "event_alert",
        {
            "action": "triggered",
            "data": {
                "event": {
                    "title": "ReferenceError",
                    "level": "error",
                    "issue_id": "117",
                    "web_url": "https://s.example/e",
                },
                "triggered_rule": "Too many",
            },
        },
        'Sentry alert "Too many" triggered: "ReferenceError" (error) https://s.example/e',
    ),
    (
        "metric_alert",
        {
            "action": "critical",
            "data": {
                "description_title": "Critical: errors",
                "description_text": "1000 events in 10 minutes\nFilter: x",
                "web_url": "https://s.example/m",
            },
        },
        'Sentry metric alert critical: "Critical: errors", "1000 events in 10 minutes" https://s.example/m',
    ),
    (
        "comment",
        {
            "action": "created",
            "actor": {"type": "user", "name": "Ana"},
            "data": {"comment": "Looks bad\nreally", "issue_id": 117, "project_slug": "shop"},
        },
        'shop: Ana created a comment on Sentry issue 117: "Looks bad"',
    ),
]


JIRA_ISSUE = {
    "key": "SHOP-12",
    "fields": {
        "summary": "The till is stuck",
        "issuetype": {"name": "Bug"},
        "priority": {"name": "High"},
        "status": {"name": "To Do"},
    },
}
ANA = {"displayName": "Ana Alvarez"}
DOCUMENT = {
    "type": "doc",
    "version": 1,
    "content": [{"type": "paragraph", "content": [{"type": "text", "text": "Seen"}]}],
}
JIRA: list[tuple[dict[str, Any], str]] = [
    (
        {"webhookEvent": "jira:issue_created", "user": ANA, "issue": JIRA_ISSUE},
        'Ana Alvarez created Bug SHOP-12 "The till is stuck" (High)',
    ),
    (
        {
            "webhookEvent": "jira:issue_updated",
            "user": ANA,
            "issue": JIRA_ISSUE,
            "changelog": {"items": [{"field": "status", "fromString": "To Do", "toString": "Done"}]},
        },
        'Ana Alvarez updated SHOP-12 "The till is stuck": status from "To Do" to "Done"',
    ),
    (
        {
            "webhookEvent": "jira:issue_updated",
            "user": ANA,
            "issue": JIRA_ISSUE,
            "changelog": {"items": [{"field": "assignee", "fromString": None, "toString": "Bo"}, {"field": "rank"}]},
        },
        'Ana Alvarez updated SHOP-12 "The till is stuck": 2 changes, first assignee from nothing to "Bo"',
    ),
    (
        {"webhookEvent": "jira:issue_updated", "user": ANA, "issue": JIRA_ISSUE},
        'Ana Alvarez updated SHOP-12 "The till is stuck" (To Do)',
    ),
    (
        {"webhookEvent": "comment_created", "issue": JIRA_ISSUE, "comment": {"author": ANA, "body": "Seen\ntoday"}},
        'Ana Alvarez created a comment on SHOP-12 "The till is stuck": "Seen"',
    ),
    (
        {"webhookEvent": "comment_created", "issue": JIRA_ISSUE, "comment": {"author": ANA, "body": DOCUMENT}},
        'Ana Alvarez created a comment on SHOP-12 "The till is stuck": "Seen"',
    ),
    ({"webhookEvent": "sprint_started", "sprint": {"name": "Sprint 4"}}, 'sprint started "Sprint 4"'),
    ({"webhookEvent": "jira:version_released", "version": {"name": "1.4"}}, 'jira version released "1.4"'),
]


PROJECT = {"path_with_namespace": "acme/shop"}
OTHERS: list[tuple[str, dict[str, str], dict[str, Any], str]] = [
    (
        "header",
        {"X-Gitlab-Event": "Merge Request Hook"},
        {
            "object_kind": "merge_request",
            "user": {"username": "ana"},
            "project": PROJECT,
            "object_attributes": {"iid": 7, "title": "Fix the till", "action": "open", "target_branch": "main"},
        },
        'acme/shop: ana opened merge request !7 "Fix the till" (into main)',
    ),
    (
        "header",
        {},
        {
            "object_kind": "note",
            "user": {"username": "ana"},
            "project": PROJECT,
            "object_attributes": {"note": "Why?", "noteable_type": "Issue"},
            "issue": {"iid": 3, "title": "Stuck"},
        },
        'acme/shop: ana commented on issue #3 "Stuck": "Why?"',
    ),
    (
        "header",
        {},
        {
            "object_kind": "pipeline",
            "project": PROJECT,
            "object_attributes": {"id": 31, "status": "failed", "ref": "main", "sha": COMMIT},
        },
        "acme/shop: pipeline #31 failed (branch main, commit 6113728)",
    ),
    (
        "header",
        {},
        {
            "object_kind": "push",
            "user_username": "ana",
            "project": PROJECT,
            "ref": "refs/heads/main",
            "after": COMMIT,
            "total_commits_count": 2,
            "commits": [{"message": "One"}, {"message": "Two\n"}],
        },
        'acme/shop: ana pushed 2 commits to branch main, last "Two"',
    ),
    (
        "stripe",
        {},
        {
            "object": "event",
            "type": "invoice.paid",
            "livemode": True,
            "data": {
                "object": {"object": "invoice", "id": "in_1", "status": "paid", "amount_paid": 2000, "currency": "eur"}
            },
        },
        "invoice.paid: invoice in_1 paid, 2000 in the smallest unit of eur",
    ),
    (
        "stripe",
        {},
        {
            "object": "event",
            "type": "customer.created",
            "livemode": False,
            "data": {"object": {"object": "customer", "id": "cus_1"}},
        },
        "customer.created: customer cus_1 (test mode)",
    ),
    (
        "slack",
        {},
        {"type": "event_callback", "event": {"type": "message", "user": "U1", "channel": "C1", "text": "Hi\nall"}},
        'user U1 wrote in C1: "Hi"',
    ),
]
