// Where axes have their marks, and what stands beside them: the same on screen and in SVG.

const niceStep = (span, count) => {
  const rough = span / Math.max(count, 1);
  const power = 10 ** Math.floor(Math.log10(rough));
  return power * [1, 2, 2.5, 5, 10].find((m) => m * power >= rough * 0.999);
};

const SECOND_STEPS = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600, 7200, 14400, 21600, 43200, 86400];

function stepFor(kind, low, high, count) {
  const span = high - low;
  if (kind === "count") return Math.max(1, niceStep(span, count));
  if (kind === "bytes") {
    const unit = 1024 ** byteUnit(Math.max(Math.abs(low), Math.abs(high)));
    return unit * niceStep(span / unit, count);
  }
  if (kind === "seconds" && span / count > 1) {
    const found = SECOND_STEPS.find((s) => s >= span / count);
    return found || 86400 * niceStep(span / 86400, count);
  }
  return niceStep(span, count);
}

function ticksOf(kind, low, high, count) {
  if (!(high > low)) return [low];
  const step = stepFor(kind, low, high, count);
  const ticks = [];
  for (let i = Math.ceil(low / step - 1e-9); i * step <= high + step * 1e-9; ++i) ticks.push(i === 0 ? 0 : i * step);
  return ticks;
}

// Powers of ten; with few of them, 2 and 5 between.
function logTicks(low, high, count) {
  const ticks = [];
  const decades = Math.log10(high / low);
  const within = decades <= 2 ? [1, 2, 5] : [1];
  const skip = Math.max(1, Math.ceil(decades / count));
  for (let p = Math.floor(Math.log10(low)); p <= Math.ceil(Math.log10(high)); ++p)
    if (within.length > 1 || p % skip === 0)
      for (const m of within) if (m * 10 ** p >= low * 0.999 && m * 10 ** p <= high * 1.001) ticks.push(m * 10 ** p);
  // Less than a decade: plain steps say more.
  return ticks.length > 2 ? ticks : ticksOf("plain", low, high, count).filter((tick) => tick > 0);
}

// Labels with as many decimals as the step needs, and the unit of the largest.
function tickLabels(kind, ticks) {
  if (ticks.length === 0) return [];
  const size = Math.max(...ticks.map(Math.abs));
  const step = ticks.length > 1 ? Math.abs(ticks[1] - ticks[0]) : size || 1;
  const decimals = (unit) => {
    for (let d = 0; d < 6; ++d)
      if (
        ticks.every(
          (t) => Math.abs(((t / unit) * 10 ** d) % 1) < 1e-6 || Math.abs(((t / unit) * 10 ** d) % 1) > 1 - 1e-6,
        )
      )
        return d;
    return Math.max(0, Math.ceil(-Math.log10(step / unit)));
  };
  const plain = (unit, suffix) => {
    const d = decimals(unit);
    return ticks.map(
      (t) => (t / unit).toLocaleString("en", { minimumFractionDigits: d, maximumFractionDigits: d }) + suffix,
    );
  };
  if (kind === "percent") return plain(0.01, "%");
  if (kind === "bytes") {
    const unit = byteUnit(size);
    return plain(1024 ** unit, " " + BYTE_UNITS[unit]).map((text, i) => (ticks[i] === 0 ? "0" : text));
  }
  if (kind === "seconds") {
    const [unit, name] =
      size >= 7200 ? [3600, " h"] : size >= 180 ? [60, " min"] : size >= 1 ? [1, " s"] : [1e-3, " ms"];
    return plain(unit, name).map((text, i) => (ticks[i] === 0 ? "0" : text));
  }
  if (size !== 0 && (size < 1e-3 || size >= 1e7 || decimals(1) > 4))
    return ticks.map((t) => (t === 0 ? "0" : +t.toPrecision(3) + "").replace("e+", "e"));
  return plain(1, "");
}

const logLabels = (ticks) =>
  ticks.map((t) => (t >= 1e-3 && t < 1e5 ? String(+t.toPrecision(2)) : t.toExponential(0).replace("e+", "e")));

// The range of an axis around values: room at the edge, and no further than a figure can go.
function rangeAround(low, high, figure, log) {
  if (!isFinite(low) || !isFinite(high)) return log ? [0.1, 1] : [0, 1];
  if (log) return low === high ? [low / 2, high * 2] : [low / 1.1, high * 1.1];
  const from = figure.least ?? low;
  const pad = (high - from || Math.abs(high) || 1) * 0.05;
  return [
    figure.least ?? Math.max(low - pad, low >= 0 ? 0 : -Infinity),
    Math.min(high + pad, Math.max(figure.most ?? Infinity, high)),
  ];
}
