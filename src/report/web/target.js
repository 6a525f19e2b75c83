// When each run met a target: after how many rounds, bytes and seconds. The slider moves the target.

const TARGETS = {
  accuracy: { figure: FIGURES.find((f) => f.id === "accuracy"), rising: true, words: "Mean accuracy of at least" },
  loss: { figure: FIGURES.find((f) => f.id === "loss"), rising: false, words: "Mean test loss of at most" },
};

class TargetChart {
  constructor(onMove) {
    this.onMove = onMove;
    this.slider = el("input", { type: "range", id: "target", input: () => this.move(+this.slider.value) });
    this.output = el("output", { for: "target", id: "target-value" });
    this.kind = el(
      "select",
      {
        id: "target-kind",
        "aria-label": "The target",
        change: () => {
          this.value = null;
          this.moved = false;
          this.update(this.state);
        },
      },
      ...Object.entries(TARGETS).map(([name, t]) => el("option", { value: name }, t.words)),
    );
    this.table = el("table", { class: "target" });
    this.tools = el("div", { class: "tools" });
    this.root = el(
      "figure",
      { id: "chart-target", class: "chart" },
      el(
        "figcaption",
        {},
        el("h3", {}, "Cost of a target"),
        this.tools,
        el(
          "p",
          { class: "about" },
          "What it took until a run first met the target, on the straight line between two evaluations; mean over the seeds that met it. ≤: met at the first evaluation or before.",
        ),
      ),
      el("div", { class: "slider" }, this.kind, this.slider, this.output),
      el("div", { class: "scroll" }, this.table),
    );
    addTools(
      this.tools,
      "Cost of a target",
      () => this.csv(),
      () => this.svg(PAINT.light, 720),
    );
  }

  get target() {
    return TARGETS[this.kind.value];
  }

  // The values of all rows of all runs, to set the slider's ends by.
  bests(runs) {
    const { figure, rising } = this.target;
    return runs
      .map((run) => {
        const curve = curveOf(run, figure, "round", "off");
        return curve.y.length === 0 ? null : rising ? Math.max(...curve.y) : Math.min(...curve.y);
      })
      .filter((v) => v != null);
  }

  update(state) {
    this.state = state;
    if (!this.chosen) {
      // Toys have no accuracy; their target is a loss.
      this.kind.value =
        Math.max(0, ...state.runs.flatMap((run) => figureOf(run, "accuracy"))) > 0 ? "accuracy" : "loss";
      this.chosen = true;
    }
    const bests = this.bests(state.runs);
    if (bests.length === 0) {
      this.table.replaceChildren();
      this.onMove(null);
      return;
    }
    const { rising, figure } = this.target;
    const all = state.runs.flatMap((run) => curveOf(run, figure, "round", "off").y);
    const [low, high] = [
      all.reduce((a, b) => Math.min(a, b), Infinity),
      all.reduce((a, b) => Math.max(a, b), -Infinity),
    ];
    this.slider.min = low;
    this.slider.max = high;
    this.slider.step = Math.max((high - low) / 1000, 1e-9);
    // To begin with, a target that every run comes near and the better ones pass.
    if (!this.moved)
      this.value = rising ? 0.97 * Math.min(...bests) : Math.min(high, Math.max(...bests) + 0.03 * (high - low));
    this.move(Math.min(Math.max(this.value, low), high), true);
  }

  move(value, silently = false) {
    if (!silently) this.moved = true;
    this.value = value;
    this.slider.value = value;
    this.output.textContent = this.target.figure.show(value);
    this.slider.setAttribute("aria-valuetext", this.target.figure.show(value));
    this.rows = this.state.runs.map((run) => this.row(run));
    this.drawTable();
    this.onMove({ figure: this.target.figure.id, value });
  }

