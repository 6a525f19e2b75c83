// The figures: runs, their curves against any axis, spread over nodes and seeds, and when a target was met.

const AXES = {
  round: { column: "round", label: "Round", show: showRound, ticks: "count" },
  bytes: { column: "bytes_sent_per_node", label: "Bytes sent per node", show: showBytes, ticks: "bytes" },
  time: { column: "virtual_seconds", label: "Virtual time", show: showSeconds, ticks: "seconds" },
};

// What can be drawn as curves. `band` names the columns of the lowest and the highest node; `least` and `most`
// hold the axis to what the figure can be.
const FIGURES = [
  {
    id: "accuracy",
    section: "curves",
    wide: true,
    title: "Accuracy",
    y: "accuracy",
    band: ["accuracy_min", "accuracy_max"],
    show: showPercent,
    ticks: "percent",
    least: 0,
    most: 1,
    about: "On test data, mean over nodes.",
  },
  {
    id: "merged_accuracy",
    section: "curves",
    title: "Accuracy of the merged model",
    y: "merged_accuracy",
    show: showPercent,
    ticks: "percent",
    least: 0,
    most: 1,
    about: "Of the mean of all nodes' models, on test data. No node has this model unless nodes average exactly.",
  },
  {
    id: "loss",
    section: "curves",
    title: "Test loss",
    y: "loss",
    band: ["loss_min", "loss_max"],
    show: showNumber,
    can_log: true,
    about: "On test data, mean over nodes.",
  },
  {
    id: "merged_loss",
    section: "curves",
    title: "Test loss of the merged model",
    y: "merged_loss",
    show: showNumber,
    can_log: true,
    about: "Of the mean of all nodes' models, on test data.",
  },
  {
    id: "consensus",
    section: "curves",
    title: "Consensus distance",
    y: "consensus_relative",
    show: showPercent,
    ticks: "percent",
    least: 0,
    about: "How far nodes' models are from their mean: root mean square, as part of the mean's norm.",
  },
  {
    id: "consensus_distance",
    section: "curves",
    title: "Consensus distance, absolute",
    y: "consensus_distance",
    show: showNumber,
    can_log: true,
    about: "The same as a Euclidean distance, whatever the mean's norm.",
  },
  {
    id: "train_loss",
    section: "curves",
    title: "Training loss",
    y: "train_loss",
    show: showNumber,
    can_log: true,
    about: "Of each node's last local steps on its own data, mean over nodes.",
  },
  {
    id: "staleness",
    section: "network",
    title: "Staleness",
    y: "staleness",
    band: [null, "staleness_max"],
    show: showNumber,
    least: 0,
    about:
      "Trainings a sender has made since it packed what has just arrived: mean over messages. The band reaches to the stalest node.",
  },
  {
    id: "queue",
    section: "network",
    title: "Queue at the up-link",
    y: "queue",
    band: [null, "queue_max"],
    show: showNumber,
    least: 0,
    about: "Messages waiting to be sent: mean over nodes. The band reaches to the longest queue.",
  },
  {
    id: "link_use",
    section: "network",
    title: "Link use",
    y: "link_use",
    band: [null, "link_use_max"],
    show: showPercent,
    ticks: "percent",
    least: 0,
    most: 1,
    about: "Part of the up-link's capacity used: mean over nodes. The band reaches to the busiest.",
  },
  {
    id: "delay",
    section: "network",
    title: "Delay",
    y: "delay_seconds",
    show: showSeconds,
    ticks: "seconds",
    least: 0,
    about: "How long a message was on its way, queue included: mean over messages.",
  },
  {
    id: "delivered",
    section: "network",
    title: "Delivered",
    y: "delivered_fraction",
    show: showPercent,
    ticks: "percent",
    least: 0,
    most: 1,
    about: "Part of the messages sent that had arrived.",
  },
  {
    id: "local_rounds",
    section: "network",
    title: "Local rounds",
    y: "round",
    band: ["rounds_min", "rounds_max"],
    needs: "rounds_max",
    show: showRound,
    ticks: "count",
    least: 0,
    not_against: "round",
    about: "Rounds done: the band spans the slowest to the fastest node.",
  },
];

const numbers = (values) => values.filter((v) => v != null && isFinite(v));
const mean = (values) => (values.length ? values.reduce((a, b) => a + b, 0) / values.length : null);
function deviation(values) {
  if (values.length < 2) return null;
  const middle = mean(values);
  return Math.sqrt(values.reduce((a, v) => a + (v - middle) ** 2, 0) / (values.length - 1));
}

// Student's t beyond which 5% lie, by degrees of freedom; further on it nears the normal distribution's.
const STUDENT_T = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228, 2.201, 2.179, 2.16];
const studentT = (degrees) => STUDENT_T[degrees - 1] ?? 1.96 + 2.5 / degrees;

// How far a band over seeds reaches from the lowest to the highest: report/curve.h has the same.
const SEED_BANDS = {
  seeds: (v) => [Math.min(...v), Math.max(...v)],
  deviation: (v) => [mean(v) - deviation(v), mean(v) + deviation(v)],
  confidence: (v) => {
    const half = (studentT(v.length - 1) * deviation(v)) / Math.sqrt(v.length);
    return [mean(v) - half, mean(v) + half];
  },
};

