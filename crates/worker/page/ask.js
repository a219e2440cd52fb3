// Requests to the worker.

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

/** Returns the error that `response` reports. */
export async function refusal(response) {
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
  new Refused(401, "This page is locked", "The worker was restarted and has a new token. Run: longhaul worker open");

const change = (method, body) => ({
  method,
  headers: { "Content-Type": "application/json" },
  body: body && JSON.stringify(body),
});

async function ask(url, options) {
  let response;
  try {
    response = await fetch(url, options);
  } catch (error) {
    throw error.name === "AbortError" ? error : unreachable();
  }
  if (!response.ok) throw await refusal(response);
  return response.json();
}
