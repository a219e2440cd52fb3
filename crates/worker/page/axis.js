// A session on one time axis: prompts, turns, tool calls, bookmarks, snapshots and summaries in a lane each.

import { h, put, s } from "./dom.js";
import { clock, cost, minute, span } from "./format.js";
import { outline } from "./marks.js";
import { scaleOf } from "./scale.js";

const LANES = [["prompt", "Prompts"], ["turn", "Turns"], ["observation", "Tools"], ["bookmark", "Bookmarks"], ["snapshot", "Snapshots"],
  ["summary", "Summaries"]];
const LANE = 28;
const BOTTOM = LANES.length * LANE;
const ZOOMS = [1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32];
const DRAWN = new Set(["problem", "fix", "decision", "note"]);

/** Returns the axis: its `element`, and `draw(items)`. `open(item)` is called for the item that the user chose. */
export function axis(open) {
  const state = { items: [], zoom: 0, current: null };
  const readout = h("p", { class: "readout num" });
  const plane = h("div", { class: "plane", tabindex: -1 });
  const fit = h("button", { type: "button", onclick: () => zoomTo(0), title: "Fit (0)" }, "Fit");
  const element = h("section", { class: "axis", "aria-label": "Time axis" },
    h("div", { class: "axis-tools" }, readout,
      h("div", { class: "group", role: "group", "aria-label": "Zoom" },
        h("button", { type: "button", "aria-label": "Zoom out", title: "Zoom out (−)", onclick: () => zoomTo(state.zoom - 1) }, "−"), fit,
        h("button", { type: "button", "aria-label": "Zoom in", title: "Zoom in (+)", onclick: () => zoomTo(state.zoom + 1) }, "+"))),
    h("div", { class: "axis-body" },
      h("div", { class: "lanes", "aria-hidden": "true" }, LANES.map(([, name]) => h("span", {}, name))), plane));

  function draw() {
    const room = Math.max(200, plane.clientWidth || 600);
    const scale = scaleOf(state.items, room * ZOOMS[state.zoom]);
    const had = plane.contains(document.activeElement);
    put(plane, picture(state.items, scale));
    hint();
    choose(state.items.find((item) => item.id === state.current?.id) ?? state.items[0], had ? "" : "quietly");
  }

  const hint = () => put(readout, "Arrow keys step, + and − zoom, Enter opens");

  /** Zooms around the position `at` in the window. */
  function zoomTo(step, at = plane.clientWidth / 2) {
    const next = Math.min(ZOOMS.length - 1, Math.max(0, step));
    const share = (plane.scrollLeft + at) / plane.scrollWidth;
    state.zoom = next;
    draw();
    plane.scrollLeft = share * plane.scrollWidth - at;
    if (plane.contains(document.activeElement)) document.activeElement.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  const node = (item) => item && plane.querySelector(`[data-item="${CSS.escape(item.id)}"]`);

  function choose(item, quietly) {
    if (!item) return;
    node(state.current)?.setAttribute("tabindex", -1);
    state.current = item;
    node(item)?.setAttribute("tabindex", 0);
    if (!quietly) node(item)?.focus();
  }

  const tell = (item) => item && put(readout, h("strong", {}, clock(item.at)), ` ${nameOf(item)}${origin(item)} · `, item.title || "(no text)",
    ` · ${lasting(item)}${item.snapshot ? "Enter compares it with the one before" : `${cost(item.tokens)} tokens`}`);

  const itemAt = (target) => state.items.find((item) => item.id === target.closest("[data-item]")?.dataset.item);

  plane.addEventListener("keydown", (event) => {
    const to = step(event.key, state);
    if (to) choose(to);
    else if (event.key === "+" || event.key === "=") zoomTo(state.zoom + 1);
    else if (event.key === "-") zoomTo(state.zoom - 1);
    else if (event.key === "0") zoomTo(0);
    else if ((event.key === "Enter" || event.key === " ") && itemAt(event.target)) open(state.current);
    else return;
    event.preventDefault();
  });
  plane.addEventListener("focusin", ({ target }) => {
    const item = itemAt(target);
    if (!item) return;
    choose(item, "quietly");
    tell(item);
    node(item).scrollIntoView({ block: "nearest", inline: "nearest" });
  });
  plane.addEventListener("pointerover", ({ target }) => tell(itemAt(target)));
  plane.addEventListener("click", ({ target }) => {
    const item = itemAt(target);
    if (item) open(item);
  });
  plane.addEventListener("wheel", (event) => {
    if (!event.ctrlKey) return;
    event.preventDefault();
    zoomTo(state.zoom + (event.deltaY < 0 ? 1 : -1), event.clientX - plane.getBoundingClientRect().left);
  }, { passive: false });

  let width = 0;
  new ResizeObserver(() => {
    if (plane.clientWidth !== width) draw();
    width = plane.clientWidth;
  }).observe(plane);

  return {
    element,
    draw(items) {
      state.items = items;
      draw();
    },
  };
}

/** Returns the item that a key leads to: along the time, or the nearest one in the next lane. */
function step(key, { items, current }) {
  const index = items.indexOf(current);
  const aim = { ArrowRight: index + 1, ArrowLeft: index - 1, Home: 0, End: items.length - 1 }[key];
  if (aim !== undefined) return items[Math.min(items.length - 1, Math.max(0, aim))];
  const down = { ArrowDown: 1, ArrowUp: -1 }[key];
  if (!down || !current) return null;
  for (let lane = laneOf(current) + down; LANES[lane]; lane += down) {
    const near = items.filter((item) => laneOf(item) === lane)
      .sort((a, b) => Math.abs(a.at - current.at) - Math.abs(b.at - current.at))[0];
    if (near) return near;
  }
  return current;
}

const laneOf = (item) => LANES.findIndex(([type]) => type === item.type);
const nameOf = (item) => item.kind ?? item.type;
const origin = (item) => (item.host ? ` @${item.host}` : "");
const lasting = (item) => (item.until > item.at ? `${span(item.until - item.at)} · ` : "");

function picture(items, { width, x, cuts, ticks }) {
  const svg = s("svg", { width, height: BOTTOM + 22, viewBox: `0 0 ${width} ${BOTTOM + 22}`, role: "group", "aria-label": "Session on a time axis; the list below has the same content" });
  const lines = LANES.map((_, lane) => s("line", { class: "lane", x1: 0, x2: width, y1: (lane + 0.5) * LANE, y2: (lane + 0.5) * LANE }));
  svg.append(s("g", { "aria-hidden": "true" }, lines, cuts.map(cutMark), ticks.map(tickMark)), ...items.map((item) => itemMark(item, x)));
  return svg;
}

function cutMark({ x, width, ms }) {
  return s("g", { class: "cut" }, s("rect", { x: x + 7, y: 0, width: width - 14, height: BOTTOM }),
    s("text", { x: x + width / 2, y: BOTTOM / 2, transform: `rotate(-90 ${x + width / 2} ${BOTTOM / 2})` }, `${span(ms)} later`));
}

function tickMark({ ms, x, step }) {
  return s("g", { class: "tick" }, s("line", { x1: x, x2: x, y1: 0, y2: BOTTOM + 4 }),
    s("text", { x, y: BOTTOM + 17 }, step < 60_000 ? clock(ms) : minute(ms)));
}

function itemMark(item, x) {
  const y = (laneOf(item) + 0.5) * LANE;
  const from = x(item.at);
  const label = `${clock(item.at)} ${nameOf(item)}${origin(item)}: ${item.title} ${lasting(item)}`;
  return s("g", { class: `item t-${item.type} k-${nameOf(item)}${item.is_error ? " is-error" : ""}`, "data-item": item.id, role: "button", tabindex: -1, "aria-label": label },
    shape(item, from, y, x));
}

function shape(item, from, y, x) {
  if (item.type === "turn") {
    const width = Math.max(5, x(item.until ?? item.at) - from);
    return s("rect", { x: from, y: y - 6, width, height: 12, rx: 3 });
  }
  const isDrawn = item.type !== "observation" || DRAWN.has(item.kind);
  if (!isDrawn) return s("rect", { x: from - 2.5, y: y - 8, width: 5, height: 16, rx: 2 });
  const size = item.type === "observation" ? 0.8 : 1;
  const corner = `translate(${from - 6 * size} ${y - 6 * size}) scale(${size})`;
  return [s("circle", { cx: from, cy: y, r: 9.5 * size }), s("path", { d: outline(nameOf(item)), transform: corner })];
}