// The page's data as it came, with each run's place, and facts that refer to another run's looked up.
function readData(raw) {
  raw.runs.forEach((run, place) => {
    run.place = place;
    run.finished = run.seeds.every((seed) => seed.finished);
    run.facts = run.facts || {};
    for (const [name, fact] of Object.entries(run.facts))
      if (typeof fact === "number") run.facts[name] = raw.runs[fact].facts[name];
    run.curves = new Map();
  });
  return raw;
}

// Toys have no accuracy and write zeros.
const hasFigure = (run, figure) =>
  run.seeds.some(
    (seed) =>
      seed.columns[figure.needs || figure.y] &&
      numbers(seed.columns[figure.y] || []).some((v) => v !== 0 || !figure.id.endsWith("accuracy")),
  );

const hasAxis = (run, axis) =>
  run.seeds.some((seed) => numbers(seed.columns[AXES[axis].column] || []).some((v) => v > 0));

const figureOf = (run, name) => numbers(run.seeds.map((seed) => seed.figures[name]));

// One seed's rows as {x, y, lo, hi}, without rows that lack x or y; of equal x the last stays.
function seedCurve(seed, figure, axis) {
  const [xs, ys] = [seed.columns[AXES[axis].column] || [], seed.columns[figure.y] || []];
  const [los, his] = (figure.band || []).map((name) => (name ? seed.columns[name] : ys));
  const curve = { x: [], y: [], lo: [], hi: [] };
  for (let i = 0; i < xs.length; ++i) {
    if (xs[i] == null || ys[i] == null) continue;
    const n = curve.x.length;
    if (n > 0 && xs[i] < curve.x[n - 1]) continue;
    const at = n > 0 && xs[i] === curve.x[n - 1] ? n - 1 : n;
    curve.x[at] = xs[i];
    curve.y[at] = ys[i];
    curve.lo[at] = los?.[i] ?? ys[i];
    curve.hi[at] = his?.[i] ?? ys[i];
  }
  return curve;
}

// The last row at or before x; the first where there is none.
function rowAt(xs, x) {
  let low = 0,
    high = xs.length;
  while (high - low > 1) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle;
    else high = middle;
  }
  return low;
}

// The value of ys at x, on the line between the rows around it.
function valueAt(xs, ys, x) {
  if (x <= xs[0]) return ys[0];
  if (x >= xs[xs.length - 1]) return ys[xs.length - 1];
  const i = rowAt(xs, x);
  return ys[i] + ((ys[i + 1] - ys[i]) * (x - xs[i])) / (xs[i + 1] - xs[i]);
}

// The mean of several seeds wherever all of them have been, at the places where any of them was measured.
function meanCurve(curves, band) {
  const from = Math.max(...curves.map((c) => c.x[0]));
  const to = Math.min(...curves.map((c) => c.x[c.x.length - 1]));
  let grid = [...new Set(curves.flatMap((c) => c.x))].filter((x) => x >= from && x <= to).sort((a, b) => a - b);
  const kept = Math.max(...curves.map((c) => c.x.length));
  if (grid.length > kept)
    grid = grid.filter((x, i) => i === 0 || i === grid.length - 1 || i % Math.ceil(grid.length / kept) === 0);
  const column = (name, fold) => grid.map((x) => fold(curves.map((c) => valueAt(c.x, c[name], x))));
  const reach = SEED_BANDS[band];
  return {
    x: grid,
    y: column("y", mean),
    lo: reach ? column("y", (v) => reach(v)[0]) : column("lo", (v) => Math.min(...v)),
    hi: reach ? column("y", (v) => reach(v)[1]) : column("hi", (v) => Math.max(...v)),
  };
}

// A run's curve of a figure against an axis, with the band asked for: "nodes", one of SEED_BANDS, or "off".
function curveOf(run, figure, axis, band) {
  const key = `${figure.id} ${axis} ${band}`;
  if (!run.curves.has(key)) {
    const curves = run.seeds.map((seed) => seedCurve(seed, figure, axis)).filter((c) => c.x.length > 0);
    let curve = curves.length === 0 ? { x: [], y: [], lo: [], hi: [] } : curves[0];
    if (curves.length > 1) curve = meanCurve(curves, band);
    curve = { ...curve, banded: band !== "off" && (band in SEED_BANDS ? curves.length > 1 : !!figure.band) };
    run.curves.set(key, curve);
  }
  return run.curves.get(key);
}

// Where a seed's curve first meets the target, on the line between two rows; null: never. A curve that begins
// beyond the target met it at its first row or before: then `early`.
function firstMeeting(xs, ys, target, rising) {
  const i = ys.findIndex((y) => (rising ? y >= target : y <= target));
  if (i < 0) return null;
  if (i === 0) return { x: xs[0], early: true };
  return { x: xs[i - 1] + ((xs[i] - xs[i - 1]) * (target - ys[i - 1])) / (ys[i] - ys[i - 1]), early: false };
}
