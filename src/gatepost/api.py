# ruff: noqa: F403, PLC0414
"""
What Gatepost can be asked from outside: every request, and the models of the answers.

    from gatepost.api import PushEvent

A name is imported from its room when it is first used. `tools/facade.py` writes this file.
"""

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from gatepost.channels.chat_api import *
    from gatepost.channels.conversation_api import *
    from gatepost.channels.routing.api import *
    from gatepost.channels.shared_inbox.api import *
    from gatepost.channels.telegram.api import *
    from gatepost.channels.triggers.api import *
    from gatepost.directory.attention_api import *
    from gatepost.directory.entity_api import *
    from gatepost.directory.key_api import *
    from gatepost.directory.sign_in_api import *
    from gatepost.gates.decision_api import *
    from gatepost.gates.gate_api import *
    from gatepost.gateway.health_api import *
    from gatepost.guests.setup_api import *
    from gatepost.inbox.account_api import *
    from gatepost.inbox.event_api import *
    from gatepost.inbox.item_api import *
    from gatepost.inbox.push.api import *
    from gatepost.inbox.triage_api import *
    from gatepost.ledger.connections.api import *
    from gatepost.ledger.topic_api import *
    from gatepost.mail.mail_api import *
    from gatepost.mail.work_api import *
    from gatepost.operations.operation import Page as Page
    from gatepost.plans.api import *
    from gatepost.reports.fire_list_api import *
    from gatepost.reports.history_api import *
    from gatepost.reports.overview_api import *
    from gatepost.residents.agent_api import *
    from gatepost.residents.model_api import *
    from gatepost.residents.runs.api import *
    from gatepost.residents.runs.mind_api import *
    from gatepost.residents.stream_api import *
    from gatepost.residents.usage_api import *
    from gatepost.settings.api import *
    from gatepost.spaces.api import *

