// What differs between two snapshots, file by file. Names and lines are text nodes; nothing of a repository becomes markup.

import { get } from "./ask.js";
import { empty, h, put, trouble } from "./dom.js";
import { clock, count, day, whole } from "./format.js";
import { mark } from "./marks.js";
import { go, withParams } from "./route.js";

const UNFOLDED_FILES = 10;
const UNFOLDED_LINES = 80;
const LINES = 300;
const HUNK = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/;
const SAID = /^(old mode|new mode|new file mode|deleted file mode) /;
// Control characters, and those that change the direction or the order of a line.
const HIDDEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]/g;

/** Returns the part of the page: its `element`, and `show(from, to)` with the numbers of two snapshots or nothing. */
export function difference() {
  const element = h("section", { class: "difference", "aria-label": "Difference between two snapshots", hidden: true });
  let shown = null;

  async function show(from, to) {
    const wanted = from && to ? `${from} ${to}` : null;
    if (wanted === shown) return;
    shown = wanted;
    element.hidden = !wanted;
    if (!wanted) return void put(element);
    put(element, h("p", { class: "dim", role: "status" }, "Comparing…"));
    try {
      const found = await get("/api/snapshots/compare", { from, to });
      if (shown === wanted) put(element, content(found));
    } catch (error) {
      if (shown === wanted) put(element, h("div", { class: "bar-line" }, h("span", { class: "grow" }), close()), trouble(error, again));
    }

    function again() {
      shown = null;
      show(from, to);
    }
  }

  return { element, show };
}

const close = () => h("button", { type: "button", class: "icon", "aria-label": "Close the difference", title: "Close (Esc)",
  onclick: () => go(withParams({ from: "", to: "" })) }, "✕");

function content({ from, to, files, found, is_complete }) {
  const when = ({ id, created_at }) => `${id} (${day(created_at)} ${clock(created_at)})`;
  const left = [from, to].filter((snapshot) => snapshot.left_out > 0)
    .map((snapshot) => `Not in ${snapshot.id}: ${snapshot.left_out_some}${snapshot.left_out > 5 ? ` and ${snapshot.left_out - 5} more` : ""}`);
  return [
    h("div", { class: "bar-line" }, h("h2", { class: "num" }, `${when(from)} → ${when(to)}`),
      h("span", { class: "count", role: "status" }, is_complete ? sum(files) : `${whole(files.length)} of ${whole(found)} files or more`), close()),
    left.map((text) => h("p", { class: "dim" }, text)),
    [from, to].filter((snapshot, at, both) => both.findIndex((other) => other.id === snapshot.id) === at).map(restoring),
    files.length ? h("ol", { class: "rows files-changed" }, files.map((file, index) => entry(from.id, to.id, file, index)))
      : empty("No file differs", h("p", {}, "Files that are not in a snapshot are not compared.")),
    !is_complete && h("p", { class: "dim" }, "The rest: ", h("code", {}, `longhaul diff ${from.id} ${to.id}`), " in a terminal."),
  ];
}

/** Returns the command that restores the files of a snapshot, to copy into a terminal in the work tree. */
function restoring({ id }) {
  const command = `longhaul restore ${id}`;
  const button = h("button", { type: "button", class: "quiet", onclick: copy, "aria-label": `Copy ${command}` }, "Copy");

  async function copy() {
    try {
      await navigator.clipboard.writeText(command);
      button.textContent = "Copied";
    } catch {
      // The browser does not allow it: the text is selected instead.
      getSelection().selectAllChildren(code);
    }
  }

  const code = h("code", {}, command);
  return h("p", { class: "dim restoring" }, "To restore these files, in a terminal: ", code, " ", button);
}

function sum(files) {
  const total = (key) => files.reduce((all, file) => all + (file[key] ?? 0), 0);
  return files.length ? `${count(files.length, "file")} +${whole(total("added"))} −${whole(total("removed"))}` : "no change";
}

function entry(from, to, file, index) {
  const isBinary = file.added === null;
  const body = h("div", { class: "file-body" });
  let isAsked = false;
  const fold = h("details", { ontoggle: () => fold.open && load() },
    h("summary", { class: "file" }, mark({ kind: file.status }), h("span", { class: "path" }, file.name),
      h("span", { class: "num lines" }, isBinary ? h("span", { class: "dim" }, "binary")
        : [h("span", { class: "plus" }, `+${whole(file.added)}`), " ", h("span", { class: "minus" }, `−${whole(file.removed)}`)])),
    body);

  async function load() {
    if (isAsked) return;
    isAsked = true;
    put(body, h("p", { class: "dim" }, "Reading…"));
    try {
      put(body, patch(from, to, await get("/api/snapshots/patch", { from, to, path: file.path })));
    } catch (error) {
      isAsked = false;
      put(body, trouble(error, load));
    }
  }

  // A long one is folded until it is wanted.
  fold.open = index < UNFOLDED_FILES && !isBinary && file.added + file.removed <= UNFOLDED_LINES;
  if (fold.open) load();
  return h("li", {}, fold);
}

function patch(from, to, { name, patch: text, is_complete }) {
  const lines = linesOf(text);
  const box = h("pre", { class: "patch", tabindex: 0, "aria-label": `Changes of ${name}` }, lines.slice(0, LINES).map(line));
  const more = lines.length > LINES && h("button", { type: "button", onclick: unfold }, `Show all ${whole(lines.length)} lines`);

  function unfold() {
    box.append(...lines.slice(LINES).map(line));
    more.remove();
    box.focus();
  }

  return [
    lines.length ? box : h("p", { class: "dim" }, "Only its content as a binary file differs."),
    more && h("div", { class: "foot" }, more),
    !is_complete && h("p", { class: "dim" }, "It is longer. The rest: ", h("code", {}, `longhaul diff ${from} ${to}`), " in a terminal."),
  ];
}

/** Returns the lines of a patch with their kinds and numbers. What a line is follows from the counts of its hunk, not from its text. */
export function linesOf(text) {
  const lines = [];
  const at = { old: 0, now: 0, oldLeft: 0, nowLeft: 0 };
  for (const raw of text.replace(/\n$/, "").split("\n")) {
    const isInside = at.oldLeft > 0 || at.nowLeft > 0;
    const hunk = isInside ? null : HUNK.exec(raw);
    if (hunk) {
      const number = (index, other) => Number(hunk[index] ?? other);
      Object.assign(at, { old: number(1), oldLeft: number(2, 1), now: number(3), nowLeft: number(4, 1) });
      lines.push({ kind: "hunk", text: raw });
    } else if (raw.startsWith("\\")) lines.push({ kind: "said", text: raw });
    else if (!isInside) {
      if (SAID.test(raw)) lines.push({ kind: "said", text: raw });
      else if (raw.startsWith("Binary files ")) lines.push({ kind: "said", text: "Binary file" });
    } else if (raw.startsWith("+")) lines.push({ kind: "plus", text: raw, number: take(at, "now") });
    else if (raw.startsWith("-")) lines.push({ kind: "minus", text: raw, number: take(at, "old") });
    else {
      take(at, "old");
      lines.push({ kind: "same", text: raw, number: take(at, "now") });
    }
  }
  return lines;
}

function take(at, side) {
  at[`${side}Left`] -= 1;
  at[side] += 1;
  return at[side] - 1;
}

const line = ({ kind, text, number }) => h("span", { class: `line ${kind}`, "data-number": number ?? "" }, visible(text) || " ");

/** Shows characters that a browser would not show, or that would change what the others look like. */
const visible = (text) => text.replace(HIDDEN, (char) => (char === "\r" ? "\\r" : `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`));
