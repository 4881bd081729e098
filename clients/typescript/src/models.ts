// Written by tools/typescript.py from the operations of the gateway; change those instead.

/** A time as in RFC 3339, in UTC. */
export type Time = string;

/** What `acceptConnection` asks. */
export interface AcceptConnection {
  id: string;
}

/** How many items an inbox accepted, which is the sum over all states. */
export interface Account {
  name: string;
  accepted: number;
  pending: number;
  claimed: number;
  delivered: number;
  expired: number;
  dead: number;
  discarded: number;
  /** number of pending items that are snoozed */
  hidden: number;
  balanced: boolean;
}

/** `total` is of all inboxes, also of those on other pages. */
export interface AccountPage {
  items: Account[];
  next: string | null;
  total: AccountTotal;
}

/** How many items all inboxes have accepted, and how many are in each state. The states must add up. */
export interface AccountTotal {
  inboxes: number;
  /** number of inboxes whose states do not add up */
  unbalanced: number;
  accepted: number;
  pending: number;
  claimed: number;
  delivered: number;
  expired: number;
  dead: number;
  discarded: number;
}

export interface Accounting {
  balanced: boolean;
}

/** What `ackClaim` asks. */
export interface AckClaim {
  name: string;
  claimId: string;
  owner: string;
  fence: number;
}

/** Whether the sender wants to know that mail was read. */
export type AckRequest = "none" | "required";

/** How far the acknowledgement of mail is: `overdue` after its deadline, `read` once all have read it. */
export type AckState = "overdue" | "pending" | "read";

export interface Acked {
  delivered: number;
}

/** What the asker wants to do. */
export interface Action {
  name: string;
  args: Record<string, unknown>;
}

/** What the asker wants to do. */
export interface ActionSpec {
  /** name, e.g. of a tool */
  name: string;
  /** up to 64 KiB */
  args?: Record<string, unknown>;
}

/** What `addGate` asks. */
export interface AddGate {
  /** the name of the gate */
  name: string;
  /** kind of gate; a question makes a gate of the kind decision; default: "human" */
  kind?: GateKind;
  /** agent that may not stop; default: the caller */
  owner?: string | null;
  /** entity to act as; default: the caller */
  madeBy?: string | null;
  /**
   * a name (human, mail), TYPE[:SOURCE] (event), a command line (command), run:ID@OWNER/NAME or pr:NUMBER@OWNER/NAME
   * (ci)
   */
  awaits?: string | null;
  /** the text for its owner that wants to stop */
  instruction?: string;
  /** others that get an event when the gate ends */
  waiters?: string[];
  /** its deadline, as a time */
  deadline?: string | null;
  /** its deadline, from now */
  within?: string | null;
  /** with open it ends; with escalate it holds on, and the owner of its owner gets an alert; default: "open" */
  atDeadline?: AtDeadline;
  /** with closed it holds also if it cannot be checked; default: "open" */
  fail?: FailMode;
}

/** What `addMember` asks. */
export interface AddMember {
  id: string;
  name: string;
}

/** What `addTrigger` asks. */
export interface AddTrigger {
  scheme?: Scheme | null;
  secret?: string | null;
  token?: string | null;
  target?: string | null;
  prompt?: string | null;
  owner?: string | null;
  session?: string | null;
  requires?: string[] | null;
  templates?: Record<string, unknown>[] | null;
  allow?: number[] | null;
  block?: number[] | null;
  mode?: DeliveryMode | null;
  groups?: GroupMode | null;
  publicUrl?: string | null;
  options?: Record<string, unknown> | null;
  schedule?: ScheduleSpec | null;
  heartbeat?: HeartbeatSpec | null;
  name: string;
  /** webhook, telegram, cron, service, or that of a package; default: "webhook" */
  provider?: string;
}

/** What `addWaiter` asks. */
export interface AddWaiter {
  id: string;
  name: string;
  /** entity to act as; default: the caller */
  by?: string | null;
}

/** What `addWorkItem` asks. */
export interface AddWorkItem {
  type: WorkType;
  /** its id or topic */
  id: string;
  /** default: its id */
  title?: string | null;
  /** work item that it is a part of */
  parent?: RefSpec | null;
  /** its topic on a ledger */
  topic?: string | null;
  /** entity to act as; default: the caller */
  madeBy?: string | null;
}

/** An agent. A resident has a configuration, which itself and the administrator are shown; a guest has none. */
export interface Agent {
  name: string;
  kind: EntityKind;
  displayName: string;
  team: string | null;
  role: string | null;
  owner: string | null;
  aliases: string[];
  createdAt: Time;
  retiredAt: Time | null;
  /** by its sessions, runs or use of the page; null: unknown */
  presence: "away" | "idle" | "working" | null;
  /** null: everything wakes it */
  attention: Attention | null;
  version: number;
  pausedAt: Time | null;
  cycles: number;
  mindTokens: number;
  failures: number;
  restUntil: Time | null;
  resident: boolean;
  paused: boolean;
  /** what it may do besides: routing */
  skills: string[];
  /** that of its most reachable session; null if it has none, or is a resident */
  reachability: Reachability | null;
  config: Config | null;
  modelProblem: ModelProblem | null;
}

/** A resident begins or ends a cycle. */
export interface AgentActivity {
  agent: string;
  agentName: string;
  runId: string;
  /** the space whose readers this is for */
  spaceId?: string;
  /** with `sessionId`: whose prompts the cycle is about */
  channel?: string;
  sessionId?: string;
}

export interface AgentPage {
  items: Agent[];
  next: string | null;
}

/** What connects agent programs as one agent. It names the home, unless every program finds it by itself. */
export interface AgentSetup {
  commands: SetupCommand[];
  /** the MCP server on stdio, for any other client */
  mcpCommand: string[];
  /** the variables that the MCP server needs */
  mcpEnv: Record<string, string>;
}

/** What `answerCall` asks. */
export interface AnswerCall {
  id: string;
  callId: string;
  result: unknown;
}

/** What `answerDecision` asks. */
export interface AnswerDecision {
  id: string;
  /** the id of an option, or the kind of answer to an action */
  option?: string | null;
  /** all arguments of the action, for the answer `edit` */
  args?: Record<string, unknown> | null;
  /** answer in words; without an option only where the question allows it */
  text?: string | null;
  /** send the question back with a text, at most twice; default: false */
  again?: boolean;
  /** refuse to decide; default: false */
  reject?: boolean;
  /** hash of the question that was read: another question is not answered; an action needs it */
  contextHash?: string | null;
  /** entity to act as; default: the caller */
  by?: string | null;
}

export type AnswerKind = "accept" | "edit" | "ignore" | "respond";

/** What `approvePairing` asks. */
export interface ApprovePairing {
  /** the code that the user was given, or the id of the request */
  code: string;
  /** who the user is; by default a new person */
  person?: string | null;
}

/** What `archiveSpace` asks. */
export interface ArchiveSpace {
  id: string;
}

/** What `askDecision` asks. */
export interface AskDecision {
  question: string;
  /** what the asker wants to do, instead of options */
  action?: ActionSpec | null;
  /** allowed answers to the action; default: all */
  allow?: AnswerKind[];
  /** up to 20 */
  options?: OptionSpec[];
  /** text is an answer, too; default: false */
  freeText?: boolean;
  /** one of critical, high, normal, low, fyi; or 0 to 4; default: 2 */
  urgency?: number | string;
  /** the option that counts at the deadline */
  default?: string | null;
  /** its deadline, as a time */
  deadline?: string | null;
  /** its deadline, from now */
  within?: string | null;
  /** background for the respondents */
  context?: string | null;
  /** what it is about */
  ref?: RefSpec | null;
  /** entity to act as; default: the caller */
  asker?: string | null;
  /** names or teams to ask; default: the owner of the asker */
  of?: string[];
  /** guest session that asks */
  session?: string | null;
  /** the asker's program waits for the answer and shows it: no gate keeps the asker from stopping; default: false */
  followed?: boolean;
  /** a prompt that the asker got: its writer is asked, on that channel; an id or a channel session */
  event?: string | null;
}

export type AtDeadline = "escalate" | "open";

/** What may wake an entity now, until a time. */
export interface Attention {
  /** focus: critical items wake it; do_not_disturb: nothing does */
  level: "do_not_disturb" | "focus";
  until: Time;
}

export type AttentionLevel = "all" | "do_not_disturb" | "focus";

/** A batch as data and, in `text`, as an agent reads it. Without a claim nothing was pending. */
export interface Batch {
  claim: Claim | null;
  items: Item[];
  /** number of other pending items */
  held: number;
  text: string;
}

/** What a resident may spend in an hour or a day, in UTC. */
export interface Budget {
  tokens: number | null;
  cycles: number | null;
  per: "day" | "hour";
}

export interface BudgetPage {
  items: BudgetStatus[];
  next: string | null;
}

/** The budget of an agent in its present period, which is an hour or a day of UTC. */
export interface BudgetStatus {
  agent: string;
  per: string;
  /** tokens that it may use in a period */
  tokens: number | null;
  /** cycles that it may begin in a period */
  cycles: number | null;
  usedTokens: number;
  usedCycles: number;
  periodStart: Time;
  periodEnd: Time;
  /** whether it can begin no cycle in this period */
  exhausted: boolean;
  /** when it thinks again, if it rests */
  restUntil: Time | null;
  /** number of runs that the budget ended in this period */
  stoppedRuns: number;
  /** number of pending items, counted up to 1,000 */
  waitingItems: number;
}

export interface ButtonSpec {
  /** a short word */
  id: string;
  /** text shown */
  label: string;
}

export interface Call {
  id: string;
  tool: string;
  /** JSON, as the model wrote it */
  arguments: string;
}

export type CallStatus = "expired" | "pending" | "resolved";

/** The one whose credential a request has. */
export interface Caller {
  /** the entity that the caller is; the administrator is `admin` */
  name: string;
  displayName: string;
  /** whether the caller sees and does everything */
  administrator: boolean;
}

/** What `cancelRun` asks. */
export interface CancelRun {
  id: string;
}

export type CatchUp = "all" | "once" | "skip";

