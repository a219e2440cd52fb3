// Totals, and plots per day.

import { get } from "./ask.js";
import { costPart } from "./cost.js";
import { debounce, empty, h, put, trouble } from "./dom.js";
import { bytes, count, date, dayTime, short, whole } from "./format.js";
import { plot } from "./plot.js";
import { address, slip, withParams } from "./route.js";

const PERIODS = { 7: "7 days", 30: "30 days", 90: "90 days", 365: "a year" };
const PLOTS = [
  { key: "tokens", name: "Tokens", note: "in the turns of the day", show: short, exact: whole },
  { key: "sessions", name: "Sessions", note: "started", show: whole, exact: whole },
  { key: "prompts", name: "Prompts", note: "asked", show: whole, exact: whole },
  { key: "observations", name: "Observations", note: "remembered", show: short, exact: whole },
  { key: "bytes", name: "Size", note: "of the records of the day, without raw text", show: bytes, exact: bytes },
];

/** Returns the view. */
export function numbersView() {
  const view = { asked: null };
  const tiles = h("dl", { class: "tiles" });
  const model = h("section", { class: "model", "aria-label": "Summaries by a model" });
  const sync = h("section", { class: "model", "aria-label": "Sync with other machines" });
  const plots = h("div", { class: "plots" });
  const cost = costPart();
  const projects = h("section", { class: "projects" });
  const period = h("select", { "aria-label": "Period", onchange: () => slip(withParams({ days: period.value })) },
    Object.entries(PERIODS).map(([days, name]) => h("option", { value: days }, name)));

  async function load() {
    const { project, days } = view.asked;
    // Reading all transcripts for the first time takes a while, and nothing waits for it.
    cost.load(view.asked);
    try {
      const [stats, drawn] = await Promise.all([get("/api/stats"), get("/api/plots", { project, days })]);
      if (view.asked.project !== project || view.asked.days !== days) return;
      put(tiles, tilesOf(stats));
      put(model, modelOf(stats.model));
      put(sync, syncOf(stats.sync));
      put(plots, stats.sessions ? PLOTS.map((kind) => plot(kind, drawn.days)) : empty("Nothing to count yet",
        h("p", {}, "Numbers appear with the first session. To import past sessions, run ", h("code", {}, "longhaul memory import"), ".")));
      put(projects, projectTable(stats.projects));
    } catch (error) {
      put(plots, trouble(error, load));
    }
  }

  const soon = debounce(5000, load);
  return {
    mount: (main) => put(main, h("div", { class: "bar-line" }, h("h1", {}, "Numbers"), h("span", { class: "grow" }), period), tiles, model, sync, cost.element, plots, projects),
    unmount() {},
    update({ params }) {
      const asked = { project: params.project ?? "", days: PERIODS[params.days] ? params.days : "30" };
      if (JSON.stringify(asked) === JSON.stringify(view.asked)) return;
      view.asked = asked;
      period.value = asked.days;
      load();
    },
    rows: soon,
    back: load,
    forgotten: soon,
  };
}

function tilesOf(stats) {
  const { rows } = stats;
  const numbers = {
    Sessions: whole(stats.sessions),
    Prompts: whole(rows.user_prompts),
    Observations: whole(rows.observations),
    Summaries: whole(rows.session_summaries),
    "On disk": bytes(stats.bytes),
    Since: stats.oldest ? date(stats.oldest) : "–",
  };
  return Object.entries(numbers).map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", { class: "num" }, value)));
}

/** Returns the cost of the model today; nothing if no model is enabled. */
function modelOf(model) {
  if (!model.enabled) return null;
  const { spent_tokens: spent, daily_token_budget: budget, left_tokens: left, requests, last_error: trouble } = model;
  const share = budget ? Math.min(100, (spent / budget) * 100) : 100;
  const fill = h("span", { class: "fill" });
  fill.style.width = `${share}%`;
  return [
    h("h2", {}, "Model summaries today"),
    h("p", { class: "num" }, h("strong", {}, `${whole(spent)} tokens spent`), ` in ${count(requests, "request")}, ${whole(left)} of ${whole(budget)} left`),
    h("span", { class: "bar", role: "meter", "aria-label": "Share of today's tokens that is spent", "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(share) }, fill),
    trouble && h("p", { class: "why" }, `Last error, ${dayTime(trouble.at)}: ${trouble.error}`),
  ];
}

/** Returns how the last exchange with other machines went; nothing without a circle. */
function syncOf(state) {
  if (!state) return null;
  const last = state.succeeded_at ? dayTime(state.succeeded_at) : "never";
  return [
    h("h2", {}, "Sync"),
    h("p", { class: "num" }, h("strong", {}, `Last exchange: ${last}`), `, ${whole(state.sent)} sent, ${whole(state.fetched)} fetched`),
    state.error && h("p", { class: "why" }, `Last error, ${dayTime(state.at)}: ${state.error}`),
    state.remark && h("p", {}, state.remark),
  ];
}

function projectTable(all) {
  if (!all.length) return null;
  const line = (project) => h("tr", {},
    h("th", { scope: "row" }, h("a", { href: address({ params: { project: project.project_key } }), title: project.folder ?? project.project_key }, project.name)),
    h("td", { class: "num" }, whole(project.sessions)), h("td", { class: "num" }, whole(project.observations)));
  return [h("h2", {}, "Projects"), h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": "Projects" }, h("table", {},
    h("thead", {}, h("tr", {}, ["Project", "Sessions", "Observations"].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", {}, all.map(line))))];
}