#: the names that each module has
_NAMES: Final = {
    "channels.chat_api": "ChatView SendChat",
    "channels.conversation_api": (
        "ApprovePairing ChannelSessionView ChannelStatusView EndPairing ListChannelSessions ListChannels ListPairings "
        "PairingView RefusePairing"
    ),
    "channels.routing.api": (
        "ChangeRoute CreateRoute DeleteRoute DiscardDeadLetter ListDeadLetters ListRoutes ReplayDeadLetter "
        "ReplayedMessageView RouteView ShowRoute UnroutedMessageView UnroutedOutcome UnroutedReason"
    ),
    "channels.shared_inbox.api": (
        "EntryKind ListSharedEntries QuestionStatus SharedEntryView ShowSharedEntry WatchSharedInbox"
    ),
    "channels.telegram.api": "ReceiveTelegramUpdate TelegramUpdateView",
    "channels.triggers.api": (
        "AddTrigger ChangeTrigger DeleteTrigger HeartbeatSpec HeartbeatView ListTriggers PreviewTrigger "
        "PreviewedEventView ReceiveWebhook ReceivedEventView ScheduleSpec ScheduleView ShowTrigger TriggerFields "
        "TriggerPreviewView TriggerView WebhookView"
    ),
    "directory.attention_api": "SetAttention",
    "directory.entity_api": "AttentionView ChangeEntity EntityView ListEntities RegisterEntity RetireEntity ShowEntity",
    "directory.key_api": "CreateKey KeyView ListKeys NewKeyView RevokeKey",
    "directory.sign_in_api": "CallerView CreateSignInLink ShowCaller SignIn SignInLinkView SignOut",
    "gates.decision_api": (
        "ActionSpec ActionView AnswerDecision AskDecision ClaimOutcome DecisionAnswerView DecisionView "
        "DelegateDecision ListDecisions OptionSpec OptionView QuestionRequest ReviseDecision ShowDecision "
        "WithdrawDecision"
    ),
    "gates.gate_api": "AddGate AddWaiter GateStatus GateView ListGates ResolutionView ResolveGate ShowGate",
    "gateway.health_api": "AccountingView HealthView ReadMetrics ShowHealth TransportView",
    "guests.setup_api": "AgentSetupView SetupCommandView ShowAgentSetup",
    "inbox.account_api": "AccountPage AccountTotalView AccountView CheckStore ListAccounts StoreCheckView",
    "inbox.event_api": (
        "DiscardEvent EventDetailView EventRouteView EventView ItemView ItemsView MarkDone ReceiptView RecipientView "
        "RefSpec RefView ReplayEvent ShowEvent"
    ),
    "inbox.item_api": (
        "AckClaim AckedView BatchView ClaimBatch ClaimView DrainInbox FilterFields ItemsRequest ListInbox ListItems "
        "MarkSeen PeekInbox ReleaseClaim ReleasedView SeenView ShowAccount WatchAll WatchInbox"
    ),
    "inbox.push.api": (
        "DeliveryView PushEvent PushEvents PushOutcomeView PushOutcomesView PushResultView PushRoute TriggerAgent "
        "TriggeredView"
    ),
    "inbox.triage_api": (
        "CompleteItems DiscardItems ItemGroupView ItemGroupsView ListItemGroups Matching SnoozeItems TriageView "
        "UndoDone UnsnoozeItems"
    ),
    "ledger.connections.api": (
        "AcceptConnection CloseConnection ConnectionState ConnectionView ListConnections RefuseConnection "
        "RequestConnection"
    ),
    "ledger.topic_api": (
        "ChunkView FaultView LedgerProfileView LedgerSyncStateView LedgerSyncView ListTopicMessages ListTopics "
        "ShowLedgerProfile ShowLedgerSync ShowTopic SyncLedger SyncPart TopicMessageView TopicVerificationView "
        "TopicView VerifyTopic"
    ),
    "mail.mail_api": (
        "ButtonSpec ListMail MailBox MailRecipientView MailView ReplyToEvent SendMail SentReplyView ShowMail"
    ),
    "mail.work_api": (
        "AddWorkItem ListNotes ListWorkEvents ListWorkItems NoteView PostNote PostWorkEvent ShowWorkItem WorkEventView "
        "WorkItemView"
    ),
    "operations.operation": "Page",
    "plans.api": "ChangePlan CreatePlan DeletePlan ListPlans PlanFields PlanFireView PlanView RunPlan ShowPlan",
    "reports.fire_list_api": "FireKind FireView ListFires ListPlanFires ListTriggerFires PastFireView",
    "reports.history_api": "HistoryStepView HistoryView ShowHistory",
    "reports.overview_api": "OverviewView RecentView ShowOverview ThinkingView UnreadSpaceView WaitingView",
    "residents.agent_api": (
        "AgentView BudgetView ChangeAgent ConfigView ConfiguringRequest ListAgents ListSessions LoopRulesView McpView "
        "MindRulesView ModelView PauseAgent PhaseView ReachabilityView RegisterAgent ResumeAgent RetireAgent "
        "SessionView ShowAgent ShowSession ToolRequestView ToolServerView ToolView WakeAgent WatchAgent WokenView"
    ),
    "residents.model_api": "ModelInUseView ModelProblemView ModelProviderView ModelsView ShowModels",
    "residents.runs.api": (
        "AnswerCall CallView CancelRun ListAgentRuns ListRuns ListSteps OpenCallView PromptView ReplayRun ReplayView "
        "ReplyView ResultView RunUsageView RunView RunWithCallsView ShowRun StepView TurnView WatchRun"
    ),
    "residents.runs.mind_api": "GoalView ListGoals ListMemories MemoryView MindView ShowMind",
    "residents.stream_api": (
        "AgentActivityView MessageDeltaView MessageDoneView MessageFailedView MessageStartView ReplyDeltaView "
        "ReplyDoneView ReplyFailedView ReplyStartView StreamedMessageView StreamedReplyView StreamedTextView "
        "ToolDeltaView ToolResultView ToolStartedView ToolUseView ToolWaitingView"
    ),
    "residents.usage_api": (
        "BudgetPage BudgetStatusView ListBudgets ListExpensiveRuns ShowUsage UsageDimension UsagePage UsageView"
    ),
    "settings.api": "SettingView SettingsView ShowSettings",
    "spaces.api": (
        "AddMember ArchiveSpace CreateSpace ListMembers ListSpaces ListedSpaceView MarkRead MemberView MessagePage "
        "MessageView NewSpaceView PostMessage ReadMessages RemoveMember RenameSpace ShowSpace SpacePage SpaceView "
        "WatchSpace"
    ),
}
_MODULES: Final = {name: module for module, names in _NAMES.items() for name in names.split()}


def __getattr__(name: str) -> Any:
    from importlib import import_module

    if name in _MODULES:
        return getattr(import_module(f"gatepost.{_MODULES[name]}"), name)
    if not name.startswith("_"):
        from gatepost.operations.discovery import find_modules

        for module in find_modules("api"):  # of a noun that was added after this file was written
            if module != __name__ and hasattr(import_module(module), name):
                return getattr(import_module(module), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
