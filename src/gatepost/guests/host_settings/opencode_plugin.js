// What OpenCode does with the hooks of Gatepost. One line above says how they are called.
//
//     chat.message          SessionStart once, and UserPromptSubmit: their text becomes a part of the prompt
//     tool.execute.before   PreToolUse: a block refuses the tool
//     tool.execute.after    PostToolUse: its text is added to the result of the tool
//     session.idle          Stop: a reason to continue becomes a prompt
//     when an item comes    a process that waits ends, and a prompt wakes the session
//     the end               SessionEnd
//
// Proof that the model has read a text comes from here: a message of the model that began after the text was shown and
// ended without an error. Sessions of helpers have a parent, and never show the inbox. Whatever fails, OpenCode goes on.
import { spawn } from "node:child_process"

const TIMEOUT = 600_000
const END_TIMEOUT = 3_000
// the exit code of the process that waits, when the session is to be woken
const WAKE = 2
// `opencode run` ends with the first stop, whatever is prompted then.
const ENDS_AT_STOP = process.argv.includes("run")

export const Gatepost = async ({ client, directory }) => {
  // by the id of a session
  const sessions = new Map()

  const run = (event, payload) => {
    const agent = settings.agent ? ["--agent", settings.agent] : []
    const home = settings.home ? ["--home", settings.home] : []
    const child = spawn(settings.program, ["hook", event, "--host", "opencode", ...agent, ...home], { cwd: directory })
    child.stdin.on("error", () => {})
    child.stdin.end(JSON.stringify({ cwd: directory, hook_event_name: event, ...payload }))
    return child
  }

  const call = (event, payload, timeout = TIMEOUT) =>
    new Promise((resolve) => {
      const child = run(event, payload)
      const timer = setTimeout(() => child.kill(), timeout)
      let stdout = ""
      let stderr = ""
      child.stdout.on("data", (chunk) => (stdout += chunk))
      child.stderr.on("data", (chunk) => (stderr += chunk))
      child.on("error", (error) => finish(String(error)))
      child.on("close", () => finish(stderr.trim()))
      const finish = (problem) => {
        clearTimeout(timer)
        if (problem) client.app.log({ body: { service: "gatepost", level: "warn", message: problem } }).catch(() => {})
        let answer = {}
        try {
          answer = stdout.trim() ? JSON.parse(stdout) : {}
        } catch {}
        if (answer.message) {
          client.tui.showToast({ body: { title: "Gatepost", message: answer.message, variant: "warning" } }).catch(() => {})
        }
        resolve(answer)
      }
    })

  const find = async (id) => {
    let session = sessions.get(id)
    if (!session) {
      const found = await client.session.get({ path: { id } }).catch(() => ({}))
      session = sessions.get(id) ?? {
        id,
        isHelper: Boolean(found.data?.parentID),
        isStarted: false,
        isResumed: false,
        turn: undefined,
        // the last message of the model, and the one that was the last when text was shown
        reply: "",
        replyBefore: "",
        hasReplied: false,
        // texts of ours that are sent as prompts
        ownPrompts: new Set(),
        // the process that ends when the session is to be woken
        waiter: undefined,
      }
      sessions.set(id, session)
    }
    return session
  }

  const expectReply = (session) => {
    session.replyBefore = session.reply
    session.hasReplied = false
  }

  const describe = (session) => ({ session_id: session.id, prompt_id: session.turn })

  const start = async (session) => {
    session.isStarted = true
    return call("SessionStart", { session_id: session.id, source: session.isResumed ? "resume" : "startup" })
  }

  const prompt = (session, text) =>
    client.session.promptAsync({ path: { id: session.id }, body: { parts: [{ type: "text", text }] } }).catch(() => {})

  // One process waits for each session. Its code says that the session is to be woken, and its text is the prompt.
  const wait = (session) => {
    if (session.waiter || ENDS_AT_STOP) return
    const child = run("wait", { session_id: session.id })
    session.waiter = child
    let text = ""
    child.stderr.on("data", (chunk) => (text += chunk))
    child.on("error", () => (session.waiter = undefined))
    child.on("close", (code) => {
      session.waiter = undefined
      if (code === WAKE && sessions.has(session.id)) prompt(session, text.trim())
    })
  }

  const onPrompt = async ({ sessionID }, { message, parts }) => {
    const session = await find(sessionID)
    if (session.isHelper) return
    const text = parts.filter((part) => part.type === "text" && !part.synthetic).map((part) => part.text).join("\n")
    if (session.ownPrompts.delete(text)) return expectReply(session)
    session.turn = message.id
    const answers = session.isStarted ? [] : [await start(session)]
    const answer = await call("UserPromptSubmit", { ...describe(session), prompt: text })
    expectReply(session)
    wait(session)
    if (answer.block) throw new Error(answer.block)
    for (const { context } of [...answers, answer]) {
      if (context) parts.push(buildPart(parts, message, context))
    }
  }

  // The id sorts after that of the last part, because parts are shown in the order of their ids.
  const buildPart = (parts, message, text) => ({
    id: `${parts.at(-1)?.id ?? "prt_"}z`,
    sessionID: message.sessionID,
    messageID: message.id,
    type: "text",
    text,
    synthetic: true,
  })

  const onTool = async ({ tool, sessionID, callID, args }, output) => {
    const session = await find(sessionID)
    if (session.isHelper) return
    const payload = { ...describe(session), tool_name: tool, tool_use_id: callID, tool_input: args }
    const { block, context } = await call("PostToolUse", payload)
    expectReply(session)
    for (const text of [block, context]) if (text) output.output += `\n\n${text}`
  }

  const onToolWish = async ({ tool, sessionID, callID }, { args }) => {
    if (!settings.events.includes("PreToolUse")) return
    const session = await find(sessionID)
    const helper = session.isHelper ? { agent_id: sessionID } : {}
    const payload = { ...describe(session), ...helper, tool_name: tool, tool_use_id: callID, tool_input: args }
    const { block } = await call("PreToolUse", payload)
    if (block) throw new Error(block)
  }

  const onIdle = async (session) => {
    if (session.isHelper || !session.isStarted) return
    const { block, context } = await call("Stop", { ...describe(session), failed: !session.hasReplied, ends: ENDS_AT_STOP })
    wait(session)
    const text = block ?? context
    if (!text || ENDS_AT_STOP) return
    session.ownPrompts.add(text)
    await prompt(session, text)
  }

  const end = async (session, reason) => {
    sessions.delete(session.id)
    session.waiter?.kill()
    if (session.isStarted && !session.isHelper) {
      await call("SessionEnd", { ...describe(session), reason }, END_TIMEOUT)
    }
  }

  const onReply = (session, info) => {
    if (info.id > session.reply) session.reply = info.id
    if (info.id > session.replyBefore && info.time.completed) session.hasReplied = !info.error
  }

  const onEvent = async ({ type, properties }) => {
    switch (type) {
      case "session.created":
        return find(properties.info.id)
      case "message.updated":
        if (properties.info.role === "assistant") onReply(await find(properties.info.sessionID), properties.info)
        return
      case "session.idle":
        return onIdle(await find(properties.sessionID))
      case "session.deleted":
        if (sessions.has(properties.info.id)) await end(sessions.get(properties.info.id), "other")
    }
  }

  return {
    event: ({ event }) => onEvent(event),
    "chat.message": onPrompt,
    "tool.execute.before": onToolWish,
    "tool.execute.after": onTool,
    "shell.env": async ({ sessionID }, { env }) => {
      if (sessionID) env.OPENCODE_SESSION_ID = sessionID
    },
    dispose: () => Promise.all([...sessions.values()].map((session) => end(session, "other"))),
  }
}
