// Reads the values of curves by mouse, touch or arrow keys, and chooses a part of the x axis by dragging with the mouse.

class Reader {
  // box: the element that holds the chart. onZoom([low, high]): that part was chosen; onZoom(null): all of it.
  constructor(box, onZoom) {
    this.box = box;
    this.onZoom = onZoom;
    this.marks = el("div", { class: "marks" });
    this.readout = el("div", { class: "readout", "aria-live": "polite", hidden: true });
    this.x = null; // Where values are read; null: nowhere.
    this.top = 0;
    this.dragged = null; // Pixels: [where dragging began, where it is]
    const listen = (name, handler) => box.addEventListener(name, (event) => this.frame && handler(event));
    listen("pointerdown", (e) => this.onDown(e));
    listen("pointermove", (e) => this.onMove(e));
    listen("pointerup", () => this.onUp());
    listen("pointercancel", () => this.drag(null));
    listen("pointerleave", (e) => e.pointerType !== "touch" && this.hide());
    listen("dblclick", () => this.onZoom(null));
    listen("keydown", (e) => this.onKey(e));
    listen("blur", () => this.hide());
  }

  // After the chart was drawn; null: it has no curves.
  setFrame(frame) {
    const moved = frame?.chart.axis !== this.frame?.chart.axis;
    this.frame = frame;
    this.known = null;
    if (this.x == null) return;
    if (!frame || moved) this.hide();
    else this.show(this.x, this.top);
  }

  // The places within the axis shown where any curve was measured, in order.
  places() {
    const [low, high] = this.frame.xs;
    this.known ??= Float64Array.from(
      new Set(this.frame.chart.curves.flatMap(({ curve }) => curve.x.filter((x) => x >= low && x <= high))),
    ).sort();
    return this.known;
  }

  nearest(x) {
    const places = this.places();
    const i = rowAt(places, x);
    return i + 1 < places.length && places[i + 1] - x < x - places[i] ? i + 1 : i;
  }

  // The values at x, the highest first.
  rowsAt(x) {
    return this.frame.chart.curves
      .filter(({ curve }) => x >= curve.x[0] && x <= curve.x[curve.x.length - 1])
      .map(({ run, curve }) => ({
        run,
        y: valueAt(curve.x, curve.y, x),
        band: curve.banded ? [valueAt(curve.x, curve.lo, x), valueAt(curve.x, curve.hi, x)] : null,
      }))
      .sort((a, b) => b.y - a.y);
  }

  // Reads at the measured place nearest to x; `top` is where the box of values stands.
  show(x, top) {
    const places = this.places();
    if (places.length === 0) return this.hide();
    this.x = places[this.nearest(x)];
    this.top = top;
    const rows = this.rowsAt(this.x);
    const paint = paintNow();
    this.mark(rows.slice(0, 12), paint);
    this.readout.replaceChildren(...this.lines(rows, paint));
    this.readout.hidden = false;
    const at = this.frame.x(this.x);
    const wide = this.readout.offsetWidth;
    const right = at + 14 + wide > this.box.clientWidth;
    this.readout.style.left = `${Math.max(0, right ? at - 14 - wide : at + 14)}px`;
    this.readout.style.top = `${Math.max(0, Math.min(top, 200) - 10)}px`;
  }

  lines(rows, paint) {
    const { figure, axis } = this.frame.chart;
    const lines = [el("div", { class: "soft" }, `${AXES[axis].label} ${AXES[axis].show(this.x)}`)];
    for (const { run, y, band } of rows.slice(0, 12))
      lines.push(
        el(
          "div",
          {},
          chip(run, paint),
          ` ${shortName(run.name, 24)} `,
          el("b", {}, figure.show(y)),
          band ? el("span", { class: "soft" }, ` ${figure.show(band[0])} to ${figure.show(band[1])}`) : null,
        ),
      );
    if (rows.length > 12) lines.push(el("div", { class: "soft" }, `and ${rows.length - 12} more`));
    return lines;
  }

  // The line where values are read, with a point on each curve; and the part being chosen.
  mark(rows, paint) {
    const { box } = this.frame;
    let body = "";
    if (this.dragged) {
      const [left, right] = [...this.dragged].sort((a, b) => a - b);
      body += `<rect x="${left}" y="${box.top}" width="${right - left}" height="${box.bottom - box.top}" fill="${faded(paint.select, 0.18)}"/>`;
    }
    const x = this.x == null ? 0 : this.frame.x(this.x).toFixed(1);
    if (this.x != null)
      body += `<path d="M${x} ${box.top}V${box.bottom}" stroke="${paint.soft}" stroke-dasharray="3 3"/>`;
    for (const { run, y } of rows)
      body += `<circle cx="${x}" cy="${this.frame.y(y).toFixed(1)}" r="4" fill="${runColour(paint, run)}" stroke="${paint.paper}" stroke-width="1.5"/>`;
    this.marks.innerHTML = `<svg width="100%" height="100%">${body}</svg>`;
  }

  hide() {
    this.x = null;
    this.readout.hidden = true;
    this.marks.replaceChildren();
  }

  pixel(event) {
    return event.clientX - this.box.getBoundingClientRect().left;
  }

  onDown(event) {
    if (event.pointerType === "touch") return this.onMove(event);
    if (event.button !== 0) return;
    this.box.setPointerCapture(event.pointerId);
    this.dragged = [this.pixel(event), this.pixel(event)];
  }

  onMove(event) {
    const pixel = this.pixel(event);
    const { left, right } = this.frame.box;
    if (this.dragged) this.drag([this.dragged[0], Math.min(Math.max(pixel, left), right)]);
    else if (pixel < left - 12 || pixel > right + 12) this.hide();
    else this.show(this.frame.xAt(pixel), event.clientY - this.box.getBoundingClientRect().top);
  }

  drag(pixels) {
    this.dragged = pixels;
    this.hide();
    if (pixels) this.mark([], paintNow());
  }

  onUp() {
    if (!this.dragged) return;
    const [low, high] = this.dragged.map((pixel) => this.frame.xAt(pixel)).sort((a, b) => a - b);
    const far = Math.abs(this.dragged[1] - this.dragged[0]) >= 5;
    if (!far) this.dragged = null;
    else this.drag(null);
    if (far && low < high) this.onZoom([low, high]);
  }

  onKey(event) {
    if (event.key === "Escape") return this.x == null ? this.onZoom(null) : this.hide();
    const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const places = this.places();
    const stride = Math.max(1, Math.floor(places.length / 60));
    const now = this.x != null ? this.nearest(this.x) : step > 0 ? -stride : places.length;
    const next = Math.min(Math.max(now + step * stride, 0), places.length - 1);
    this.show(places[next], 40);
  }
}
