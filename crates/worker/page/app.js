// The page: connects the address, the views and the event stream.

import { agentsOf, takeAgents } from "./agents.js";
import { get } from "./ask.js";
import { callFor, offerNotifications, setTitle } from "./attention.js";
import { $, debounce, h, put } from "./dom.js";
import { feedView } from "./feed.js";
import { count } from "./format.js";
import { takeKeys } from "./keys.js";
import { listen } from "./live.js";
import { numbersView } from "./numbers.js";
import { closeRecord, goneRecord, showRecord } from "./record.js";
import { address, go, here, slip, withParams } from "./route.js";
import { sessionsView } from "./sessions.js";
import { timelineView } from "./timeline.js";

const SAY_MS = 5000;
const VIEWS = { feed: () => feedView(announce), sessions: sessionsView, session: timelineView, numbers: numbersView };
const TITLES = { feed: "Longhaul", sessions: "Sessions · Longhaul", session: "Session · Longhaul", numbers: "Numbers · Longhaul" };

let current = { name: null, view: null };
let projects = [];
let wasLost = false;

function show() {
  const route = here();
  if (route.view !== current.name) {
    current.view?.unmount();
    current = { name: route.view, view: VIEWS[route.view]() };
    setTitle(TITLES[route.view]);
    current.view.mount($("main"));
    scrollTo({ top: 0 });
  }
  drawTop(route);
  current.view.update(route);
  showRecord(route.params.open || null);
}

function drawTop({ view, params }) {
  for (const tab of document.querySelectorAll(".tabs a")) {
    tab.href = address({ view: tab.dataset.view, params: { project: params.project } });
    const isHere = tab.dataset.view === view || (view === "session" && tab.dataset.view === "sessions");
    if (isHere) tab.setAttribute("aria-current", "page");
    else tab.removeAttribute("aria-current");
  }
  if (document.activeElement !== $("q")) $("q").value = params.q ?? "";
  $("project").value = params.project ?? "";
  agentsOf(projects.find((project) => project.project_key === params.project)?.name ?? "");
}

async function loadProjects() {
  try {
    projects = await get("/api/projects");
  } catch {
    return; // The shown view reports the error.
  }
  const twice = (name) => projects.filter((project) => project.name === name).length > 1;
  const label = ({ name, folder, project_key }) => (twice(name) ? `${name} (${folder ?? project_key})` : name);
  put($("project"), h("option", { value: "" }, "All projects"),
    projects.map((project) => h("option", { value: project.project_key }, label(project))));
  drawTop(here());
}

/** Searches in the feed, from any view. */
function search(q) {
  const place = here();
  const { project } = place.params;
  if (place.view === "feed") slip(withParams({ q }));
  else if (q) go({ view: "feed", params: { q, project } });
}

let unsaid = 0;
let speaking = null;

/** Announces new records to screen readers, at a limited rate. */
function announce(number) {
  unsaid += number;
  speaking ??= setTimeout(() => {
    $("said").textContent = `${count(unsaid, "new record")}`;
    unsaid = 0;
    speaking = null;
  }, SAY_MS);
}

function onEvent(name, data) {
  // Records may have been stored before the stream was open, and more than the stream repeats.
  if (name === "hello") current.view.back();
  if (name === "agents") {
    takeAgents(data);
    callFor(data);
  }
  if (name === "forgotten") onForgotten(data.forgotten);
  if (name === "session") current.view.back();
  if (name === "rows") {
    if (data.more) current.view.back();
    else current.view.rows(data);
    const known = new Set(projects.map((project) => project.project_key));
    const all = [...data.prompts, ...data.observations, ...data.summaries];
    if (all.some((record) => !known.has(record.project_key))) projectsSoon();
  }
}

const projectsSoon = debounce(500, loadProjects);

function onForgotten(id) {
  current.view.forgotten(id);
  goneRecord(id);
}

function onState(state, error, wait) {
  const button = $("link");
  if (state === "connecting" && wasLost) return;
  button.dataset.state = state;
  $("link-text").textContent = { live: "live", connecting: "connecting", waiting: "offline" }[state];
  button.title = state === "live" ? "New records appear automatically" : "Connect now";
  const banner = $("banner");
  banner.hidden = state !== "waiting" || wait < 1500;
  if (!banner.hidden && banner.dataset.why !== error.message) {
    banner.dataset.why = error.message;
    put(banner, h("strong", {}, error.message), ` ${error.fix} `, h("button", { type: "button", onclick: retry }, "Connect now"));
  }
  if (state === "live") loadProjects();
  wasLost = state === "waiting" || (wasLost && state !== "live");
}

addEventListener("hashchange", show);
addEventListener("forgotten", ({ detail }) => onForgotten(detail));
$("find").addEventListener("submit", (event) => {
  event.preventDefault();
  search($("q").value.trim());
  document.querySelector("#main .row")?.focus();
});
$("q").addEventListener("input", debounce(150, () => search($("q").value.trim())));
$("project").addEventListener("change", () => {
  if (here().view === "session") go({ view: "sessions", params: { project: $("project").value } });
  else slip(withParams({ project: $("project").value }));
});
$("skip").addEventListener("click", (event) => {
  event.preventDefault();
  $("main").focus();
});
document.addEventListener("click", ({ target }) => {
  if (target.id === "columns") closeRecord();
});
if (innerWidth < 1000) $("running").open = false;

takeKeys();
offerNotifications();
show();
const retry = listen({ event: onEvent, state: onState });
$("link").addEventListener("click", () => retry());
