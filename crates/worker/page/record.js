// One whole record, beside the list.

import { forget, get, records, Refused } from "./ask.js";
import { $, empty, h, put, ticked, trouble } from "./dom.js";
import { brief, cost, count, dayTime, firstLine, span, stamp } from "./format.js";
import { mark } from "./marks.js";
import { openOnClick, row } from "./rows.js";
import { address, go, here, slip, withParams } from "./route.js";

let shown = null;
let opener = null;

/** Shows the record that the address names, or none. */
export async function showRecord(id) {
  const panel = $("record");
  if (id === shown) return;
  if (id && !shown) opener = document.activeElement;
  shown = id;
  panel.hidden = !id;
  $("columns").classList.toggle("with-record", Boolean(id));
  if (!id) return back();
  put(panel, top(h("span", { class: "id num" }, id)), h("p", { class: "dim" }, "Reading…"));
  try {
    const [record] = await records([id]);
    if (shown !== id) return;
    if (!record) throw new Refused(404, `There is no ${id}`, "It was deleted or never existed.");
    put(panel, whole(record));
    panel.scrollTop = 0;
    if (innerWidth < 1000) panel.focus();
    around(id, panel);
  } catch (error) {
    if (shown === id) put(panel, top(h("span", { class: "id num" }, id)), trouble(error, () => again(id)));
  }
}

/** Closes it. Returns whether one was open. */
export function closeRecord() {
  if (!shown) return false;
  go(withParams({ open: "" }));
  return true;
}

/** Returns the id of the record that is open. */
export const openId = () => shown;

function back() {
  const line = opener?.isConnected ? opener : null;
  opener = null;
  line?.focus?.({ preventScroll: true });
}

function again(id) {
  shown = null;
  showRecord(id);
}

function top(...what) {
  return h("div", { class: "record-top" }, what,
    h("button", { type: "button", class: "icon", "aria-label": "Close", title: "Close (Esc)", onclick: closeRecord }, "✕"));
}

function whole(record) {
  const text = { prompt: promptBody, observation: observationBody, summary: summaryBody }[record.type](record);
  return [
    top(mark(record), h("span", { class: "id num" }, record.id)),
    h("h2", { class: "record-title" }, ticked(headline(record))),
    facts(record),
    text,
    h("section", { class: "around", id: "around" }),
    h("div", { class: "record-foot" },
      h("code", {}, `longhaul memory get ${record.id}`),
      h("button", { type: "button", class: "danger", onclick: () => askAndForget(record) }, "Delete…")),
  ];
}

const headline = (record) =>
  record.type === "observation" ? record.title : record.type === "prompt" ? firstLine(record.prompt) : "Summary of a session";

function facts(record) {
  const session = record.session_id && h("a", { href: address({ view: "session", id: record.session_id, params: { open: record.id } }) },
    `${brief(record.session_id)} · timeline`);
  const lines = {
    When: `${stamp(record.created_at)} (${ago(record.created_at)})`,
    Project: record.project,
    Session: session,
    From: record.host && `@${record.host}`,
    Prompt: record.prompt_number > 0 && `number ${record.prompt_number}`,
    Tool: record.tool_name,
    "Made by": record.made_by,
    Repeated: record.repeats > 0 && count(record.repeats, "time"),
    "Cost to read": `${cost(record.tokens)} tokens`,
  };
  const shownLines = Object.entries(lines).filter(([, value]) => value);
  return h("dl", { class: "facts" }, shownLines.map(([name, value]) => [h("dt", {}, name), h("dd", { class: "num" }, value)]));
}

const ago = (ms) => (Date.now() - ms < 172_800_000 ? `${span(Date.now() - ms)} ago` : dayTime(ms).replace(/ \d\d:\d\d$/, ""));

const promptBody = (record) => [
  h("p", { class: "text" }, record.prompt),
  record.reply && h("section", {}, h("h3", {}, "Reply"), h("p", { class: "text" }, record.reply)),
];

function observationBody(record) {
  return [
    record.narrative && record.narrative !== record.title && h("p", { class: "text" }, ticked(record.narrative)),
    list("Facts", record.facts),
    list("Files changed", record.files_modified, "files"),
    record.session_id && record.files_modified?.map((path) => linesOf(record.session_id, path)),
    list("Files read", record.files_read, "files"),
    raw("Input", record.input),
    raw("Output", record.output),
    !record.input && !record.output && record.tool_use_id && h("p", { class: "dim" }, "Its raw input and output have been deleted."),
  ];
}

