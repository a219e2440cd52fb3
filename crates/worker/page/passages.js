// The passages that answer a question, above the results of a search.

import { get } from "./ask.js";
import { h, put, trouble } from "./dom.js";
import { brief, count, minute } from "./format.js";
import { openOnClick } from "./rows.js";
import { address } from "./route.js";
import { marked } from "./words.js";

/** A query with at least this many words is a question. For fewer, the list is enough. */
const QUESTION = 3;
const TOKENS = 1200;

/** Returns the panel: its element, and a function that fills it for a question. */
export function passagesPanel() {
  const body = h("div", { class: "passages", onclick: openOnClick });
  const head = h("summary", {}, "Passages");
  const panel = h("details", { class: "answer", hidden: true }, head, body);
  let stop = null;
  let asked = null;
  let shown = null;

  async function load() {
    if (!asked || !panel.open || JSON.stringify(asked) === shown) return;
    shown = JSON.stringify(asked);
    stop?.abort();
    const { signal } = (stop = new AbortController());
    try {
      const answer = await get("/api/recall", { ...asked, tokens: TOKENS }, signal);
      if (!signal.aborted) draw(answer);
    } catch (error) {
      if (error.name === "AbortError") return;
      shown = null;
      put(body, trouble(error, load));
    }
  }

  function draw(answer) {
    const number = answer.sessions.reduce((sum, session) => sum + session.passages.length, 0);
    put(head, "Passages ", h("span", { class: "dim num" }, number ? count(number, "passage") : "none"));
    put(body,
      answer.weak && h("p", { class: "dim" }, "No passage has most of these words."),
      answer.sessions.map(session));
  }

  panel.addEventListener("toggle", load);
  return {
    panel,
    ask({ q, project, since, before, order }) {
      const isQuestion = (q ?? "").split(/\s+/).filter(Boolean).length >= QUESTION && !order;
      asked = isQuestion ? { q, project, since, before } : null;
      if (panel.hidden && isQuestion) panel.open = true;
      panel.hidden = !isQuestion;
      load();
    },
    /** Asks again when there may be a better answer. */
    again() {
      shown = null;
      load();
    },
    leave: () => stop?.abort(),
  };
}

function session({ session_id, project, date, passages }) {
  const name = session_id && h("a", { href: address({ view: "session", id: session_id }) }, brief(session_id));
  return h("section", {},
    h("h3", {}, date, " · ", project, name && [" · ", name]),
    passages.map(passage));
}

function passage({ id, kind, created_at, asked, answered, weak, older }) {
  return h("article", {},
    h("p", { class: "asked" },
      h("a", { class: "id num", href: address({ params: { open: id } }), "data-open": id }, id),
      h("time", { datetime: new Date(created_at).toISOString() }, minute(created_at)),
      kind !== "exchange" && h("span", { class: "dim" }, kind),
      older && h("span", { class: "dim" }, "older: a newer passage answers the same"),
      weak && h("span", { class: "dim" }, "weak"),
      h("span", {}, marked(asked.text, asked.marks))),
    answered.text && h("p", { class: "text" }, marked(answered.text, answered.marks)));
}
