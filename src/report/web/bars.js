// What each run sent, split into values and metadata.

class BytesChart {
  constructor() {
    this.box = el("div", { class: "drawing" });
    this.tools = el("div", { class: "tools" });
    this.root = el(
      "figure",
      { id: "chart-bytes", class: "chart" },
      el(
        "figcaption",
        {},
        el("h3", {}, "Bytes sent per node"),
        this.tools,
        el(
          "p",
          { class: "about" },
          "By the last evaluation, mean over nodes and seeds. The hatched end is metadata: indices, headers, checksums.",
        ),
      ),
      this.box,
    );
    addTools(
      this.tools,
      "Bytes sent per node",
      () => this.csv(),
      () => this.svg(PAINT.light, 720),
    );
  }

  rows() {
    return this.runs
      .map((run) => {
        const all = mean(figureOf(run, "bytes_sent_per_node"));
        const values = mean(figureOf(run, "value_bytes_per_node"));
        return { run, all, values: values ?? all, metadata: mean(figureOf(run, "metadata_bytes_per_node")) ?? 0 };
      })
      .filter(({ all }) => all != null);
  }

  svg(paint, width) {
    const rows = this.rows();
    const rowHeight = 30,
      top = 26;
    const most = Math.max(1, ...rows.map(({ all }) => all));
    const nameWidth = Math.min(
      width * 0.3,
      20 + Math.max(20, ...rows.map(({ run }) => measure(shortName(run.name, 22)))),
    );
    const note = ({ all, metadata }) => showBytes(all) + (all > 0 ? `, ${showPercent(metadata / all)} metadata` : "");
    const noteWidth = 10 + Math.max(0, ...rows.map((row) => measure(note(row))));
    const wide = Math.max(60, width - nameWidth - noteWidth);
    let body = `<defs>${rows
      .map(
        ({ run }, i) =>
          `<pattern id="m${i}" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect width="5" height="5" fill="${paint.paper}"/><rect width="2.6" height="5" fill="${runColour(paint, run)}"/></pattern>`,
      )
      .join("")}</defs>`;
    body +=
      `<rect x="${nameWidth}" y="3" width="12" height="10" fill="${paint.soft}"/>` +
      svgText(nameWidth + 17, 12, "values", `fill="${paint.soft}"`) +
      `<rect x="${nameWidth + 68}" y="3" width="12" height="10" fill="none" stroke="${paint.soft}"/><path d="M${nameWidth + 70} 13l10 -10M${nameWidth + 68} 9l6 -6M${nameWidth + 75} 13l5 -5" stroke="${paint.soft}"/>` +
      svgText(nameWidth + 85, 12, "metadata", `fill="${paint.soft}"`);
    rows.forEach(({ run, all, values, metadata }, i) => {
      const y = top + i * rowHeight;
      const [v, m] = [(values / most) * wide, (metadata / most) * wide];
      const colour = runColour(paint, run);
      body +=
        `<g><title>${escaped(`${run.name}: ${showBytes(values)} values, ${showBytes(metadata)} metadata`)}</title>` +
        svgText(nameWidth - 8, y + 14, shortName(run.name, 22), 'text-anchor="end"') +
        `<rect x="${nameWidth}" y="${y}" width="${v.toFixed(1)}" height="19" fill="${colour}"/>` +
        `<rect x="${(nameWidth + v).toFixed(1)}" y="${y}" width="${m.toFixed(1)}" height="19" fill="url(#m${i})" stroke="${colour}" stroke-width="${m > 2 ? 1 : 0}"/>` +
        svgText(nameWidth + v + m + 6, y + 14, note({ all, metadata }), 'font-size="11.5"') +
        "</g>";
    });
    return svgDocument(
      width,
      top + rows.length * rowHeight + 4,
      paint,
      "Bytes sent per node: values and metadata",
      body,
    );
  }

  update(state) {
    this.runs = state.runs;
    this.draw(paintNow());
  }
  draw(paint) {
    const width = Math.floor(this.box.clientWidth);
    if (this.runs && width > 50) this.box.innerHTML = this.svg(paint, width);
  }
  preparePrint() {
    this.box.innerHTML = this.svg(PAINT.light, 680);
  }

  csv() {
    return csvOf([
      ["run", "bytes_sent_per_node", "value_bytes_per_node", "metadata_bytes_per_node"],
      ...this.rows().map(({ run, all, values, metadata }) => [run.name, all, values, metadata]),
    ]);
  }
}
