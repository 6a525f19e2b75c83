// The topology: nodes coloured by what they reached or by the classes they hold; squares are stragglers, crosses hostile.

const NODE_FIGURES = [
  { fact: "node_accuracy", label: "accuracy", show: showPercent },
  { fact: "node_loss", label: "loss", show: showNumber },
  { fact: "class_counts", label: "class mix", show: showPercent },
  { fact: "node_bytes", label: "bytes sent", show: showBytes },
  { fact: "node_rounds", label: "rounds done", show: showRound },
  { fact: "node_staleness", label: "staleness", show: showNumber },
  { fact: "node_queue", label: "queue", show: showNumber },
  { fact: "node_link_use", label: "link use", show: showPercent },
];

const sum = (values) => values.reduce((a, b) => a + b, 0);

// How far each node's mix of classes is from the mix of all: total variation, 0 to 1.
function unevenness(counts) {
  const totals = counts[0].map((_, c) => sum(counts.map((row) => row[c])));
  const all = sum(totals) || 1;
  return counts.map((row) => {
    const own = sum(row) || 1;
    return 0.5 * sum(row.map((n, c) => Math.abs(n / own - totals[c] / all)));
  });
}

// Springs along edges, repulsion between all (Fruchterman and Reingold, 1991), from a circle, so the same
// graph always looks the same. Large graphs stay on the circle: their springs would take seconds.
function layoutOf(nodes, edges) {
  const at = Array.from({ length: nodes }, (_, i) => [
    Math.cos((2 * Math.PI * i) / nodes),
    Math.sin((2 * Math.PI * i) / nodes),
  ]);
  const complete = edges.length > (0.4 * nodes * (nodes - 1)) / 2;
  if (nodes > 400 || complete) return at;
  const ideal = 1.6 / Math.sqrt(nodes);
  const steps = nodes > 150 ? 150 : 300;
  for (let step = 0; step < steps; ++step) {
    const move = at.map(() => [0, 0]);
    for (let i = 0; i < nodes; ++i)
      for (let j = i + 1; j < nodes; ++j) {
        const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
        const force = (ideal * ideal) / (dx * dx + dy * dy + 1e-6);
        move[i][0] += dx * force;
        move[i][1] += dy * force;
        move[j][0] -= dx * force;
        move[j][1] -= dy * force;
      }
    for (const [i, j] of edges) {
      const [dx, dy] = [at[i][0] - at[j][0], at[i][1] - at[j][1]];
      const force = Math.hypot(dx, dy) / ideal;
      move[i][0] -= dx * force;
      move[i][1] -= dy * force;
      move[j][0] += dx * force;
      move[j][1] += dy * force;
    }
    const heat = 0.12 * (1 - step / steps);
    at.forEach((p, i) => {
      const length = Math.hypot(...move[i]) || 1;
      p[0] += (move[i][0] / length) * Math.min(length, heat);
      p[1] += (move[i][1] / length) * Math.min(length, heat);
    });
  }
  return at;
}

// Of a hostile node nothing is measured.
const shown = (show, value) => (value === null ? "-" : show(value));

class GraphChart {
  constructor() {
    this.box = el("div", {
      class: "drawing graph",
      tabindex: "0",
      role: "application",
      "aria-label": "Nodes of the graph; arrow keys go from one to the next",
      keydown: (e) => this.onKey(e),
      mousemove: (e) => this.point(e),
      click: (e) => this.point(e),
    });
    this.colour = el("select", { id: "graph-colour", change: () => this.draw(paintNow()) });
    this.said = el("p", { class: "said", "aria-live": "polite" });
    this.table = el("details", { class: "nodes" }, el("summary", {}, "All nodes as a table"));
    this.tools = el("div", { class: "tools" });
    this.about = el("p", { class: "about" });
    this.root = el(
      "figure",
      { id: "chart-graph", class: "chart" },
      el("figcaption", {}, el("h3", {}, "Topology"), this.tools, this.about),
      el("div", { class: "slider" }, el("label", { for: "graph-colour" }, "Colour by"), this.colour),
      this.box,
      this.said,
      this.table,
    );
    addTools(
      this.tools,
      "Topology",
      () => this.csv(),
      () => this.svg(PAINT.light, 640),
    );
  }

