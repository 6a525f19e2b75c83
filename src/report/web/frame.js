// The frame of a chart of curves: where values lie in its box, and the marks on its axes. The same on screen and in SVG.

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

// `box` has left, top, right and bottom in pixels; `zoom` is the part of the x axis shown, or null for all of it.
class Frame {
  constructor(chart, box, zoom = null) {
    const [xs, ys] = rangesOf(chart);
    Object.assign(this, { chart, box, xs: zoom ?? xs, ys, zoomed: !!zoom });
  }

  x(value) {
    const { box, xs } = this;
    return box.left + ((value - xs[0]) / (xs[1] - xs[0] || 1)) * (box.right - box.left);
  }

  xAt(pixel) {
    const { box, xs } = this;
    const part = (pixel - box.left) / (box.right - box.left);
    return xs[0] + Math.min(Math.max(part, 0), 1) * (xs[1] - xs[0]);
  }

  y(value) {
    const { box, ys } = this;
    const part = this.chart.log
      ? Math.log(positive(value, true, ys) / ys[0]) / Math.log(ys[1] / ys[0])
      : (value - ys[0]) / (ys[1] - ys[0] || 1);
    return box.bottom - part * (box.bottom - box.top);
  }

  // [{at: pixel, text}], as yMarks().
  xMarks() {
    const { box, xs } = this;
    const { ticks: kind } = AXES[this.chart.axis];
    const ticks = ticksOf(kind, xs[0], xs[1], Math.max(2, Math.floor((box.right - box.left) / 90)));
    const labels = tickLabels(kind, ticks);
    return ticks.map((tick, i) => ({ at: this.x(tick), text: labels[i] }));
  }

  yMarks() {
    const { ys } = this;
    const { log, figure } = this.chart;
    const ticks = log ? logTicks(ys[0], ys[1], 6) : ticksOf(figure.ticks, ys[0], ys[1], 6);
    const labels = log ? logLabels(ticks) : tickLabels(figure.ticks, ticks);
    return ticks.map((tick, i) => ({ at: this.y(tick), text: labels[i] }));
  }
}
