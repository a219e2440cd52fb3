// The keyboard.

import { $, h, put } from "./dom.js";
import { closeRecord } from "./record.js";
import { address, go, here, slip, withParams } from "./route.js";

const LISTED = [
  ["/", "search"], ["j, k", "next, previous line"], ["Enter", "open the line"], ["Esc", "close the record or the difference; clear the search"],
  ["s", "timeline of the line's session"], ["f", "show or hide the filters"], ["1, 2, 3", "feed, sessions, numbers"], ["t", "light, dark, or like the system"],
  ["← → ↑ ↓", "on the time axis: step through it"], ["+, −, 0", "on the time axis: zoom in, out, fit"], ["?", "this list"],
];

const ACTIONS = {
  "/": () => $("q").select(),
  j: () => move(1),
  k: () => move(-1),
  s: sessionOfLine,
  f: () => document.querySelector("[aria-controls=filters]")?.click(),
  t: () => $("theme").click(),
  "?": showShortcuts,
  1: () => goTo("feed"),
  2: () => goTo("sessions"),
  3: () => goTo("numbers"),
};

/** Listens from now on. */
export function takeKeys() {
  put($("shortcut-list"), LISTED.map(([keys, what]) => [h("dt", {}, keys.split(", ").map((key) => h("kbd", {}, key))), h("dd", {}, what)]));
  $("help").addEventListener("click", showShortcuts);
  document.addEventListener("keydown", onKey);
}

function onKey(event) {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
  const isTyping = event.target.closest("input, select, textarea") !== null;
  const action = event.key === "Escape" ? () => escape(isTyping) : isTyping ? null : ACTIONS[event.key];
  if (!action) return;
  event.preventDefault();
  action();
}

function escape(isTyping) {
  if (isTyping && $("q") !== document.activeElement) return document.activeElement.blur();
  if (closeRecord()) return;
  if (here().params.to) return go(withParams({ from: "", to: "" }));
  if (here().params.q || $("q").value) {
    $("q").value = "";
    slip(withParams({ q: "" }));
  }
  $("q").blur();
}

function showShortcuts() {
  $("shortcuts").showModal();
}

function goTo(view) {
  go({ view, params: { project: here().params.project } });
}

/** Moves the focus by one line of the list. */
function move(by) {
  // A line in a folded list cannot have the focus.
  const lines = [...$("main").querySelectorAll(".rows :is(.row, .file)")].filter((line) => line.getClientRects().length > 0);
  const from = lines.indexOf(document.activeElement);
  const open = lines.findIndex((line) => line.hasAttribute("aria-current"));
  const at = from >= 0 ? from + by : open >= 0 ? open + by : 0;
  const line = lines[Math.min(lines.length - 1, Math.max(0, at))];
  line?.focus({ preventScroll: true });
  line?.scrollIntoView({ block: "nearest" });
}

function sessionOfLine() {
  const line = document.activeElement?.closest(".row") ?? document.querySelector(".row[aria-current]");
  const { session, open } = line?.dataset ?? {};
  if (session) location.hash = address({ view: "session", id: session, params: { open } });
}