/** What `changeAgent` asks. */
export interface ChangeAgent {
  name: string;
  /** model, such as openai:gpt-5; demo needs no key */
  model?: string | Record<string, unknown> | null;
  description?: string | null;
  instructions?: string | null;
  tools?: unknown[] | null;
  mcp?: Record<string, unknown> | null;
  mind?: Record<string, unknown> | null;
  loop?: Record<string, unknown> | null;
  budget?: Record<string, unknown> | null;
  skills?: string[] | null;
  capabilities?: (string | number)[] | null;
  displayName?: string | null;
  team?: string | null;
  role?: string | null;
  owner?: string | null;
  /** all its other names; a name that is left out is removed */
  aliases?: string[];
}

/** What `changeEntity` asks. */
export interface ChangeEntity {
  name: string;
  displayName?: string | null;
  team?: string | null;
  role?: string | null;
  owner?: string | null;
  /** all its other names; a name that is left out is removed */
  aliases?: string[];
}

/** What `changePlan` asks. */
export interface ChangePlan {
  id: string;
  /** the name of the plan */
  name?: string | null;
  /** text that comes to the inbox */
  instruction?: string | null;
  /** due once, after this time */
  runAfter?: string | null;
  /** due once, at this time */
  scheduledAt?: string | null;
  /** due again and again: five fields, or a word such as @daily */
  cron?: string | null;
  /** the time zone of cron; by default UTC */
  timeZone?: string | null;
  /** due once, when this gate is resolved */
  onGate?: string | null;
  /** which missed slots of cron fire late */
  catchUp?: CatchUp | null;
  /** whether it fires; by default a new plan does */
  active?: boolean | null;
  /** entity that sets it: a guest's plan continues its chain of events */
  by?: string | null;
}

/** What `changeRoute` asks. */
export interface ChangeRoute {
  id: string;
  /** the name of the rule */
  name?: string;
  /** the addresses that get what matches */
  targets?: string[];
  /** the channel that it is about, such as telegram or webhook; * is any */
  channel?: string;
  /** dotted paths into the message, and the value that must be there */
  filters?: Record<string, unknown>;
  /** of the rules that match, the highest rank decides */
  rank?: number;
  /** whether it decides about anything */
  active?: boolean;
}

/** What `changeTrigger` asks. */
export interface ChangeTrigger {
  name: string;
  scheme?: Scheme | null;
  secret?: string | null;
  token?: string | null;
  target?: string | null;
  prompt?: string | null;
  owner?: string | null;
  session?: string | null;
  requires?: string[] | null;
  templates?: Record<string, unknown>[] | null;
  allow?: number[] | null;
  block?: number[] | null;
  mode?: DeliveryMode | null;
  groups?: GroupMode | null;
  publicUrl?: string | null;
  options?: Record<string, unknown> | null;
  schedule?: ScheduleSpec | null;
  heartbeat?: HeartbeatSpec | null;
  /** whether anything comes through it */
  active?: boolean;
}

/** A conversation. */
export interface ChannelSession {
  sessionId: string;
  channel: string;
  /** the bot; null on a channel that is built in */
  trigger: string | null;
  /** who writes there; null if it is nobody here */
  person: string | null;
  /** the name of the user on the channel */
  userName: string | null;
  userId: string | null;
  chat: string | null;
  thread: string | null;
  createdAt: Time;
  lastAt: Time;
}

export interface ChannelSessionPage {
  items: ChannelSession[];
  next: string | null;
}

/** A channel: a bot, or one that is built in. */
export interface ChannelStatus {
  name: string;
  provider: string;
  /** how a bot gets messages */
  mode: DeliveryMode | null;
  active: boolean;
  /** why a bot does not work */
  error: string | null;
  /** how many conversations it has */
  sessions: number;
  /** how many users wait to be let in */
  requests: number;
}

export interface ChannelStatusPage {
  items: ChannelStatus[];
  next: string | null;
}

/** What became of a text. With `decision` it was the answer to a question, and no prompt. */
export interface Chat {
  sessionId: string;
  /** entry of the shared inbox: the prompt, or the question it answers */
  entryId: string | null;
  /** events in the inboxes of those who got it */
  events: string[];
  /** decision that the text is an answer to */
  decision?: string;
  /** what became of that answer */
  notice?: string;
  /** id of the message that is kept because nobody gets it */
  unrouted?: string;
}

/** What `checkStore` asks. */
export type CheckStore = Record<string, never>;

export interface Chunk {
  transactionId: string;
  number: number;
  total: number;
}

export interface Claim {
  claimId: string;
  recipient: string;
  kind: string;
  owner: string;
  fence: number;
  takenAt: Time;
  deadline: Time | null;
}

/** What `claimBatch` asks. */
export interface ClaimBatch {
  name: string;
  owner: string;
  /** maximum number of results; default: 20 */
  limit?: number;
  /** maximum number of UTF-8 bytes; default: 9000 */
  budget?: number;
  /** duration of the claim, unless it is acked or released before */
  hold?: string | null;
  /** seconds to wait while the inbox is empty; default: 0 */
  wait?: number;
  /** only these events; default: the most urgent */
  events?: string[];
}

/** What `claimOutcome` asks. */
export interface ClaimOutcome {
  id: string;
  owner: string;
  /** if the owner is a guest session: how long its hooks have to prove that the item was read */
  proof?: string | null;
}

/** What `closeConnection` asks. */
export interface CloseConnection {
  id: string;
}

/** What `completeItems` asks. */
export interface CompleteItems {
  name: string;
  /** these items */
  events?: string[];
  /** instead of `events`: the items that this filter lets through */
  matching?: Matching | null;
}

export interface Config {
  model: Model;
  description: string;
  instructions: string;
  tools: Tool[];
  mcp: Mcp;
  mind: MindRules;
  loop: LoopRules;
  budget: Budget | null;
  /** codes of HCS-11 */
  capabilities: number[];
}

export interface Connection {
  id: string;
  /** network of Hedera */
  network: string;
  /** whose it is */
  entity: string;
  /** entity of the agent outside; null until the connection is open */
  peer: string | null;
  peerAccountId: string;
  peerInboundTopicId: string | null;
  /** whether the agent outside has asked */
  incoming: boolean;
  state: ConnectionState;
  /** topic of both; null until the connection is open */
  topicId: string | null;
  /** text of the request */
  note: string | null;
  createdAt: Time;
  endedAt: Time | null;
}

export interface ConnectionPage {
  items: Connection[];
  next: string | null;
}

export type ConnectionState = "accepting" | "closed" | "closing" | "open" | "refused" | "requested";

/** What `createKey` asks. */
export interface CreateKey {
  /** the key acts as this entity only */
  agent?: string | null;
  /** the key can trigger this agent, and nothing else */
  trigger?: string | null;
  /** the key is sent with bearer tokens, and gives no access alone; default: false */
  public?: boolean;
  /** what the key is for, shown in the list */
  name?: string;
}

/** What `createPlan` asks. */
export interface CreatePlan {
  /** the name of the plan */
  name?: string | null;
  /** text that comes to the inbox */
  instruction?: string | null;
  /** due once, after this time */
  runAfter?: string | null;
  /** due once, at this time */
  scheduledAt?: string | null;
  /** due again and again: five fields, or a word such as @daily */
  cron?: string | null;
  /** the time zone of cron; by default UTC */
  timeZone?: string | null;
  /** due once, when this gate is resolved */
  onGate?: string | null;
  /** which missed slots of cron fire late */
  catchUp?: CatchUp | null;
  /** whether it fires; by default a new plan does */
  active?: boolean | null;
  /** entity that sets it: a guest's plan continues its chain of events */
  by?: string | null;
  /** entity whose inbox it fires into; default: the caller */
  owner?: string | null;
}

/** What `createRoute` asks. */
export interface CreateRoute {
  /** the name of the rule */
  name: string;
  /** the addresses that get what matches */
  targets: string[];
  /** the channel that it is about, such as telegram or webhook; * is any; default: "*" */
  channel?: string;
  /** dotted paths into the message, and the value that must be there */
  filters?: Record<string, unknown>;
  /** of the rules that match, the highest rank decides; default: 0 */
  rank?: number;
  /** whether it decides about anything; default: true */
  active?: boolean;
}

/** What `createSignInLink` asks. */
export interface CreateSignInLink {
  /** the person; by default the administrator; default: "admin" */
  name?: string;
}

/** What `createSpace` asks. */
export interface CreateSpace {
  /** the name of the space */
  name: string;
  /** its id; by default made from the name */
  id?: string | null;
  members?: string[];
}

export interface Decision {
  id: string;
  gate: string;
  asker: string;
  asked: string[];
  question: string;
  action?: Action;
  /** allowed kinds of answers to the action */
  allow?: AnswerKind[];
  /** options; for an action, the allowed kinds of answers */
  options: Option[];
  freeText: boolean;
  urgency: number;
  default: string | null;
  deadline: Time | null;
  context: string | null;
  /** hash of the present question; send it back with the answer */
  contextHash: string;
  ref: Ref | null;
  session: string | null;
  iteration: number;
  /** text of the respondent who sent the last round back */
  guidance: string | null;
  createdAt: Time;
  /** answers of all rounds */
  answers: DecisionAnswer[];
  status: DecisionStatus;
  /** whether its deadline has passed and its end is not recorded yet */
  overdue: boolean;
  /** answer that counts */
  answer: DecisionAnswer | null;
}

/** The end of a round of a decision. */
export interface DecisionAnswer {
  outcome: DecisionOutcome;
  /** the id of an option; for an action, the kind of the answer */
  option: string | null;
  text: string | null;
  /** arguments to run the action with, if it is to be run */
  args?: Record<string, unknown>;
  /** null if it ended by itself, at the deadline */
  by: string | null;
  at: Time;
  iteration: number;
}

export type DecisionOutcome = 
  | "again"
  | "answered"
  | "defaulted"
  | "delegated"
  | "expired"
  | "orphaned"
  | "rejected"
  | "withdrawn";

export interface DecisionPage {
  items: Decision[];
  next: string | null;
}

export type DecisionStatus = "answered" | "expired" | "orphaned" | "pending" | "rejected" | "revising" | "withdrawn";

