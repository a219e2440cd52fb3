// The state of the page, #/view/id?filters. It is all in the address, so that Back and bookmarks work.

const VIEWS = ["feed", "sessions", "session", "numbers"];

/** Returns the view, its id, and its parameters. */
export function here() {
  const [path, query = ""] = location.hash.replace(/^#\/?/, "").split("?", 2);
  const [view, id] = path.split("/");
  return {
    view: VIEWS.includes(view) ? view : "feed",
    id: id ? decode(id) : null,
    params: Object.fromEntries(new URLSearchParams(query)),
  };
}

/** Returns the address of a view. Empty parameters are left out. */
export function address({ view = "feed", id = null, params = {} }) {
  const given = Object.entries(params).filter(([, value]) => value);
  const query = new URLSearchParams(given).toString();
  const path = [view === "feed" ? "" : view, id && encodeURIComponent(id)].filter(Boolean).join("/");
  return `#/${path}${query ? `?${query}` : ""}`;
}

/** Opens a view. */
export function go(place) {
  const to = address(place);
  if (to !== location.hash) location.hash = to;
}

/** Opens a view without a new entry in the history. */
export function slip(place) {
  history.replaceState(null, "", address(place));
  dispatchEvent(new HashChangeEvent("hashchange"));
}

/** Returns the current view with changed parameters. */
export function withParams(changes) {
  const place = here();
  return { ...place, params: { ...place.params, ...changes } };
}

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
