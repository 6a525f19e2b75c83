// Curves as SVG, for papers and for print; and the names at the ends of curves, on screen too.

const svgText = (x, y, text, style = "") =>
  `<text x="${+x.toFixed(1)}" y="${+y.toFixed(1)}" ${style}>${escaped(text)}</text>`;

function svgDocument(width, height, paint, title, body) {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" ` +
    `role="img" font-family='${FONT}' font-size="12" fill="${paint.ink}"><title>${escaped(title)}</title>${body}</svg>`
  );
}

// Moves names that would cover each other apart, from the top down, and back up where they pass the bottom.
// Each is {x, y, width, ...}; `y` is its middle. Those that moved get `from`, where they belong.
function placeNames(names, top, bottom) {
  const height = 14;
  const placed = [];
  for (const name of [...names].sort((a, b) => a.y - b.y)) {
    const wanted = name.y;
    const covers = (other) =>
      Math.abs(other.y - name.y) < height - 0.5 && other.x < name.x + name.width && name.x < other.x + other.width;
    for (let hit; (hit = placed.find(covers));) name.y = hit.y + height;
    name.from = wanted;
    placed.push(name);
  }
  const settled = [];
  for (const name of placed.sort((a, b) => b.y - a.y)) {
    const below = settled.filter((o) => o.x < name.x + name.width && name.x < o.x + o.width);
    name.y = Math.max(Math.min(name.y, bottom, ...below.map((o) => o.y - height)), top);
    settled.push(name);
  }
  return placed;
}

const shortName = (name, most = 18) => (name.length > most ? name.slice(0, most - 1) + "…" : name);

// Where the names of curves go: beside a curve's last point. `at` turns values into pixels.
function endNames(curves, at, widthOf, box) {
  const names = [];
  for (const { run, curve } of curves) {
    if (curve.x.length === 0) continue;
    const last = curve.x.length - 1;
    const [x, y] = at(curve.x[last], curve.y[last]);
    if (!isFinite(y)) continue;
    names.push({ run, text: shortName(run.name), end: x, x: x + 8, y, width: widthOf(shortName(run.name)) + 6 });
  }
  return placeNames(names, box.top + 6, box.bottom - 6);
}