/** What `delegateDecision` asks. */
export interface DelegateDecision {
  id: string;
  /** names or teams to ask instead */
  to: string[];
  /** for those who are asked now */
  text?: string;
  /** entity to act as; default: the caller */
  by?: string | null;
}

/** What `deletePlan` asks. */
export interface DeletePlan {
  id: string;
}

/** What `deleteRoute` asks. */
export interface DeleteRoute {
  id: string;
}

/** What `deleteTrigger` asks. */
export interface DeleteTrigger {
  name: string;
}

export interface Delivery {
  name: string;
  eventId: string;
  duplicate: boolean;
  /** how often an alert came while it was pending, if more than once */
  times?: number;
  /** false if each of its sessions in another program is lost; the item waits */
  reachable?: boolean;
  /** what keeps the item from waking it until then */
  attention?: Attention;
}

export type DeliveryMode = "polling" | "webhook";

/** What `discardDeadLetter` asks. */
export interface DiscardDeadLetter {
  id: string;
}

/** What `discardEvent` asks. */
export interface DiscardEvent {
  id: string;
  /** one recipient; default: all */
  name?: string | null;
}

/** What `discardItems` asks. */
export interface DiscardItems {
  name: string;
  /** these items */
  events?: string[];
  /** instead of `events`: the items that this filter lets through */
  matching?: Matching | null;
}

/** What `drainInbox` asks. */
export interface DrainInbox {
  name: string;
  /** maximum number of results; default: 20 */
  limit?: number;
  /** maximum number of UTF-8 bytes; default: 9000 */
  budget?: number;
  /** owner of the claim */
  session?: string | null;
  /** seconds to wait while the inbox is empty; default: 0 */
  wait?: number;
}

/** What `endPairing` asks. */
export interface EndPairing {
  id: string;
}

export type Ending = "expired" | "orphaned" | "resolved" | "withdrawn";

export interface Entity {
  name: string;
  kind: EntityKind;
  displayName: string;
  team: string | null;
  role: string | null;
  owner: string | null;
  aliases: string[];
  createdAt: Time;
  retiredAt: Time | null;
  /** by its sessions, runs or use of the page; null: unknown */
  presence: "away" | "idle" | "working" | null;
  /** null: everything wakes it */
  attention: Attention | null;
}

export type EntityKind = "agent" | "human" | "service";

export interface EntityPage {
  items: Entity[];
  next: string | null;
}

export type EntryKind = "system_question" | "system_response" | "user_prompt";

export type EnvelopeKind = "callback" | "command" | "edit" | "event" | "media" | "reset" | "text" | "voice";

/** An event with its state for each recipient. */
export interface EventDetail {
  eventId: string;
  type: EventType;
  source: string;
  subject: string | null;
  content: string;
  priority: number;
  dedupKey: string | null;
  createdAt: Time;
  occurredAt: Time;
  expiresAt: Time | null;
  ref: Ref | null;
  route: EventRoute | null;
  hops: number;
  trust: Trust;
  wakes: boolean;
  sender: string | null;
  senderName: string | null;
  senderType: EntityKind | null;
  timestamp: Time;
  data: unknown;
  extra?: Record<string, unknown>;
  /** how often an alert came while it was pending, if more than once */
  times?: number;
  /** of all recipients; `mixed` if they differ */
  state: string;
  recipients: Recipient[];
}

export interface EventRoute {
  channel: string;
  sessionId: string;
}

export type EventType = 
  | "agent"
  | "alert"
  | "channel"
  | "decision"
  | "event"
  | "gate"
  | "mail"
  | "note"
  | "plan"
  | "service"
  | "space_message"
  | "system"
  | "tool_result";

/** Who runs a tool. */
export type Execution = "external" | "gateway" | "internal" | "space";

/** Whether a gate holds that cannot be checked: its command is broken, its store cannot be reached. */
export type FailMode = "closed" | "open";

export interface Fault {
  topicId: string;
  sequenceNumber: number;
  reason: string;
}

export interface Fire {
  /** when it is due; a time that has passed is due now */
  at: Time;
  kind: FireKind;
  /** the id of a plan, or the name of a trigger */
  id: string;
  name: string;
  /** who gets the event of a plan; the address that owns a trigger */
  owner: string;
  recurring: boolean;
  /** whether it fires only if there is something to do */
  heartbeat: boolean;
}

export type FireKind = "plan" | "trigger";

export interface FirePage {
  items: Fire[];
  next: string | null;
}

export interface Gate {
  id: string;
  name: string;
  kind: GateKind;
  /** agent that may not stop */
  owner: string;
  madeBy: string | null;
  awaits: string | null;
  instruction: string;
  waiters: string[];
  deadline: Time | null;
  atDeadline: AtDeadline;
  fail: FailMode;
  /** reason why the last check failed */
  trouble: string | null;
  escalatedAt: Time | null;
  createdAt: Time;
  resolution: Resolution | null;
  status: GateStatus;
  /** whether the owner may not stop now */
  holds: boolean;
  /** whether its deadline has passed and its end is not recorded yet */
  overdue: boolean;
}

export type GateKind = "ci" | "command" | "decision" | "event" | "human" | "mail" | "timer";

export interface GatePage {
  items: Gate[];
  next: string | null;
}

export type GateStatus = "expired" | "orphaned" | "pending" | "resolved" | "withdrawn";

export interface Goal {
  id: string;
  description: string;
  status: GoalStatus;
  createdAt: Time;
  updatedAt: Time;
  priority: number;
}

export interface GoalPage {
  items: Goal[];
  next: string | null;
}

export type GoalStatus = "abandoned" | "active" | "completed";

export type GroupMode = "all" | "mention" | "off";

export interface Health {
  status: "degraded" | "ok" | "unavailable";
  live: boolean;
  ready: boolean;
  reason?: string;
  version?: string;
  accounting?: Accounting;
  lagSeconds?: number;
  /** messages from channels that nobody got */
  unrouted?: number;
  /** active bots that do not work; `gatepost channel list` says which, and why */
  failingChannels?: number;
  clockSkewSeconds?: number;
  transport: Transport;
}

export interface Heartbeat {
  activeHours: number[] | null;
}

/** Only fire if the target has something to do: unread fyi items, open work items or active goals. */
export interface HeartbeatSpec {
  /** the first and the last hour in which it fires */
  activeHours?: [number, number] | null;
}

export interface History {
  stepSeconds: number;
  /** the oldest first; the last one has not ended yet */
  steps: HistoryStep[];
  storeBytes: number;
}

export interface HistoryStep {
  at: Time;
  /** number of events that were accepted */
  accepted: number;
  /** number of items for agents and services that were looked at */
  sampled: number;
  /** number of those that are not delivered yet */
  waiting: number;
  /** the longest time that one of the others had waited */
  longestWaitMs: number | null;
  meanWaitMs: number | null;
  /** number of runs that started */
  runs: number;
  failedRuns: number;
}

/** Items of an inbox were done, undone, snoozed, shown again (`return`), discarded or replayed. */
export interface InboxChange {
  recipient: string;
  cause: string;
}

/** An event with its state for one recipient. */
export interface Item {
  eventId: string;
  type: EventType;
  source: string;
  subject: string | null;
  content: string;
  priority: number;
  dedupKey: string | null;
  createdAt: Time;
  occurredAt: Time;
  expiresAt: Time | null;
  ref: Ref | null;
  route: EventRoute | null;
  hops: number;
  trust: Trust;
  wakes: boolean;
  sender: string | null;
  senderName: string | null;
  senderType: EntityKind | null;
  timestamp: Time;
  data: unknown;
  extra?: Record<string, unknown>;
  /** how often an alert came while it was pending, if more than once */
  times?: number;
  recipient: string;
  state: ItemState;
  attempts: number;
  seenAt: Time | null;
  endedAt: Time | null;
  receipt: Receipt | null;
  /** until when a snoozed item is hidden */
  hiddenUntil?: Time;
  /** the event that shows a snoozed item before */
  awaits?: string;
}

/** Items of one type by one sender, or of one source if they have no sender. */
export interface ItemGroup {
  type: EventType;
  /** the name of the sender, else the source; a filter takes it */
  origin: string;
  count: number;
  /** of the most urgent one */
  priority: number;
  firstAt: Time;
  latest: Item;
}

export interface ItemGroups {
  groups: ItemGroup[];
  /** number of items in these groups */
  total: number;
  /** when they were counted; as `until` it leaves out what came since */
  at: Time;
}

export interface ItemPage {
  items: Item[];
  next: string | null;
}

export type ItemState = "claimed" | "dead" | "delivered" | "discarded" | "expired" | "pending";

export interface Items {
  items: Item[];
}

/** A key by its prefix. */
export interface Key {
  id: string;
  prefix: string;
  kind: "admin" | "agent" | "link" | "page" | "public" | "trigger";
  entity: string | null;
  trigger: string | null;
  name: string;
  createdAt: Time;
  revokedAt: Time | null;
  /** of a browser that is signed in: when it ends if it is not used */
  expiresAt?: Time;
}

export interface KeyPage {
  items: Key[];
  next: string | null;
}

export interface LedgerProfile {
  name: string;
  /** local, or the network of Hedera */
  network: string;
  accountId: string;
  inboundTopicId: string;
  outboundTopicId: string;
  /** its profile after HCS-11; null for a service */
  profile: Record<string, unknown> | null;
  /** whether it is on the ledger as it is here */
  published: boolean;
  /** topic of the file with the profile; null on local */
  fileId: string | null;
}

export interface LedgerSync {
  /** entities or work items of this page */
  checked: number;
  /** accounts that were made now */
  accounts: number;
  /** topics that were made now */
  topics: number;
  /** profiles that were published now */
  profiles: number;
  /** jobs that make what is missing, on a public ledger */
  jobs: number;
  /** `after` of the next page; null on the last one */
  next: number | null;
}

export interface LedgerSyncState {
  /** jobs that have not ended */
  pending: number;
  /** why the last try of one of them has failed */
  error: string | null;
}