  update(run) {
    this.run = run;
    const { facts } = run;
    this.edges = facts.edges || [];
    this.count = Math.max(
      facts.node_accuracy?.length || 0,
      facts.class_counts?.length || 0,
      ...this.edges.map(([a, b]) => Math.max(a, b) + 1),
    );
    this.stragglers = new Set(facts.stragglers || []);
    this.hostile = new Set(facts.hostile || []);
    const chosen = this.colour.value;
    const offered = NODE_FIGURES.filter(
      ({ fact }) => facts[fact]?.length === this.count && facts[fact].some((v) => v !== 0),
    );
    this.colour.replaceChildren(...offered.map(({ fact, label }) => el("option", { value: fact }, label)));
    if (offered.some(({ fact }) => fact === chosen)) this.colour.value = chosen;
    if (this.at?.length !== this.count || this.laidOut !== facts.edges) {
      this.at = layoutOf(this.count, this.edges);
      this.laidOut = facts.edges;
    }
    this.about.textContent =
      `${run.name}, seed ${run.seeds[0].seed}: ${this.count} nodes, ${facts.edges ? `${this.edges.length} links` : "whose links were not recorded"}` +
      (/redraw=yes/.test(run.config.topology || "") ? ", drawn anew every round; this is the first." : ".") +
      (this.stragglers.size ? ` Squares: ${this.stragglers.size} stragglers.` : "") +
      (this.hostile.size ? ` Crosses: ${this.hostile.size} hostile nodes, whose models are not measured.` : "");
    this.said.textContent = "Point at a node, or use the arrow keys.";
    this.fillTable();
    this.draw(paintNow());
  }

  values() {
    const fact = this.run.facts[this.colour.value];
    if (!fact) return null;
    return this.colour.value === "class_counts" ? unevenness(fact) : fact;
  }

  // Few classes are shown as pies; many only as how uneven a node is.
  pies() {
    const counts = this.run.facts.class_counts;
    return this.colour.value === "class_counts" && counts[0].length <= CLASS_COLOURS.length ? counts : null;
  }

  svg(paint, width) {
    const height = Math.min(width, 520),
      margin = 26,
      foot = 46;
    const xs = this.at.map((p) => p[0]),
      ys = this.at.map((p) => p[1]);
    const [x0, x1, y0, y1] = [Math.min(...xs), Math.max(...xs), Math.min(...ys), Math.max(...ys)];
    const px = (i) => margin + ((xs[i] - x0) / (x1 - x0 || 1)) * (width - 2 * margin);
    const py = (i) => margin + ((ys[i] - y0) / (y1 - y0 || 1)) * (height - foot - 2 * margin);
    this.places = this.at.map((_, i) => [px(i), py(i)]);
    const radius = Math.min(13, Math.max(3, 0.18 * Math.sqrt((width * height) / this.count)));
    const values = this.values(),
      pies = this.pies();
    const known = (values || []).filter((v) => v !== null);
    const [low, high] = known.length ? [Math.min(...known), Math.max(...known)] : [0, 1];
    let body =
      `<g stroke="${paint.axis}" stroke-opacity="${this.edges.length > 600 ? 0.2 : 0.5}">` +
      this.edges
        .map(([a, b]) => `<path d="M${px(a).toFixed(1)} ${py(a).toFixed(1)}L${px(b).toFixed(1)} ${py(b).toFixed(1)}"/>`)
        .join("") +
      "</g>";
    for (let i = 0; i < this.count; ++i) {
      const fill = values && values[i] !== null ? between(SCALE, high > low ? (values[i] - low) / (high - low) : 0.5) : paint.soft;
      const late = this.stragglers.has(i);
      body +=
        `<g><title>${escaped(this.describe(i))}</title>` +
        (pies ? pie(px(i), py(i), radius, pies[i], late, paint) : mark(px(i), py(i), radius, fill, late, paint)) +
        (this.hostile.has(i)
          ? svgText(px(i), py(i) + 5, "×", `text-anchor="middle" font-size="16" fill="${paint.ink}"`)
          : "") +
        (this.count <= 40
          ? svgText(px(i) + radius + 3, py(i) - radius + 2, String(i), `font-size="10" fill="${paint.soft}"`)
          : "") +
        "</g>";
    }
    return svgDocument(
      width,
      height,
      paint,
      `Topology of ${this.run.name}`,
      body + this.legend(paint, width, height - 14, values, pies, low, high),
    );
  }