  row(run) {
    const { figure, rising } = this.target;
    const row = { run, cost: {}, met: 0, early: false, seeds: run.seeds.length };
    for (const axis of Object.keys(AXES)) {
      const met = run.seeds
        .map((seed) => {
          const curve = seedCurve(seed, figure, axis);
          return firstMeeting(curve.x, curve.y, this.value, rising);
        })
        .filter(Boolean);
      row.cost[axis] = met.length ? mean(met.map(({ x }) => x)) : null;
      row.early ||= met.some(({ early }) => early);
      if (axis === "round") row.met = met.length;
    }
    return row;
  }

  axes() {
    return Object.keys(AXES).filter((axis) => this.rows.some(({ run }) => hasAxis(run, axis)));
  }

  drawTable() {
    const paint = paintNow();
    const axes = this.axes();
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, "Run"),
      ...axes.map((axis) => el("th", { scope: "col" }, AXES[axis].label)),
    );
    const rows = this.rows.map(({ run, cost, met, early, seeds }) =>
      el(
        "tr",
        {},
        el(
          "th",
          { scope: "row" },
          chip(run, paint),
          " ",
          run.name,
          met > 0 && met < seeds ? el("span", { class: "soft" }, ` ${met} of ${seeds} seeds`) : null,
        ),
        ...axes.map((axis) => {
          if (cost[axis] == null) return el("td", { class: "soft" }, met > 0 ? "–" : "never");
          const [most, least] = [
            Math.max(...this.rows.map((r) => r.cost[axis] ?? 0)),
            Math.min(...this.rows.map((r) => r.cost[axis] ?? Infinity)),
          ];
          const best = cost[axis] === least && least < most;
          const bar = el("span", { class: "bar", "aria-hidden": "true" });
          bar.style.cssText = `width:${most > 0 ? (100 * cost[axis]) / most : 0}%;background:${runColour(paint, run)}`;
          return el(
            "td",
            {},
            el(best ? "b" : "span", {}, (early ? "≤ " : "") + AXES[axis].show(cost[axis])),
            el("span", { class: "track" }, bar),
          );
        }),
      ),
    );
    this.table.replaceChildren(
      el("caption", { class: "hidden" }, "Cost of the target by run; the lowest of each column is bold"),
      el("thead", {}, head),
      el("tbody", {}, ...rows),
    );
  }

  csv() {
    const axes = this.axes();
    return csvOf([
      ["run", "target", "seeds_met", "seeds", ...axes.map((axis) => AXES[axis].column)],
      ...this.rows.map(({ run, cost, met, seeds }) => [
        run.name,
        this.value,
        met,
        seeds,
        ...axes.map((axis) => cost[axis]),
      ]),
    ]);
  }

  svg(paint, width) {
    const axes = this.axes();
    const left = 130,
      rowHeight = 26,
      top = 58;
    const wide = (width - left) / axes.length;
    let body = svgText(
      0,
      16,
      `${this.target.words} ${this.target.figure.show(this.value)}`,
      'font-weight="600" font-size="14"',
    );
    axes.forEach((axis, a) => {
      body += svgText(left + a * wide, 42, AXES[axis].label, `fill="${paint.soft}"`);
    });
    this.rows.forEach(({ run, cost, met, early }, i) => {
      const y = top + i * rowHeight;
      body += svgText(left - 10, y + 13, shortName(run.name), 'text-anchor="end"');
      axes.forEach((axis, a) => {
        const most = Math.max(...this.rows.map((r) => r.cost[axis] ?? 0)) || 1;
        const length = ((cost[axis] ?? 0) / most) * (wide - 95);
        const text = cost[axis] == null ? (met > 0 ? "–" : "never") : (early ? "≤ " : "") + AXES[axis].show(cost[axis]);
        body +=
          `<rect x="${left + a * wide}" y="${y}" width="${length.toFixed(1)}" height="17" fill="${runColour(paint, run)}"/>` +
          svgText(
            left + a * wide + length + 5,
            y + 13,
            text,
            `font-size="11.5" fill="${cost[axis] == null ? paint.soft : paint.ink}"`,
          );
      });
    });
    return svgDocument(width, top + this.rows.length * rowHeight + 4, paint, "Cost of a target", body);
  }

  draw() {
    if (this.state) this.drawTable();
  }
  preparePrint() {}
}
