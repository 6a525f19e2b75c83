// A chart of curves: drawn by uPlot, read by mouse, touch or arrow keys, saved as CSV or SVG.

class CurveChart {
  constructor(figure) {
    this.figure = figure;
    this.plotBox = el("div", {
      class: "plot",
      tabindex: "0",
      role: "img",
      keydown: (e) => this.onKey(e),
      blur: () => this.hideReadout(),
    });
    this.printBox = el("div", { class: "print" });
    this.readout = el("div", { class: "readout", "aria-live": "polite", hidden: true });
    this.tools = el("div", { class: "tools" });
    this.root = el(
      "figure",
      { id: `chart-${figure.id}`, class: figure.wide ? "chart wide" : "chart" },
      el("figcaption", {}, el("h3", {}, figure.title), this.tools, el("p", { class: "about" }, figure.about)),
      el("div", { class: "holder" }, this.plotBox, this.readout),
      this.printBox,
    );
    addTools(
      this.tools,
      figure.title,
      () => this.csv(),
      () => curvesSvg(this.chart, PAINT.light, 720, 420),
    );
  }

  // state: {runs shown, axis, band, log}
  update(state) {
    const { figure } = this;
    const axis = figure.not_against === state.axis ? "time" : state.axis;
    const runs = state.runs.filter((run) => hasFigure(run, figure));
    const curves = runs
      .map((run) => ({ run, curve: curveOf(run, figure, axis, state.band) }))
      .filter(({ curve }) => curve.x.length > 0);
    this.chart = {
      figure,
      curves,
      axis,
      log: !!figure.can_log && state.log,
      title: `${figure.title} against ${AXES[axis].label.toLowerCase()}`,
    };
    this.state = state;
    this.root.hidden = false;
    this.plotBox.setAttribute("aria-label", this.describe());
    this.draw();
  }

  // {figure, value}, or null: a line across the chart of that figure.
  setTarget(target) {
    this.target = target?.figure === this.figure.id ? target.value : null;
    this.plot?.redraw(false);
  }

  describe() {
    const ends = this.chart.curves.map(
      ({ run, curve }) => `${run.name} ends at ${this.figure.show(curve.y[curve.y.length - 1])}`,
    );
    return `${this.chart.title}. ${ends.join("; ") || "No data"}. Left and right arrow keys read values.`;
  }

  draw() {
    this.plot?.destroy();
    this.plot = null;
    this.hideReadout();
    const width = Math.floor(this.plotBox.clientWidth);
    if (width < 50) return;
    if (this.chart.curves.length === 0) {
      this.plotBox.replaceChildren(el("p", { class: "empty" }, "No run shown here has this figure yet."));
      return;
    }
    this.plotBox.replaceChildren();
    this.plot = new uPlot(this.options(width), this.data(), this.plotBox);
  }

  // The edges of all bands come before the lines, so that no band covers a line.
  data() {
    const clean = (values) => (this.chart.log ? values.map((v) => (v > 0 ? v : null)) : values);
    const { curves } = this.chart;
    return uPlot.join([
      ...curves.filter(({ curve }) => curve.banded).map(({ curve }) => [curve.x, clean(curve.lo), clean(curve.hi)]),
      ...curves.map(({ curve }) => [curve.x, clean(curve.y)]),
    ]);
  }

