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
  const frame = new Frame(chart, box);
  const point = (x, y) => `${frame.x(x).toFixed(1)},${frame.y(y).toFixed(1)}`;

  let body = chart.untitled ? "" : svgText(box.left, 18, chart.title, 'font-weight="600" font-size="14"');
  for (const { at, text } of frame.yMarks())
    body +=
      `<path d="M${box.left} ${at.toFixed(1)}H${box.right}" stroke="${paint.rule}"/>` +
      svgText(box.left - 8, at + 4, text, `text-anchor="end" fill="${paint.soft}"`);
  for (const { at, text } of frame.xMarks())
    body +=
      `<path d="M${at.toFixed(1)} ${box.bottom}v5" stroke="${paint.axis}"/>` +
      svgText(at, box.bottom + 19, text, `text-anchor="middle" fill="${paint.soft}"`);
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
    const up = curve.x.map((x, i) => point(x, curve.hi[i]));
    const down = curve.x.map((x, i) => point(x, curve.lo[i])).reverse();
    body += `<polygon points="${[...up, ...down].join(" ")}" fill="${runColour(paint, run)}" fill-opacity="${curves.length > 3 ? 0.07 : 0.14}" stroke="${runColour(paint, run)}" stroke-opacity="0.35" stroke-width="0.6"/>`;
  }
  for (const { run, curve } of curves) {
    const line = lineOf(curve, log);
    const points = line.x.map((x, i) => point(x, line.y[i]));
    body +=
      `<polyline points="${points.join(" ")}" fill="none" stroke="${runColour(paint, run)}" stroke-width="1.8" ` +
      `stroke-linejoin="round" stroke-dasharray="${runDash(run).join(" ")}"/>`;
  }
  body += "</g>";
  if (named)
    for (const name of endNames(curves, (x, y) => [frame.x(x), frame.y(y)], nameWidth, box)) {
      const colour = runColour(paint, name.run);
      body +=
        `<path d="M${name.end.toFixed(1)} ${name.from.toFixed(1)}L${(name.x - 1).toFixed(1)} ${name.y.toFixed(1)}" stroke="${colour}" stroke-width="1.5" fill="none"/>` +
        svgText(name.x + 2, name.y + 4, name.text, `paint-order="stroke" stroke="${paint.paper}" stroke-width="3"`);
    }
  return svgDocument(width, height, paint, chart.title, body);
}
