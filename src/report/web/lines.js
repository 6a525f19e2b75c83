// A chart of curves, saved as CSV or SVG.

class CurveChart {
  constructor(figure) {
    this.figure = figure;
    this.canvas = el("canvas", {});
    this.empty = el("p", { class: "empty", hidden: true }, "No run shown here has this figure yet.");
    this.targetLine = el("div", { class: "target-line", hidden: true });
    this.plotBox = el("div", { class: "plot", tabindex: "0", role: "img" }, this.canvas, this.targetLine, this.empty);
    this.reader = new Reader(this.plotBox, (part) => this.setZoom(part));
    this.plotBox.append(this.reader.marks);
    this.printBox = el("div", { class: "print" });
    this.whole = el("button", { type: "button", hidden: true, click: () => this.setZoom(null) }, "Whole axis");
    const tools = el("div", { class: "tools" }, this.whole);
    this.root = el(
      "figure",
      { id: `chart-${figure.id}`, class: figure.wide ? "chart wide" : "chart" },
      el("figcaption", {}, el("h3", {}, figure.title), tools, el("p", { class: "about" }, figure.about)),
      el("div", { class: "holder" }, this.plotBox, this.reader.readout),
      this.printBox,
    );
    addTools(
      tools,
      figure.title,
      () => this.csv(),
      () => curvesSvg(this.chart, PAINT.light, 720, 420),
    );
  }

  // state: {runs shown, axis, band, log}. What changed is seen after draw().
  update(state) {
    const { figure } = this;
    const axis = figure.not_against === state.axis ? "time" : state.axis;
    if (axis !== this.chart?.axis) this.zoom = null;
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
    this.plotBox.setAttribute("aria-label", this.describe());
  }

  describe() {
    const ends = this.chart.curves.map(
      ({ run, curve }) => `${run.name} ends at ${this.figure.show(curve.y[curve.y.length - 1])}`,
    );
    return `${this.chart.title}. ${ends.join("; ") || "No data"}. Left and right arrow keys read values.`;
  }

  // [low, high]: the part of the x axis to show; null: all of it.
  setZoom(part) {
    if (!part && !this.zoom) return;
    this.zoom = part;
    this.draw();
  }

  draw() {
    const width = Math.floor(this.plotBox.clientWidth);
    if (width < 50) return;
    const none = this.chart.curves.length === 0;
    this.empty.hidden = !none;
    this.canvas.hidden = none;
    this.whole.hidden = none || !this.zoom;
    const size = { width, height: width < 440 ? 250 : width > 800 ? 360 : 300 };
    const named = width >= 440 && this.chart.curves.length <= 10;
    this.frame = none ? null : new Frame(this.chart, this.boxWithin(size, named), this.zoom);
    if (this.frame) drawPlot(this.canvas, size, this.frame, paintNow(), named);
    this.reader.setFrame(this.frame);
    this.placeTarget();
  }

  boxWithin({ width, height }, named) {
    const names = this.chart.curves.map(({ run }) => measure(shortName(run.name)));
    const room = named ? Math.min(150, 14 + Math.max(...names)) : 24;
    return { left: 62, top: 10, right: width - room, bottom: height - 54 };
  }

  // {figure, value}, or null: a line across the chart of that figure.
  setTarget(target) {
    this.target = target?.figure === this.figure.id ? target.value : null;
    this.placeTarget();
  }

  placeTarget() {
    const { box } = this.frame || {};
    const y = this.target == null || !box ? NaN : this.frame.y(this.target);
    this.targetLine.hidden = !(y >= box?.top && y <= box?.bottom);
    if (this.targetLine.hidden) return;
    this.targetLine.style.left = `${box.left}px`;
    this.targetLine.style.width = `${box.right - box.left}px`;
    this.targetLine.style.top = `${Math.round(y)}px`;
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
