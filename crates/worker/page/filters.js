// The command line's filters, as a form.

import { h } from "./dom.js";
import { date } from "./format.js";
import { icon, KINDS } from "./marks.js";

/** Parameters of the filters, besides words and project. */
export const NARROWING = ["kind", "type", "file", "since", "before", "session"];

/** Returns the form. `change(changes)` is called with the user's choice. */
export function filterForm(params, change) {
  const form = h("form", { class: "filters", "aria-label": "Filters", onsubmit: (event) => event.preventDefault() },
    kindChoice(params, change),
    h("div", { class: "fields" },
      field("Type", choice("type", params.type, { "": "Everything", prompts: "Prompts", observations: "Observations", summaries: "Summaries" })),
      field("File", h("input", { name: "file", value: params.file ?? "", placeholder: "part of a path", spellcheck: "false", size: 14 })),
      field("Since", h("input", { name: "since", type: "date", value: params.since ?? "", max: date(Date.now()) })),
      field("Before", h("input", { name: "before", type: "date", value: params.before ?? "" })),
      field("Order", choice("order", params.order, { "": params.q ? "Relevance" : "Newest", ...(params.q && { newest: "Newest" }), oldest: "Oldest" })),
      h("button", { type: "button", class: "quiet", onclick: () => change(cleared()) }, "Clear")));
  form.addEventListener("input", ({ target }) => target.name && change({ [target.name]: target.value }));
  return form;
}

/** Returns changes that remove all filters. */
export const cleared = () => Object.fromEntries([...NARROWING, "order", "q"].map((name) => [name, ""]));

/** Returns whether a filter is set. */
export const isNarrowed = (params) => [...NARROWING, "q", "project"].some((name) => params[name]);

/** Returns whether a filter is set that the folded form hides. */
export const isFolded = (params) => [...NARROWING, "order"].some((name) => name !== "kind" && params[name]);

/** Returns whether a record from the stream matches the filters. The worker matches the words. */
export function fits(record, params) {
  const day = date(record.created_at);
  const files = [...(record.files_read ?? []), ...(record.files_modified ?? [])];
  const part = params.file?.toLowerCase();
  return (!params.project || record.project_key === params.project)
    && (!params.session || record.session_id === params.session)
    && (!params.kind || params.kind.split(",").includes(record.kind))
    && (!params.type || params.type.split(",").some((type) => type.startsWith(record.type.slice(0, 6))))
    && (!params.since || day >= params.since)
    && (!params.before || day < params.before)
    && (!part || files.some((file) => file.toLowerCase().includes(part)));
}

function kindChoice(params, change) {
  const chosen = new Set((params.kind ?? "").split(",").filter(Boolean));
  const chip = (kind) => h("button", {
    type: "button", class: `chip k-${kind}`, "aria-pressed": String(chosen.has(kind)),
    onclick: (event) => {
      if (!chosen.delete(kind)) chosen.add(kind);
      event.currentTarget.setAttribute("aria-pressed", String(chosen.has(kind)));
      change({ kind: KINDS.filter((name) => chosen.has(name)).join(",") });
    },
  }, icon(kind), kind);
  return h("div", { class: "chips", role: "group", "aria-label": "Kinds" }, KINDS.map(chip));
}

const field = (label, input) => h("label", { class: "field" }, h("span", {}, label), input);

function choice(name, value, options) {
  const select = h("select", { name }, Object.entries(options).map(([key, text]) => h("option", { value: key }, text)));
  select.value = value ?? "";
  return select;
}
