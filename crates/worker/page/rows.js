// Records, one line each.

import { h } from "./dom.js";
import { clock, cost, dayTime, firstLine, stamp } from "./format.js";
import { mark } from "./marks.js";
import { address, here, withParams, go } from "./route.js";
import { marked } from "./words.js";

/** Returns the line of a record. `when` is `clock` if a heading shows the day. */
export function row(hit, when = "clock") {
  const at = new Date(hit.created_at);
  return h("li", { "data-id": hit.id },
    h("a", { class: "row", href: address({ params: { open: hit.id } }), "data-open": hit.id, "data-session": hit.session_id },
      h("time", { datetime: at.toISOString(), title: stamp(hit.created_at) },
        when === "clock" ? clock(hit.created_at) : dayTime(hit.created_at)),
      mark(hit),
      h("span", { class: "title" }, hit.title ? marked(hit.title, hit.title_marks) : "(no title)"),
      h("span", { class: "where" }, hit.host ? `@${hit.host} ${hit.project}` : hit.project),
      h("span", { class: "cost num", title: `Reading it costs about ${hit.tokens} tokens` },
        cost(hit.tokens), h("span", { class: "unit" }, " tokens")),
      h("span", { class: "id num" }, hit.id),
      saysMore(hit.snippet, hit) ? h("span", { class: "snippet" }, marked(hit.snippet, hit.snippet_marks))
        : saysMore(hit.outcome, hit) && h("span", { class: "snippet" }, hit.outcome)));
}

/** Returns whether a text contains more than the title: the one of a command is the command itself, between backticks. */
function saysMore(text, { title }) {
  const plain = (some) => (some ?? "").replaceAll("`", "").replace(/\s+/g, " ");
  const said = plain(text).replace(/^[…\s]*(\$ )?|[…\s]+$/g, "");
  return said !== "" && !plain(title).includes(said);
}

/** Returns the line of a whole record. */
export function hitOf(record) {
  const { type, id, session_id, host, project, project_key, created_at, tokens } = record;
  const title = {
    prompt: () => firstLine(record.prompt),
    observation: () => record.title,
    summary: () => firstLine(record.request || record.completed || record.learned || record.investigated || record.next_steps),
  }[type]();
  const outcome = { observation: () => record.facts?.join("; "), summary: () => firstLine(record.completed || record.learned || "") }[type]?.();
  return { type, id, session_id, host, project, project_key, created_at, tokens, title, outcome, kind: record.kind ?? null };
}

/** Opens the record of a clicked line beside the list. */
export function openOnClick(event) {
  const link = event.target.closest("a[data-open]");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
  event.preventDefault();
  go(withParams({ open: link.dataset.open }));
}

/** Marks the line of the record that is open. */
export function markOpen(root = document) {
  const { open } = here().params;
  for (const line of root.querySelectorAll(".row")) {
    if (open && line.dataset.open === open) line.setAttribute("aria-current", "true");
    else line.removeAttribute("aria-current");
  }
}
