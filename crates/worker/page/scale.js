// Maps time to positions. Long pauses are cut out, so that a session of two afternoons does not show the night between.

const SILENCE = 10 * 60_000;
const CUT = 34;
const NARROWEST = 18;
const EDGE = 26;
const LABEL = 58;
const STEPS = [1, 5, 10, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 21_600, 43_200].map((seconds) => seconds * 1000);

/** Returns `x(ms)`, the `width` that it takes, the `cuts` and the `ticks`. */
export function scaleOf(items, wanted) {
  const stretches = stretchesOf(items);
  const fixed = 2 * EDGE + CUT * (stretches.length - 1);
  const width = Math.max(wanted, fixed + NARROWEST * stretches.length);
  lay(stretches, width - fixed);
  return { width, x: (ms) => place(stretches, ms), cuts: cutsOf(stretches), ticks: ticksOf(stretches) };
}

/** Returns the times of activity, without the pauses. */
function stretchesOf(items) {
  const spans = items.map((item) => [item.at, Math.max(item.at, item.until ?? item.at)]).sort((a, b) => a[0] - b[0]);
  const stretches = [];
  for (const [start, end] of spans) {
    const last = stretches.at(-1);
    if (last && start - last.end <= SILENCE) last.end = Math.max(last.end, end);
    else stretches.push({ start, end });
  }
  return stretches.length ? stretches : [{ start: 0, end: 0 }];
}

/** Gives every period space by its length, and a visible minimum. */
function lay(stretches, room) {
  const all = stretches.reduce((sum, { start, end }) => sum + end - start, 0);
  const spare = room - NARROWEST * stretches.length;
  let from = EDGE;
  for (const stretch of stretches) {
    stretch.from = from;
    stretch.room = NARROWEST + (all ? (spare * (stretch.end - stretch.start)) / all : spare / stretches.length);
    from += stretch.room + CUT;
  }
}

function place(stretches, ms) {
  const stretch = stretches.findLast(({ start }) => start <= ms) ?? stretches[0];
  const length = stretch.end - stretch.start;
  const share = length ? Math.min(1, Math.max(0, (ms - stretch.start) / length)) : 0.5;
  return stretch.from + share * stretch.room;
}

function cutsOf(stretches) {
  return stretches.slice(1).map((after, index) => {
    const before = stretches[index];
    return { x: before.from + before.room, width: CUT, ms: after.start - before.end };
  });
}

/** Returns the times to label, with a minimum distance between them. */
function ticksOf(stretches) {
  const ticks = [];
  let free = 0;
  for (const stretch of stretches) {
    const length = stretch.end - stretch.start;
    const step = STEPS.find((ms) => (ms / (length || 1)) * stretch.room >= LABEL) ?? STEPS.at(-1);
    const offset = new Date(stretch.start).getTimezoneOffset() * 60_000;
    const first = Math.ceil((stretch.start - offset) / step) * step + offset;
    for (let ms = stretch.start; ms <= stretch.end; ms = ms < first ? first : ms + step) {
      const x = place([stretch], ms);
      if (x >= free) {
        ticks.push({ ms, x, step });
        free = x + LABEL;
      }
    }
  }
  return ticks;
}