function summaryBody(record) {
  const parts = { Request: "request", Investigated: "investigated", Learned: "learned", Completed: "completed", "Next steps": "next_steps" };
  return Object.entries(parts).filter(([, key]) => record[key])
    .map(([name, key]) => h("section", {}, h("h3", {}, name), h("p", { class: "text" }, record[key])));
}

function list(name, items, style = "") {
  return items?.length > 0 && h("section", {}, h("h3", {}, name), h("ul", { class: style }, items.map((item) => h("li", {}, item))));
}

/** A link that shows which prompt the lines of a file come from. */
function linesOf(session, path) {
  const place = h("section", { class: "origins" });
  const ask = async () => {
    put(place, h("p", { class: "dim" }, "Reading…"));
    try {
      const { name, runs } = await get("/api/why", { session, path });
      put(place, h("h3", {}, `Where the lines of ${name} come from`), h("ol", { class: "rows narrow" }, runs.map(originOf)));
    } catch (error) {
      put(place, trouble(error, ask));
    }
  };
  put(place, h("button", { type: "button", class: "link", onclick: ask }, `Which prompt wrote which line of ${path.split("/").pop()}?`));
  return place;
}

const originOf = ({ from, to, kind, prompt, text }) => h("li", {},
  h("span", { class: "num dim" }, from === to ? `${from} ` : `${from}–${to} `),
  prompt ? h("a", { href: address(withParams({ open: prompt })) }, prompt) : kind,
  text ? ` ${kind === "command" ? "by a command: " : ""}${firstLine(text)}` : "");

function raw(name, text) {
  if (!text) return null;
  return h("details", { class: "raw" },
    h("summary", {}, name, h("span", { class: "dim num" }, ` ${count(text.length, "character")}`)),
    h("pre", { tabindex: 0 }, readable(text)));
}

/** JSON on several lines, with the line breaks inside its strings; any other text unchanged. */
function readable(text) {
  try {
    const value = JSON.parse(text);
    const isFlat = value && typeof value === "object" && !Array.isArray(value);
    return isFlat ? Object.entries(value).filter(([, part]) => part !== "").map(line).join("\n") : asText(value);
  } catch {
    return text;
  }
}

const asText = (value) => (typeof value === "string" ? value : JSON.stringify(value, null, 2));

const line = ([name, value]) => `${name}:${asText(value).includes("\n") ? "\n" : " "}${asText(value)}`;

/** Adds the neighbouring records later, so that the record is shown at once. */
async function around(id, panel) {
  try {
    const hits = await get("/api/timeline", { id, before: 3, after: 3 });
    if (shown !== id || hits.length < 2) return;
    const lines = h("ol", { class: "rows narrow", onclick: openOnClick }, hits.map((hit) => row(hit)));
    lines.querySelector(`[data-open="${CSS.escape(id)}"]`)?.setAttribute("aria-current", "true");
    put(panel.querySelector("#around"), h("h3", {}, "Before and after"), lines);
  } catch {
    // The record itself is shown. Its neighbours are also in the timeline.
  }
}

async function askAndForget(record) {
  const text = "The record and its raw text will be deleted. This cannot be undone.";
  if (!(await ask(`Delete ${record.id}?`, `“${headline(record).slice(0, 120)}” ${text}`))) return;
  try {
    await forget(record.id);
    dispatchEvent(new CustomEvent("forgotten", { detail: record.id }));
    if (here().params.open === record.id) slip(withParams({ open: "" }));
  } catch (error) {
    const foot = $("record").querySelector(".record-foot");
    foot?.before(trouble(error));
  }
}

function ask(title, text) {
  const dialog = $("ask");
  put($("ask-title"), title);
  put($("ask-text"), text);
  dialog.returnValue = "no";
  dialog.showModal();
  return new Promise((resolve) =>
    dialog.addEventListener("close", () => resolve(dialog.returnValue === "yes"), { once: true }));
}

/** Shows that the open record was deleted. */
export function goneRecord(id) {
  if (id === shown) put($("record"), top(h("span", { class: "id num" }, id)), empty(`${id} was deleted`));
}
