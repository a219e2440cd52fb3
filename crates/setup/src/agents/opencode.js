// Longhaul's module for opencode, written by `longhaul install --agent opencode`. It reports events to `longhaul hook`, and adds
// the text in the answers to the prompt; after a compaction, to the system prompt. All decisions are made there.
import { spawn } from 'node:child_process'

const LONGHAUL = 'longhaul' /* the program */

/** How long opencode waits for an answer, and how long when it ends: in total, however many sessions there are. */
const LIMIT_MS = 6_000
const LIMIT_AT_END_MS = 1_500

/** The number of reports that may wait. Further results of tools are left out, so that a program that hangs fills no memory. */
const MOST_WAITING = 100

/** Runs `longhaul hook` and returns its answer; an empty one if there is none in time. */
function run(event, payload) {
  return new Promise((resolve) => {
    const input = JSON.stringify(payload)
    const child = spawn(LONGHAUL, ['hook', '--agent', 'opencode', event], { stdio: ['pipe', 'pipe', 'ignore'] })
    let answer = ''
    const end = () => {
      clearTimeout(timer)
      try {
        resolve(JSON.parse(answer) ?? {})
      } catch {
        resolve({})
      }
    }
    // The output may stay open after the program has ended, if another process has inherited it.
    const timer = setTimeout(() => {
      child.kill('SIGKILL')
      child.stdout.destroy()
      resolve({})
    }, LIMIT_MS)
    child.on('error', end)
    child.on('close', end)
    child.stdout.on('data', (data) => (answer += data))
    child.stdin.on('error', () => {})
    child.stdin.end(input)
  }).catch(() => ({}))
}

/** Waits for a promise, for at most `ms`; an empty object if that is not enough. */
function within(ms, promise) {
  let timer
  const late = new Promise((resolve) => (timer = setTimeout(resolve, Math.max(ms, 0), {})))
  return Promise.race([promise, late]).finally(() => clearTimeout(timer))
}

/** Returns hooks that never fail: opencode waits for each of them, and an error would end the user's request. */
function guarded(hooks) {
  const guard = (hook) => async (...args) => {
    try {
      await hook(...args)
    } catch {
      // An event of a shape that is not known is left out.
    }
  }
  return Object.fromEntries(Object.entries(hooks).map(([name, hook]) => [name, guard(hook)]))
}

/** Returns the result of a tool. That of an MCP server is a list of contents. */
function response(result) {
  const { output, content, isError, metadata } = result ?? {}
  const texts = content?.filter?.((part) => part?.type === 'text').map((part) => part.text)
  const text = output ?? texts?.join('\n')
  return isError ? { error: text || 'failed' } : { output: text, exit: metadata?.exit }
}

