// What the module uses of the client's interface, and no more. The interface moves between releases: a call that is not
// here is a call that nobody has tried.
declare module 'claude-code' {
  export type EngineInterface = {
    plugin: { name: string; root: string }
    session: {
      id: () => Promise<string>
      usage: () => Promise<SessionUsage>
      compact: (args: { instructions?: string }) => Promise<{ skip?: string }>
    }
    prompt: {
      read: () => Promise<{ text: string; cursor: number }>
      submit: (args: { text: string; asUser?: true }) => Promise<unknown>
    }
    command: { run: (args: { command: string; args?: string }) => Promise<{ text?: string }> }
    process: {
      run: (
        argv: readonly string[],
        init?: { cwd?: string; env?: Record<string, string>; stdin?: string; timeoutMs?: number },
      ) => Promise<{ exitCode: number; stdout: string; stderr: string }>
    }
    ui: {
      status: (text: string | undefined) => void
      toast: (text: string, options?: { timeoutMs?: number }) => void
      log: (text: string, options?: { to?: 'transcript' | 'debug' }) => void
    }
  }

  export type SessionUsage = {
    startedAt: number
    context: { tokens?: number; window: number; percent?: number }
    rateLimits: { kind: string; percentUsed: number; resetsAt?: string }[]
  }

  export type TurnCompleteInput = {
    reason: 'answer' | 'aborted' | 'refusal' | 'error'
    answer: string
    turnId: string
    agentId?: string
  }

  type Events = {
    'session.start': { cwd: string; isInteractive: boolean }
    'prompt.submit': object
    'turn.start': { turnId: string; agentId?: string }
    'turn.complete': TurnCompleteInput
    'session.end': { reason: string; sessionId: string }
  }

  type On = <Name extends keyof Events>(
    event: Name,
    hook: ($: EngineInterface, e: Events[Name], next: (e: Events[Name]) => Promise<unknown>) => unknown,
  ) => void

  export type Register = (on: On) => void
}
