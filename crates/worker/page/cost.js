// What the sessions cost: plots per day, and a table of models.

import { get } from "./ask.js";
import { h, put, trouble } from "./dom.js";
import { count, dollars, estimate, short, whole } from "./format.js";
import { plot } from "./plot.js";

const PLOTS = [
  { key: "cost", name: "Cost", note: "an estimate", show: dollars, exact: dollars },
  { key: "used", name: "Tokens used", note: "by requests, with those in the cache", show: short, exact: whole },
];

/** Returns the part of the page with the cost: its element, and a function that loads it. */
export function costPart() {
  const element = h("section", { class: "spent", "aria-label": "Cost" });
  let asked = null;

  async function load(wanted) {
    asked = wanted;
    try {
      const cost = await get("/api/cost", wanted);
      if (asked === wanted) put(element, cost.total.requests ? drawn(cost) : null);
    } catch (error) {
      if (asked === wanted) put(element, trouble(error, () => load(wanted)));
    }
  }

  return { element, load };
}

function drawn(cost) {
  const days = cost.days.map((day) => ({ date: day.date, cost: day.cost_usd ?? 0, used: day.total_tokens }));
  return [
    h("h2", {}, "Cost"),
    h("p", { class: "num" }, h("strong", {}, estimate(cost.total)), ` for ${whole(cost.total.total_tokens)} tokens in ${count(cost.total.requests, "request")}`),
    h("p", { class: "dim" }, `Estimated from the transcripts, by the prices of the Claude API of ${cost.prices_date}. A subscription is not paid by tokens.`),
    cost.unknown_models.length > 0 && h("p", { class: "why" }, `The price of ${cost.unknown_models.join(", ")} is not known. Set it in the configuration, under `, h("code", {}, "models"), "."),
    h("div", { class: "plots" }, PLOTS.map((kind) => plot(kind, days))),
    table("Model", cost.models, (row) => row.model),
    cost.projects.length > 1 && table("Project", cost.projects, (row) => row.project),
  ];
}

function table(name, rows, label) {
  const columns = [name, "Requests", "Input", "Output", "Cache write", "Cache read", "Cost"];
  const numbers = (row) => [
    whole(row.requests), short(row.input_tokens), short(row.output_tokens),
    short(row.cache_write_5m_tokens + row.cache_write_1h_tokens), short(row.cache_read_tokens), estimate(row),
  ];
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `Cost by ${name.toLowerCase()}` }, h("table", {},
    h("thead", {}, h("tr", {}, columns.map((column) => h("th", { scope: "col" }, column)))),
    h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, label(row)), numbers(row).map((number) => h("td", { class: "num" }, number)))))));
}