export const Longhaul = async ({ client, directory }) => {
  /**
   * What is known of each session: its parent, if it is a subagent's; whether it was reported; the id of its prompt; the
   * texts of the replies to it, by the ids of their parts; the newest answer of the model, and the model's window. Of a
   * compaction: whether opencode began it, the id and the texts of its summary, and what is added to the system prompt since.
   */
  const sessions = new Map()
  const known = (id) => sessions.get(id) ?? sessions.set(id, { texts: new Map() }).get(id)
  /** Returns the session that the user sees: a subagent has a session of its own. */
  const root = (id) => (known(id).parent ? root(known(id).parent) : id)

  /** The reports, one after the other, so that their order is that of the events. */
  let queue = Promise.resolve()
  let waiting = 0
  function report(event, id, more) {
    if (waiting >= MOST_WAITING && event === 'tool.execute.after') return
    const payload = { session_id: id, cwd: directory, prompt_id: known(id).prompt, ...more }
    waiting += 1
    queue = queue.then(() => run(event, payload)).finally(() => (waiting -= 1))
    return queue
  }

  /** Shows the user the message of an answer, and returns the text for the model. */
  function show({ systemMessage, stopReason, hookSpecificOutput, ...answer }) {
    const message = systemMessage ?? stopReason
    if (message) client.tui.showToast({ body: { message, variant: 'info' } }).catch(() => {})
    // opencode cannot withdraw a prompt that Longhaul has handled itself.
    if (answer.continue === false) return `${message}. Nothing is left to do: reply with one short sentence.`
    return hookSpecificOutput?.additionalContext
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

  /** Reports the end of a compaction, whose summary is known now. The answer is added to the requests from then on. */
  function compacted(id) {
    const session = known(id)
    const summary = [...(session.summary?.texts.values() ?? [])].join('\n\n')
    report('session.compacted', id, { compact_summary: summary })
    session.added = report('session.start', id, { source: 'compact' }).then(show)
  }

  const on = {
    'session.created': ({ info }) => Object.assign(known(info.id), { isNew: true, parent: info.parentID }),
    'session.idle': ({ sessionID }) => !known(sessionID).parent && known(sessionID).isReported && idle(sessionID),
    'session.error': ({ sessionID, error }) => {
      // After an interrupt comes `session.idle`.
      if (!sessionID || known(sessionID).parent || error?.name === 'MessageAbortedError') return
      report('session.error', sessionID, { error: error?.data?.message ?? error?.name })
    },
    'session.compacted': ({ sessionID }) => known(sessionID).isReported && compacted(sessionID),
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
      if (info.summary === true && info.id !== session.summary?.id) session.summary = { id: info.id, texts: new Map() }
      if (info.role === 'assistant' && info.parentID === session.prompt) session.answer = info
    },
    'message.part.updated': ({ part }) => {
      const session = known(part.sessionID)
      const { texts, answer, summary } = session
      if (part.type === 'compaction') session.isAuto = part.auto
      if (part.type === 'text' && answer?.id === part.messageID) texts.set(part.id, part.text)
      if (part.type === 'text' && summary?.id === part.messageID) summary.texts.set(part.id, part.text)
      if (part.type === 'tool' && part.state?.status === 'error') failed(root(part.sessionID), part)
    },
  }

  return guarded({
    config: async (config) => {
      config.mcp ??= {}
      config.mcp.longhaul ??= { type: 'local', command: [LONGHAUL, 'mcp'], enabled: true }
    },
    event: async ({ event }) => void on[event.type]?.(event.properties),
    'chat.params': async ({ sessionID, model }) => void (known(sessionID).window = model?.limit?.context),
    'experimental.session.compacting': async ({ sessionID }) => {
      const session = known(sessionID)
      session.added = undefined
      if (session.isReported) report('session.compacting', sessionID, { trigger: session.isAuto ? 'auto' : 'manual' })
    },
    'experimental.chat.system.transform': async ({ sessionID }, { system }) => {
      const { added } = sessions.get(sessionID) ?? {}
      const text = added && (await within(LIMIT_MS, added))
      if (typeof text === 'string') system.push(text)
    },
    'chat.message': async ({ sessionID }, { message, parts }) => {
      const session = known(sessionID)
      if (session.parent) return
      const typed = parts.filter((part) => part.type === 'text' && !part.synthetic).map((part) => part.text)
      const until = Date.now() + LIMIT_MS
      const reports = []
      if (!session.isReported) {
        session.isReported = true
        const more = { source: session.isNew ? 'startup' : 'resume', model: message.model?.modelID }
        reports.push(report('session.start', sessionID, more))
      }
      Object.assign(session, { prompt: message.id, answer: undefined, texts: new Map() })
      reports.push(report('chat.message', sessionID, { prompt: typed.join('\n') }))
      const context = []
      for (const reported of reports) context.push(show(await within(until - Date.now(), reported)))
      const text = context.filter(Boolean).join('\n\n')
      const id = `${parts.at(-1)?.id ?? 'prt_'}_longhaul`
      if (text) parts.push({ id, sessionID, messageID: message.id, type: 'text', text, synthetic: true })
    },
    'tool.execute.after': async ({ tool, sessionID, callID, args }, result) => {
      const more = { tool_name: tool, tool_use_id: callID, tool_input: args, tool_response: response(result) }
      report('tool.execute.after', root(sessionID), more)
    },
    dispose: async () => {
      const until = Date.now() + LIMIT_AT_END_MS
      if (waiting) await within(LIMIT_AT_END_MS / 2, queue)
      const reported = [...sessions].filter(([, { isReported }]) => isReported)
      const ends = reported.map(([id]) => run('session.end', { session_id: id, cwd: directory, reason: 'exit' }))
      await within(until - Date.now(), Promise.all(ends))
    },
  })
}