// A whole chart. `chart` has title, axis, figure, log, and curves [{run, curve}].
function curvesSvg(chart, paint, width, height) {
  const { figure, curves, log } = chart;
  const axis = AXES[chart.axis];
  const nameWidth = (text) => 6.6 * text.length;
  const named = curves.length <= 12;
  const box = {
    left: 62,
    top: chart.untitled ? 12 : 34,
    right: width - 16 - (named ? Math.max(0, ...curves.map(({ run }) => nameWidth(shortName(run.name)) + 8)) : 0),
    bottom: height - 44,
  };
  const [xs, ys] = rangesOf(chart);
  const px = (x) => box.left + ((x - xs[0]) / (xs[1] - xs[0] || 1)) * (box.right - box.left);
  const fraction = (y) => (log ? Math.log(y / ys[0]) / Math.log(ys[1] / ys[0]) : (y - ys[0]) / (ys[1] - ys[0] || 1));
  const py = (y) => box.bottom - fraction(y) * (box.bottom - box.top);
  const point = (x, y) => `${px(x).toFixed(1)},${py(y).toFixed(1)}`;

  let body = chart.untitled ? "" : svgText(box.left, 18, chart.title, 'font-weight="600" font-size="14"');
  const yTicks = log ? logTicks(ys[0], ys[1], 6) : ticksOf(figure.ticks, ys[0], ys[1], 6);
  const yLabels = log ? logLabels(yTicks) : tickLabels(figure.ticks, yTicks);
  yTicks.forEach((tick, i) => {
    body +=
      `<path d="M${box.left} ${py(tick).toFixed(1)}H${box.right}" stroke="${paint.rule}"/>` +
      svgText(box.left - 8, py(tick) + 4, yLabels[i], `text-anchor="end" fill="${paint.soft}"`);
  });
  const xTicks = ticksOf(axis.ticks, xs[0], xs[1], Math.max(2, Math.floor((box.right - box.left) / 90)));
  const xLabels = tickLabels(axis.ticks, xTicks);
  xTicks.forEach((tick, i) => {
    body +=
      `<path d="M${px(tick).toFixed(1)} ${box.bottom}v5" stroke="${paint.axis}"/>` +
      svgText(px(tick), box.bottom + 19, xLabels[i], `text-anchor="middle" fill="${paint.soft}"`);
  });
  body +=
    `<path d="M${box.left} ${box.bottom}H${box.right}" stroke="${paint.axis}"/>` +
    svgText(
      (box.left + box.right) / 2,
      height - 8,
      axis.label + (log ? "  (loss on a logarithmic scale)" : ""),
      `text-anchor="middle" fill="${paint.soft}"`,
    );
  body += `<clipPath id="c-${figure.id}"><rect x="${box.left}" y="${box.top}" width="${box.right - box.left}" height="${box.bottom - box.top}"/></clipPath><g clip-path="url(#c-${figure.id})">`;
  for (const { run, curve } of curves) {
    if (!curve.banded) continue;
    const up = curve.x.map((x, i) => point(x, positive(curve.hi[i], log, ys)));
    const down = curve.x.map((x, i) => point(x, positive(curve.lo[i], log, ys))).reverse();
    body += `<polygon points="${[...up, ...down].join(" ")}" fill="${runColour(paint, run)}" fill-opacity="${curves.length > 3 ? 0.07 : 0.14}" stroke="${runColour(paint, run)}" stroke-opacity="0.35" stroke-width="0.6"/>`;
  }
  for (const { run, curve } of curves) {
    const points = curve.x.map((x, i) => (log && !(curve.y[i] > 0) ? null : point(x, curve.y[i]))).filter(Boolean);
    body +=
      `<polyline points="${points.join(" ")}" fill="none" stroke="${runColour(paint, run)}" stroke-width="1.8" ` +
      `stroke-linejoin="round" stroke-dasharray="${runDash(run).join(" ")}"/>`;
  }
  body += "</g>";
  if (named)
    for (const name of endNames(curves, (x, y) => [px(x), py(positive(y, log, ys))], nameWidth, box)) {
      const colour = runColour(paint, name.run);
      body +=
        `<path d="M${name.end.toFixed(1)} ${name.from.toFixed(1)}L${(name.x - 1).toFixed(1)} ${name.y.toFixed(1)}" stroke="${colour}" stroke-width="1.5" fill="none"/>` +
        svgText(name.x + 2, name.y + 4, name.text, `paint-order="stroke" stroke="${paint.paper}" stroke-width="3"`);
    }
  return svgDocument(width, height, paint, chart.title, body);
}

// On a logarithmic axis what is not above zero stands at the lower edge.
const positive = (value, log, range) => (log && !(value > 0) ? range[0] : value);

// [x range, y range] of a chart: all its curves, bands included.
function rangesOf(chart) {
  let [xLow, xHigh, yLow, yHigh] = [Infinity, -Infinity, Infinity, -Infinity];
  for (const { curve } of chart.curves) {
    if (curve.x.length === 0) continue;
    xLow = Math.min(xLow, curve.x[0]);
    xHigh = Math.max(xHigh, curve.x[curve.x.length - 1]);
    for (const values of curve.banded ? [curve.lo, curve.y, curve.hi] : [curve.y])
      for (const v of values) {
        if (chart.log && !(v > 0)) continue;
        if (v < yLow) yLow = v;
        if (v > yHigh) yHigh = v;
      }
  }
  // Bytes, rounds and time begin at nothing, and so does their axis.
  return [[Math.min(0, xLow), xHigh > 0 ? xHigh : 1], rangeAround(yLow, yHigh, chart.figure, chart.log)];
}
