#!/usr/bin/env node
// The minimum that a hook written in node does on PostToolUse: reads the payload, measures it, writes a line.
// For comparison in `cargo xtask bench`; not shipped.
import { appendFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

const payload = JSON.parse(readFileSync(0, 'utf8'))
const chars = JSON.stringify(payload.tool_response).length
appendFileSync(join(process.env.LONGHAUL_HOME, 'reference.log'), `T ${Date.now()} ${chars}\n`)
console.log('{"continue":true}')
