// Draws a chart of curves on a canvas, sharp whatever a device's pixels are.

// On a logarithmic axis a line passes over what is not above zero.
function lineOf(curve, log) {
  if (!log || curve.y.every((y) => y > 0)) return curve;
  const rows = [...curve.y.keys()].filter((i) => curve.y[i] > 0);
  return { x: rows.map((i) => curve.x[i]), y: rows.map((i) => curve.y[i]) };
}

// [from, to]: the rows within the x axis shown, and one more at either end, towards which lines leave it.
const rowsWithin = (xs, [low, high]) => [rowAt(xs, low), Math.min(rowAt(xs, high) + 1, xs.length - 1)];

// Goes on with a path along a curve's rows, backwards where `to` is before `from`. Of the rows in one column of the
// device's pixels it takes the first, the lowest, the highest and the last: the others would not be seen.
function trace(path, frame, xs, ys, from, to) {
  const step = to < from ? -1 : 1;
  const ratio = devicePixelRatio;
  let [column, several, x, y, low, high] = [NaN, false, 0, 0, 0, 0];
  const leaveColumn = () => {
    if (several) for (const end of [low, high, y]) path.lineTo(x, end);
  };
  for (let i = from; i !== to + step; i += step) {
    const nextX = frame.x(xs[i]);
    const nextY = frame.y(ys[i]);
    const nextColumn = Math.floor(nextX * ratio);
    if (nextColumn === column) {
      several = true;
      low = Math.min(low, nextY);
      high = Math.max(high, nextY);
    } else {
      leaveColumn();
      path.lineTo(nextX, nextY);
      column = nextColumn;
      several = false;
      low = high = nextY;
    }
    x = nextX;
    y = nextY;
  }
  leaveColumn();
}

function drawBand(context, frame, curve, colour, crowded) {
  const [from, to] = rowsWithin(curve.x, frame.xs);
  const [area, edges] = [new Path2D(), new Path2D()];
  trace(area, frame, curve.x, curve.hi, from, to);
  trace(area, frame, curve.x, curve.lo, to, from);
  trace(edges, frame, curve.x, curve.hi, from, to);
  edges.moveTo(frame.x(curve.x[from]), frame.y(curve.lo[from]));
  trace(edges, frame, curve.x, curve.lo, from, to);
  context.fillStyle = faded(colour, crowded ? 0.06 : 0.13);
  context.fill(area);
  context.strokeStyle = faded(colour, crowded ? 0.45 : 0.3);
  context.lineWidth = 0.8;
  context.stroke(edges);
}

function drawLine(context, frame, curve, colour, dash) {
  const line = lineOf(curve, frame.chart.log);
  if (line.x.length === 0) return;
  const [from, to] = rowsWithin(line.x, frame.xs);
  const path = new Path2D();
  trace(path, frame, line.x, line.y, from, to);
  context.strokeStyle = context.fillStyle = colour;
  context.lineWidth = 2;
  context.setLineDash(dash);
  context.stroke(path);
  context.setLineDash([]);
  if (to - from >= 20) return;
  const points = new Path2D();
  for (let i = from; i <= to; ++i) {
    const [x, y] = [frame.x(line.x[i]), frame.y(line.y[i])];
    points.moveTo(x, y);
    points.arc(x, y, 3, 0, 2 * Math.PI);
  }
  context.fill(points);
}

function drawCurves(context, frame, paint) {
  const { box, chart } = frame;
  // Room for half a line, and a point, beyond the box; zoomed in, lines end at its sides.
  const [side, edge] = [frame.zoomed ? 0 : 3, 3];
  context.save();
  context.beginPath();
  context.rect(box.left - side, box.top - edge, box.right - box.left + 2 * side, box.bottom - box.top + 2 * edge);
  context.clip();
  context.lineJoin = "round";
  // All bands come before the lines, so that no band covers a line.
  for (const { run, curve } of chart.curves)
    if (curve.banded) drawBand(context, frame, curve, runColour(paint, run), chart.curves.length > 3);
  for (const { run, curve } of chart.curves) drawLine(context, frame, curve, runColour(paint, run), runDash(run));
  context.restore();
}

function drawAxes(context, frame, paint) {
  const { box } = frame;
  // A line of whole pixels of the device.
  const width = Math.max(1, Math.round(devicePixelRatio)) / devicePixelRatio;
  const sharp = (at) => Math.round((at - width / 2) * devicePixelRatio) / devicePixelRatio;
  context.textBaseline = "middle";
  context.textAlign = "right";
  for (const { at, text } of frame.yMarks()) {
    context.fillStyle = paint.rule;
    context.fillRect(box.left, sharp(at), box.right - box.left, width);
    context.fillStyle = paint.soft;
    context.fillText(text, box.left - 8, at);
  }
  context.textAlign = "center";
  for (const { at, text } of frame.xMarks()) {
    context.fillStyle = paint.axis;
    context.fillRect(sharp(at), box.bottom, width, 5);
    context.fillStyle = paint.soft;
    context.fillText(text, at, box.bottom + 16);
  }
  context.fillText(AXES[frame.chart.axis].label, (box.left + box.right) / 2, box.bottom + 38);
  context.fillStyle = paint.axis;
  context.fillRect(box.left, sharp(box.bottom), box.right - box.left, width);
}

// Zoomed in, a curve may go on beyond the edge: its name stands where it leaves.
function drawNames(context, frame, paint) {
  const [low, high] = frame.xs;
  const curves = frame.chart.curves
    .filter(({ curve }) => curve.x[0] <= high && curve.x[curve.x.length - 1] >= low)
    .map(({ run, curve }) => {
      const x = Math.min(curve.x[curve.x.length - 1], high);
      return { run, curve: { x: [x], y: [valueAt(curve.x, curve.y, x)] } };
    });
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const name of endNames(curves, (x, y) => [frame.x(x), frame.y(y)], measure, frame.box)) {
    context.strokeStyle = runColour(paint, name.run);
    context.lineWidth = 1.5;
    context.beginPath();
    context.moveTo(name.end, name.from);
    context.lineTo(name.x - 1, name.y);
    context.stroke();
    context.strokeStyle = paint.paper;
    context.lineWidth = 3;
    context.strokeText(name.text, name.x + 2, name.y);
    context.fillStyle = paint.ink;
    context.fillText(name.text, name.x + 2, name.y);
  }
}

// The whole chart. `size` is {width, height}, of which the frame's box leaves room for labels.
function drawPlot(canvas, size, frame, paint, named) {
  canvas.width = Math.round(size.width * devicePixelRatio);
  canvas.height = Math.round(size.height * devicePixelRatio);
  canvas.style.width = `${size.width}px`;
  canvas.style.height = `${size.height}px`;
  const context = canvas.getContext("2d");
  context.scale(devicePixelRatio, devicePixelRatio);
  context.font = `12px ${FONT}`;
  drawAxes(context, frame, paint);
  drawCurves(context, frame, paint);
  if (named) drawNames(context, frame, paint);
}

const measurer = document.createElement("canvas").getContext("2d");
function measure(text) {
  measurer.font = `12px ${FONT}`;
  return measurer.measureText(text).width;
}
