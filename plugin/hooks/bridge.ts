// Reports events of Claude Code to `longhaul bridge`, and does what it answers. All decisions are made there.
import type { EngineInterface, Register, TurnCompleteInput } from 'claude-code'

type Action = { do?: unknown; text?: unknown }

/** How long an answer may take. Claude Code does not wait for it. */
const LIMIT_MS = 5_000

/** Unset, because a Claude Code started by another one inherits its variable. `longhaul bridge` uses its parent instead. */
const OURS = { CLAUDE_PID: '' }

/** The number of prompts and turns that have started. */
let begun = 0

/** Whether an error was reported. Only the first one is. */
let complained = false

/** Runs `longhaul bridge` and returns the actions in its answer; none if the answer cannot be parsed. */
async function tell($: EngineInterface, event: string, report: object): Promise<readonly Action[]> {
  try {
    const session = await $.session.id()
    const stdin = JSON.stringify({ plugin: $.plugin.name, session, ...report })
    const argv = [`${$.plugin.root}/bin/longhaul`, 'bridge', event]
    const ran = await $.process.run(argv, { stdin, env: OURS, timeoutMs: LIMIT_MS })
    if (ran.exitCode !== 0) throw new Error(`longhaul bridge ended with ${ran.exitCode}: ${ran.stderr}`)
    const { actions } = JSON.parse(ran.stdout) as { actions?: unknown }
    if (!Array.isArray(actions)) throw new Error('longhaul bridge answered without actions')
    return actions
  } catch (error) {
    if (event !== 'trouble') await complain($, `${event}: ${String(error)}`)
    return []
  }
}

async function complain($: EngineInterface, error: string): Promise<void> {
  if (complained) return
  complained = true
  $.ui.log(`longhaul: ${error}`, { to: 'debug' })
  await tell($, 'trouble', { error })
}

/**
 * Does the actions one after the other. A failed action is reported, and the answer may have new actions.
 *
 * If a prompt or turn has started since `moment`, the action would affect it: then that is reported instead.
 */
async function perform($: EngineInterface, actions: readonly Action[], moment: number): Promise<void> {
  for (const action of actions) {
    try {
      if (begun !== moment && action.do !== 'status' && action.do !== 'toast') {
        await tell($, 'overtaken', { do: action.do })
        return
      }
      await act($, action, moment)
    } catch (error) {
      await perform($, await tell($, 'failed', { do: action.do, error: String(error) }), moment)
    }
  }
}

async function act($: EngineInterface, action: Action, moment: number): Promise<void> {
  const text = typeof action.text === 'string' ? action.text : undefined
  switch (action.do) {
    case 'clear':
      await $.command.run({ command: 'clear' })
      return perform($, await tell($, 'cleared', {}), moment)
    case 'compact':
      await $.session.compact({})
      return
    case 'submit':
      if (text === undefined) break
      await $.prompt.submit({ text, asUser: true })
      return
    case 'status':
      $.ui.status(text)
      return
    case 'toast':
      if (text === undefined) break
      $.ui.toast(text)
      return
  }
  await complain($, `no such action: ${JSON.stringify(action).slice(0, 200)}`)
}

async function started($: EngineInterface, interactive: boolean): Promise<void> {
  await perform($, await tell($, 'start', { interactive }), begun)
}

async function turned($: EngineInterface, turn: TurnCompleteInput): Promise<void> {
  const moment = begun
  const usage = await $.session.usage()
  const draft = await $.prompt.read()
  await perform($, await tell($, 'turn', { reason: turn.reason, usage, draft_empty: draft.text === '' }), moment)
}

async function ended($: EngineInterface, session: string, reason: string): Promise<void> {
  await perform($, await tell($, 'end', { session, reason }), begun)
}

export const register: Register = on => {
  on('session.start', ($, e, next) => {
    void started($, e.isInteractive)
    return next(e)
  })
  on('prompt.submit', (_, e, next) => {
    begun++
    return next(e)
  })
  on('turn.start', (_, e, next) => {
    if (e.agentId === undefined) begun++
    return next(e)
  })
  on('turn.complete', ($, e, next) => {
    // Not awaited: Claude Code must not be delayed, and cannot clear while a hook of its turn runs.
    if (e.agentId === undefined) void turned($, e).catch(error => complain($, String(error)))
    return next(e)
  })
  on('session.end', ($, e, next) => {
    void ended($, e.sessionId, e.reason)
    return next(e)
  })
}
