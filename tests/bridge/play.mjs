// Plays the client to the module: `node play.mjs MODULE SCENARIO`. Prints every call that the module makes.
import { pathToFileURL } from 'node:url'

const [, , module, text] = process.argv
const scenario = JSON.parse(text)
const calls = []
const refusals = [...(scenario.refuses ?? [])]
const note = (name, value) => {
  calls.push(value === undefined ? [name] : [name, value])
  if (refusals[0] === name) {
    refusals.shift()
    throw new Error('not now')
  }
}
const $ = {
  plugin: { name: 'longhaul', root: '/plugin' },
  session: {
    id: async () => 'session-1',
    usage: async () => ({ startedAt: 1, context: { tokens: 5, window: 10, percent: 50 }, rateLimits: [] }),
    compact: async () => note('compact'),
  },
  prompt: {
    read: async () => ({ text: scenario.draft ?? '', cursor: 0 }),
    submit: async args => note('submit', args),
  },
  command: { run: async args => note('run', args.command) },
  process: {
    run: async (argv, init) => {
      calls.push(['tell', argv.slice(1).join(' '), JSON.parse(init.stdin), init.timeoutMs, init.env])
      const meanwhile = scenario.meanwhile?.[argv[2]]
      if (meanwhile) await hooks[meanwhile[0]]($, meanwhile[1], async e => e)
      const answers = scenario.answers[argv[2]] ?? []
      const answer = answers.shift() ?? { actions: [] }
      if (answer === 'hang') throw new Error('timed out')
      const stdout = typeof answer === 'string' ? answer : JSON.stringify(answer)
      return { exitCode: scenario.exitCode ?? 0, stdout, stderr: '' }
    },
  },
  ui: {
    status: text => note('status', text ?? null),
    toast: text => note('toast', text),
    log: (text, options) => note('log', [text, options?.to]),
  },
}
const hooks = {}
const { register } = await import(pathToFileURL(module))
register((event, hook) => (hooks[event] = hook))
for (const [event, e] of scenario.events) {
  const passed = await hooks[event]($, e, async e => e)
  if (passed !== e) throw new Error(`${event} was not passed on`)
  // What the hook began without waiting for it.
  for (let n = 0; n < 50; n++) await new Promise(resolve => setImmediate(resolve))
}
console.log(JSON.stringify(calls))
