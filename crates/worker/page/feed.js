// The newest records, live, and the results of a search.

import { get } from "./ask.js";
import { $, debounce, empty, h, put, redraw, trouble } from "./dom.js";
import { cleared, filterForm, fits, isFolded, isNarrowed, NARROWING } from "./filters.js";
import { count, day } from "./format.js";
import { passagesPanel } from "./passages.js";
import { hitOf, markOpen, openOnClick, row } from "./rows.js";
import { slip, withParams } from "./route.js";

const PAGE = 60;
const SCROLLED = 120;
const ASKED = ["q", "project", "order", ...NARROWING];

/** Returns the view. `say` announces new records to screen readers. */
export function feedView(say) {
  // `pending` are records to be shown. `meanwhile` exists during a request: records that arrive then may be missing in its answer.
  const view = { items: [], pending: new Map(), meanwhile: null, asked: null, stop: null, more: false };
  const list = h("div", { class: "list", onclick: openOnClick });
  const head = h("p", { class: "count", role: "status" });
  const passages = passagesPanel();
  const foot = h("div", { class: "foot" });
  const change = (changes) => slip(withParams(changes));
  const typed = debounce(180, change);
  const filters = h("div", { id: "filters" });
  const toggle = h("button", { type: "button", class: "quiet", "aria-controls": "filters", onclick: () => showFilters(!filters.classList.contains("open")) }, "Filters");
  const showFilters = (open) => {
    filters.classList.toggle("open", open);
    toggle.setAttribute("aria-expanded", String(open));
  };

  async function load(params) {
    view.stop?.abort();
    const { signal } = (view.stop = new AbortController());
    view.meanwhile = new Map();
    list.setAttribute("aria-busy", "true");
    try {
      const hits = await get("/api/search", question(params, 0), signal);
      if (signal.aborted) return;
      view.items = hits;
      view.pending = view.meanwhile;
      for (const hit of hits) view.pending.delete(hit.id);
      view.more = hits.length === PAGE;
      draw(params);
      scrolled();
    } catch (error) {
      if (error.name === "AbortError") return;
      put(head);
      put(foot);
      put(list, trouble(error, () => load(params)));
    }
    view.meanwhile = null;
    list.removeAttribute("aria-busy");
  }

  async function loadMore(params) {
    try {
      const hits = await get("/api/search", question(params, view.items.length));
      const known = new Set(view.items.map((hit) => hit.id));
      view.items.push(...hits.filter((hit) => !known.has(hit.id)));
      view.more = hits.length === PAGE;
      const last = list.querySelectorAll(".row").length;
      draw(params);
      list.querySelectorAll(".row")[last]?.focus();
    } catch (error) {
      put(foot, trouble(error, () => loadMore(params)));
    }
  }

  function draw(params) {
    const found = `${count(view.items.length, "record")}${view.more ? " so far" : ""}`;
    put(head, params.q ? `${found} for “${params.q}”` : isNarrowed(params) ? found : "Newest first, live");
    redraw(list, view.items.length ? days(view.items, params) : nothing(params, change));
    put(foot, view.more && view.items.length < 2000 &&
      h("button", { type: "button", onclick: () => loadMore(params) }, "Show older"));
    markOpen(list);
    drawPill();
  }

  function drawPill() {
    const pill = $("pill");
    const number = view.pending.size;
    pill.hidden = number === 0;
    pill.textContent = view.asked?.q ? `${number} new · search again` : `↑ ${number} new`;
  }

  /** Adds the pending records at the top. */
  function flush() {
    if (!view.pending.size) return;
    if (view.asked.q) {
      passages.again();
      return load(view.asked);
    }
    const fresh = [...view.pending.values()].reverse();
    const ids = new Set(fresh.map((hit) => hit.id));
    view.items = [...fresh, ...view.items.filter((hit) => !ids.has(hit.id))].sort((a, b) => b.created_at - a.created_at);
    view.pending.clear();
    draw(view.asked);
    for (const line of list.querySelectorAll("li")) line.classList.toggle("fresh", ids.has(line.dataset.id));
  }

  function takeRows({ prompts, observations, summaries }) {
    const coming = [...prompts, ...observations, ...summaries].filter((record) => fits(record, view.asked));
    if (!coming.length || view.asked.order === "oldest") return;
    for (const record of coming) {
      view.pending.set(record.id, hitOf(record));
      view.meanwhile?.set(record.id, hitOf(record));
    }
    say(coming.length);
    if (!view.asked.q && scrollY < SCROLLED) flush();
    else drawPill();
  }

  const scrolled = () => scrollY < SCROLLED && !view.asked?.q && flush();
  const lift = () => {
    scrollTo({ top: 0 });
    flush();
  };

  return {
    mount(main) {
      put(main, h("div", { class: "bar-line" }, h("h1", {}, "Feed"), head, toggle), filters, passages.panel, list, foot);
      showFilters(false);
      addEventListener("scroll", scrolled, { passive: true });
      $("pill").addEventListener("click", lift);
    },
    unmount() {
      view.stop?.abort();
      passages.leave();
      removeEventListener("scroll", scrolled);
      $("pill").removeEventListener("click", lift);
      $("pill").hidden = true;
    },
    update(route) {
      const params = Object.fromEntries(ASKED.map((name) => [name, route.params[name] ?? ""]));
      if (JSON.stringify(params) === JSON.stringify(view.asked)) return markOpen(list);
      // The form keeps what is being typed. It is drawn again only if the filters changed elsewhere.
      if (!filters.contains(document.activeElement) || !view.asked || document.activeElement.type === "button") {
        keepFocus(filters, () => put(filters, filterForm(params, typed)));
      }
      if (!view.asked && isFolded(params)) showFilters(true);
      view.asked = params;
      passages.ask(params);
      load(params);
    },
    rows: takeRows,
    back: () => load(view.asked),
    forgotten(id) {
      view.pending.delete(id);
      view.items = view.items.filter((hit) => hit.id !== id);
      draw(view.asked);
      // A pending answer may still contain it.
      if (view.meanwhile) load(view.asked);
    },
  };
}

const question = (params, offset) =>
  ({ ...params, order: params.order || (params.q ? "relevance" : "newest"), limit: PAGE, offset });

/** Returns lines grouped by day; ordered by relevance, one list with the day in each line. */
function days(items, params) {
  if (params.q && !params.order) return h("ol", { class: "rows wide-time" }, items.map((hit) => row(hit, "day")));
  const groups = new Map();
  for (const hit of items) {
    const name = day(hit.created_at);
    if (!groups.has(name)) groups.set(name, []);
    groups.get(name).push(hit);
  }
  return [...groups].map(([name, hits]) =>
    h("section", {}, h("h2", { class: "day" }, name), h("ol", { class: "rows" }, hits.map((hit) => row(hit)))));
}

function nothing(params, change) {
  if (isNarrowed(params)) {
    return empty("Nothing matches", h("p", {}, "No record has any of these words. Try other words or fewer filters. +word and \"phrases\" are required, -word is excluded."),
      h("button", { type: "button", onclick: () => change({ ...cleared(), project: "" }) }, "Clear all filters"));
  }
  return empty("The memory is empty",
    h("p", {}, "Use Claude Code with the plugin installed: what it does appears here at once."),
    h("p", {}, "To import your past sessions, run ", h("code", {}, "longhaul memory import"), "."));
}

function keepFocus(parent, draw) {
  const at = [...parent.querySelectorAll("button")].indexOf(document.activeElement);
  draw();
  if (at >= 0) parent.querySelectorAll("button")[at]?.focus();
}