  options(width) {
    const { figure, chart } = this;
    const paint = paintNow();
    const axis = AXES[chart.axis];
    const [xRange, yRange] = rangesOf(chart);
    const series = [{}],
      bands = [];
    const crowded = chart.curves.length > 3;
    for (const { run, curve } of chart.curves) {
      if (!curve.banded) continue;
      const edge = {
        stroke: faded(runColour(paint, run), crowded ? 0.45 : 0.3),
        width: 0.8,
        spanGaps: true,
        points: { show: false },
      };
      series.push(edge, { ...edge });
      bands.push({
        series: [series.length - 1, series.length - 2],
        fill: faded(runColour(paint, run), crowded ? 0.06 : 0.13),
      });
    }
    for (const { run, curve } of chart.curves) {
      const colour = runColour(paint, run);
      series.push({
        stroke: colour,
        width: 2,
        dash: runDash(run),
        spanGaps: true,
        points: { show: curve.x.length <= 20, size: 5, width: 1, stroke: colour, fill: colour },
      });
    }
    this.named = width >= 440 && chart.curves.length <= 10;
    const room = this.named
      ? Math.min(150, 14 + Math.max(...chart.curves.map(({ run }) => measure(shortName(run.name)))))
      : 24;
    const font = `12px ${FONT}`;
    const line = { stroke: paint.rule, width: 1 };
    return {
      width,
      height: width < 440 ? 250 : width > 800 ? 360 : 300,
      padding: [10, room, 0, 0],
      legend: { show: false },
      cursor: { points: { show: false }, drag: { x: true, y: false }, y: false },
      scales: {
        x: { time: false, range: (u, low, high) => (u.zoomed ? [low, high] : xRange) },
        y: { distr: chart.log ? 3 : 1, range: () => yRange },
      },
      axes: [
        {
          stroke: paint.soft,
          font,
          grid: { show: false },
          ticks: { stroke: paint.axis, size: 5 },
          label: axis.label,
          labelFont: font,
          labelSize: 20,
          size: 34,
          splits: (u, i, low, high) =>
            ticksOf(axis.ticks, low, high, Math.max(2, Math.floor(u.bbox.width / devicePixelRatio / 90))),
          values: (u, ticks) => tickLabels(axis.ticks, ticks),
        },
        {
          stroke: paint.soft,
          font,
          grid: line,
          ticks: { show: false },
          size: 62,
          filter: (u, ticks) => ticks,
          splits: (u, i, low, high) => (chart.log ? logTicks(low, high, 6) : ticksOf(figure.ticks, low, high, 6)),
          values: (u, ticks) => (chart.log ? logLabels(ticks) : tickLabels(figure.ticks, ticks)),
        },
      ],
      series,
      bands,
      hooks: {
        draw: [(u) => this.drawTarget(u, paint), (u) => this.drawNames(u, paint)],
        setCursor: [(u) => this.showReadout(u)],
        setSelect: [
          (u) => {
            u.zoomed = u.select.width > 0;
          },
        ],
      },
    };
  }

  drawTarget(u, paint) {
    const y = this.target == null ? NaN : u.valToPos(this.target, "y", true);
    if (!(y >= u.bbox.top && y <= u.bbox.top + u.bbox.height)) return;
    u.ctx.save();
    u.ctx.strokeStyle = paint.ink;
    u.ctx.lineWidth = devicePixelRatio;
    u.ctx.setLineDash([3 * devicePixelRatio, 4 * devicePixelRatio]);
    u.ctx.beginPath();
    u.ctx.moveTo(u.bbox.left, y);
    u.ctx.lineTo(u.bbox.left + u.bbox.width, y);
    u.ctx.stroke();
    u.ctx.restore();
  }

  drawNames(u, paint) {
    if (!this.named) return;
    const ratio = devicePixelRatio;
    const { ctx, bbox } = u;
    const box = { top: bbox.top / ratio, bottom: (bbox.top + bbox.height) / ratio };
    const at = (x, y) => [
      u.valToPos(Math.min(x, u.scales.x.max), "x", true) / ratio,
      u.valToPos(positive(y, this.chart.log, [u.scales.y.min]), "y", true) / ratio,
    ];
    // Zoomed in, a curve goes on beyond the edge: its name stands where it leaves.
    const curves = this.chart.curves
      .map(({ run, curve }) => {
        const max = u.scales.x.max;
        if (curve.x[curve.x.length - 1] <= max) return { run, curve };
        return { run, curve: { x: [max], y: [valueAt(curve.x, curve.y, max)] } };
      })
      .filter(({ curve }) => curve.x[curve.x.length - 1] >= u.scales.x.min);
    ctx.save();
    ctx.scale(ratio, ratio);
    ctx.font = `12px ${FONT}`;
    ctx.textAlign = "left";
    ctx.textBaseline = "middle";
    for (const name of endNames(curves, at, (text) => ctx.measureText(text).width, box)) {
      ctx.strokeStyle = runColour(paint, name.run);
      ctx.lineWidth = 1.5;
      ctx.beginPath();
      ctx.moveTo(name.end, name.from);
      ctx.lineTo(name.x - 1, name.y);
      ctx.stroke();
      ctx.strokeStyle = paint.paper;
      ctx.lineWidth = 3;
      ctx.strokeText(name.text, name.x + 2, name.y);
      ctx.fillStyle = paint.ink;
      ctx.fillText(name.text, name.x + 2, name.y);
    }
    ctx.restore();
  }

