// Written by tools/typescript.py from the operations of the gateway; change those instead.

import type { GatepostEvent } from "./events.js";
import type {
  AcceptConnection,
  Account,
  AccountPage,
  AckClaim,
  Acked,
  AddGate,
  AddMember,
  AddTrigger,
  AddWaiter,
  AddWorkItem,
  Agent,
  AgentPage,
  AgentSetup,
  AnswerCall,
  AnswerDecision,
  ApprovePairing,
  ArchiveSpace,
  AskDecision,
  Batch,
  BudgetPage,
  Caller,
  CancelRun,
  ChangeAgent,
  ChangeEntity,
  ChangePlan,
  ChangeRoute,
  ChangeTrigger,
  ChannelSessionPage,
  ChannelStatusPage,
  Chat,
  CheckStore,
  ClaimBatch,
  ClaimOutcome,
  CloseConnection,
  CompleteItems,
  Connection,
  ConnectionPage,
  CreateKey,
  CreatePlan,
  CreateRoute,
  CreateSignInLink,
  CreateSpace,
  Decision,
  DecisionPage,
  DelegateDecision,
  DeletePlan,
  DeleteRoute,
  DeleteTrigger,
  DiscardDeadLetter,
  DiscardEvent,
  DiscardItems,
  DrainInbox,
  EndPairing,
  Entity,
  EntityPage,
  EventDetail,
  FirePage,
  Gate,
  GatePage,
  GoalPage,
  Health,
  History,
  ItemGroups,
  ItemPage,
  Items,
  Key,
  KeyPage,
  LedgerProfile,
  LedgerSync,
  LedgerSyncState,
  ListAccounts,
  ListAgentRuns,
  ListAgents,
  ListBudgets,
  ListChannelSessions,
  ListChannels,
  ListConnections,
  ListDeadLetters,
  ListDecisions,
  ListEntities,
  ListExpensiveRuns,
  ListFires,
  ListGates,
  ListGoals,
  ListInbox,
  ListItemGroups,
  ListItems,
  ListKeys,
  ListMail,
  ListMembers,
  ListMemories,
  ListNotes,
  ListPairings,
  ListPlanFires,
  ListPlans,
  ListRoutes,
  ListRuns,
  ListSessions,
  ListSharedEntries,
  ListSpaces,
  ListSteps,
  ListTopicMessages,
  ListTopics,
  ListTriggerFires,
  ListTriggers,
  ListWorkEvents,
  ListWorkItems,
  Mail,
  MailPage,
  MarkDone,
  MarkRead,
  MarkSeen,
  Member,
  MemberPage,
  MemoryPage,
  Message,
  MessagePage,
  Mind,
  Models,
  NewKey,
  NewSpace,
  Note,
  NotePage,
  OpenCall,
  Overview,
  Pairing,
  PairingPage,
  PastFirePage,
  PauseAgent,
  PeekInbox,
  Plan,
  PlanFire,
  PlanPage,
  PostMessage,
  PostNote,
  PostWorkEvent,
  PreviewTrigger,
  PushEvent,
  PushEvents,
  PushOutcomes,
  PushResult,
  ReadMessages,
  ReadMetrics,
  RefuseConnection,
  RefusePairing,
  RegisterAgent,
  RegisterEntity,
  ReleaseClaim,
  Released,
  RemoveMember,
  RenameSpace,
  Replay,
  ReplayDeadLetter,
  ReplayEvent,
  ReplayRun,
  ReplayedMessage,
  ReplyToEvent,
  RequestConnection,
  ResolveGate,
  ResumeAgent,
  RetireAgent,
  RetireEntity,
  ReviseDecision,
  RevokeKey,
  Route,
  RoutePage,
  Run,
  RunPage,
  RunPlan,
  RunWithCalls,
  Seen,
  SendChat,
  SendMail,
  SentReply,
  Session,
  SessionPage,
  SetAttention,
  Settings,
  SharedEntry,
  SharedEntryPage,
  ShowAccount,
  ShowAgent,
  ShowAgentSetup,
  ShowCaller,
  ShowDecision,
  ShowEntity,
  ShowEvent,
  ShowGate,
  ShowHealth,
  ShowHistory,
  ShowLedgerProfile,
  ShowLedgerSync,
  ShowMail,
  ShowMind,
  ShowModels,
  ShowOverview,
  ShowPlan,
  ShowRoute,
  ShowRun,
  ShowSession,
  ShowSettings,
  ShowSharedEntry,
  ShowSpace,
  ShowTopic,
  ShowTrigger,
  ShowUsage,
  ShowWorkItem,
  SignInLink,
  SnoozeItems,
  Space,
  SpacePage,
  StepPage,
  StoreCheck,
  SyncLedger,
  Topic,
  TopicMessagePage,
  TopicPage,
  TopicVerification,
  Triage,
  Trigger,
  TriggerAgent,
  TriggerPage,
  TriggerPreview,
  Triggered,
  UndoDone,
  UnroutedMessage,
  UnroutedMessagePage,
  UnsnoozeItems,
  UsagePage,
  VerifyTopic,
  WakeAgent,
  WatchAgent,
  WatchAll,
  WatchInbox,
  WatchRun,
  WatchSharedInbox,
  WatchSpace,
  WithdrawDecision,
  Woken,
  WorkEvent,
  WorkEventPage,
  WorkItem,
  WorkItemPage,
} from "./models.js";
import type { CallOptions, Operation, StreamOptions } from "./options.js";