  legend(paint, width, y, values, pies, low, high) {
    const style = `font-size="11" fill="${paint.soft}"`;
    if (pies) {
      const names = classNames(this.run),
        step = Math.min(90, (width - 8) / names.length);
      return names
        .map(
          (name, c) =>
            `<rect x="${4 + c * step}" y="${y - 9}" width="9" height="9" fill="${CLASS_COLOURS[c]}"/>` +
            svgText(16 + c * step, y, shortName(name, Math.max(2, Math.floor((step - 14) / 6))), style),
        )
        .join("");
    }
    if (!values) return "";
    const show = NODE_FIGURES.find(({ fact }) => fact === this.colour.value).show;
    const stops = SCALE.map((colour, i) => `<stop offset="${i / (SCALE.length - 1)}" stop-color="${colour}"/>`).join(
      "",
    );
    const label =
      this.colour.value === "class_counts"
        ? "distance from the mix of all"
        : NODE_FIGURES.find(({ fact }) => fact === this.colour.value).label;
    return (
      `<defs><linearGradient id="graph-scale">${stops}</linearGradient></defs>` +
      svgText(4, y, show(low), style) +
      `<rect x="52" y="${y - 9}" width="120" height="10" fill="url(#graph-scale)"/>` +
      svgText(178, y, `${show(high)}  ${label}`, style)
    );
  }

  describe(i) {
    const parts = NODE_FIGURES.filter(({ fact }) => fact !== "class_counts" && this.run.facts[fact]).map(
      ({ fact, label, show }) => `${label} ${shown(show, this.run.facts[fact][i])}`,
    );
    const counts = this.run.facts.class_counts?.[i];
    if (counts) {
      const held = counts
        .map((n, c) => [n, c])
        .filter(([n]) => n > 0)
        .sort((a, b) => b[0] - a[0]);
      parts.push(
        "holds " +
          held
            .slice(0, 4)
            .map(([n, c]) => `${n} of ${classNames(this.run)[c]}`)
            .join(", ") +
          (held.length > 4 ? ` and ${held.length - 4} classes more` : ""),
      );
    }
    const peers = this.peers(i);
    if (peers.length) parts.push(peers.length > 8 ? `${peers.length} peers` : `peers ${peers.join(", ")}`);
    return `Node ${i}${this.stragglers.has(i) ? ", a straggler" : ""}${this.hostile.has(i) ? ", hostile" : ""}: ${parts.join("; ")}`;
  }

  peers(i) {
    return this.edges
      .filter((e) => e.includes(i))
      .map(([a, b]) => (a === i ? b : a))
      .sort((a, b) => a - b);
  }

  fillTable() {
    const facts = NODE_FIGURES.filter(({ fact }) => fact !== "class_counts" && this.run.facts[fact]);
    const head = el(
      "tr",
      {},
      el("th", { scope: "col" }, "Node"),
      ...facts.map(({ label }) => el("th", { scope: "col" }, label)),
    );
    const rows = Array.from({ length: this.count }, (_, i) =>
      el(
        "tr",
        {},
        el("th", { scope: "row" }, `${i}${this.stragglers.has(i) ? " (straggler)" : ""}${this.hostile.has(i) ? " (hostile)" : ""}`),
        ...facts.map(({ fact, show }) => el("td", {}, shown(show, this.run.facts[fact][i]))),
      ),
    );
    const table = el("div", { class: "scroll" }, el("table", {}, el("thead", {}, head), el("tbody", {}, ...rows)));
    this.table.replaceChildren(this.table.firstElementChild, table);
  }

