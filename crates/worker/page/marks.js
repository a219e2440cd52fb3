// Marks for records, states of sessions and context use: an icon and a word, never colour alone.

import { h, s } from "./dom.js";

/** Kinds of observations, in the order in which they are offered. */
export const KINDS = ["change", "discovery", "command", "problem", "fix", "decision", "delegation", "note"];

const ICONS = {
  prompt: "M2 2.5h8V8H6l-2.5 2V8H2z",
  summary: "M2 3h8M2 6h8M2 9h5",
  turn: "M10 6a4 4 0 1 1-1.2-2.8M9.2 1v2.4H6.8",
  bookmark: "M3.5 10.5v-9h5v9L6 8.2z",
  snapshot: "M6 1.5 10.5 4 6 6.5 1.5 4zM1.5 7.2 6 9.7l4.5-2.5",
  start: "M4 2.5 9.5 6 4 9.5z",
  restore: "M2 6a4 4 0 1 0 1.2-2.8M2.8 1v2.4h2.4",
  added: "M6 2v8M2 6h8",
  changed: "m2 10 .6-2.6 5.6-5.6 2 2-5.6 5.6z",
  deleted: "M2 6h8",
  retyped: "M2 4h7L7 2M10 8H3l2 2",
  change: "m2 10 .6-2.6 5.6-5.6 2 2-5.6 5.6z",
  discovery: "M5 2a3 3 0 1 0 0 6 3 3 0 0 0 0-6zm2.3 5.3L10 10",
  command: "m2.5 3 3 3-3 3m4 .5H10",
  problem: "m3 3 6 6m0-6L3 9",
  fix: "M2.5 6.5 5 9l4.5-6",
  decision: "M6 1.5 10.5 6 6 10.5 1.5 6z",
  delegation: "M2.5 2.5v4H9m-2-2 2.3 2L7 8.5",
  note: "M3 1.5h6v9H3zM4.8 4.5h2.4M4.8 6.5h2.4",
  working: "M6 2.2v3.9l2.4 1.7M6 1.2a4.8 4.8 0 1 0 0 9.6 4.8 4.8 0 0 0 0-9.6z",
  blocked: "M6 2v4.8M6 9.2v.6",
  idle: "M4 3v6M8 3v6",
  completed: "M2.5 6.5 5 9l4.5-6",
  ended: "M3 3h6v6H3z",
};

/** Returns the icon called `name`. */
export function icon(name) {
  return s("svg", { class: "glyph", viewBox: "0 0 12 12", width: 12, height: 12, "aria-hidden": "true" },
    s("path", { d: outline(name) }));
}

/** Returns the outline of an icon, in a square of 12 by 12. */
export const outline = (name) => ICONS[name] ?? ICONS.note;

/** Returns the mark of a record: its kind, or its type where it has none. */
export function mark(item) {
  const name = item.kind ?? item.type;
  return h("span", { class: `mark k-${ICONS[name] ? name : "note"}` }, icon(name), name);
}

/** Returns the mark of a session's state. */
export function stateMark(status) {
  const name = ICONS[status] ? status : "ended";
  return h("span", { class: `mark s-${name}` }, icon(name), status);
}

/** Returns a bar of the context use; yellow from 70 %, red from 90 %. */
export function contextBar(percent, note) {
  if (percent === null || percent === undefined) return null;
  const full = Math.min(100, Math.max(0, percent));
  const level = full >= 90 ? "full" : full >= 70 ? "high" : "fine";
  const bar = h("span", { class: "fill" });
  bar.style.width = `${full}%`;
  return h("span", { class: `context ${level}`, title: note },
    h("span", {
      class: "bar", role: "meter", "aria-label": "Context used",
      "aria-valuemin": 0, "aria-valuemax": 100, "aria-valuenow": Math.round(full),
    }, bar),
    h("span", { class: "num" }, `${Math.round(full)} %`));
}
