// The snapshots of a session: the list, and the choice of two to compare.

import { get } from "./ask.js";
import { difference } from "./difference.js";
import { h, put, redraw, trouble } from "./dom.js";
import { clock, count, day, stamp, whole } from "./format.js";
import { mark } from "./marks.js";
import { address, go, here, slip, withParams } from "./route.js";

const PAGE = 500;

/** Returns the part of the page. `changed` is called when there are other snapshots than before. */
export function snapshotsPart(changed) {
  const state = { id: null, items: [], next: null, drawn: "" };
  const summary = h("span", { class: "dim num" });
  const list = h("ol", { class: "rows", onclick: chooseOnClick });
  const foot = h("div", { class: "foot" });
  const [from, to] = ["from", "to"].map((name) => h("select", { id: `snapshot-${name}`, onchange: () => pick(name) }));
  const fields = h("div", { class: "fields" },
    h("label", { class: "field" }, "Compare", from), h("label", { class: "field" }, "with", to));
  const files = difference();
  const element = h("section", { class: "snapshots", "aria-label": "Snapshots of the files", hidden: true },
    h("details", {}, h("summary", {}, h("h2", {}, "Snapshots"), summary), list, foot), fields, files.element);

  async function load(before) {
    const id = state.id;
    if (!id) return;
    try {
      const page = await get(`/api/sessions/${encodeURIComponent(id)}/snapshots`, { before, limit: PAGE });
      if (id !== state.id) return;
      // Older pages that were read stay.
      const first = page.items[0]?.created_at ?? 0;
      const older = before ? [] : state.items.filter((item) => item.created_at < first);
      const newer = before ? state.items : [];
      state.next = older.length ? state.next : page.next;
      state.items = [...older, ...page.items, ...newer];
      draw();
    } catch (error) {
      if (id !== state.id) return;
      element.hidden = false;
      put(foot, trouble(error, () => load(before)));
    }
  }

  function draw() {
    // An unchanged list is not drawn again: a menu may be open.
    const now = JSON.stringify([state.id, state.items, state.next]);
    if (now === state.drawn) return;
    state.drawn = now;
    const taken = state.items.filter((item) => item.has_files);
    const missing = state.items.length - taken.length;
    element.hidden = state.items.length === 0;
    put(summary, `${whole(taken.length)}${state.next ? " so far" : ""}${missing ? `, ${whole(missing)} not taken` : ""}`);
    redraw(list, [...state.items].reverse().map((item) => entry(item, beforeOf(item))));
    put(foot, state.next && h("button", { type: "button", onclick: () => load(state.next) }, "Show older snapshots"));
    fields.hidden = taken.length < 2;
    for (const select of [from, to]) {
      put(select, h("option", { value: "" }, "Choose a snapshot"), [...taken].reverse().map((item) =>
        h("option", { value: item.id }, `${item.id} · ${day(item.created_at)} ${clock(item.created_at)} · ${about(item)}`)));
    }
    mirror();
    changed();
  }

  /** Shows the choice that the address names. */
  function mirror() {
    const { params } = here();
    [from.value, to.value] = [params.from ?? "", params.to ?? ""];
    for (const line of list.querySelectorAll("a.row")) {
      if (line.dataset.snapshot === params.to) line.setAttribute("aria-current", "true");
      else line.removeAttribute("aria-current");
    }
    if (params.to) element.hidden = false;
    files.show(params.from, params.to);
  }

  /** Returns the snapshot of the same work tree before `item`. */
  const beforeOf = (item) => state.items.findLast((other) =>
    other.has_files && other.work_tree === item.work_tree && other.created_at < item.created_at);

  /** Compares the chosen one; if the other one is not chosen, it is the one before, or the newest. */
  function pick(name) {
    const chosen = state.items.find((item) => String(item.id) === (name === "from" ? from : to).value);
    if (!chosen) return slip(withParams({ from: "", to: "" }));
    const other = (name === "from" ? to : from).value || (name === "from" ? newestOf(chosen) : beforeOf(chosen))?.id || chosen.id;
    slip(withParams(name === "from" ? { from: chosen.id, to: other } : { from: other, to: chosen.id }));
  }

  const newestOf = (item) => state.items.findLast((other) => other.has_files && other.work_tree === item.work_tree);

  return {
    element,
    load: () => load(),
    /** Shows the snapshots of another session. */
    begin(id) {
      Object.assign(state, { id, items: [], next: null, drawn: "" });
      element.hidden = true;
      put(list);
      put(foot);
      load();
    },
    update: mirror,
    /** Returns the snapshots since `time` as items of the time axis. */
    marks: (time) => state.items.filter((item) => item.has_files && item.created_at >= time).map((item) =>
      ({ type: "snapshot", id: `snapshot-${item.id}`, at: item.created_at, snapshot: item, title: `${item.id} · ${about(item)}` })),
    /** Compares a snapshot with the one before it. */
    choose(item) {
      const before = beforeOf(item) ?? item;
      go(withParams({ from: before.id, to: item.id }));
      element.scrollIntoView({ block: "nearest" });
    },
  };
}

/** Returns what changed since the snapshot before, or why there is none. */
function said({ skipped, changed, has_files }) {
  if (!has_files) return `no snapshot: ${skipped ?? "it was dropped"}`;
  if (!changed) return "nothing before it";
  return changed.files ? `${count(changed.files, "file")} +${whole(changed.added)} −${whole(changed.removed)}` : "no change";
}

/** Returns what a snapshot is, in one line: its note, or else the prompt or the last action before it. */
const about = (item) => [item.kind, item.note ?? item.doing, said(item)].filter(Boolean).join(" · ");

function entry(item, before) {
  const left = item.left_out > 0 && ` · not in it: ${item.left_out_some}${item.left_out > 5 ? ` and ${item.left_out - 5} more` : ""}`;
  const cells = [
    h("time", { datetime: new Date(item.created_at).toISOString(), title: stamp(item.created_at) }, clock(item.created_at)),
    mark({ kind: item.kind }),
    h("span", { class: "title" }, [said(item), item.doing, item.note].filter(Boolean).join(" · "), left),
    h("span", { class: "where" }, item.branch),
    h("span", { class: "cost" }, item.under_way),
    h("span", { class: "id num" }, item.has_files && item.id),
  ];
  const params = { ...here().params, from: before?.id, to: item.id };
  return h("li", { "data-id": `snapshot-${item.id}` }, item.has_files && before
    ? h("a", { class: "row", href: address({ view: "session", id: item.session_id, params }), "data-snapshot": item.id, "data-before": before.id }, cells)
    : h("div", { class: "row", tabindex: 0 }, cells));
}

/** Keeps the rest of the address, which may have changed since the line was drawn. */
function chooseOnClick(event) {
  const link = event.target.closest("a[data-snapshot]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(withParams({ from: link.dataset.before, to: link.dataset.snapshot }));
}