  select(i) {
    this.selected = i;
    this.said.textContent = this.describe(i);
    this.box.querySelector("#graph-ring")?.remove();
    const ring = document.createElementNS("http://www.w3.org/2000/svg", "circle");
    for (const [name, value] of Object.entries({
      id: "graph-ring",
      cx: this.places[i][0],
      cy: this.places[i][1],
      r: 17,
      fill: "none",
      stroke: paintNow().ink,
      "stroke-width": 2,
    }))
      ring.setAttribute(name, value);
    this.box.firstElementChild?.append(ring);
  }
  point(event) {
    if (!this.places) return;
    const box = this.box.getBoundingClientRect();
    const far = this.places.map(([x, y]) => Math.hypot(x - (event.clientX - box.left), y - (event.clientY - box.top)));
    const nearest = far.indexOf(Math.min(...far));
    if (far[nearest] < 18 && nearest !== this.selected) this.select(nearest);
  }
  onKey(event) {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1 }[event.key];
    if (!step || !this.count) return;
    event.preventDefault();
    this.select(((this.selected ?? -step) + step + this.count) % this.count);
  }

  draw(paint) {
    const width = Math.floor(this.box.clientWidth);
    if (this.run && width > 50) this.box.innerHTML = this.svg(paint, width);
    this.selected = null;
  }
  preparePrint() {
    if (this.run) this.box.innerHTML = this.svg(PAINT.light, 600);
  }

  csv() {
    const facts = NODE_FIGURES.filter(({ fact }) => fact !== "class_counts" && this.run.facts[fact]);
    return csvOf([
      ["node", "straggler", "hostile", ...facts.map(({ fact }) => fact.replace("node_", "")), "peers"],
      ...Array.from({ length: this.count }, (_, i) => [
        i,
        this.stragglers.has(i) ? 1 : 0,
        this.hostile.has(i) ? 1 : 0,
        ...facts.map(({ fact }) => this.run.facts[fact][i]),
        this.peers(i).join(" "),
      ]),
    ]);
  }
}

const classNames = (run) => run.facts.class_names || run.facts.class_counts[0].map((_, c) => `class ${c}`);

function mark(x, y, r, fill, square, paint) {
  if (!square)
    return `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" fill="${fill}" stroke="${paint.axis}"/>`;
  return `<rect x="${(x - r).toFixed(1)}" y="${(y - r).toFixed(1)}" width="${2 * r}" height="${2 * r}" fill="${fill}" stroke="${paint.ink}" stroke-width="2"/>`;
}

// A node as a pie of the classes it holds; a straggler's stands in a square.
function pie(x, y, r, counts, square, paint) {
  const all = sum(counts);
  let body = square
    ? mark(x, y, r + 2, paint.paper, true, paint)
    : `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r + 1}" fill="${paint.soft}"/>`;
  let from = 0;
  counts.forEach((n, c) => {
    if (n === 0) return;
    if (n === all) {
      body += `<circle cx="${x.toFixed(1)}" cy="${y.toFixed(1)}" r="${r}" fill="${CLASS_COLOURS[c]}"/>`;
      return;
    }
    const to = from + (2 * Math.PI * n) / all;
    const end = (angle) => `${(x + r * Math.sin(angle)).toFixed(1)} ${(y - r * Math.cos(angle)).toFixed(1)}`;
    body += `<path d="M${x.toFixed(1)} ${y.toFixed(1)}L${end(from)}A${r} ${r} 0 ${to - from > Math.PI ? 1 : 0} 1 ${end(to)}Z" fill="${CLASS_COLOURS[c]}"/>`;
    from = to;
  });
  return body;
}
