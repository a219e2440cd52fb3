// One session: the time axis, and the same content as a list below it.

import { get } from "./ask.js";
import { setTitle } from "./attention.js";
import { axis } from "./axis.js";
import { debounce, empty, h, put, redraw, ticked, trouble } from "./dom.js";
import { brief, clock, cost, count, day, dayTime, span, stamp } from "./format.js";
import { contextBar, mark, stateMark } from "./marks.js";
import { markOpen, openOnClick } from "./rows.js";
import { address, go, withParams } from "./route.js";
import { contextNote, counts, stateOf } from "./sessions.js";
import { snapshotsPart } from "./snapshots.js";

const PAGE = 500;

/** Returns the view. */
export function timelineView() {
  const view = { id: null, session: null, items: [], next: null };
  const head = h("div", { class: "session-head" });
  const older = h("div", { class: "foot" });
  const list = h("div", { class: "list", onclick: openOnClick });
  const line = axis(openItem);
  const snapshots = snapshotsPart(drawAxis);

  async function load(before) {
    const id = view.id;
    try {
      const page = await get(`/api/sessions/${encodeURIComponent(id)}/timeline`, { before, limit: PAGE });
      if (id !== view.id) return;
      view.session = page.session;
      view.items = before ? [...page.items, ...view.items] : page.items;
      view.next = page.next;
      draw();
    } catch (error) {
      if (id !== view.id) return;
      line.element.hidden = !view.items.length;
      put(before ? older : head, trouble(error, () => load(before)));
    }
  }

  function draw() {
    put(head, heading(view.session));
    setTitle(`${view.session.project} · Longhaul`);
    drawAxis();
    put(older, view.next && h("button", { type: "button", onclick: () => load(view.next) }, "Show older"));
    const unfolded = [...list.querySelectorAll("details[open]")].map((fold) => fold.closest("li").dataset.id);
    redraw(list, view.items.length ? chapters(view.items) : empty("Nothing of this session is stored",
      h("p", {}, "Private text is not stored, and deleted records are not shown.")));
    for (const id of unfolded) list.querySelector(`[data-id="${CSS.escape(id)}"] details`)?.setAttribute("open", "");
    markOpen(list);
  }

  function drawAxis() {
    line.element.hidden = view.items.length === 0;
    // Snapshots that are older than the entries come with the older entries.
    const marks = snapshots.marks(view.next ? view.items[0]?.at : 0);
    line.draw([...view.items, ...marks].sort((a, b) => a.at - b.at));
  }

  function openItem(item) {
    if (item.snapshot) return snapshots.choose(item.snapshot);
    if (/^[POS]/.test(item.id)) return go(withParams({ open: item.id }));
    const fold = list.querySelector(`[data-id="${CSS.escape(item.id)}"] details`);
    if (!fold) return;
    fold.open = true;
    fold.querySelector("summary").focus();
  }

  const soon = debounce(700, () => {
    load();
    snapshots.load();
  });
  // A snapshot is taken in the background, after the prompt that it belongs to was stored.
  const later = debounce(4000, snapshots.load);
  return {
    mount: (main) => put(main, head, line.element, snapshots.element, older, list),
    unmount() {
      view.id = null;
      snapshots.begin(null);
    },
    update(route) {
      snapshots.update();
      if (route.id === view.id) return markOpen(list);
      view.id = route.id;
      view.items = [];
      line.element.hidden = true;
      put(head, h("p", { class: "dim" }, "Reading…"));
      put(list);
      load();
      snapshots.begin(view.id);
    },
    rows({ prompts, observations, summaries }) {
      if (![...prompts, ...observations, ...summaries].some((record) => record.session_id === view.id)) return;
      soon();
      later();
    },
    back() {
      load();
      snapshots.load();
    },
    forgotten(id) {
      view.items = view.items.filter((item) => item.id !== id);
      if (view.session) draw();
    },
  };
}

function heading(session) {
  const heir = session.merged_into && h("a", { href: address({ view: "session", id: session.merged_into }) }, `continued in ${brief(session.merged_into)}`);
  return [
    h("p", { class: "crumb" }, h("a", { href: address({ view: "sessions" }) }, "Sessions"), " / ", h("span", { class: "num", title: session.session_id }, brief(session.session_id))),
    h("div", { class: "bar-line" }, h("h1", {}, session.project), session.host && h("span", { class: "dim" }, `@${session.host}`), stateMark(stateOf(session)),
      contextBar(session.context?.used_percent, contextNote(session.context))),
    session.first_prompt && h("p", { class: "lead" }, session.first_prompt),
    h("p", { class: "dim num" },
      h("time", { datetime: new Date(session.created_at).toISOString(), title: stamp(session.created_at) }, dayTime(session.created_at)),
      ` · ${span(session.last_at - session.created_at)} · ${counts(session)}`, session.end_reason && ` · ended: ${session.end_reason}`, heir && " · ", heir),
  ];
}

/** Returns the list, with a heading for every day. */
function chapters(items) {
  const days = Map.groupBy ? Map.groupBy(items, (item) => day(item.at)) : grouped(items);
  return [...days].map(([name, inDay]) =>
    h("section", {}, h("h2", { class: "day" }, name, h("span", { class: "dim" }, ` ${count(inDay.length, "entry", "entries")}`)),
      h("ol", { class: "rows" }, inDay.map(entry))));
}

function grouped(items) {
  const groups = new Map();
  for (const item of items) groups.set(day(item.at), [...(groups.get(day(item.at)) ?? []), item]);
  return groups;
}

function entry(item) {
  const cells = [
    h("time", { datetime: new Date(item.at).toISOString(), title: stamp(item.at) }, clock(item.at)),
    mark(item),
    h("span", { class: "title" }, ticked(item.title || "(no text)")),
    h("span", { class: "where" }, item.host && `@${item.host} `, item.until > item.at ? span(item.until - item.at) : item.is_error ? "failed" : ""),
    h("span", { class: "cost num" }, item.tokens > 0 && [cost(item.tokens), h("span", { class: "unit" }, " tokens")]),
    h("span", { class: "id num" }, item.id),
  ];
  const isRecord = /^[POS]/.test(item.id);
  return h("li", { "data-id": item.id, class: `t-${item.type}` }, isRecord
    ? h("a", { class: "row", href: address({ params: { open: item.id } }), "data-open": item.id }, cells)
    : item.text ? h("details", {}, h("summary", { class: "row" }, cells), h("p", { class: "text" }, item.text)) : h("div", { class: "row", tabindex: 0 }, cells));
}
