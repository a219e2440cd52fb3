// The stream of new records. It is read with fetch instead of EventSource, which hides why a request was refused and loses its
// position when it is opened again.

import { Refused, send, unreachable } from "./ask.js";

const SILENCE_MS = 40_000; // The worker pings every 15 seconds.
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 15_000;

/**
 * Keeps the stream open for as long as the page is.
 *
 * `on.event(name, data)` gets every event; `on.state(state, error, wait)` gets the state `live`, `connecting` or `waiting`
 * (with the reason, and the milliseconds). Returns a function that retries at once.
 *
 * A browser opens at most six connections to a host for all of its pages. So one page reads the stream and passes events to
 * the others. When it is closed, the next one continues.
 */
export function listen(on) {
  const seen = { id: "", wait: FIRST_WAIT_MS };
  const others = new BroadcastChannel("longhaul-stream");
  const last = new Map(); // The last events that a new page needs: the state, and the running sessions.
  let leads = false;
  let hurry = () => {};

  const take = ({ kind, name, data, id, state, error, wait }) => {
    if (kind === "event") {
      seen.id = id || seen.id;
      on.event(name, data);
    } else {
      on.state(state, error, wait);
    }
  };
  const tell = (message) => {
    if (message.kind === "state") last.set("state", message);
    if (message.kind === "event" && (message.name === "hello" || message.name === "agents")) last.set(message.name, message);
    take(message);
    others.postMessage(message);
  };
  others.onmessage = ({ data }) => {
    if (data.kind === "state" || data.kind === "event") return !leads && take(data);
    if (!leads) return;
    if (data.kind === "new") last.forEach((message) => others.postMessage(message));
    if (data.kind === "retry") hurry();
  };

  const pause = (ms) => new Promise((resolve) => {
    const timer = setTimeout(resolve, ms);
    hurry = () => {
      seen.wait = FIRST_WAIT_MS;
      clearTimeout(timer);
      resolve();
    };
  });
  const lead = async () => {
    leads = true;
    for (;;) {
      tell({ kind: "state", state: "connecting" });
      const { message, fix } = await once(seen, tell);
      tell({ kind: "state", state: "waiting", error: { message, fix }, wait: seen.wait });
      await pause(seen.wait * (0.8 + 0.4 * Math.random()));
      seen.wait = Math.min(LONGEST_WAIT_MS, seen.wait * 2);
    }
  };
  others.postMessage({ kind: "new" });
  // Held until the page is closed.
  navigator.locks.request("longhaul-stream", lead);
  return () => (leads ? hurry() : others.postMessage({ kind: "retry" }));
}

/** Reads until the stream ends. Returns the reason. */
async function once(seen, tell) {
  const stop = new AbortController();
  let watchdog;
  const heard = () => {
    clearTimeout(watchdog);
    watchdog = setTimeout(() => stop.abort(), SILENCE_MS);
  };
  try {
    heard();
    const headers = { Accept: "text/event-stream", ...(seen.id && { "Last-Event-ID": seen.id }) };
    const response = await send("/stream", { headers, signal: stop.signal, cache: "no-store" });
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
    const feed = parser(({ name, data, id }) => {
      seen.wait = FIRST_WAIT_MS;
      tell({ kind: "event", name, data: JSON.parse(data), id });
    });
    tell({ kind: "state", state: "live" });
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return unreachable();
      heard();
      feed(value);
    }
  } catch (error) {
    return error instanceof Refused ? error : unreachable();
  } finally {
    clearTimeout(watchdog);
    stop.abort();
  }
}

/** Returns a function that takes pieces of the stream and calls `emit` for every complete event. */
export function parser(emit) {
  let rest = "";
  return (piece) => {
    const blocks = (rest + piece).replaceAll("\r\n", "\n").split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const event = { name: "message", data: "", id: "" };
      for (const line of block.split("\n")) {
        const [, field, value] = /^(event|data|id): ?(.*)$/.exec(line) ?? [];
        if (field === "event") event.name = value;
        if (field === "id") event.id = value;
        if (field === "data") event.data += (event.data && "\n") + value;
      }
      if (event.data) emit(event);
    }
  };
}
