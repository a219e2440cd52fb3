// Requests to the worker, and the key that they need.
//
// The key comes in the fragment of the address, which no server sees. It is kept in the storage of this origin, to which
// the port belongs. A cookie would be sent to every port of this machine.

const KEY = "longhaul-key";

/** The key from the address, until the worker has accepted it: another site can open this page with a wrong one. */
let fresh = fromAddress();
let kept = null; // Where the browser stores nothing, the key lasts as long as the page.

/** An error of the worker, with a suggested fix. */
export class Refused extends Error {
  constructor(status, message, fix) {
    super(message);
    this.status = status;
    this.fix = fix;
  }
}

/** Returns the answer of `path`. Empty parameters are left out. */
export function get(path, params = {}, signal) {
  const given = Object.entries(params).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const query = new URLSearchParams(given).toString();
  return ask(query ? `${path}?${query}` : path, { signal });
}

/** Returns whole records, in the order of `ids`. */
export function records(ids) {
  return ask("/api/observations/batch", change("POST", { ids }));
}

/** Deletes a record permanently. */
export function forget(id) {
  const kind = { P: "prompts", O: "observations", S: "summaries" }[id[0]];
  return ask(`/api/${kind}/${id}`, change("DELETE"));
}

/** Sends a request with the key. Returns the response if it is a success. */
export async function send(url, options = {}) {
  const key = fresh ?? stored();
  if (!key) throw locked();
  let response;
  try {
    response = await fetch(url, { ...options, headers: { ...options.headers, Authorization: `Bearer ${key}` } });
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable();
  }
  if (response.status === 401) drop(key);
  else if (key === fresh && response.ok) accept(key);
  if (!response.ok) throw await refusal(response);
  return response;
}

async function refusal(response) {
  if (response.status === 401) return locked();
  const body = await response.json().catch(() => ({}));
  const again = response.headers.get("Retry-After");
  const fix = body.fix ?? (again ? `Wait ${again} s, then try again.` : "");
  return new Refused(response.status, body.error ?? `The worker answered ${response.status}`, fix);
}

/** Returns the error for a worker that does not answer. */
export function unreachable() {
  return new Refused(0, "The worker does not answer", "It exits when no page has been open for a while. Run: longhaul worker open");
}

const locked = () =>
  new Refused(401, "This page is locked", "It opens with the address of the running worker. Run: longhaul worker open");

/** Takes the key out of the address. */
function fromAddress() {
  const [, key = null] = /^#key=(\w+)$/.exec(location.hash) ?? [];
  if (key) history.replaceState(null, "", "/");
  return key;
}

function stored() {
  try {
    return localStorage.getItem(KEY) ?? kept;
  } catch {
    return kept;
  }
}

function accept(key) {
  [fresh, kept] = [null, key];
  try {
    localStorage.setItem(KEY, key);
  } catch {
    // `kept` has it.
  }
}

/** Forgets a key that the worker has refused, so that it is not asked again and again. */
function drop(key) {
  if (key === fresh) fresh = null;
  if (key === kept) kept = null;
  try {
    if (localStorage.getItem(KEY) === key) localStorage.removeItem(KEY);
  } catch {
    // There is none.
  }
}

const change = (method, body) => ({
  method,
  headers: { "Content-Type": "application/json" },
  body: body && JSON.stringify(body),
});

async function ask(url, options) {
  return (await send(url, options)).json();
}
