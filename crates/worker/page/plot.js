// A small plot of a number per day, with a table of the same numbers.

import { h, put, s } from "./dom.js";
import { day } from "./format.js";

const HIGH = 120;
const LEFT = 44;
const BASE = 98;
const TOP = 10;

/** Returns the plot of `kind` over `days`. */
export function plot(kind, days) {
  const values = days.map((one) => one[kind.key]);
  const total = values.reduce((sum, value) => sum + value, 0);
  const most = Math.max(...values, 0);
  const value = h("span", { class: "plot-value num" }, `${kind.show(total)} in all`);
  const canvas = h("div", { class: "canvas" });
  canvas.addEventListener("pointerover", ({ target }) => {
    const one = days[target.dataset?.day];
    put(value, one ? `${dayName(one)}: ${kind.exact(one[kind.key])}` : `${kind.show(total)} in all`);
  });
  canvas.addEventListener("pointerleave", () => put(value, `${kind.show(total)} in all`));
  // Drawn at its displayed width: scaled text would be too small on a phone.
  let width = 0;
  new ResizeObserver(() => {
    if (canvas.clientWidth === width || canvas.clientWidth <= LEFT) return;
    width = canvas.clientWidth;
    put(canvas, draw(kind, days, niceTop(most, kind.key), width));
  }).observe(canvas);
  return h("figure", { class: `plot p-${kind.key}` },
    h("figcaption", {}, h("strong", {}, kind.name), h("span", { class: "dim" }, ` ${kind.note}`), value),
    canvas,
    h("details", {}, h("summary", {}, "As a table"), table(kind, days)));
}

function draw(kind, days, top, width) {
  const step = (width - LEFT) / days.length;
  const y = (value) => BASE - ((BASE - TOP) * value) / top;
  const line = (value) => [
    s("line", { class: "lane", x1: LEFT, x2: width, y1: y(value), y2: y(value) }),
    s("text", { class: "label end", x: LEFT - 6, y: y(value) + 4 }, kind.show(value)),
  ];
  const bar = (one, index) => {
    const height = one[kind.key] ? Math.max(1.5, BASE - y(one[kind.key])) : 0;
    const x = LEFT + index * step;
    return [
      s("rect", { class: "bar", x: x + step * 0.12, y: BASE - height, width: step * 0.76, height, rx: Math.min(2, step * 0.2) }),
      s("rect", { class: "touch", x, y: 0, width: step, height: BASE, "data-day": index }),
    ];
  };
  return s("svg", { width, height: HIGH, role: "img", "aria-label": spoken(kind, days) },
    line(0), line(top / 2), line(top), days.map(bar), dayLabels(days, step, width));
}

function dayLabels(days, step, width) {
  const every = Math.ceil(74 / step);
  return days.map((one, index) => (days.length - 1 - index) % every === 0 && index * step > 20 &&
    s("text", { class: "label mid", x: Math.min(LEFT + (index + 0.5) * step, width - 22), y: HIGH - 6 }, dayName(one).replace(/^\w+ (\d)/, "$1")));
}

function spoken(kind, days) {
  const best = days.reduce((a, b) => (b[kind.key] > a[kind.key] ? b : a), days[0]);
  return best ? `${kind.name} per day; most on ${dayName(best)}: ${kind.exact(best[kind.key])}. The table below has all days.` : kind.name;
}

function table(kind, days) {
  return h("div", { class: "scroll", tabindex: 0, role: "region", "aria-label": `${kind.name} per day` }, h("table", {},
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Day"), h("th", { scope: "col" }, kind.name))),
    h("tbody", {}, days.toReversed().map((one) => h("tr", {}, h("th", { scope: "row" }, one.date), h("td", { class: "num" }, kind.exact(one[kind.key])))))));
}

// At noon, so that daylight saving time does not change the day.
const dayName = (one) => day(Date.parse(`${one.date}T12:00`));

/** Returns a round number above `most` whose half is round as well. */
function niceTop(most, key) {
  if (key === "cost") return niceAmount(most);
  if (most <= 2) return key === "bytes" ? 1000 : 2;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8, 10].map((factor) => factor * power).find((top) => top >= most && top % 2 === 0) ?? 10 * power;
}

/** Returns a round amount of money above `most`, at least ten cents. */
function niceAmount(most) {
  if (most <= 0.1) return 0.1;
  const power = 10 ** Math.floor(Math.log10(most));
  return [1, 1.2, 1.6, 2, 2.4, 3, 4, 5, 6, 8].map((factor) => factor * power).find((top) => top >= most) ?? 10 * power;
}
