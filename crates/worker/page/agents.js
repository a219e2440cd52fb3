// The running sessions and their states.

import { $, h, put, redraw } from "./dom.js";
import { count, estimate, short, span } from "./format.js";
import { contextBar, stateMark } from "./marks.js";
import { address } from "./route.js";

const STATES = ["blocked", "working", "completed", "idle"]; // Sessions that wait for the user come first.

let agents = [];
let heard = 0;
let project = "";

/** Replaces the list of running sessions and draws it. */
export function takeAgents(all) {
  agents = [...all].sort((a, b) => STATES.indexOf(a.status) - STATES.indexOf(b.status) || b.age_seconds - a.age_seconds);
  heard = Date.now();
  draw();
}

/** Draws them for the project with this name only, or for all. */
export function agentsOf(name) {
  project = name;
  draw();
}

/** Returns the session's state, or `undefined`. */
export const agentOf = (session) => agents.find((agent) => agent.session === session);

setInterval(() => {
  for (const time of document.querySelectorAll("[data-since]")) time.textContent = span(Date.now() - Number(time.dataset.since));
}, 1000);

function draw() {
  // The worker has not reported the sessions yet.
  if (!heard) return;
  const mine = agents.filter((agent) => !project || agent.project === project);
  put($("running-sum"), STATES.map((state) => [state, mine.filter((agent) => agent.status === state).length])
    .filter(([, number]) => number).map(([state, number]) => `${number} ${state}`).join(", ") || "none");
  redraw($("agents"), mine.length ? mine.map(card) : h("li", { class: "dim" }, "No session is running", project && ` in ${project}`,
    ". Sessions appear here when Claude Code starts with the plugin."));
}

function card(agent) {
  const { status, age_seconds, reason, branch, prompt, subagents, tasks, cost } = agent;
  const waits = status === "blocked";
  const other = agent.client !== "claude" && agent.client;
  const extra = [other, !waits && reason, subagents > 0 && count(subagents, "subagent"), tasks > 0 && count(tasks, "task")].filter(Boolean);
  return h("li", { "data-id": agent.session },
    h("a", { class: "agent", href: address({ view: "session", id: agent.session }) },
      h("span", { class: "agent-top" }, stateMark(status), since(age_seconds)),
      h("strong", { class: "agent-name" }, agent.project, branch && h("span", { class: "dim" }, ` ${branch}`)),
      prompt && h("span", { class: "agent-prompt" }, prompt),
      waits && h("span", { class: "why" }, "Waiting for you for ", since(age_seconds), reason && `: ${reason}`),
      extra.length > 0 && h("span", { class: "dim" }, extra.join(" · ")),
      cost?.requests > 0 && h("span", { class: "dim num agent-cost", title: "Estimated cost and tokens so far, with subagents" }, `${estimate(cost)} · ${short(cost.total_tokens)} tokens`),
      contextBar(agent.context_percent)));
}

const since = (seconds) =>
  h("span", { class: "dim num", "data-since": heard - seconds * 1000, title: "Time in this state" }, span(seconds * 1000));
