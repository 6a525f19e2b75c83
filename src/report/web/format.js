// Small tools: elements, numbers for people, CSV, files to save.

// el("p", {class: "note"}, "text", child): an element. Attributes that are functions listen.
function el(tag, attributes = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(name, value);
    else if (value === true) made.setAttribute(name, "");
    else if (value !== false && value != null) made.setAttribute(name, value);
  }
  made.append(...children.filter((child) => child != null));
  return made;
}

const escaped = (text) =>
  String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

// The digits a reader needs: 0.0123, 4.56, 78.9, 1,234.
function showNumber(value) {
  if (value == null || !isFinite(value)) return "–";
  const size = Math.abs(value);
  if (size === 0) return "0";
  if (size < 1e-3 || size >= 1e9) return value.toExponential(2);
  if (Number.isInteger(value)) return value.toLocaleString("en");
  const digits = size >= 1000 ? 0 : size >= 100 ? 1 : size >= 1 ? 2 : size >= 0.1 ? 3 : 4;
  return value.toLocaleString("en", { maximumFractionDigits: digits });
}

const showPercent = (value) => (value == null ? "–" : (100 * value).toFixed(Math.abs(value) >= 0.9995 ? 0 : 1) + "%");

const BYTE_UNITS = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
const byteUnit = (value) =>
  Math.min(BYTE_UNITS.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, Math.abs(value))) / 10)));

function showBytes(value) {
  if (value == null || !isFinite(value)) return "–";
  const unit = byteUnit(value);
  const scaled = value / 1024 ** unit;
  return `${scaled.toLocaleString("en", { maximumFractionDigits: scaled >= 100 ? 0 : scaled >= 10 ? 1 : 2 })} ${BYTE_UNITS[unit]}`;
}

// "850 ms", "12.5 s", "3 min 20 s", "2 h 5 min".
function showSeconds(value) {
  if (value == null || !isFinite(value)) return "–";
  if (value === 0) return "0 s";
  if (value < 1) return `${+(1000 * value).toPrecision(3)} ms`;
  if (value < 120) return `${+value.toPrecision(3)} s`;
  const s = Math.round(value),
    [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
  if (h > 0) return m > 0 ? `${h} h ${m} min` : `${h} h`;
  return s % 60 > 0 ? `${m} min ${s % 60} s` : `${m} min`;
}

const showRound = (value) => (value == null ? "–" : Math.round(value).toLocaleString("en"));

function csvOf(rows) {
  const field = (value) => {
    if (value == null) return "";
    const text = String(value);
    return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  };
  return rows.map((row) => row.map(field).join(",")).join("\n") + "\n";
}

function save(name, type, text) {
  const link = el("a", { download: name, href: URL.createObjectURL(new Blob([text], { type })) });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

// A file name without surprises.
const slug = (text) =>
  text
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, "-")
    .replace(/^-|-$/g, "") || "chart";
