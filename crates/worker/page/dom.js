// Creates elements. Text is always a text node, so that stored text cannot become markup.

const SVG = "http://www.w3.org/2000/svg";

/** Returns an HTML element. Properties that begin with `on` are listeners, `null` and `false` omit a property. */
export function h(tag, props, ...children) {
  return fill(document.createElement(tag), props, children);
}

/** Returns an SVG element. */
export function s(tag, props, ...children) {
  return fill(document.createElementNS(SVG, tag), props, children);
}

export const $ = (id) => document.getElementById(id);

/** Returns a text whose parts between backticks are code elements. */
export function ticked(text) {
  return text.split(/`([^`\n]+)`/).map((part, index) => (index % 2 ? h("code", {}, part) : part));
}

/** Replaces the content of `parent` by `children`. */
export function put(parent, ...children) {
  parent.replaceChildren(...nodes(children));
  return parent;
}

/** The same for a list that may have the focus: the focus stays on its line. */
export function redraw(parent, ...children) {
  const at = parent.contains(document.activeElement) && document.activeElement.closest("[data-id]")?.dataset.id;
  put(parent, ...children);
  if (at) parent.querySelector(`[data-id="${CSS.escape(at)}"] :is(a, summary, [tabindex])`)?.focus({ preventScroll: true });
  return parent;
}

/** Returns an error with its suggested fix and a button to retry. */
export function trouble(error, retry) {
  return h("div", { class: "note bad", role: "alert" },
    h("p", {}, h("strong", {}, error.message)),
    error.fix && h("p", {}, error.fix),
    retry && h("button", { type: "button", onclick: retry }, "Try again"));
}

/** Returns the message for an empty list. */
export function empty(title, ...rest) {
  return h("div", { class: "note" }, h("p", {}, h("strong", {}, title)), ...rest);
}

/** Returns a function that runs `action` when it has not been called for `ms`. */
export function debounce(ms, action) {
  let timer;
  return (...args) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...args), ms);
  };
}

function fill(element, props, children) {
  for (const [name, value] of Object.entries(props ?? {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...nodes(children));
  return element;
}

function nodes(children) {
  return children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false && child !== "");
}
