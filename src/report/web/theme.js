// Colours. Six that differ in lightness as well as in hue, so that they stay apart for readers who do not
// tell red from green or blue from yellow; from the seventh run on dashes tell the rest. A run keeps its
// colour and its dash in every chart.

const PAINT = {
  light: {
    paper: "#ffffff",
    ink: "#1b2129",
    soft: "#5a6470",
    rule: "#e3e7ec",
    axis: "#9aa4b0",
    select: "#2378c7",
    runs: ["#2378c7", "#b53a05", "#006a50", "#da74b0", "#3d2169", "#bd8f00"],
    heat: ["#f3f6fa", "#c6dbf0", "#7fb1de", "#2f7cc0", "#0b3c73"],
  },
  dark: {
    paper: "#14181d",
    ink: "#e8ecf1",
    soft: "#a3adb9",
    rule: "#2b323b",
    axis: "#5d6875",
    select: "#5db4ff",
    runs: ["#5db4ff", "#ff7f33", "#149c74", "#f9b5dc", "#8a5cf0", "#f2dc7d"],
    heat: ["#1c232b", "#1f4468", "#2f72ad", "#6cb0ea", "#dcefff"],
  },
};
const DASHES = [[], [8, 4], [2, 3], [9, 3, 2, 3]];
// From low to high, readable in print and by everyone: viridis.
const SCALE = ["#440154", "#3b528b", "#21918c", "#5ec962", "#fde725"];
// Classes of a pie; ten is as many as anyone tells apart.
const CLASS_COLOURS = [
  "#332288",
  "#88ccee",
  "#117733",
  "#ddcc77",
  "#cc6677",
  "#aa4499",
  "#44aa99",
  "#999933",
  "#882255",
  "#9a9a9a",
  "#e8601c",
  "#5566aa",
];

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif';

const theme = { choice: "auto", listeners: [] };

function isDark() {
  if (theme.choice !== "auto") return theme.choice === "dark";
  return matchMedia("(prefers-color-scheme: dark)").matches;
}

const paintNow = () => (isDark() ? PAINT.dark : PAINT.light);
const runColour = (paint, run) => paint.runs[run.place % paint.runs.length];
const runDash = (run) => DASHES[Math.floor(run.place / PAINT.light.runs.length) % DASHES.length];

function between(stops, fraction) {
  const at = Math.min(Math.max(fraction, 0), 1) * (stops.length - 1);
  const low = Math.min(Math.floor(at), stops.length - 2);
  const part = (stop, i) => parseInt(stop.slice(1 + 2 * i, 3 + 2 * i), 16);
  const mixed = [0, 1, 2].map((i) =>
    Math.round(part(stops[low], i) + (at - low) * (part(stops[low + 1], i) - part(stops[low], i))),
  );
  return "#" + mixed.map((v) => v.toString(16).padStart(2, "0")).join("");
}

const faded = (colour, alpha) =>
  colour +
  Math.round(255 * alpha)
    .toString(16)
    .padStart(2, "0");

function applyTheme() {
  document.documentElement.dataset.theme = isDark() ? "dark" : "light";
  const button = document.getElementById("theme");
  button.textContent = { auto: "Theme: as system", light: "Theme: light", dark: "Theme: dark" }[theme.choice];
  for (const listener of theme.listeners) listener();
}

function setUpTheme() {
  document.getElementById("theme").addEventListener("click", () => {
    theme.choice = { auto: isDark() ? "light" : "dark", light: "dark", dark: "light" }[theme.choice];
    applyTheme();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", applyTheme);
  applyTheme();
}
