// Calls the hooks of Longhaul's module as opencode does: `node play.mjs MODULE STEPS`. A step is the name of a hook and its
// arguments. Prints what each call took in milliseconds, the errors, the messages shown, the parts of the prompts, and the
// system prompts.
import { pathToFileURL } from 'node:url'

const [, , module, steps] = process.argv
const played = { ms: [], errors: [], toasts: [], parts: [], systems: [] }
const client = { tui: { showToast: async ({ body }) => void played.toasts.push(body.message) } }
const { Longhaul } = await import(pathToFileURL(module))
const hooks = await Longhaul({ client, directory: '/home/dev/project' })
for (const [name, ...args] of JSON.parse(steps)) {
  const start = Date.now()
  try {
    await hooks[name](...args)
  } catch (error) {
    played.errors.push(`${name}: ${error}`)
  }
  played.ms.push(Date.now() - start)
  if (name === 'experimental.chat.system.transform') played.systems.push(args[1].system)
  if (name === 'chat.message') played.parts.push(args[1]?.parts ?? null)
}
process.stdout.write(JSON.stringify(played), () => process.exit())
