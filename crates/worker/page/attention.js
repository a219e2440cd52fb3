// Calls the user while a session waits: the title and the icon of the page and, if the user wants that, notifications.

import { $, put, s } from "./dom.js";
import { address } from "./route.js";

const KEY = "longhaul-notify";
const LOOKED_AT = "longhaul-looked-at"; // The name of the lock that pages with the focus hold.
const LASTING_MS = 2000; // The user is not called for a state that ends sooner.

let title = "Longhaul";
let waiting = new Map(); // The sessions that wait, by id.
let isFirst = true;
let wanted = stored() && "Notification" in window && Notification.permission === "granted";

/** Sets the title of the page; the number of waiting sessions is put before it. */
export function setTitle(text) {
  title = text;
  document.title = waiting.size ? `(${waiting.size}) ${title}` : title;
}

/** Takes the running sessions. Sessions that wait already when the page is opened cause no notification. */
export function callFor(agents) {
  const before = waiting;
  waiting = new Map(agents.filter((agent) => agent.status === "blocked").map((agent) => [agent.session, agent]));
  setTitle(title);
  document.querySelector("link[rel=icon]").href = waiting.size ? "/favicon-waiting.svg" : "/favicon.svg";
  const isNew = ({ session, reason }) => before.get(session)?.reason !== reason || !before.has(session);
  if (!isFirst) [...waiting.values()].filter(isNew).forEach((agent) => setTimeout(notify, LASTING_MS, agent));
  isFirst = false;
}

/** Draws the button that switches notifications on and off. */
export function offerNotifications() {
  const button = $("notify");
  button.hidden = !("Notification" in window);
  button.addEventListener("click", async () => {
    wanted = !wanted && (await Notification.requestPermission()) === "granted";
    store(wanted);
    label(button);
  });
  label(button);
  // A page holds the lock while it has the focus, so that the others know that the user is looking.
  addEventListener("focus", look);
  if (document.hasFocus()) look();
}

/** Returns a bell, crossed out if it is off. It is drawn, because a font with emoji may be missing. */
const bell = (isOn) => s("svg", { viewBox: "0 0 16 16", width: 16, height: 16, fill: "none", stroke: "currentColor", "stroke-width": 1.4, "aria-hidden": "true" },
  s("path", { d: "M3 12h10l-1.2-1.8V7a3.8 3.8 0 0 0-7.6 0v3.2zM6.6 14h2.8" }), !isOn && s("path", { d: "M2 2l12 12" }));

function label(button) {
  const isDenied = "Notification" in window && Notification.permission === "denied";
  const state = isDenied ? "blocked in the settings of the browser" : wanted ? "on" : "off";
  put(button, bell(wanted));
  button.setAttribute("aria-pressed", String(wanted));
  button.setAttribute("aria-label", `Notify me when a session waits: ${state}`);
  button.title = `Notify me when a session waits: ${state}`;
}

function look() {
  const blurred = new Promise((resolve) => addEventListener("blur", resolve, { once: true }));
  navigator.locks.request(LOOKED_AT, { mode: "shared" }, () => blurred);
}

/** Notifies of a session that still waits for the same thing, unless the user is looking at a page of Longhaul. */
async function notify({ session, project, reason }) {
  const { held } = await navigator.locks.query();
  const isLookedAt = held.some((lock) => lock.name === LOOKED_AT);
  if (!wanted || isLookedAt || waiting.get(session)?.reason !== reason || !waiting.has(session)) return;
  // Several pages use the same tag, so that the browser shows one notification.
  const call = new Notification(`${project} waits for you`, { body: reason ?? "", tag: session, icon: "/favicon-waiting.svg" });
  call.addEventListener("click", () => {
    window.focus();
    location.hash = address({ view: "session", id: session });
    call.close();
  });
}

function stored() {
  try {
    return localStorage.getItem(KEY) === "on";
  } catch {
    return false;
  }
}

function store(isOn) {
  try {
    localStorage.setItem(KEY, isOn ? "on" : "off");
  } catch {
    // Without storage the choice lasts as long as the page.
  }
}
