// Every session, the newest first.

import { get } from "./ask.js";
import { debounce, empty, h, put, redraw, trouble } from "./dom.js";
import { brief, cost, count, dayTime, span, stamp } from "./format.js";
import { contextBar, stateMark } from "./marks.js";
import { address } from "./route.js";

/** Returns the view. */
export function sessionsView() {
  const view = { project: null, items: [], next: null };
  const head = h("p", { class: "count", role: "status" });
  const list = h("div", { class: "list" });
  const foot = h("div", { class: "foot" });

  async function load(before) {
    const project = view.project;
    try {
      const page = await get("/api/sessions", { project, before, limit: 50 });
      if (project !== view.project) return;
      view.items = before ? [...view.items, ...page.items] : page.items;
      view.next = page.next;
      draw();
    } catch (error) {
      put(before ? foot : list, trouble(error, () => load(before)));
    }
  }

  function draw() {
    put(head, `${count(view.items.length, "session")}${view.next ? " so far" : ""}`);
    redraw(list, view.items.length ? h("ol", { class: "rows cards" }, view.items.map(card)) : empty("No session yet",
      h("p", {}, "A session appears with its first prompt. To import past sessions, run ", h("code", {}, "longhaul memory import"), ".")));
    put(foot, view.next && h("button", { type: "button", onclick: () => load(view.next) }, "Show older"));
  }

  const soon = debounce(1500, () => load());
  return {
    mount: (main) => put(main, h("div", { class: "bar-line" }, h("h1", {}, "Sessions"), head), list, foot),
    unmount() {},
    update({ params }) {
      if ((params.project ?? "") === view.project) return;
      view.project = params.project ?? "";
      load();
    },
    rows: () => view.items.length <= 50 && soon(),
    back: () => load(),
    forgotten() {},
  };
}

function card(session) {
  return h("li", { "data-id": session.session_id },
    h("a", { class: "row card", href: address({ view: "session", id: session.session_id }) },
      h("span", { class: "card-top" },
        h("strong", {}, session.project),
        session.host && h("span", { class: "dim" }, `@${session.host}`),
        stateMark(stateOf(session)),
        h("time", { class: "dim num", datetime: new Date(session.created_at).toISOString(), title: stamp(session.created_at) },
          dayTime(session.created_at)),
        h("span", { class: "dim num" }, span(session.last_at - session.created_at)),
        h("span", { class: "id num" }, brief(session.session_id))),
      h("span", { class: "title" }, session.first_prompt ?? "(no prompt)"),
      h("span", { class: "card-foot dim num" }, counts(session), contextBar(session.context?.used_percent, contextNote(session.context)))));
}

/** Returns the state of a session. One that is not tracked has ended. */
export const stateOf = (session) => session.state?.status ?? (session.status === "completed" ? "ended" : "not running");

/** Returns the content of a session in words. */
export function counts({ counts, tokens }) {
  const parts = [
    count(counts.prompts, "prompt"), count(counts.turns, "turn"), count(counts.observations, "observation"),
    counts.bookmarks > 0 && count(counts.bookmarks, "bookmark"), counts.summaries > 0 && count(counts.summaries, "summary", "summaries"),
  ];
  return `${parts.filter(Boolean).join(", ")} · ${cost(tokens)} tokens`;
}

/** Returns the size of a context in words. */
export const contextNote = (context) =>
  context && `${cost(context.used_tokens ?? 0)} of ${cost(context.window_tokens)} tokens${context.model ? `, ${context.model}` : ""}`;
