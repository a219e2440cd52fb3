// Text with the query's words marked. Marks are pairs of character offsets; stored text never becomes markup.

import { h } from "./dom.js";

/** Returns a text as nodes, the words in `mark` elements; what stands between backticks is code. */
export function marked(text, marks = []) {
  const ranges = offsets(text, marks);
  const nodes = [];
  let at = 0;
  for (const found of text.matchAll(/`([^`\n]+)`/g)) {
    nodes.push(cut(text, at, found.index, ranges));
    nodes.push(h("code", {}, cut(text, found.index + 1, found.index + found[0].length - 1, ranges)));
    at = found.index + found[0].length;
  }
  nodes.push(cut(text, at, text.length, ranges));
  return nodes;
}

/** Returns part of a text as nodes. */
function cut(text, from, to, ranges) {
  const nodes = [];
  let at = from;
  for (const [start, end] of ranges) {
    if (end <= from || start >= to) continue;
    nodes.push(text.slice(at, Math.max(start, from)));
    at = Math.min(end, to);
    nodes.push(h("mark", {}, text.slice(Math.max(start, from), at)));
  }
  nodes.push(text.slice(at, to));
  return nodes;
}

/** Returns where marks begin and end in a string, which counts a character beyond the first plane twice. */
function offsets(text, marks) {
  if (!marks.length) return [];
  const places = [];
  let at = 0;
  for (const char of text) {
    places.push(at);
    at += char.length;
  }
  places.push(at);
  return marks.map(([start, end]) => [places[start] ?? at, places[end] ?? at]);
}
