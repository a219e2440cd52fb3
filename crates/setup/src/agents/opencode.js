// Longhaul's module for opencode, written by `longhaul install --agent opencode`. It reports events to `longhaul hook`, and adds
// the text in the answers to the prompt. All decisions are made there.
import { spawn, spawnSync } from 'node:child_process'

const LONGHAUL = 'longhaul' /* the program */

/** How long an answer may take, and how long one may take when opencode ends. */
const LIMIT_MS = 6_000
const LIMIT_AT_END_MS = 1_500

const argv = (event) => ['hook', '--agent', 'opencode', event]

/** Runs `longhaul hook` and returns its answer; an empty one if there is none. */
function run(event, payload) {
  return new Promise((resolve) => {
    const child = spawn(LONGHAUL, argv(event), { stdio: ['pipe', 'pipe', 'ignore'], timeout: LIMIT_MS })
    let answer = ''
    child.on('error', () => resolve({}))
    child.stdout.on('data', (data) => (answer += data))
    child.on('close', () => {
      try {
        resolve(JSON.parse(answer))
      } catch {
        resolve({})
      }
    })
    child.stdin.on('error', () => {})
    child.stdin.end(JSON.stringify(payload))
  }).catch(() => ({}))
}

export const Longhaul = async ({ client, directory }) => {
  /**
   * What is known of each session: its parent, if it is a subagent's; whether it was reported; the id of its prompt; the
   * texts of the replies to it, by the ids of their parts; the newest answer of the model, and the model's window.
   */
  const sessions = new Map()
  const known = (id) => sessions.get(id) ?? sessions.set(id, { texts: new Map() }).get(id)
  /** Returns the session that the user sees: a subagent has a session of its own. */
  const root = (id) => (known(id).parent ? root(known(id).parent) : id)

  /** The reports, one after the other, so that their order is that of the events. */
  let queue = Promise.resolve()
  let waiting = 0
  function report(event, id, more) {
    const payload = { session_id: id, cwd: directory, prompt_id: known(id).prompt, ...more }
    waiting += 1
    queue = queue.then(() => run(event, payload)).finally(() => (waiting -= 1))
    return queue
  }

  function show(answer) {
    const message = answer.systemMessage
    if (message) client.tui.showToast({ body: { message, variant: 'info' } }).catch(() => {})
    return answer.hookSpecificOutput?.additionalContext
  }

  /** Reports the end of a turn, with its replies and the use of the context. */
  function idle(id) {
    const { texts, answer, window } = known(id)
    const { input = 0, cache = {} } = answer?.tokens ?? {}
    report('session.idle', id, {
      last_assistant_message: [...texts.values()].join('\n\n'),
      input_tokens: input + (cache.read ?? 0) + (cache.write ?? 0),
      context_limit: window,
      model: answer?.modelID,
    })
  }

  function failed(id, part) {
    const { tool, callID, state } = part
    report('tool.execute.after', id, {
      tool_name: tool,
      tool_use_id: callID,
      tool_input: state.input,
      tool_response: { error: String(state.error ?? 'failed') },
    })
  }

  const on = {
    'session.created': ({ info }) => Object.assign(known(info.id), { isNew: true, parent: info.parentID }),
    'session.idle': ({ sessionID }) => !known(sessionID).parent && known(sessionID).isReported && idle(sessionID),
    'session.error': ({ sessionID, error }) => {
      // After an interrupt comes `session.idle`.
      if (!sessionID || known(sessionID).parent || error?.name === 'MessageAbortedError') return
      report('session.error', sessionID, { error: error?.data?.message ?? error?.name })
    },
    'session.deleted': ({ info }) => {
      if (known(info.id).isReported) report('session.end', info.id, { reason: 'other' })
      sessions.delete(info.id)
    },
    'permission.asked': ({ sessionID, permission, patterns, metadata }) => {
      const { filepath, url } = metadata ?? {}
      report('permission.asked', root(sessionID), { details: { type: permission, pattern: patterns?.[0], filepath, url } })
    },
    'permission.replied': ({ sessionID }) => report('permission.replied', root(sessionID)),
    'message.updated': ({ info }) => {
      const session = known(info.sessionID)
      if (info.role === 'assistant' && info.parentID === session.prompt) session.answer = info
    },
    'message.part.updated': ({ part }) => {
      const { texts, answer } = known(part.sessionID)
      if (part.type === 'text' && answer?.id === part.messageID) texts.set(part.id, part.text)
      if (part.type === 'tool' && part.state?.status === 'error') failed(root(part.sessionID), part)
    },
  }

  return {
    config: async (config) => {
      config.mcp ??= {}
      config.mcp.longhaul ??= { type: 'local', command: [LONGHAUL, 'mcp'], enabled: true }
    },
    event: async ({ event }) => void on[event.type]?.(event.properties),
    'chat.params': async ({ sessionID, model }) => void (known(sessionID).window = model?.limit?.context),
    'chat.message': async ({ sessionID }, { message, parts }) => {
      const session = known(sessionID)
      if (session.parent) return
      const typed = parts.filter((part) => part.type === 'text' && !part.synthetic).map((part) => part.text)
      const context = []
      if (!session.isReported) {
        session.isReported = true
        const more = { source: session.isNew ? 'startup' : 'resume', model: message.model?.modelID }
        context.push(show(await report('session.start', sessionID, more)))
      }
      Object.assign(session, { prompt: message.id, answer: undefined, texts: new Map() })
      context.push(show(await report('chat.message', sessionID, { prompt: typed.join('\n') })))
      const text = context.filter(Boolean).join('\n\n')
      const id = `${parts.at(-1)?.id ?? 'prt_'}_longhaul`
      if (text) parts.push({ id, sessionID, messageID: message.id, type: 'text', text, synthetic: true })
    },
    'tool.execute.after': async ({ tool, sessionID, callID, args }, { output, metadata }) => {
      const more = { tool_name: tool, tool_use_id: callID, tool_input: args }
      report('tool.execute.after', root(sessionID), { ...more, tool_response: { output, exit: metadata?.exit } })
    },
    dispose: async () => {
      if (waiting) await Promise.race([queue, new Promise((resolve) => setTimeout(resolve, LIMIT_AT_END_MS))])
      for (const [id, { isReported }] of sessions) {
        const input = JSON.stringify({ session_id: id, cwd: directory, reason: 'exit' })
        if (isReported) spawnSync(LONGHAUL, argv('session.end'), { input, timeout: LIMIT_AT_END_MS })
      }
    },
  }
}