/** What `listAccounts` asks. */
export interface ListAccounts {
  /** only accounts that do not balance; default: false */
  unbalanced?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listAgentRuns` asks. */
export interface ListAgentRuns {
  name: string;
  /** only runs with this status */
  status?: RunStatus;
  /** only runs that an event of this type started */
  cause?: EventType;
  /** only runs of this model */
  model?: string;
  /** only runs that started since this time */
  since?: string;
  /** only runs that started before this time */
  until?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listAgents` asks. */
export interface ListAgents {
  /** only members of this team */
  team?: string;
  /** include retired agents; default: false */
  retired?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listBudgets` asks. */
export interface ListBudgets {
  /** only the budget of this agent */
  agent?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listChannelSessions` asks. */
export interface ListChannelSessions {
  /** only this channel, or this bot */
  channel?: string;
  /** only those of this person */
  person?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listChannels` asks. */
export interface ListChannels {
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listConnections` asks. */
export interface ListConnections {
  /** only connections in this state */
  state?: ConnectionState;
  /** only those that agents outside have asked for, or only others */
  incoming?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listDeadLetters` asks. */
export interface ListDeadLetters {
  /** include those that were replayed or discarded; default: false */
  replayed?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listDecisions` asks. */
export interface ListDecisions {
  /** only decisions that this entity asked */
  asker?: string;
  /** only decisions that this entity may answer */
  asked?: string;
  /** only decisions of this guest session */
  session?: string;
  /** true: only open ones; false: only ended ones */
  pending?: boolean;
  /** only those answered since then */
  since?: string;
  /** list the last decisions first; default: false */
  newestFirst?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listEntities` asks. */
export interface ListEntities {
  /** only entities of this kind */
  kind?: EntityKind;
  /** only members of this team */
  team?: string;
  /** include retired entities; default: false */
  retired?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listExpensiveRuns` asks. */
export interface ListExpensiveRuns {
  /** only runs of this agent */
  agent?: string;
  /** only runs of this model */
  model?: string;
  /** only runs that an event of this type started */
  cause?: EventType;
  /** only runs with this status */
  status?: RunStatus;
  /** only runs that ended because a budget was used up; default: false */
  stopped?: boolean;
  /** only runs that started since; default: 7 days ago */
  since?: string;
  /** only runs that started before; default: now */
  until?: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listFires` asks. */
export interface ListFires {
  /** only plans and triggers of this owner */
  owner?: string;
  /** how far to look ahead; default: "1d" */
  within?: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listGates` asks. */
export interface ListGates {
  /** only gates that hold this agent */
  owner?: string;
  /** only gates with this waiter */
  waiter?: string;
  /** only gates of this kind */
  kind?: GateKind;
  /** true: only pending gates; false: only ended ones */
  pending?: boolean;
  /** list the last gates first; default: false */
  newestFirst?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listGoals` asks. */
export interface ListGoals {
  name: string;
  /** only goals with this status */
  status?: GoalStatus;
}

/** What `listInbox` asks. */
export interface ListInbox {
  name: string;
  /** only items in this state */
  state?: ItemState;
  /** only events of this type */
  type?: EventType;
  /** only mail of this type */
  messageType?: string;
  /** only events of this priority */
  priority?: number;
  /** only events of this sender */
  sender?: string;
  /** only events about this subject */
  ref?: string;
  /** only items that arrived since this time */
  since?: string;
  /** only items that arrived before this time */
  until?: string;
  /** only events whose subject or content has it */
  text?: string;
  /** only events that came through this channel */
  channel?: string;
  /** only events of this sender, or of this source without a sender */
  origin?: string;
  /** only snoozed items; with false, only others */
  hidden?: boolean;
  /** list the last arrivals first; default: false */
  newestFirst?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listItemGroups` asks. */
export interface ListItemGroups {
  name: string;
  /** only items in this state */
  state?: ItemState;
  /** only events of this type */
  type?: EventType;
  /** only mail of this type */
  messageType?: string;
  /** only events of this priority */
  priority?: number;
  /** only events of this sender */
  sender?: string;
  /** only events about this subject */
  ref?: string;
  /** only items that arrived since this time */
  since?: string;
  /** only items that arrived before this time */
  until?: string;
  /** only events whose subject or content has it */
  text?: string;
  /** only events that came through this channel */
  channel?: string;
  /** only events of this sender, or of this source without a sender */
  origin?: string;
  /** only snoozed items; with false, only others; default: false */
  hidden?: boolean;
}

/** What `listItems` asks. */
export interface ListItems {
  /** only items in this state */
  state?: ItemState;
  /** only events of this type */
  type?: EventType;
  /** only mail of this type */
  messageType?: string;
  /** only events of this priority */
  priority?: number;
  /** only events of this sender */
  sender?: string;
  /** only events about this subject */
  ref?: string;
  /** only items that arrived since this time */
  since?: string;
  /** only items that arrived before this time */
  until?: string;
  /** only events whose subject or content has it */
  text?: string;
  /** only events that came through this channel */
  channel?: string;
  /** only events of this sender, or of this source without a sender */
  origin?: string;
  /** only snoozed items; with false, only others */
  hidden?: boolean;
  /** list the last arrivals first; default: false */
  newestFirst?: boolean;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listKeys` asks. */
export interface ListKeys {
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listMail` asks. */
export interface ListMail {
  /** sent: what the sender sent; thread: also what it received; default: "sent" */
  box?: MailBox;
  /** only the thread with this id, or of this mail or event */
  thread?: string;
  /** only mail about this TYPE:ID */
  ref?: string;
  /** only mail of this type */
  messageType?: string;
  /** entity to act as; default: the caller */
  sender?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listMembers` asks. */
export interface ListMembers {
  id: string;
}

/** What `listMemories` asks. */
export interface ListMemories {
  name: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 1000 */
  limit?: number;
}

/** What `listNotes` asks. */
export interface ListNotes {
  type: "task" | "phase" | "stage" | "project";
  id: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listPairings` asks. */
export interface ListPairings {
  /** only those in this state */
  state?: PairingState;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listPlanFires` asks. */
export interface ListPlanFires {
  id: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listPlans` asks. */
export interface ListPlans {
  /** only plans of this owner */
  owner?: string;
  /** only plans with this status */
  status?: PlanStatus;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listRoutes` asks. */
export interface ListRoutes {
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listRuns` asks. */
export interface ListRuns {
  /** only runs of this agent */
  agent?: string;
  /** only runs with this status */
  status?: RunStatus;
  /** only runs that an event of this type started */
  cause?: EventType;
  /** only runs of this model */
  model?: string;
  /** only runs that started since this time */
  since?: string;
  /** only runs that started before this time */
  until?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listSessions` asks. */
export interface ListSessions {
  /** only sessions of this agent */
  agent?: string;
  /** include sessions that have ended; they are kept for 30 days; default: false */
  ended?: boolean;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listSharedEntries` asks. */
export interface ListSharedEntries {
  /** only this channel */
  channel?: string;
  /** only this session */
  session?: string;
  /** only entries of this kind */
  kind?: EntryKind;
  /** only questions that wait for an answer; default: false */
  pending?: boolean;
  /** read from the end: the last entries, then those before them; default: false */
  newest?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listSpaces` asks. */
export interface ListSpaces {
  /** only spaces with this member */
  member?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listSteps` asks. */
export interface ListSteps {
  id: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 1000 */
  limit?: number;
}

/** What `listTopicMessages` asks. */
export interface ListTopicMessages {
  id: string;
  /** only messages that do not count; default: false */
  refused?: boolean;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listTopics` asks. */
export interface ListTopics {
  /** only topics of this kind */
  kind?: TopicKind;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listTriggerFires` asks. */
export interface ListTriggerFires {
  name: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listTriggers` asks. */
export interface ListTriggers {
  /** only triggers of this provider */
  provider?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listWorkEvents` asks. */
export interface ListWorkEvents {
  type: "task" | "phase" | "stage" | "project";
  id: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `listWorkItems` asks. */
export interface ListWorkItems {
  /** only work items of this type */
  type?: WorkType;
  /** only those whose last event this is, such as blocked */
  status?: string;
  /** only parts of this work item, TYPE:ID */
  parent?: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** A space, and what has happened in it. */
export interface ListedSpace {
  id: string;
  name: string;
  lastSeq: number;
  createdAt: Time;
  archivedAt: Time | null;
  lastMessageAt?: Time | null;
  /** messages that the member has not read; null if none is named */
  unread?: number | null;
}

export interface LoopRules {
  maxSteps: number;
  maxCalls: number;
  maxTokens: number;
  phases: Phase[];
}

export interface Mail {
  id: string;
  eventId: string | null;
  sender: string;
  /** address that it was sent to */
  to: string;
  messageType: string;
  subject: string | null;
  /** payload.text, or else the payload as JSON */
  text: string;
  payload: Record<string, unknown>;
  context: unknown;
  ref: Ref | null;
  priority: number;
  threadId: string;
  /** event that it replies to */
  replyTo: string | null;
  /** null if its sender does not want to know that it was read */
  ack: AckState | null;
  ackDeadline: Time | null;
  createdAt: Time;
  /** null if it is not for a ledger */
  postState: PostState | null;
  /** when it was posted to a ledger */
  postedAt: Time | null;
  /** the first hundred, by name; only its sender sees them */
  recipients: MailRecipient[];
  /** number of recipients in each state; only its sender sees them */
  states: Record<string, number>;
}

export type MailBox = "sent" | "thread";

export interface MailPage {
  items: Mail[];
  next: string | null;
}

export interface MailRecipient {
  name: string;
  state: ItemState;
  seenAt: Time | null;
  /** when it was read, or ended otherwise */
  endedAt: Time | null;
  /** when it is sent: false if each of its sessions in another program is lost */
  reachable?: boolean;
  /** when it is sent: what keeps the mail from waking it until then */
  attention?: Attention;
}

/** What `markDone` asks. */
export interface MarkDone {
  id: string;
  /** person; default: the caller */
  name?: string | null;
}

/** What `markRead` asks. */
export interface MarkRead {
  id: string;
  seq: number;
  /** member; default: the caller */
  name?: string | null;
}

/** What `markSeen` asks. */
export interface MarkSeen {
  name: string;
  events: string[];
}

/** A filter, as of the list of items; by default it lets pending items through that are not snoozed. */
export interface Matching {
  /** only items in this state */
  state?: ItemState | null;
  /** only events of this type */
  type?: EventType | null;
  messageType?: string | null;
  priority?: number | null;
  sender?: string | null;
  /** only events about this subject */
  ref?: string | null;
  /** only items that arrived since this time */
  since?: string | null;
  until?: string | null;
  text?: string | null;
  channel?: string | null;
  /** only events of this sender, or of this source without a sender */
  origin?: string | null;
  /** only snoozed items; with false, only others; default: false */
  hidden?: boolean | null;
}

export interface Mcp {
  servers: ToolServer[];
}

export interface Member {
  name: string;
  displayName: string;
  kind: EntityKind;
  joinedAt: Time;
  readSeq: number;
}

export interface MemberPage {
  items: Member[];
  next: string | null;
}

export interface Memory {
  key: string;
  value: string;
  updatedAt: Time;
}

export interface MemoryPage {
  items: Memory[];
  next: string | null;
}

export interface Message {
  id: string;
  space: string;
  seq: number;
  sender: string;
  senderName: string;
  senderType: EntityKind;
  content: string;
  data: unknown;
  createdAt: Time;
}

/** The next piece of a message that the model writes. */
export interface MessageDelta {
  phase: "delta";
  streamId: string;
  runId: string;
  agent: string;
  spaceId: string;
  delta: string;
}

/** A message is written, and stored. */
export interface MessageDone {
  phase: "done";
  streamId: string;
  runId: string;
  agent: string;
  spaceId: string;
  messageId: string;
}

/** A message that the model began to write will not be stored. */
export interface MessageFailed {
  streamId: string;
  runId: string;
  agent: string;
  spaceId: string;
  reason: string;
}

/** `next` is the `beforeSeq` of the page before or, after an `afterSeq`, the `afterSeq` of the page that follows. */
export interface MessagePage {
  items: Message[];
  next: string | null;
}

/** A message that the model begins to write. The stored message has the same `streamId` in its `data`. */
export interface MessageStart {
  phase: "start";
  streamId: string;
  runId: string;
  agent: string;
  spaceId: string;
}

export interface Mind {
  agent: string;
  tokens: number;
  summaries: string[];
  /** number of dropped summaries; their runs are still there */
  dropped: number;
  turns: Turn[];
}

export interface MindRules {
  maxTokens: number;
  minRecentCycles: number;
}

export interface Model {
  provider: string;
  name: string;
  temperature: number | null;
  maxTokens: number | null;
  baseUrl: string | null;
  keyEnv: string | null;
  fallback: string | null;
}

/** A model that live residents are configured with. */
export interface ModelInUse {
  name: string;
  /** the residents that have it, or have it as their fallback */
  agents: string[];
  problem: ModelProblem | null;
}

/** What the model of a resident lacks where the answer comes from: its library or its key. */
export interface ModelProblem {
  message: string;
  fix: string;
}

/** A provider of models. Its key is never shown, only whether there is one. */
export interface ModelProvider {
  name: string;
  libraryInstalled: boolean;
  /** the environment variable with its key; null if it needs none */
  keyVariable: string | null;
  /** whether the variable has a key where the answer comes from */
  keySet: boolean;
  /** the server, if it is not the usual one of the provider */
  baseUrl: string | null;
  /** the command that installs its library */
  install: string;
}

export interface Models {
  providers: ModelProvider[];
  inUse: ModelInUse[];
}

/** A key with its secret. */
export interface NewKey {
  id: string;
  prefix: string;
  kind: "admin" | "agent" | "link" | "page" | "public" | "trigger";
  entity: string | null;
  trigger: string | null;
  name: string;
  createdAt: Time;
  revokedAt: Time | null;
  /** of a browser that is signed in: when it ends if it is not used */
  expiresAt?: Time;
  /** the key itself, shown only now */
  key: string;
}

/** A space with its members. */
export interface NewSpace {
  id: string;
  name: string;
  lastSeq: number;
  createdAt: Time;
  archivedAt: Time | null;
  members: Member[];
}

export interface Note {
  id: string;
  item: Ref;
  sender: string;
  /** Markdown */
  text: string;
  notify: string[];
  priority: number;
  eventId: string | null;
  createdAt: Time;
  /** null if it is not for a ledger */
  postState: PostState | null;
  /** when it was posted to a ledger */
  postedAt: Time | null;
  /** who got it; only in the answer to the one who posted it */
  recipients: string[];
  /** whether this has added its work item */
  created: boolean;
}

export interface NotePage {
  items: Note[];
  next: string | null;
}

/** A call of a tool that a program outside answers. */
export interface OpenCall {
  id: string;
  run: string;
  agent: string;
  tool: string;
  arguments: string;
  status: CallStatus;
  result: unknown;
  createdAt: Time;
  expiresAt: Time;
  endedAt: Time | null;
}

export interface Option {
  id: string;
  label: string;
  description: string;
}

export interface OptionSpec {
  /** a short word */
  id: string;
  /** text shown */
  label: string;
  /** its meaning */
  description?: string;
}

export interface Overview {
  name: string;
  at: Time;
  waiting: Waiting;
  thinking: Thinking[];
  recent: Recent;
}

/** A user of a bot who asked to be let in; once approved, the person that it is. Its code is never shown. */
export interface Pairing {
  id: string;
  /** the bot */
  trigger: string;
  /** the name that the user gives itself */
  userName: string;
  userId: string;
  chat: string;
  state: PairingState;
  person: string | null;
  /** null if the allow list has let the user in */
  answeredBy: string | null;
  /** when a request ends that nobody has answered */
  expiresAt: Time;
  createdAt: Time;
  answeredAt: Time | null;
}

export interface PairingPage {
  items: Pairing[];
  next: string | null;
}

export type PairingState = "approved" | "denied" | "expired" | "requested";

export interface PastFire {
  /** the slot; null of a delivery */
  dueAt: Time | null;
  firedAt: Time;
  eventId: string;
  recipient: string;
  state: ItemState;
  endedAt: Time | null;
  subject: string | null;
  /** its first 200 characters, or those of its payload */
  content: string;
}

export interface PastFirePage {
  items: PastFire[];
  next: string | null;
}

/** What `pauseAgent` asks. */
export interface PauseAgent {
  name: string;
}

/** What `peekInbox` asks. */
export interface PeekInbox {
  name: string;
  /** `next` of the previous page */
  after?: string;
  /** maximum number of results; default: 20 */
  limit?: number;
}

export interface Phase {
  step: number;
  tools: string[];
}

export interface Plan {
  id: string;
  owner: string;
  name: string;
  instruction: string;
  cron: string | null;
  timeZone: string | null;
  catchUp: CatchUp;
  /** the slot of a plan that fires once */
  scheduledAt: Time | null;
  onGate: string | null;
  hops: number;
  /** null if it has ended, waits for its gate, or is disabled */
  nextRunAt: Time | null;
  /** the last slot that fired, not the time of firing */
  lastRunAt: Time | null;
  status: PlanStatus;
  /** whether it fires; a plan that is disabled does not */
  active: boolean;
  fired: number;
  createdAt: Time;
  endedAt: Time | null;
  isRecurring: boolean;
}

/** A plan was set or has fired. What the gateway does not know is left out. */
export interface PlanChange {
  id?: string;
  owner?: string;
}

/** What came of a plan that was run by hand. */
export interface PlanFire {
  plan: string;
  eventId: string;
  recipient: string;
  firedAt: Time;
}

export interface PlanPage {
  items: Plan[];
  next: string | null;
}

export type PlanStatus = "cancelled" | "completed" | "pending";

/** What `postMessage` asks. */
export interface PostMessage {
  id: string;
  content: string;
  /** entity to act as; default: the caller */
  sender?: string | null;
  data?: unknown;
}

/** What `postNote` asks. */
export interface PostNote {
  type: "task" | "phase" | "stage" | "project";
  id: string;
  /** Markdown */
  note: string;
  /** who gets it: names, aliases or teams */
  notify?: string[];
  /** one of critical, high, normal, low, fyi; or 0 to 4; default: 2 */
  priority?: number | string;
  /** entity to act as; default: the caller */
  sender?: string | null;
}

/** Whether what was sent is on the ledger; `failed` if it never will be. */
export type PostState = "failed" | "posted" | "unposted";

/** What `postWorkEvent` asks. */
export interface PostWorkEvent {
  type: "task" | "phase" | "stage" | "project";
  id: string;
  /** a word */
  event: string;
  /** why */
  reason?: string;
  /** entity to act as; default: the caller */
  sender?: string | null;
}

/** What `previewTrigger` asks. */
export interface PreviewTrigger {
  name: string;
  /** what the service would send; of a channel {content, session, metadata}, or an update of a bot */
  payload: unknown;
  /** the headers of the request */
  headers?: Record<string, string>;
}

/** An event that a payload would become. */
export interface PreviewedEvent {
  content: string;
  subject: string | null;
  session: string;
  /** if a template says one */
  priority: number | null;
  /** who would get it */
  targets: string[];
  /** the rule that decides; null if the trigger does, or the default */
  rule: string | null;
  /** why nobody would get it */
  reason: UnroutedReason | null;
}

export interface Problem {
  type: string;
  title: string;
  status: number;
  detail: string;
  hint?: string;
  /** for a caller that came late: how it ended before, by whom and when */
  answer?: { outcome?: string; option?: string | null; text?: string | null; by?: string | null; at?: Time; };
}

export interface Prompt {
  text: string;
  events: string[];
}

/** What `pushEvent` asks. */
export interface PushEvent {
  to: string;
  /** type of the event; default: "event" */
  type?: EventType;
  /** text */
  content?: string;
  /** a short title */
  subject?: string | null;
  /** any JSON */
  data?: unknown;
  /** one of critical, high, normal, low, fyi; or 0 to 4; default: 2 */
  priority?: number | string;
  /** entity that sends it; default: that of the credential */
  sender?: string | null;
  /** system that it comes from */
  source?: string | null;
  /** key by which a repeat is recognised; stored as `by:NAME:KEY`, the administrator's as it is */
  dedupKey?: string | null;
  /** time at the source, RFC 3339 */
  occurredAt?: string | null;
  /** how long it is worth reading; then it expires */
  ttl?: string | null;
  /** what it is about */
  ref?: RefSpec | null;
  /** where a reply goes */
  route?: PushRoute | null;
  /** number of events that led to this one; for an agent, at least as many as reached it lately; default: 0 */
  hops?: number;
}

/** What `pushEvents` asks. */
export interface PushEvents {
  pushes: PushEvent[];
}

/** The outcome of one push of a batch: 201 with its result, or a problem. */
export interface PushOutcome {
  type?: string;
  title?: string;
  status: number;
  detail?: string;
  hint?: string;
  eventId?: string | null;
  recipients?: Delivery[];
  broadcast?: number;
  duplicate?: boolean;
}

export interface PushOutcomes {
  items: PushOutcome[];
}

/** The result of a push. A push without recipients has no event; a broadcast has no recipients yet. */
export interface PushResult {
  eventId: string | null;
  recipients: Delivery[];
  broadcast?: number;
  duplicate?: boolean;
}

/** Where a reply goes. */
export interface PushRoute {
  channel: string;
  sessionId: string;
}

export type QuestionStatus = "answered" | "ended" | "pending";

/** Whether a push reaches a session, and how that is known. */
export interface Reachability {
  /**
   * armed: what wakes it is there now; proved: and the last wake was read; unproved: nothing shows that a wake would
   * reach it; lost: its program or what wakes it is gone
   */
  state: "armed" | "lost" | "proved" | "unproved";
  /** how it is woken; null: nothing wakes it */
  by: "plugin" | "thread" | "waiter" | null;
  since: Time;
  /** when the last wake was proved */
  provedAt: Time | null;
  /** seconds that it took from when the item could be shown until it was shown */
  latency: number | null;
}

/** What `readMessages` asks. */
export interface ReadMessages {
  id: string;
  /** entity that reads; default: the caller */
  member?: string;
  afterSeq?: number | string;
  beforeSeq?: number | string;
  /** maximum number of results; default: 50 */
  limit?: number;
}

/** What `readMetrics` asks. */
export type ReadMetrics = Record<string, never>;

export interface Receipt {
  kind: string;
  owner: string;
  at: Time;
}

/** What happened since a time: the last few of each kind, the newest first. */
export interface Recent {
  since: Time;
  /** of the runs that started */
  usage: Usage;
  /** runs that started */
  runs: Run[];
  messageCount: number;
  messages: Message[];
  /** decisions that were asked or answered */
  decisions: Decision[];
}

export interface Recipient {
  name: string;
  eventId: string;
  state: ItemState;
  attempts: number;
  seenAt: Time | null;
  endedAt: Time | null;
  receipt: Receipt | null;
  hiddenUntil?: Time;
  awaits?: string;
}

/** A subject in another system. */
export interface Ref {
  type: string;
  id: string;
}

/** A subject in another system. */
export interface RefSpec {
  type: string;
  id: string;
}

/** What `refuseConnection` asks. */
export interface RefuseConnection {
  id: string;
}

/** What `refusePairing` asks. */
export interface RefusePairing {
  /** the code that the user was given, or the id of the request */
  code: string;
}

/** What `registerAgent` asks. */
export interface RegisterAgent {
  /** model, such as openai:gpt-5; demo needs no key */
  model?: string | Record<string, unknown> | null;
  description?: string | null;
  instructions?: string | null;
  tools?: unknown[] | null;
  mcp?: Record<string, unknown> | null;
  mind?: Record<string, unknown> | null;
  loop?: Record<string, unknown> | null;
  budget?: Record<string, unknown> | null;
  skills?: string[] | null;
  capabilities?: (string | number)[] | null;
  name: string;
  displayName?: string | null;
  team?: string | null;
  role?: string | null;
  owner?: string | null;
  aliases?: string[];
}

/** What `registerEntity` asks. */
export interface RegisterEntity {
  name: string;
  /** agent, human or service */
  kind: EntityKind;
  /** name that others see; default: the name */
  displayName?: string | null;
  /** team, which can be addressed as a whole */
  team?: string | null;
  /** role in the team */
  role?: string | null;
  /** entity that gets its alerts and may read what it does; default: the administrator */
  owner?: string | null;
  aliases?: string[];
}

/** What `releaseClaim` asks. */
export interface ReleaseClaim {
  name: string;
  claimId: string;
  owner: string;
  fence: number;
  /** events that failed by themselves; each failure is counted */
  failed?: string[];
}

export interface Released {
  released: number;
}

/** What `removeMember` asks. */
export interface RemoveMember {
  id: string;
  name: string;
}

/** What `renameSpace` asks. */
export interface RenameSpace {
  id: string;
  /** the name of the space */
  name: string;
}

/** A past run, and what another model would have said and done. */
export interface Replay {
  run: string;
  model: string;
  same: boolean;
  original: Step[];
  replayed: Turn[];
}

/** What `replayDeadLetter` asks. */
export interface ReplayDeadLetter {
  id: string;
}

/** What `replayEvent` asks. */
export interface ReplayEvent {
  id: string;
  /** one recipient; default: all */
  name?: string | null;
}

/** What `replayRun` asks. */
export interface ReplayRun {
  id: string;
  /** the model to compare with */
  model: string;
}

export interface ReplayedMessage {
  id: string;
  eventIds: string[];
  /** the addresses that it went to */
  targets: string[];
}

export interface Reply {
  text: string;
  calls: Call[];
  usage: RunUsage;
  model: string;
}

/** The next piece of a reply that the model writes. */
export interface ReplyDelta {
  phase: "delta";
  streamId: string;
  runId: string;
  agent: string;
  channel: string;
  sessionId: string;
  delta: string;
}

/** A reply is written, and stored. */
export interface ReplyDone {
  phase: "done";
  streamId: string;
  runId: string;
  agent: string;
  channel: string;
  sessionId: string;
  entryId: string;
}

/** A reply that the model began to write will not be stored. */
export interface ReplyFailed {
  streamId: string;
  runId: string;
  agent: string;
  channel: string;
  sessionId: string;
  reason: string;
}

/** A reply on a channel that the model begins to write; only the person of the channel session sees it. */
export interface ReplyStart {
  phase: "start";
  streamId: string;
  runId: string;
  agent: string;
  channel: string;
  sessionId: string;
}

/** What `replyToEvent` asks. */
export interface ReplyToEvent {
  id: string;
  /** the text */
  text: string;
  /** to press, on a channel */
  buttons?: ButtonSpec[];
  /** entity to act as; default: the caller */
  sender?: string | null;
}

/** What `requestConnection` asks. */
export interface RequestConnection {
  /** account of the agent */
  account?: string | null;
  /** id of the agent (HCS-14), instead of its account */
  uaid?: string | null;
  /** text for the agent; it is public */
  note?: string | null;
  /** entity to act as; default: the caller */
  sender?: string | null;
}

export interface Resolution {
  ending: Ending;
  reason: string;
  /** null if it ended by itself */
  by: string | null;
  at: Time;
}

/** What `resolveGate` asks. */
export interface ResolveGate {
  id: string;
  /** why; everybody concerned gets it */
  reason?: string;
  /** withdraw the gate as unnecessary instead of resolving it; default: false */
  withdraw?: boolean;
  /** entity to act as; default: the caller */
  by?: string | null;
}

export interface Result {
  call: string;
  tool: string;
  /** JSON */
  content: string;
  ok: boolean;
}

/** What `resumeAgent` asks. */
export interface ResumeAgent {
  name: string;
}

/** What `retireAgent` asks. */
export interface RetireAgent {
  name: string;
}

/** What `retireEntity` asks. */
export interface RetireEntity {
  name: string;
}

/** What `reviseDecision` asks. */
export interface ReviseDecision {
  id: string;
  question: string;
  /** what the asker wants to do, instead of options */
  action?: ActionSpec | null;
  /** allowed answers to the action; default: all */
  allow?: AnswerKind[];
  /** up to 20 */
  options?: OptionSpec[];
  /** text is an answer, too; default: false */
  freeText?: boolean;
  /** one of critical, high, normal, low, fyi; or 0 to 4; default: 2 */
  urgency?: number | string;
  /** the option that counts at the deadline */
  default?: string | null;
  /** its deadline, as a time */
  deadline?: string | null;
  /** its deadline, from now */
  within?: string | null;
  /** background for the respondents */
  context?: string | null;
  /** what it is about */
  ref?: RefSpec | null;
  /** entity to act as; default: the caller */
  asker?: string | null;
}

/** What `revokeKey` asks. */
export interface RevokeKey {
  id: string;
}

/** A routing rule. */
export interface Route {
  id: string;
  name: string;
  channel: string;
  filters: Record<string, unknown>;
  targets: string[];
  rank: number;
  active: boolean;
  madeBy: string;
  createdAt: Time;
  updatedAt: Time;
}

export interface RoutePage {
  items: Route[];
  next: string | null;
}

export interface Run {
  id: string;
  agent: string;
  status: RunStatus;
  cycleNumber: number;
  cause: string;
  events: number;
  steps: number;
  effects: number;
  promptTokens: number;
  completionTokens: number;
  hops: number;
  version: number;
  model: string;
  summary: string;
  error: string | null;
  limit: RunLimit | null;
  startedAt: Time;
  endedAt: Time | null;
  durationMs: number | null;
}

/** A limit that ends a cycle before its model does. */
export type RunLimit = "budget" | "calls" | "pause" | "steps" | "tokens";

export interface RunPage {
  items: Run[];
  next: string | null;
}

/** What `runPlan` asks. */
export interface RunPlan {
  id: string;
  /** entity that runs it: a guest continues its chain of events */
  by?: string | null;
}

export type RunStatus = "cancelled" | "completed" | "failed" | "running" | "skipped" | "waiting_tool";

export interface RunUsage {
  promptTokens: number;
  completionTokens: number;
}

/** A run, and the calls that a program outside answers. */
export interface RunWithCalls {
  id: string;
  agent: string;
  status: RunStatus;
  cycleNumber: number;
  cause: string;
  events: number;
  steps: number;
  effects: number;
  promptTokens: number;
  completionTokens: number;
  hops: number;
  version: number;
  model: string;
  summary: string;
  error: string | null;
  limit: RunLimit | null;
  startedAt: Time;
  endedAt: Time | null;
  durationMs: number | null;
  calls: OpenCall[];
}

export interface Schedule {
  cron: string | null;
  zone: string;
  every: string | null;
  at: Time | null;
}

/** When a trigger fires: one of `cron`, `every` and `at`. */
export interface ScheduleSpec {
  /** five fields, or a word such as @daily */
  cron?: string | null;
  /** the time zone of cron and of active hours; by default UTC */
  zone?: string | null;
  /** an interval */
  every?: string | null;
  /** once, at this time */
  at?: string | null;
}

export type Scheme = "bearer" | "github" | "header" | "slack" | "standard-webhooks" | "stripe";

export interface Seen {
  seen: number;
}

/** What `sendChat` asks. */
export interface SendChat {
  /** the text */
  content?: string;
  /** address that gets it, instead of whom the rules name */
  to?: string | null;
  /** name of another channel session of the person */
  session?: string | null;
  /** where the person writes; default: "cli" */
  channel?: "cli" | "web";
  /** begin the channel session anew, instead of a text; default: false */
  reset?: boolean;
  /** entity to act as; default: the caller */
  sender?: string | null;
}

/** What `sendMail` asks. */
export interface SendMail {
  /** a name, an alias, team:NAME, team:NAME/ROLE or ALL; a reply goes to the sender by default */
  to?: string | null;
  /** the text; it becomes payload.text */
  text?: string | null;
  /** what it is about */
  subject?: string | null;
  /** an object with more than a text; a string is the text */
  payload?: unknown;
  /**
   * task.blocked, task.complete, task.note, phase.note, stage.note, project.note, feedback, fyi, review.request, or
   * your own
   */
  messageType?: string | null;
  /** any JSON that helps its reader */
  context?: unknown;
  /** what it is about, such as a task */
  ref?: RefSpec | null;
  /** one of critical, high, normal, low, fyi; or 0 to 4; default: 2 */
  priority?: number | string;
  /** event or mail to reply to: its subject, reference and thread are kept */
  replyTo?: string | null;
  /** required: the sender gets an event when it was read, or was not in time; default: "none" */
  ack?: AckRequest;
  /** time to read it; default: 1 day */
  ackWithin?: string | null;
  /** entity to act as; default: the caller */
  sender?: string | null;
}

export interface SentReply {
  /** mail, message, note or channel: what the reply became */
  kind: string;
  id: string;
}

export interface Session {
  id: string;
  agent: string;
  host: string;
  state: "ended" | "idle" | "working";
  startedAt: Time;
  seenAt: Time;
  /** process of its program, on the machine where that runs */
  pid: number | null;
  reachability: Reachability;
}

export interface SessionPage {
  items: Session[];
  next: string | null;
}

/** What `setAttention` asks. */
export interface SetAttention {
  name: string;
  /** focus: only critical items wake; do_not_disturb: nothing wakes; all: everything */
  level: AttentionLevel;
  /** how long, such as 2h; at most 30d */
  within?: string | null;
  /** instead of `within`: a time */
  until?: string | null;
}

export interface Setting {
  name: string;
  meaning: string;
  /** what a value looks like */
  form: string;
  /** its value, without passwords and secrets; null if it has none */
  value: string | null;
  default: string | null;
  /** where the value is from: `default`, the settings file, or a variable */
  origin: string;
  /** the environment variable that sets it, and is stronger than the file */
  variable: string;
  /** how the settings file sets it */
  line: string;
  /** the value that it has when the gateway starts again, if that is another one */
  nextValue: string | null;
}

export interface Settings {
  /** the folder of the gateway */
  home: string | null;
  /** the settings file; null if there is none */
  file: string | null;
  /** why the settings file cannot be read now */
  problem: string | null;
  settings: Setting[];
}

/** The command that sets up one agent program, for a shell on the machine of the gateway. */
export interface SetupCommand {
  host: string;
  title: string;
  command: string;
}

export interface SharedEntry {
  id: string;
  seq: number;
  kind: EntryKind;
  channel: string;
  sessionId: string;
  /** who has written it; null if the writer is nobody here */
  sender: string | null;
  /** name of the writer on the channel */
  senderName: string | null;
  /** who asks a question */
  askedBy: string | null;
  content: string;
  /** of a question */
  status: QuestionStatus | null;
  answer: string | null;
  answeredAt: Time | null;
  metadata: Record<string, string>;
  /** decision that a question is about */
  decision: string | null;
  createdAt: Time;
}

export interface SharedEntryPage {
  items: SharedEntry[];
  next: string | null;
}

/** What `showAccount` asks. */
export interface ShowAccount {
  name: string;
}

/** What `showAgent` asks. */
export interface ShowAgent {
  name: string;
}

/** What `showAgentSetup` asks. */
export interface ShowAgentSetup {
  name: string;
}

/** What `showCaller` asks. */
export type ShowCaller = Record<string, never>;

/** What `showDecision` asks. */
export interface ShowDecision {
  id: string;
}

/** What `showEntity` asks. */
export interface ShowEntity {
  name: string;
}

/** What `showEvent` asks. */
export interface ShowEvent {
  id: string;
}

/** What `showGate` asks. */
export interface ShowGate {
  id: string;
}

/** What `showHealth` asks. */
export type ShowHealth = Record<string, never>;

/** What `showHistory` asks. */
export interface ShowHistory {
  /** a duration: 1h to 30d; default: "1h" */
  within?: string;
}

/** What `showLedgerProfile` asks. */
export interface ShowLedgerProfile {
  name: string;
}

/** What `showLedgerSync` asks. */
export type ShowLedgerSync = Record<string, never>;

/** What `showMail` asks. */
export interface ShowMail {
  id: string;
}

/** What `showMind` asks. */
export interface ShowMind {
  name: string;
}

/** What `showModels` asks. */
export type ShowModels = Record<string, never>;

/** What `showOverview` asks. */
export interface ShowOverview {
  /** for whom; default: the caller */
  name?: string;
  /** what happened since this time; default: an hour ago */
  since?: string;
  /** maximum number of entries of each kind; default: 10 */
  limit?: number;
}

/** What `showPlan` asks. */
export interface ShowPlan {
  id: string;
}

/** What `showRoute` asks. */
export interface ShowRoute {
  id: string;
}

/** What `showRun` asks. */
export interface ShowRun {
  id: string;
}

/** What `showSession` asks. */
export interface ShowSession {
  id: string;
}

/** What `showSettings` asks. */
export type ShowSettings = Record<string, never>;

/** What `showSharedEntry` asks. */
export interface ShowSharedEntry {
  id: string;
}

/** What `showSpace` asks. */
export interface ShowSpace {
  id: string;
}

/** What `showTopic` asks. */
export interface ShowTopic {
  id: string;
}

/** What `showTrigger` asks. */
export interface ShowTrigger {
  name: string;
}

/** What `showUsage` asks. */
export interface ShowUsage {
  /** only runs of this agent */
  agent?: string;
  /** only runs that started since; default: 7 days ago */
  since?: string;
  /** only runs that started before; default: now */
  until?: string;
  /** what to group by: agent, model, cause, and day or hour; repeatable; default: ["agent"] */
  by?: UsageDimension[];
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** maximum number of results; default: 100 */
  limit?: number;
}

/** What `showWorkItem` asks. */
export interface ShowWorkItem {
  type: "task" | "phase" | "stage" | "project";
  id: string;
}

/** A one-time link. */
export interface SignInLink {
  /** the person that it signs in */
  name: string;
  /** the link, without the address of the gateway; shown only now */
  path: string;
  expiresAt: Time;
}

/** What `snoozeItems` asks. */
export interface SnoozeItems {
  name: string;
  /** these items */
  events?: string[];
  /** instead of `events`: the items that this filter lets through */
  matching?: Matching | null;
  /** the time when they are shown again */
  until?: string | null;
  /** instead of `until`: a duration, such as 3h */
  within?: string | null;
  /**
   * the event that shows them again, for people: from:NAME, about:TYPE:ID, TYPE or TYPE:SOURCE; after 30 days they are
   * shown again without it
   */
  awaits?: string | null;
}

export interface Space {
  id: string;
  name: string;
  lastSeq: number;
  createdAt: Time;
  archivedAt: Time | null;
}

export interface SpacePage {
  items: ListedSpace[];
  next: string | null;
}

/** What was shown, said or returned: that of the three which `kind` names. */
export interface Step {
  number: number;
  at: Time;
  kind: "prompt" | "reply" | "result";
  prompt: Prompt | null;
  reply: Reply | null;
  result: Result | null;
}

export interface StepPage {
  items: Step[];
  next: string | null;
}

export interface StoreCheck {
  at: Time;
  inboxes: number;
  /** number of items that all inboxes have accepted */
  accepted: number;
  /** names of the inboxes that do not balance, at most 100 */
  unbalanced: string[];
  /** a sentence for each kind of row that belongs to nothing */
  orphans: string[];
}

/** A stream has opened. */
export interface StreamConnected {
  /** what is in it, such as `space:q4-report` */
  parts: string[];
}

/** A stream ends: the reader is too slow or may not read on, or the gateway stops. */
export interface StreamEnded {
  reason: string;
  /** the Last-Event-ID to come back with; if it is missing, coming back does not help */
  resumeFrom?: string;
}

/** One event of a stream. `data` is JSON; an event that can be resumed from has an `id`. */
export interface Streamed {
  event: string;
  data: string;
  id?: string;
}

/** What `syncLedger` asks. */
export interface SyncLedger {
  /** what is checked; default: "entities" */
  part?: SyncPart;
  /** only this entity */
  name?: string | null;
  /** existing account for this entity; the gateway must have its key */
  account?: string | null;
  /** `next` of the previous page; default: 0 */
  after?: number;
  /** maximum number of results; default: 100 */
  limit?: number;
}

export type SyncPart = "entities" | "work";

/** An agent that thinks now. Its run is shown to itself and the administrator. */
export interface Thinking {
  agent: string;
  displayName: string;
  since: Time;
  run: string | null;
  cause: string | null;
}

export interface Tool {
  name: string;
  description: string;
  inputSchema: unknown;
  executionType: Execution;
  visible: boolean;
  async: boolean;
  timeout: string;
  execution: ToolRequest | null;
}

/** The next piece of what a tool outside answers. */
export interface ToolDelta {
  toolCallId: string;
  toolName: string;
  runId: string;
  agent: string;
  /** the space whose readers this is for */
  spaceId?: string;
  delta: string;
}

export interface ToolRequest {
  url: string;
  method: "DELETE" | "GET" | "PATCH" | "POST" | "PUT";
  /** masked; a mask that is sent back stands for what is stored */
  headers: Record<string, string>;
  body: unknown;
}

/** What a tool outside has answered, or why it has failed. */
export interface ToolResult {
  toolCallId: string;
  toolName: string;
  runId: string;
  agent: string;
  /** the space whose readers this is for */
  spaceId?: string;
  /** a long one is cut */
  result: string;
}

export interface ToolServer {
  name: string;
  url: string | null;
  /** masked; a mask that is sent back stands for what is stored */
  headers: Record<string, string>;
  command: string[];
  /** masked; a mask that is sent back stands for what is stored */
  env: Record<string, string>;
}

/** A resident begins to use a tool outside. */
export interface ToolStarted {
  toolCallId: string;
  toolName: string;
  runId: string;
  agent: string;
  /** the space whose readers this is for */
  spaceId?: string;
  arguments: Record<string, unknown>;
}

/** A run waits for the result of a tool that the caller runs. */
export interface ToolWaiting {
  toolCallId: string;
  toolName: string;
  runId: string;
  agent: string;
  /** the space whose readers this is for */
  spaceId?: string;
  arguments: Record<string, unknown>;
  /** the id to answer with, in `tool-results` */
  callId: string;
}

export interface Topic {
  id: string;
  /** local, or the network of Hedera */
  network: string;
  kind: TopicKind;
  memo: string;
  /** whose it is */
  entity: string | null;
  workItem: Ref | null;
  messages: number;
  /** when its last message came; null if it has none */
  lastMessageAt: Time | null;
  createdAt: Time;
}

export type TopicKind = 
  | "broadcast"
  | "connection"
  | "definitions"
  | "file"
  | "inbound"
  | "outbound"
  | "peer"
  | "work";

export interface TopicMessage {
  topicId: string;
  sequenceNumber: number;
  consensusTimestamp: string;
  payerAccountId: string;
  /** base64 */
  message: string;
  /** the message, if it is text */
  text: string | null;
  /** base64 */
  runningHash: string;
  runningHashVersion: number;
  chunk: Chunk | null;
  /** why it does not count, as a message of a stranger */
  refused: string | null;
}

export interface TopicMessagePage {
  items: TopicMessage[];
  next: string | null;
}

export interface TopicPage {
  items: Topic[];
  next: string | null;
}

export interface TopicVerification {
  messages: number;
  proved: number;
  /** messages whose predecessor is not known */
  unknown: number;
  wrong: number;
  firstFault: Fault | null;
  /** `after` of the next request; null at the end of the topic */
  next: number | null;
}

export interface Transport {
  name: string;
  degraded: boolean;
  reason: string | null;
}

/** How many items were changed. */
export interface Triage {
  count: number;
  /** the filter lets more items through: repeat the request */
  more: boolean;
  /** of items that are done: what `undo` takes */
  receipt?: string;
  /** when snoozed items are shown again at the latest */
  hiddenUntil?: Time;
}

/** A trigger, without its secret or token. */
export interface Trigger {
  name: string;
  provider: string;
  scheme: Scheme | null;
  target: string | null;
  prompt: string | null;
  owner: string;
  session: string | null;
  /** dotted paths of metadata, or of a payload, that nothing may lack */
  requires: string[];
  /** how the payloads of a webhook become lines */
  templates: Record<string, unknown>[];
  /** the chats and users who may write to a bot */
  allow: number[];
  /** the chats and users who may not */
  block: number[];
  mode: DeliveryMode | null;
  groups: GroupMode | null;
  publicUrl: string | null;
  /** what the provider of another package needs */
  options: Record<string, unknown>;
  schedule: Schedule | null;
  heartbeat: Heartbeat | null;
  /** where the token of a bot is, if it is not stored */
  token: string | null;
  active: boolean;
  /** whether it is set in gatepost.toml, and can only be changed there */
  isFromFile: boolean;
  /** when a schedule fires next */
  nextAt: Time | null;
  /** why a bot does not work */
  error: string | null;
  createdAt: Time;
  /** why its provider cannot be used, if it cannot */
  problem?: string;
}

/** What `triggerAgent` asks. */
export interface TriggerAgent {
  name: string;
  serviceName: string;
  payload?: unknown;
}

/** A trigger has changed, or its schedule has fired. */
export interface TriggerChange {
  name: string;
}

export interface TriggerPage {
  items: Trigger[];
  next: string | null;
}

/** What would happen to a payload. */
export interface TriggerPreview {
  events: PreviewedEvent[];
  /** why there would be no event */
  skipped: string | null;
}

export interface Triggered {
  eventId: string;
  duplicate: boolean;
}

/** How far the text may be trusted. It is always data, never an instruction of Gatepost. */
export type Trust = "external" | "member" | "owner";

/** What was shown, said or returned: that of the three which `kind` names. */
export interface Turn {
  kind: "prompt" | "reply" | "result";
  prompt: Prompt | null;
  reply: Reply | null;
  result: Result | null;
}

/** What `undoDone` asks. */
export interface UndoDone {
  name: string;
  /** these items */
  events?: string[];
  receipt?: string | null;
}

export interface UnreadSpace {
  id: string;
  name: string;
  unread: number;
}

/** An unrouted message: it came through a channel, and nobody got it. */
export interface UnroutedMessage {
  id: string;
  /** the trigger that it came by; null if that is gone */
  trigger: string | null;
  channel: string;
  sessionId: string;
  kind: EnvelopeKind;
  /** the person who wrote it; null if it is nobody here */
  sender: string | null;
  /** the name of the user on the channel */
  senderName: string | null;
  content: string;
  payload: unknown;
  metadata: Record<string, string>;
  reason: UnroutedReason;
  createdAt: Time;
  replayedAt: Time | null;
  replayedBy: string | null;
  discardedAt: Time | null;
  discardedBy: string | null;
}

export interface UnroutedMessagePage {
  items: UnroutedMessage[];
  next: string | null;
}

export type UnroutedReason = "missing_metadata" | "no_route" | "no_target";

/** What `unsnoozeItems` asks. */
export interface UnsnoozeItems {
  name: string;
  /** these items */
  events?: string[];
  /** instead of `events`: the items that this filter lets through */
  matching?: Matching | null;
}

/** What runs have used. It has the fields `agent`, `model`, `cause` and `startsAt` by which it is grouped. */
export interface Usage {
  agent?: string;
  model?: string;
  /** type of the event that woke the agent */
  cause?: string;
  /** the beginning of the day or the hour, in UTC */
  startsAt?: Time;
  /** number of wakes */
  runs: number;
  failedRuns: number;
  /** number of runs that ended because a budget was used up */
  budgetStops: number;
  /** number of replies of models */
  steps: number;
  events: number;
  promptTokens: number;
  completionTokens: number;
  durationMs: number;
}

/** What usage is grouped by. */
export type UsageDimension = "agent" | "cause" | "day" | "hour" | "model";

/** `total` is the usage of all groups together, also of those on other pages. */
export interface UsagePage {
  items: Usage[];
  next: string | null;
  total: Usage;
}

/** What `verifyTopic` asks. */
export interface VerifyTopic {
  id: string;
  /** `next` of the previous page; default: 0 */
  after?: number | string;
  /** messages to check at once; default: 10000 */
  limit?: number;
}

/** What waits for an entity: the first few of each kind, and how many there are. */
export interface Waiting {
  /** counted up to 1,000 */
  decisionCount: number;
  /** open decisions that it may answer, the most urgent first */
  decisions: Decision[];
  /** counted up to 1,000 */
  itemCount: number;
  /** pending items, the most urgent first */
  items: Item[];
  /** counted up to 1,000 */
  alertCount: number;
  /** pending alerts, the newest first; they are items too */
  alerts: Item[];
  /** spaces with unread messages */
  spaces: UnreadSpace[];
}

/** What `wakeAgent` asks. */
export interface WakeAgent {
  name: string;
}

/** What `watchAgent` asks. */
export interface WatchAgent {
  name: string;
}

/** What `watchAll` asks. */
export interface WatchAll {
  space?: string[];
  inbox?: string[];
}

/** What `watchInbox` asks. */
export interface WatchInbox {
  name: string;
}

/** What `watchRun` asks. */
export interface WatchRun {
  id: string;
}

/** What `watchSharedInbox` asks. */
export interface WatchSharedInbox {
  /** only this channel */
  channel?: string;
  /** only this session */
  session?: string;
  /** only entries of this kind */
  kind?: EntryKind;
}

/** What `watchSpace` asks. */
export interface WatchSpace {
  id: string;
  /** entity that reads; default: the caller */
  member?: string;
}

/** What `withdrawDecision` asks. */
export interface WithdrawDecision {
  id: string;
  /** why; everybody concerned gets it */
  reason?: string;
  /** entity to act as; default: the caller */
  by?: string;
}

export interface Woken {
  name: string;
  woken: boolean;
}

export interface WorkEvent {
  id: string;
  item: Ref;
  /** its name with the type of its item, such as task.blocked */
  type: string;
  sender: string;
  reason: string;
  createdAt: Time;
  /** null if it is not for a ledger */
  postState: PostState | null;
  /** when it was posted to a ledger */
  postedAt: Time | null;
  /** who got it; only in the answer to the one who posted it */
  recipients: string[];
  /** whether this has added its work item */
  created: boolean;
}

export interface WorkEventPage {
  items: WorkEvent[];
  next: string | null;
}

export interface WorkItem {
  type: WorkType;
  id: string;
  title: string;
  /** work item that it is a part of */
  parent: Ref | null;
  /** its topic on a ledger */
  topic: string | null;
  /** its last event; null if it had none */
  status: string | null;
  madeBy: string;
  createdAt: Time;
  updatedAt: Time;
}

export interface WorkItemPage {
  items: WorkItem[];
  next: string | null;
}

export type WorkType = "phase" | "project" | "stage" | "task";
