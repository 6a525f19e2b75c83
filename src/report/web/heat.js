// Which node holds how much of which class.

class LabelChart {
  constructor() {
    this.box = el("div", {
      class: "drawing",
      mousemove: (e) => this.point(e),
      mouseleave: () => {
        this.said.textContent = "";
      },
    });
    this.said = el("p", { class: "said", "aria-live": "polite" });
    this.tools = el("div", { class: "tools" });
    this.about = el("p", { class: "about" });
    this.root = el(
      "figure",
      { id: "chart-labels", class: "chart" },
      el("figcaption", {}, el("h3", {}, "Labels per node"), this.tools, this.about),
      el("div", { class: "scroll" }, this.box),
      this.said,
    );
    addTools(
      this.tools,
      "Labels per node",
      () => this.csv(),
      () => this.svg(PAINT.light, 720),
    );
  }

  update(run) {
    this.run = run;
    this.root.hidden = !run.facts.class_counts;
    if (this.root.hidden) return;
    const counts = run.facts.class_counts;
    const classes = counts.map((row) => row.filter((n) => n > 0).length);
    this.about.textContent =
      `${run.name}: training samples of each class, a column per node. A node holds ${Math.min(...classes)} to ${Math.max(...classes)} ` +
      `of ${counts[0].length} classes; on average its mix is ${mean(unevenness(counts)).toFixed(2)} away from the mix of all (0 the same, 1 nothing in common).`;
    this.draw(paintNow());
  }

  svg(paint, width) {
    const counts = this.run.facts.class_counts,
      names = classNames(this.run);
    const nodes = counts.length,
      classes = names.length;
    const left = Math.min(110, 14 + Math.max(...names.map((name) => measure(shortName(name, 14)))));
    const cellWidth = Math.max(2, (width - left - 6) / nodes);
    const cellHeight = Math.max(7, Math.min(24, 300 / classes));
    const top = 6,
      bottom = top + classes * cellHeight;
    const most = Math.max(1, ...counts.map((row) => Math.max(...row)));
    this.grid = { left, top, cellWidth, cellHeight, nodes, classes };
    // Cells of one shade are one path, so that a picture of thousands stays light.
    const levels = 24,
      paths = Array.from({ length: levels + 1 }, () => "");
    const gap = cellWidth > 5 ? 1 : 0;
    counts.forEach((row, i) =>
      row.forEach((n, c) => {
        const level = n === 0 ? 0 : Math.max(1, Math.round((levels * n) / most));
        paths[level] +=
          `M${(left + i * cellWidth).toFixed(1)} ${(top + c * cellHeight).toFixed(1)}h${(cellWidth - gap).toFixed(1)}v${(cellHeight - gap).toFixed(1)}h${(gap - cellWidth).toFixed(1)}z`;
      }),
    );
    let body = paths
      .map((path, level) => (path ? `<path d="${path}" fill="${between(paint.heat, level / levels)}"/>` : ""))
      .join("");
    const every = Math.max(1, Math.ceil(11 / cellHeight));
    names.forEach((name, c) => {
      if (c % every === 0)
        body += svgText(
          left - 6,
          top + (c + 0.5) * cellHeight + 4,
          shortName(name, 14),
          `text-anchor="end" font-size="11" fill="${paint.soft}"`,
        );
    });
    const tickEvery = Math.max(1, niceStep(nodes, Math.max(2, (cellWidth * nodes) / 60)));
    for (let i = 0; i < nodes; i += Math.ceil(tickEvery))
      body += svgText(
        left + (i + 0.5) * cellWidth,
        bottom + 15,
        String(i),
        `text-anchor="middle" font-size="11" fill="${paint.soft}"`,
      );
    for (const i of this.run.facts.stragglers || [])
      body += `<rect x="${(left + i * cellWidth).toFixed(1)}" y="${bottom + 1}" width="${Math.max(1.5, cellWidth - gap).toFixed(1)}" height="3" fill="${paint.ink}"/>`;
    const stops = paint.heat
      .map((colour, i) => `<stop offset="${i / (paint.heat.length - 1)}" stop-color="${colour}"/>`)
      .join("");
    const style = `font-size="11" fill="${paint.soft}"`,
      y = bottom + 38;
    body +=
      `<defs><linearGradient id="heat-scale">${stops}</linearGradient></defs>` +
      svgText(left, y, "0", style) +
      `<rect x="${left + 12}" y="${y - 9}" width="100" height="10" fill="url(#heat-scale)" stroke="${paint.rule}"/>` +
      svgText(left + 118, y, `${most} samples`, style) +
      svgText(
        left + cellWidth * nodes,
        y,
        this.run.facts.stragglers?.length ? "node (bars mark stragglers)" : "node",
        `text-anchor="end" ${style}`,
      );
    return svgDocument(
      Math.ceil(left + cellWidth * nodes + 6),
      bottom + 44,
      paint,
      `Labels per node of ${this.run.name}`,
      body,
    );
  }

  point(event) {
    const box = this.box.firstElementChild?.getBoundingClientRect();
    if (!box || !this.grid) return;
    const node = Math.floor((event.clientX - box.left - this.grid.left) / this.grid.cellWidth);
    const label = Math.floor((event.clientY - box.top - this.grid.top) / this.grid.cellHeight);
    const inside = node >= 0 && node < this.grid.nodes && label >= 0 && label < this.grid.classes;
    this.said.textContent = inside
      ? `Node ${node}, ${classNames(this.run)[label]}: ${this.run.facts.class_counts[node][label]} samples`
      : "";
  }

  draw(paint) {
    const width = Math.floor(this.box.clientWidth);
    if (this.run?.facts.class_counts && width > 50) this.box.innerHTML = this.svg(paint, width);
  }
  preparePrint() {
    if (this.run?.facts.class_counts) this.box.innerHTML = this.svg(PAINT.light, 680);
  }

  csv() {
    return csvOf([["node", ...classNames(this.run)], ...this.run.facts.class_counts.map((row, i) => [i, ...row])]);
  }
}
