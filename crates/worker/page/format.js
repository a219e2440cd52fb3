// Formats numbers and times.

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const DAYS = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

const two = (number) => String(number).padStart(2, "0");

/** 950, 1.2k, 58k, 3.4M */
export function short(number) {
  if (number < 1000) return String(Math.round(number));
  const [value, unit] = number < 999_500 ? [number / 1000, "k"] : [number / 1e6, "M"];
  return `${value < 9.95 ? value.toFixed(1).replace(/\.0$/, "") : Math.round(value)}${unit}`;
}

/** The tokens of a text, as the command line prints them. */
export const cost = (tokens) => `~${tokens < 1000 || tokens >= 999_500 ? short(tokens) : `${Math.round(tokens / 1000)}k`}`;

/** $0.07, $12.30, $1,204 */
export const dollars = (number) => `$${number.toLocaleString("en", number < 1000 ? { minimumFractionDigits: 2, maximumFractionDigits: 2 } : { maximumFractionDigits: 0 })}`;

/** What tokens cost, as an estimate: ≈ $1.20, ≈ $1.20 + ? where the price of some is not known, or nothing known. */
export function estimate({ cost_usd: cost, unpriced_tokens: unpriced }) {
  if (cost === null) return "cost unknown";
  return `≈ ${dollars(cost)}${unpriced ? " + ?" : ""}`;
}

/** 12,345 */
export const whole = (number) => number.toLocaleString("en");

/** 340 B, 12 KB, 3.4 MB */
export function bytes(number) {
  let value = number;
  for (const unit of ["B", "KB", "MB"]) {
    if (value < 999.5) return `${value < 9.95 && unit !== "B" ? value.toFixed(1) : Math.round(value)} ${unit}`;
    value /= 1000;
  }
  return `${value.toFixed(1)} GB`;
}

/** 1 record, 3 records */
export const count = (number, one, many = `${one}s`) => `${whole(number)} ${number === 1 ? one : many}`;

/** 14:03:22 */
export function clock(ms) {
  const at = new Date(ms);
  return `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;
}

/** 14:03 */
export const minute = (ms) => clock(ms).slice(0, 5);

/** Today, Yesterday, Tue 4 Nov, Tue 4 Nov 2024 */
export function day(ms, now = Date.now()) {
  const at = new Date(ms);
  const midnight = new Date(now).setHours(0, 0, 0, 0);
  if (ms >= midnight && ms < midnight + DAY) return "Today";
  if (ms < midnight && new Date(midnight - HOUR).toDateString() === at.toDateString()) return "Yesterday";
  const year = at.getFullYear() === new Date(now).getFullYear() ? "" : ` ${at.getFullYear()}`;
  return `${DAYS[at.getDay()]} ${at.getDate()} ${MONTHS[at.getMonth()]}${year}`;
}

/** Today 14:03, Tue 4 Nov 14:03 */
export const dayTime = (ms) => `${day(ms)} ${minute(ms)}`;

/** 2025-11-04 14:03:22 */
export function stamp(ms) {
  return `${date(ms)} ${clock(ms)}`;
}

/** 2025-11-04 */
export function date(ms) {
  const at = new Date(ms);
  return `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}`;
}

/** 40 s, 3 min, 2 h 10 min, 3 d */
export function span(ms) {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / 1000))} s`;
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`;
  if (ms >= 2 * DAY) return `${Math.floor(ms / DAY)} d`;
  const minutes = Math.floor((ms % HOUR) / MINUTE);
  return `${Math.floor(ms / HOUR)} h${minutes && ms < 10 * HOUR ? ` ${minutes} min` : ""}`;
}

/** The beginning of an id, long enough to identify a session. */
export const brief = (id) => id.slice(0, id.indexOf(":") + 9);

/** The first line that is not empty. */
export const firstLine = (text) => text.trim().split("\n", 1)[0];