/** One method for each operation. The client says how an operation is called, and how a stream is read. */
export abstract class Operations {
  protected abstract call<Answer>(operation: Operation, request: object, options?: CallOptions): Promise<Answer>;
  protected abstract watch(path: string, request: object, options?: StreamOptions): AsyncGenerator<GatepostEvent>;

  /**
   * List the accounts of all inboxes: first those that do not balance, then those with the most items that wait or are
   * dead.
   */
  listAccounts(request: ListAccounts = {}, options?: CallOptions): Promise<AccountPage> {
    return this.call(["GET", "/api/health/accounts", "safe"], request, options);
  }

  /** Check that the accounts balance, and that no row belongs to nothing, as `gatepost doctor` does. */
  checkStore(request: CheckStore = {}, options?: CallOptions): Promise<StoreCheck> {
    return this.call(["GET", "/api/health/check", "safe"], request, options);
  }

  /** Show the commands that connect an agent program as this agent. */
  showAgentSetup(request: ShowAgentSetup, options?: CallOptions): Promise<AgentSetup> {
    return this.call(["GET", "/api/agents/{name}/setup", "safe"], request, options);
  }

  /** Show the providers of models and the models in use, and what each lacks here: its library, or its key. */
  showModels(request: ShowModels = {}, options?: CallOptions): Promise<Models> {
    return this.call(["GET", "/api/models", "safe"], request, options);
  }