  showReadout(u) {
    const { left, top } = u.cursor;
    if (left == null || left < 0) return this.hideReadout();
    if (u.cursor.idx == null) return this.hideReadout();
    const x = u.data[0][u.cursor.idx]; // A place where something was measured.
    const rows = this.chart.curves
      .filter(({ curve }) => x >= curve.x[0] && x <= curve.x[curve.x.length - 1])
      .map(({ run, curve }) => ({
        run,
        y: valueAt(curve.x, curve.y, x),
        band: curve.banded ? [valueAt(curve.x, curve.lo, x), valueAt(curve.x, curve.hi, x)] : null,
      }))
      .sort((a, b) => b.y - a.y);
    const paint = paintNow();
    const shown = rows
      .slice(0, 12)
      .map(({ run, y, band }) =>
        el(
          "div",
          {},
          chip(run, paint),
          ` ${shortName(run.name, 24)} `,
          el("b", {}, this.figure.show(y)),
          band ? el("span", { class: "soft" }, ` ${this.figure.show(band[0])} to ${this.figure.show(band[1])}`) : null,
        ),
      );
    if (rows.length > 12) shown.push(el("div", { class: "soft" }, `and ${rows.length - 12} more`));
    this.readout.replaceChildren(
      el("div", { class: "soft" }, `${AXES[this.chart.axis].label} ${AXES[this.chart.axis].show(x)}`),
      ...shown,
    );
    this.readout.hidden = false;
    const plotLeft = u.bbox.left / devicePixelRatio;
    const wide = this.readout.offsetWidth;
    const right = plotLeft + left + 14 + wide > this.plotBox.clientWidth;
    this.readout.style.left = `${Math.max(0, right ? plotLeft + left - 14 - wide : plotLeft + left + 14)}px`;
    this.readout.style.top = `${Math.max(0, Math.min(top ?? 20, 200) - 10)}px`;
  }

  hideReadout() {
    this.readout.hidden = true;
  }

  onKey(event) {
    if (!this.plot) return;
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Escape") return this.hideReadout();
    if (!step) return;
    event.preventDefault();
    const xs = this.plot.data[0];
    const stride = Math.max(1, Math.floor(xs.length / 60));
    const now = this.readout.hidden ? (step > 0 ? -stride : xs.length) : this.plot.cursor.idx;
    const next = Math.min(Math.max(now + step * stride, 0), xs.length - 1);
    this.plot.setCursor({ left: this.plot.valToPos(xs[next], "x"), top: 40 });
  }

  csv() {
    const { figure } = this;
    const columns = [
      ...new Set(["round", "bytes_sent_per_node", "virtual_seconds", figure.y, ...(figure.band || []).filter(Boolean)]),
    ];
    const rows = [["run", "seed", ...columns]];
    for (const { run } of this.chart.curves)
      for (const seed of run.seeds)
        for (let i = 0; i < (seed.columns.round || []).length; ++i)
          rows.push([run.name, seed.seed, ...columns.map((name) => seed.columns[name]?.[i])]);
    return csvOf(rows);
  }

  preparePrint() {
    this.printBox.innerHTML = this.chart?.curves.length
      ? curvesSvg({ ...this.chart, untitled: true }, PAINT.light, 680, 340)
      : "";
  }
}

const measurer = document.createElement("canvas").getContext("2d");
function measure(text) {
  measurer.font = `12px ${FONT}`;
  return measurer.measureText(text).width;
}

// A run's mark: a piece of its line.
function chip(run, paint) {
  const made = el("span", { class: "chip", "aria-hidden": "true" });
  made.innerHTML = `<svg width="18" height="8"><path d="M0 4H18" stroke="${runColour(paint, run)}" stroke-width="3" stroke-dasharray="${runDash(
    run,
  )
    .map((d) => d * 0.7)
    .join(" ")}"/></svg>`;
  return made;
}

// The links that save what is behind a chart, and the chart.
function addTools(box, title, csv, svg) {
  const button = (kind, type, make) =>
    el(
      "button",
      {
        type: "button",
        "aria-label": `Save "${title}" as ${kind}`,
        "data-save": kind,
        click: () => save(`${slug(title)}.${kind.toLowerCase()}`, type, make()),
      },
      kind,
    );
  box.append(button("CSV", "text/csv", csv));
  if (svg) box.append(button("SVG", "image/svg+xml", svg));
}