  /** Register an agent: a resident if anything of a configuration is given, else a guest, without capabilities. */
  registerAgent(request: RegisterAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["POST", "/api/agents", "keyed"], request, options);
  }

  /** List agents, in order of registration, without their configurations. */
  listAgents(request: ListAgents = {}, options?: CallOptions): Promise<AgentPage> {
    return this.call(["GET", "/api/agents", "safe"], request, options);
  }

  /** Show an agent, by its name or an alias; its configuration only to itself and the administrator. */
  showAgent(request: ShowAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["GET", "/api/agents/{name}", "safe"], request, options);
  }

  /** Change what is named in the body; the rest stays. A guest that is given a configuration becomes a resident. */
  changeAgent(request: ChangeAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["PATCH", "/api/agents/{name}", "keyed"], request, options);
  }

  /** Retire an agent: it keeps its history and receives nothing more. */
  retireAgent(request: RetireAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["DELETE", "/api/agents/{name}", "keyed"], request, options);
  }

  /** Let an agent look at its inbox; if it is empty, nothing else happens. */
  wakeAgent(request: WakeAgent, options?: CallOptions): Promise<Woken> {
    return this.call(["POST", "/api/agents/{name}/wake", "safe"], request, options);
  }

  /** Keep a resident from beginning cycles; its inbox fills meanwhile. A run under way ends after its present step. */
  pauseAgent(request: PauseAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["POST", "/api/agents/{name}/pause", "keyed"], request, options);
  }

  /** Let a paused resident think again. */
  resumeAgent(request: ResumeAgent, options?: CallOptions): Promise<Agent> {
    return this.call(["POST", "/api/agents/{name}/resume", "keyed"], request, options);
  }

  /** Show a guest session of the caller, by the id that its program gave it: whose it is, and what it is doing. */
  showSession(request: ShowSession, options?: CallOptions): Promise<Session> {
    return this.call(["GET", "/api/sessions/{id}", "safe"], request, options);
  }

  /** List the guest sessions of the caller or of an agent that it owns, the newest first; for the administrator all. */
  listSessions(request: ListSessions = {}, options?: CallOptions): Promise<SessionPage> {
    return this.call(["GET", "/api/sessions", "safe"], request, options);
  }

  /** Watch all that concerns an agent: its inbox, its spaces, its activity. Resumes from Last-Event-ID. */
  watchAgent(request: WatchAgent, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/agents/{name}/stream", request, options);
  }

  /** Show what a resident would begin its next cycle with. */
  showMind(request: ShowMind, options?: CallOptions): Promise<Mind> {
    return this.call(["GET", "/api/agents/{name}/mind", "safe"], request, options);
  }

  /** List the goals of an agent, the most important first. */
  listGoals(request: ListGoals, options?: CallOptions): Promise<GoalPage> {
    return this.call(["GET", "/api/agents/{name}/goals", "safe"], request, options);
  }

  /** List the memories of an agent, the newest first. */
  listMemories(request: ListMemories, options?: CallOptions): Promise<MemoryPage> {
    return this.call(["GET", "/api/agents/{name}/memories", "safe"], request, options);
  }

  /** List the channels on which people write: those that are built in, and the bots. */
  listChannels(request: ListChannels = {}, options?: CallOptions): Promise<ChannelStatusPage> {
    return this.call(["GET", "/api/channels", "safe"], request, options);
  }

  /** List conversations, in the order in which they began: those of the caller, for the administrator all. */
  listChannelSessions(request: ListChannelSessions = {}, options?: CallOptions): Promise<ChannelSessionPage> {
    return this.call(["GET", "/api/channels/sessions", "safe"], request, options);
  }

  /** List the users who asked to be let in, in the order in which they asked. */
  listPairings(request: ListPairings = {}, options?: CallOptions): Promise<PairingPage> {
    return this.call(["GET", "/api/channels/pairings", "safe"], request, options);
  }

  /**
   * Let a user in. The code proves that the user who asks here is the one who wrote to the bot: a name on a channel
   * proves nothing. From then on what the user writes is from the person.
   */
  approvePairing(request: ApprovePairing, options?: CallOptions): Promise<Pairing> {
    return this.call(["POST", "/api/channels/pairings", "keyed"], request, options);
  }

  /** Refuse to let a user in. The user is not told. */
  refusePairing(request: RefusePairing, options?: CallOptions): Promise<Pairing> {
    return this.call(["POST", "/api/channels/pairings/refuse", "keyed"], request, options);
  }

  /** End a pairing: the user has to ask again, and nothing more is sent to its chat. */
  endPairing(request: EndPairing, options?: CallOptions): Promise<Pairing> {
    return this.call(["DELETE", "/api/channels/pairings/{id}", "keyed"], request, options);
  }

  /**
   * Write as a person. A text that answers a question in the same session answers it; another one is a prompt, and goes
   * to whom the rules name.
   */
  sendChat(request: SendChat = {}, options?: CallOptions): Promise<Chat> {
    return this.call(["POST", "/api/chat", "keyed"], request, options);
  }

  /** List the connections of the caller, the oldest first; for the administrator all. */
  listConnections(request: ListConnections = {}, options?: CallOptions): Promise<ConnectionPage> {
    return this.call(["GET", "/api/ledger/connections", "safe"], request, options);
  }

  /** Ask an agent outside for a connection. A gateway posts the request to its inbound topic. */
  requestConnection(request: RequestConnection = {}, options?: CallOptions): Promise<Connection> {
    return this.call(["POST", "/api/ledger/connections", "keyed"], request, options);
  }

  /** Accept what an agent outside has asked for. The connection is open when its topic is on the ledger. */
  acceptConnection(request: AcceptConnection, options?: CallOptions): Promise<Connection> {
    return this.call(["POST", "/api/ledger/connections/{id}/accept", "keyed"], request, options);
  }

  /** Refuse what an agent outside has asked for. Nothing is posted. */
  refuseConnection(request: RefuseConnection, options?: CallOptions): Promise<Connection> {
    return this.call(["POST", "/api/ledger/connections/{id}/refuse", "keyed"], request, options);
  }

  /** End a connection, or withdraw a request that was not answered. */
  closeConnection(request: CloseConnection, options?: CallOptions): Promise<Connection> {
    return this.call(["POST", "/api/ledger/connections/{id}/close", "keyed"], request, options);
  }

  /** Ask for a decision. A gate keeps its asker from stopping until it is answered. */
  askDecision(request: AskDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["POST", "/api/decisions", "keyed"], request, options);
  }

  /** List the decisions that the caller asked or was asked, in that order; for the administrator all. */
  listDecisions(request: ListDecisions = {}, options?: CallOptions): Promise<DecisionPage> {
    return this.call(["GET", "/api/decisions", "safe"], request, options);
  }

  /** Show a decision that the caller asked or was asked; the administrator sees all. */
  showDecision(request: ShowDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["GET", "/api/decisions/{id}", "safe"], request, options);
  }

  /** Answer a decision. The first answer counts, by whichever door it comes; a later one gets 409 with the first. */
  answerDecision(request: AnswerDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["PUT", "/api/decisions/{id}/answer", "keyed"], request, options);
  }

  /** Pass a question on: somebody else is asked instead of the caller, in another round. */
  delegateDecision(request: DelegateDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["PUT", "/api/decisions/{id}/respondents", "keyed"], request, options);
  }

  /** Ask again in another round, such as after the question was sent back. */
  reviseDecision(request: ReviseDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["PUT", "/api/decisions/{id}/question", "keyed"], request, options);
  }

  /** Withdraw a question: it need not be answered any more. */
  withdrawDecision(request: WithdrawDecision, options?: CallOptions): Promise<Decision> {
    return this.call(["DELETE", "/api/decisions/{id}", "keyed"], request, options);
  }

  /**
   * Claim the item that tells the asker how a decision has ended, also while it is hidden: for a program that follows
   * the decision and shows the answer itself. Ack or release the claim.
   */
  claimOutcome(request: ClaimOutcome, options?: CallOptions): Promise<Batch> {
    return this.call(["POST", "/api/decisions/{id}/claim", "never"], request, options);
  }

  /** Register an agent, a human or a service. */
  registerEntity(request: RegisterEntity, options?: CallOptions): Promise<Entity> {
    return this.call(["POST", "/api/entities", "keyed"], request, options);
  }

  /** List entities, in order of registration. */
  listEntities(request: ListEntities = {}, options?: CallOptions): Promise<EntityPage> {
    return this.call(["GET", "/api/entities", "safe"], request, options);
  }

  /** Show an agent, a human or a service, by its name or an alias. */
  showEntity(request: ShowEntity, options?: CallOptions): Promise<Entity> {
    return this.call(["GET", "/api/entities/{name}", "safe"], request, options);
  }

  /** Change what is named in the body; the rest stays. */
  changeEntity(request: ChangeEntity, options?: CallOptions): Promise<Entity> {
    return this.call(["PATCH", "/api/entities/{name}", "keyed"], request, options);
  }

  /** Retire an entity: it keeps its history and receives nothing more. */
  retireEntity(request: RetireEntity, options?: CallOptions): Promise<Entity> {
    return this.call(["DELETE", "/api/entities/{name}", "keyed"], request, options);
  }

  /**
   * Say what may wake an agent, or notify a person, until a time. What comes meanwhile waits in the inbox, and wakes at
   * that time. An agent or a person says it for itself; its owner may, too.
   */
  setAttention(request: SetAttention, options?: CallOptions): Promise<Entity> {
    return this.call(["PUT", "/api/entities/{name}/attention", "keyed"], request, options);
  }

  /** Show an event with its state for each recipient; an entity's own credential sees its own state. */
  showEvent(request: ShowEvent, options?: CallOptions): Promise<EventDetail> {
    return this.call(["GET", "/api/events/{id}", "safe"], request, options);
  }

  /** Make dead, expired and discarded items pending again; a delivered item comes as a new event. */
  replayEvent(request: ReplayEvent, options?: CallOptions): Promise<Items> {
    return this.call(["POST", "/api/events/{id}/replay", "keyed"], request, options);
  }

  /** Discard pending and dead items. */
  discardEvent(request: DiscardEvent, options?: CallOptions): Promise<Items> {
    return this.call(["POST", "/api/events/{id}/discard", "keyed"], request, options);
  }

  /** Mark a person's item as done; the administrator's own, unless another person is named. */
  markDone(request: MarkDone, options?: CallOptions): Promise<Items> {
    return this.call(["POST", "/api/events/{id}/done", "keyed"], request, options);
  }

  /** List when the plans and the cron triggers of the caller fire next; for the administrator all, or an owner's. */
  listFires(request: ListFires = {}, options?: CallOptions): Promise<FirePage> {
    return this.call(["GET", "/api/fires", "safe"], request, options);
  }

  /** List when a plan of the caller has fired, the newest first; the administrator sees all. */
  listPlanFires(request: ListPlanFires, options?: CallOptions): Promise<PastFirePage> {
    return this.call(["GET", "/api/plans/{id}/fires", "safe"], request, options);
  }

  /**
   * List the fires of a cron trigger, or the deliveries of a webhook, the newest first, and what became of them, to its
   * owners and the administrator. What people write to a bot is in the shared inbox.
   */
  listTriggerFires(request: ListTriggerFires, options?: CallOptions): Promise<PastFirePage> {
    return this.call(["GET", "/api/triggers/{name}/fires", "safe"], request, options);
  }

  /** Make a gate, which keeps its owner from stopping. Only the administrator can make a gate that runs a command. */
  addGate(request: AddGate, options?: CallOptions): Promise<Gate> {
    return this.call(["POST", "/api/gates", "keyed"], request, options);
  }

  /** List the gates that concern the caller, in the order in which they were made; for the administrator all. */
  listGates(request: ListGates = {}, options?: CallOptions): Promise<GatePage> {
    return this.call(["GET", "/api/gates", "safe"], request, options);
  }

  /** Show a gate that concerns the caller; the administrator sees all. */
  showGate(request: ShowGate, options?: CallOptions): Promise<Gate> {
    return this.call(["GET", "/api/gates/{id}", "safe"], request, options);
  }

  /** Resolve a gate or, with `withdraw`, declare it unnecessary. The first end counts. */
  resolveGate(request: ResolveGate, options?: CallOptions): Promise<Gate> {
    return this.call(["PUT", "/api/gates/{id}/resolution", "keyed"], request, options);
  }

  /** Add a waiter, which gets an event when the gate ends. */
  addWaiter(request: AddWaiter, options?: CallOptions): Promise<Gate> {
    return this.call(["POST", "/api/gates/{id}/waiters", "keyed"], request, options);
  }

  /** Show whether the gateway is live and ready, whether the accounts balance, and the age of the oldest item. */
  showHealth(request: ShowHealth = {}, options?: CallOptions): Promise<Health> {
    return this.call(["GET", "/health", "safe", [503]], request, options);
  }

  /** Read counts and times, in the text format of Prometheus. */
  readMetrics(request: ReadMetrics = {}, options?: CallOptions): Promise<string> {
    return this.call(["GET", "/metrics", "safe"], request, options);
  }

  /** Show throughput, waits and runs of a store up to now, in 60 steps of equal length, and its size. */
  showHistory(request: ShowHistory = {}, options?: CallOptions): Promise<History> {
    return this.call(["GET", "/api/health/history", "safe"], request, options);
  }

  /** List the items of all inboxes in order of arrival. */
  listItems(request: ListItems = {}, options?: CallOptions): Promise<ItemPage> {
    return this.call(["GET", "/api/inbox", "safe"], request, options);
  }

  /** List the items of an inbox in order of arrival, in every state. */
  listInbox(request: ListInbox, options?: CallOptions): Promise<ItemPage> {
    return this.call(["GET", "/api/inbox/{name}", "safe"], request, options);
  }

  /** Show how many items an inbox accepted, and how many are in each state. */
  showAccount(request: ShowAccount, options?: CallOptions): Promise<Account> {
    return this.call(["GET", "/api/inbox/{name}/account", "safe"], request, options);
  }

  /** List the pending items, most urgent first; nothing changes. */
  peekInbox(request: PeekInbox, options?: CallOptions): Promise<ItemPage> {
    return this.call(["GET", "/api/inbox/{name}/peek", "safe"], request, options);
  }

  /**
   * Claim the next batch and mark it as delivered once this answer has been sent. If the connection breaks before that,
   * the items come again.
   */
  drainInbox(request: DrainInbox, options?: CallOptions): Promise<Batch> {
    return this.call(["POST", "/api/inbox/{name}/drain", "never"], request, options);
  }

  /** Claim the next batch for some time; ack or release it. */
  claimBatch(request: ClaimBatch, options?: CallOptions): Promise<Batch> {
    return this.call(["POST", "/api/inbox/{name}/claim", "never"], request, options);
  }

  /** Mark the items of a claim as delivered: they were read. */
  ackClaim(request: AckClaim, options?: CallOptions): Promise<Acked> {
    return this.call(["POST", "/api/inbox/{name}/ack", "keyed"], request, options);
  }

  /** Make the items of a claim pending again; a failure is counted for those that `failed`. */
  releaseClaim(request: ReleaseClaim, options?: CallOptions): Promise<Released> {
    return this.call(["POST", "/api/inbox/{name}/release", "keyed"], request, options);
  }

  /** Record that items were seen. */
  markSeen(request: MarkSeen, options?: CallOptions): Promise<Seen> {
    return this.call(["POST", "/api/inbox/{name}/seen", "safe"], request, options);
  }

  /** Watch new items as they come. Resumes from Last-Event-ID. */
  watchInbox(request: WatchInbox, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/inbox/{name}/stream", request, options);
  }

  /**
   * Watch spaces and inboxes in one stream: those named, or all of the caller's own, with its shared inbox. Resumes
   * from Last-Event-ID. Where nothing is named, the administrator sees all spaces, its own inbox, the whole shared
   * inbox, all gates and decisions, and which agents are thinking. Of more than 200 spaces the stream has the 200
   * newest.
   */
  watchAll(request: WatchAll = {}, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/stream", request, options);
  }

  /**
   * Count the items of an inbox that a filter lets through, those alike as one group: at most 200 groups, the most
   * urgent first, then the largest.
   */
  listItemGroups(request: ListItemGroups, options?: CallOptions): Promise<ItemGroups> {
    return this.call(["GET", "/api/inbox/{name}/groups", "safe"], request, options);
  }

  /** Mark items of a person as done: these, or up to 1,000 that a filter lets through. */
  completeItems(request: CompleteItems, options?: CallOptions): Promise<Triage> {
    return this.call(["POST", "/api/inbox/{name}/done", "keyed"], request, options);
  }

  /**
   * Make items pending again that a person was done with in the last 10 seconds: these, or all of one receipt. The
   * senders of mail have heard that it was read.
   */
  undoDone(request: UndoDone, options?: CallOptions): Promise<Triage> {
    return this.call(["POST", "/api/inbox/{name}/undo", "keyed"], request, options);
  }

  /** Discard pending or dead items: these, or up to 1,000 that a filter lets through. Questions stay. */
  discardItems(request: DiscardItems, options?: CallOptions): Promise<Triage> {
    return this.call(["POST", "/api/inbox/{name}/discard", "keyed"], request, options);
  }

  /**
   * Hide pending items until a time or an event, whichever comes first: these, or up to 1,000 that a filter lets
   * through. They stay pending; nobody reads them meanwhile, and they wake their recipient when they are shown again.
   */
  snoozeItems(request: SnoozeItems, options?: CallOptions): Promise<Triage> {
    return this.call(["POST", "/api/inbox/{name}/snooze", "keyed"], request, options);
  }

  /** Show snoozed items again now: these, or up to 1,000 that a filter lets through. */
  unsnoozeItems(request: UnsnoozeItems, options?: CallOptions): Promise<Triage> {
    return this.call(["POST", "/api/inbox/{name}/unsnooze", "keyed"], request, options);
  }

  /**
   * Create a key: for one agent, for one agent's trigger, public, or else the administrator's. It is shown this once.
   */
  createKey(request: CreateKey = {}, options?: CallOptions): Promise<NewKey> {
    return this.call(["POST", "/api/keys", "never"], request, options);
  }

  /** List keys by their prefixes, also revoked ones, in the order in which they were created. */
  listKeys(request: ListKeys = {}, options?: CallOptions): Promise<KeyPage> {
    return this.call(["GET", "/api/keys", "safe"], request, options);
  }

  /** Revoke a key, named by its id or prefix, for ever. */
  revokeKey(request: RevokeKey, options?: CallOptions): Promise<Key> {
    return this.call(["DELETE", "/api/keys/{id}", "keyed"], request, options);
  }

  /** List the topics of the caller and those of everybody, the oldest first; for the administrator all. */
  listTopics(request: ListTopics = {}, options?: CallOptions): Promise<TopicPage> {
    return this.call(["GET", "/api/ledger/topics", "safe"], request, options);
  }

  /** Show a topic, and how many messages it has. */
  showTopic(request: ShowTopic, options?: CallOptions): Promise<Topic> {
    return this.call(["GET", "/api/ledger/topics/{id}", "safe"], request, options);
  }

  /** List the messages of a topic, the oldest first. */
  listTopicMessages(request: ListTopicMessages, options?: CallOptions): Promise<TopicMessagePage> {
    return this.call(["GET", "/api/ledger/topics/{id}/messages", "safe"], request, options);
  }

  /** Check the running hashes of messages of a topic, the oldest first. */
  verifyTopic(request: VerifyTopic, options?: CallOptions): Promise<TopicVerification> {
    return this.call(["GET", "/api/ledger/topics/{id}/verify", "safe"], request, options);
  }

  /** Show an entity as it is on the ledger, by its name or an alias: its account, its topics and its profile. */
  showLedgerProfile(request: ShowLedgerProfile, options?: CallOptions): Promise<LedgerProfile> {
    return this.call(["GET", "/api/ledger/profiles/{name}", "safe"], request, options);
  }

  /**
   * Make what a page of entities or work items lacks on the ledger, and publish profiles that have changed. On a public
   * ledger a gateway does it afterwards.
   */
  syncLedger(request: SyncLedger = {}, options?: CallOptions): Promise<LedgerSync> {
    return this.call(["POST", "/api/ledger/sync", "keyed"], request, options);
  }

  /** Show what is left of a sync on a public ledger. */
  showLedgerSync(request: ShowLedgerSync = {}, options?: CallOptions): Promise<LedgerSyncState> {
    return this.call(["GET", "/api/ledger/sync", "safe"], request, options);
  }

  /**
   * Send mail to an agent, a person, a team or every agent. What is answered with 201 is in their inboxes; with a
   * public ledger, mail that is not urgent is there when it was seen on the ledger, or after `ledger.patience`.
   */
  sendMail(request: SendMail = {}, options?: CallOptions): Promise<Mail> {
    return this.call(["POST", "/api/mail", "keyed"], request, options);
  }

  /** List mail, the newest first: what the caller has sent, or a thread that it takes part in. */
  listMail(request: ListMail = {}, options?: CallOptions): Promise<MailPage> {
    return this.call(["GET", "/api/mail", "safe"], request, options);
  }

  /** Show mail that the caller has sent, and its state for each recipient; the administrator sees all. */
  showMail(request: ShowMail, options?: CallOptions): Promise<Mail> {
    return this.call(["GET", "/api/mail/{id}", "safe"], request, options);
  }

  /** Reply to an event on the way it came: by mail, by a message in its space, by a note, or on its channel. */
  replyToEvent(request: ReplyToEvent, options?: CallOptions): Promise<SentReply> {
    return this.call(["POST", "/api/events/{id}/reply", "keyed"], request, options);
  }

  /**
   * Show what waits for the caller, which agents are thinking, and what happened lately. The administrator sees what
   * happened everywhere, and what waits for `admin` or for another entity.
   */
  showOverview(request: ShowOverview = {}, options?: CallOptions): Promise<Overview> {
    return this.call(["GET", "/api/overview", "safe"], request, options);
  }

  /** Create a plan, due by exactly one of `runAfter`, `scheduledAt`, `cron` and `onGate`. */
  createPlan(request: CreatePlan = {}, options?: CallOptions): Promise<Plan> {
    return this.call(["POST", "/api/plans", "keyed"], request, options);
  }

  /** List the plans of the caller; for the administrator all, or those of an owner. */
  listPlans(request: ListPlans = {}, options?: CallOptions): Promise<PlanPage> {
    return this.call(["GET", "/api/plans", "safe"], request, options);
  }

  /** Show a plan of the caller; the administrator sees all. */
  showPlan(request: ShowPlan, options?: CallOptions): Promise<Plan> {
    return this.call(["GET", "/api/plans/{id}", "safe"], request, options);
  }

  /**
   * Change the fields that the body names; the others stay. A plan that is enabled again is due as if it were just set:
   * slots that have passed are not caught up; one that is due once fires at once if its time has come.
   */
  changePlan(request: ChangePlan, options?: CallOptions): Promise<Plan> {
    return this.call(["PATCH", "/api/plans/{id}", "keyed"], request, options);
  }

  /** Delete a plan: it fires no more. */
  deletePlan(request: DeletePlan, options?: CallOptions): Promise<void> {
    return this.call(["DELETE", "/api/plans/{id}", "keyed"], request, options);
  }

  /** Fire a plan once, now. Its schedule stays as it is; one that is disabled or has ended can be run, too. */
  runPlan(request: RunPlan, options?: CallOptions): Promise<PlanFire> {
    return this.call(["POST", "/api/plans/{id}/run", "keyed"], request, options);
  }

  /** Push an event. What is answered with 201 is on disk. */
  pushEvent(request: PushEvent, options?: CallOptions): Promise<PushResult> {
    return this.call(["POST", "/api/inbox", "dedup"], request, options);
  }

  /**
   * Push up to 1,000 events that make up to 10,000 items: one commit, and an outcome for each push. A push that is
   * refused does not affect the others.
   */
  pushEvents(request: PushEvents, options?: CallOptions): Promise<PushOutcomes> {
    return this.call(["POST", "/api/inbox/batch", "never"], request, options);
  }

  /** Trigger an agent from a service. What is answered with 202 is on disk. */
  triggerAgent(request: TriggerAgent, options?: CallOptions): Promise<Triggered> {
    return this.call(["POST", "/api/agents/{name}/trigger", "dedup"], request, options);
  }

  /** Make a rule. Its filters are exact; of the rules that match, the one with the highest rank decides. */
  createRoute(request: CreateRoute, options?: CallOptions): Promise<Route> {
    return this.call(["POST", "/api/routes", "keyed"], request, options);
  }

  /** List the rules, in the order in which they were made. */
  listRoutes(request: ListRoutes = {}, options?: CallOptions): Promise<RoutePage> {
    return this.call(["GET", "/api/routes", "safe"], request, options);
  }

  /** Show a rule, by its id or its name. */
  showRoute(request: ShowRoute, options?: CallOptions): Promise<Route> {
    return this.call(["GET", "/api/routes/{id}", "safe"], request, options);
  }

  /** Change what is named in the body; the rest stays. Only its maker and the administrator may. */
  changeRoute(request: ChangeRoute, options?: CallOptions): Promise<Route> {
    return this.call(["PATCH", "/api/routes/{id}", "keyed"], request, options);
  }

  /** Delete a rule. */
  deleteRoute(request: DeleteRoute, options?: CallOptions): Promise<void> {
    return this.call(["DELETE", "/api/routes/{id}", "keyed"], request, options);
  }

  /** List unrouted messages, which nobody got, the oldest first. */
  listDeadLetters(request: ListDeadLetters = {}, options?: CallOptions): Promise<UnroutedMessagePage> {
    return this.call(["GET", "/api/routes/dead-letters", "safe"], request, options);
  }

  /** Route an unrouted message again, by the current rules; refused if it still has no recipient. */
  replayDeadLetter(request: ReplayDeadLetter, options?: CallOptions): Promise<ReplayedMessage> {
    return this.call(["POST", "/api/routes/dead-letters/{id}/replay", "keyed"], request, options);
  }

  /** Discard an unrouted message: it is marked as handled, and not routed. */
  discardDeadLetter(request: DiscardDeadLetter, options?: CallOptions): Promise<UnroutedMessage> {
    return this.call(["POST", "/api/routes/dead-letters/{id}/discard", "keyed"], request, options);
  }

  /** List the runs of an agent, the newest first. */
  listAgentRuns(request: ListAgentRuns, options?: CallOptions): Promise<RunPage> {
    return this.call(["GET", "/api/agents/{name}/runs", "safe"], request, options);
  }

  /** List the runs of the caller or of an agent that it owns, the newest first; for the administrator all. */
  listRuns(request: ListRuns = {}, options?: CallOptions): Promise<RunPage> {
    return this.call(["GET", "/api/runs", "safe"], request, options);
  }

  /**
   * Show a run of the caller or of an agent that it owns, and the calls that a program outside answers; the
   * administrator sees all.
   */
  showRun(request: ShowRun, options?: CallOptions): Promise<RunWithCalls> {
    return this.call(["GET", "/api/runs/{id}", "safe"], request, options);
  }

  /** List what was shown, said and done in a run, in order. */
  listSteps(request: ListSteps, options?: CallOptions): Promise<StepPage> {
    return this.call(["GET", "/api/runs/{id}/steps", "safe"], request, options);
  }

  /** Give the result of a call that a run waits for; its agent gets an event. */
  answerCall(request: AnswerCall, options?: CallOptions): Promise<OpenCall> {
    return this.call(["POST", "/api/runs/{id}/tool-results", "keyed"], request, options);
  }

  /** Stop a run; what it has done stays done. */
  cancelRun(request: CancelRun, options?: CallOptions): Promise<Run> {
    return this.call(["POST", "/api/runs/{id}/cancel", "keyed"], request, options);
  }

  /** Show what another model would have said and done in a past run. Nothing is done, and nothing stored. */
  replayRun(request: ReplayRun, options?: CallOptions): Promise<Replay> {
    return this.call(["POST", "/api/runs/{id}/replay", "never"], request, options);
  }

  /** Watch a run from its first step on, also as it is being thought. Resumes from Last-Event-ID. */
  watchRun(request: WatchRun, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/runs/{id}/stream", request, options);
  }

  /** Show every setting of the gateway, its value, and where the value is from. Passwords are masked. */
  showSettings(request: ShowSettings = {}, options?: CallOptions): Promise<Settings> {
    return this.call(["GET", "/api/settings", "safe"], request, options);
  }

  /**
   * List entries of the shared inbox, the oldest first. With `newest`, a page has the last entries, and `next` leads to
   * those before them.
   */
  listSharedEntries(request: ListSharedEntries = {}, options?: CallOptions): Promise<SharedEntryPage> {
    return this.call(["GET", "/api/shared-inbox", "safe"], request, options);
  }

  /** Show an entry of the shared inbox. */
  showSharedEntry(request: ShowSharedEntry, options?: CallOptions): Promise<SharedEntry> {
    return this.call(["GET", "/api/shared-inbox/{id}", "safe"], request, options);
  }

  /**
   * Watch new entries as they come, and questions again when they have ended. Resumes from Last-Event-ID, or from the
   * `seq` of an entry.
   */
  watchSharedInbox(request: WatchSharedInbox = {}, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/shared-inbox/stream", request, options);
  }

  /** Create a link that signs a person in to the page, once, within ten minutes. */
  createSignInLink(request: CreateSignInLink = {}, options?: CallOptions): Promise<SignInLink> {
    return this.call(["POST", "/api/sign-in/links", "never"], request, options);
  }

  /** Show who is calling, by its key, its token, or the cookie of the page. */
  showCaller(request: ShowCaller = {}, options?: CallOptions): Promise<Caller> {
    return this.call(["GET", "/api/caller", "safe"], request, options);
  }

  /** Create a space; its id is made from its name unless one is given. */
  createSpace(request: CreateSpace, options?: CallOptions): Promise<NewSpace> {
    return this.call(["POST", "/api/spaces", "keyed"], request, options);
  }

  /** List the spaces of the caller; for the administrator all, or those of a member. */
  listSpaces(request: ListSpaces = {}, options?: CallOptions): Promise<SpacePage> {
    return this.call(["GET", "/api/spaces", "safe"], request, options);
  }

  /** Show a space that the caller is in; the administrator sees all. */
  showSpace(request: ShowSpace, options?: CallOptions): Promise<Space> {
    return this.call(["GET", "/api/spaces/{id}", "safe"], request, options);
  }

  /** Give a space another name; its id stays. */
  renameSpace(request: RenameSpace, options?: CallOptions): Promise<Space> {
    return this.call(["PATCH", "/api/spaces/{id}", "keyed"], request, options);
  }

  /** Archive a space: its members can read it, and nothing is posted any more. */
  archiveSpace(request: ArchiveSpace, options?: CallOptions): Promise<Space> {
    return this.call(["DELETE", "/api/spaces/{id}", "keyed"], request, options);
  }

  /** List the members, in the order in which they joined, and how far each has read. */
  listMembers(request: ListMembers, options?: CallOptions): Promise<MemberPage> {
    return this.call(["GET", "/api/spaces/{id}/members", "safe"], request, options);
  }

  /** Add a member, who then sees all messages. */
  addMember(request: AddMember, options?: CallOptions): Promise<Member> {
    return this.call(["POST", "/api/spaces/{id}/members", "keyed"], request, options);
  }

  /** Remove a member, who reads nothing more. An entity's own credential can leave by itself. */
  removeMember(request: RemoveMember, options?: CallOptions): Promise<void> {
    return this.call(["DELETE", "/api/spaces/{id}/members/{name}", "keyed"], request, options);
  }

  /** Read messages, oldest first: after a number, before one, or the last ones. The administrator may be a member. */
  readMessages(request: ReadMessages, options?: CallOptions): Promise<MessagePage> {
    return this.call(["GET", "/api/spaces/{id}/messages", "safe"], request, options);
  }

  /** Post a message. Every other agent in the space has it in its inbox when this is answered. */
  postMessage(request: PostMessage, options?: CallOptions): Promise<Message> {
    return this.call(["POST", "/api/spaces/{id}/messages", "keyed"], request, options);
  }

  /** Record how far a member has read; it never goes back. */
  markRead(request: MarkRead, options?: CallOptions): Promise<Member> {
    return this.call(["PATCH", "/api/spaces/{id}/read", "safe"], request, options);
  }

  /** Watch messages as they are posted. Resumes from Last-Event-ID, which is a message's number. */
  watchSpace(request: WatchSpace, options?: StreamOptions): AsyncGenerator<GatepostEvent> {
    return this.watch("/api/spaces/{id}/stream", request, options);
  }

  /**
   * Add a trigger. Its secret or token is never shown again. Besides the administrator, agents with the skill `routing`
   * and those who own triggers by default can add their own.
   */
  addTrigger(request: AddTrigger, options?: CallOptions): Promise<Trigger> {
    return this.call(["POST", "/api/triggers", "keyed"], request, options);
  }

  /** List the triggers of the caller, without secrets; for the administrator all. */
  listTriggers(request: ListTriggers = {}, options?: CallOptions): Promise<TriggerPage> {
    return this.call(["GET", "/api/triggers", "safe"], request, options);
  }

  /** Show a trigger to its owners and the administrator, without its secret. */
  showTrigger(request: ShowTrigger, options?: CallOptions): Promise<Trigger> {
    return this.call(["GET", "/api/triggers/{name}", "safe"], request, options);
  }

  /** Change what is named in the body; the rest stays. An inactive webhook answers as if it did not exist. */
  changeTrigger(request: ChangeTrigger, options?: CallOptions): Promise<Trigger> {
    return this.call(["PATCH", "/api/triggers/{name}", "keyed"], request, options);
  }

  /** Delete a trigger; the events that came through it stay. One that has conversations can only be deactivated. */
  deleteTrigger(request: DeleteTrigger, options?: CallOptions): Promise<void> {
    return this.call(["DELETE", "/api/triggers/{name}", "keyed"], request, options);
  }

  /** Show what a trigger would make of a payload, and who would get it. Nothing is changed. */
  previewTrigger(request: PreviewTrigger, options?: CallOptions): Promise<TriggerPreview> {
    return this.call(["POST", "/api/triggers/{name}/test", "safe"], request, options);
  }

  /**
   * Show what the runs of the caller, or of an agent that it owns, have used, the earliest and then the largest groups
   * first; for the administrator all runs.
   */
  showUsage(request: ShowUsage = {}, options?: CallOptions): Promise<UsagePage> {
    return this.call(["GET", "/api/usage", "safe"], request, options);
  }

  /** List the runs of the caller or of an agent that it owns, the most expensive first; for the administrator all. */
  listExpensiveRuns(request: ListExpensiveRuns = {}, options?: CallOptions): Promise<RunPage> {
    return this.call(["GET", "/api/usage/runs", "safe"], request, options);
  }

  /**
   * Show the budget of the caller or of an agent that it owns, what is used of it and what it stops; for the
   * administrator the budgets of all agents.
   */
  listBudgets(request: ListBudgets = {}, options?: CallOptions): Promise<BudgetPage> {
    return this.call(["GET", "/api/usage/budgets", "safe"], request, options);
  }

  /** Add a task, phase, stage or project. */
  addWorkItem(request: AddWorkItem, options?: CallOptions): Promise<WorkItem> {
    return this.call(["POST", "/api/work", "keyed"], request, options);
  }

  /** List work items, in the order in which they were added. */
  listWorkItems(request: ListWorkItems = {}, options?: CallOptions): Promise<WorkItemPage> {
    return this.call(["GET", "/api/work", "safe"], request, options);
  }

  /** Show a work item. */
  showWorkItem(request: ShowWorkItem, options?: CallOptions): Promise<WorkItem> {
    return this.call(["GET", "/api/work/{type}/{id}", "safe"], request, options);
  }

  /**
   * Report what happened to a work item, which is added if nobody has (`work.auto_add`). The setting `work.notify` says
   * who gets it.
   */
  postWorkEvent(request: PostWorkEvent, options?: CallOptions): Promise<WorkEvent> {
    return this.call(["POST", "/api/work/{type}/{id}/events", "keyed"], request, options);
  }

  /** List the events of a work item, the oldest first. */
  listWorkEvents(request: ListWorkEvents, options?: CallOptions): Promise<WorkEventPage> {
    return this.call(["GET", "/api/work/{type}/{id}/events", "safe"], request, options);
  }

  /**
   * Post a note on a work item, which is added if nobody has (`work.auto_add`). Everyone in `notify` has it in the
   * inbox when the call returns.
   */
  postNote(request: PostNote, options?: CallOptions): Promise<Note> {
    return this.call(["POST", "/api/work/{type}/{id}/notes", "keyed"], request, options);
  }

  /** List the notes on a work item, the oldest first. */
  listNotes(request: ListNotes, options?: CallOptions): Promise<NotePage> {
    return this.call(["GET", "/api/work/{type}/{id}/notes", "safe"], request, options);
  }
}
