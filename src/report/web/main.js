// Puts the page together, and keeps it current while a run goes on.

const page = {
  data: readData(JSON.parse(document.getElementById("data").textContent)),
  axis: "round",
  band: "nodes",
  log: false,
  hidden: new Set(),
};

const charts = FIGURES.map((figure) => new CurveChart(figure));
const bytesChart = new BytesChart();
const targetChart = new TargetChart((target) => {
  for (const chart of charts) chart.setTarget(target);
});
const graphChart = new GraphChart();
const labelChart = new LabelChart();

const stateNow = () => ({ ...page, runs: page.data.runs.filter((run) => !page.hidden.has(run.name)) });

function radios(name, label, options, value, onChoose) {
  return el(
    "fieldset",
    {},
    el("legend", {}, label),
    ...options.map(([key, text, available]) =>
      el(
        "label",
        { class: available ? "" : "off" },
        el("input", {
          type: "radio",
          name,
          value: key,
          checked: key === value,
          disabled: !available,
          change: () => onChoose(key),
        }),
        el("span", {}, text),
      ),
    ),
  );
}

function drawControls() {
  const { runs } = page.data;
  const several = runs.some((run) => run.seeds.length > 1);
  const paint = paintNow();
  const chosen = el(
    "fieldset",
    { class: "runs-shown" },
    el("legend", {}, "Runs"),
    ...runs.map((run) =>
      el(
        "label",
        { title: run.config.sharing || "" },
        el("input", {
          type: "checkbox",
          name: "run",
          value: run.name,
          checked: !page.hidden.has(run.name),
          change: (e) => {
            if (e.target.checked) page.hidden.delete(run.name);
            else page.hidden.add(run.name);
            drawCharts();
          },
        }),
        el("span", {}, chip(run, paint), " ", run.name, run.finished ? "" : ` (${stateOf(run).split(":")[0]})`),
      ),
    ),
  );
  document.getElementById("controls").replaceChildren(
    radios(
      "axis",
      "Against",
      Object.keys(AXES).map((axis) => [
        axis,
        { round: "rounds", bytes: "bytes", time: "virtual time" }[axis],
        runs.some((run) => hasAxis(run, axis)),
      ]),
      page.axis,
      (axis) => {
        page.axis = axis;
        drawCharts();
      },
    ),
    radios(
      "band",
      "Band",
      [
        ["nodes", "nodes", true],
        ["seeds", "seeds", several],
        ["deviation", "deviation", several],
        ["confidence", "95% confidence", several],
        ["off", "none", true],
      ],
      page.band,
      (band) => {
        page.band = band;
        drawCharts();
      },
    ),
    radios(
      "scale",
      "Loss",
      [
        ["linear", "linear", true],
        ["log", "log", true],
      ],
      page.log ? "log" : "linear",
      (scale) => {
        page.log = scale === "log";
        drawCharts();
      },
    ),
    runs.length > 1 ? chosen : "",
  );
}

function drawCharts() {
  const state = stateNow();
  for (const chart of charts) {
    const shown = page.data.runs.some((run) => hasFigure(run, chart.figure));
    chart.root.hidden = !shown;
    if (shown) chart.update(state);
  }
  document.getElementById("network").hidden = !charts.some(
    (chart) => chart.figure.section === "network" && !chart.root.hidden,
  );
  bytesChart.update(state);
  targetChart.update(state);
  for (const chart of charts) if (!chart.root.hidden) chart.draw(); // Sections just shown have a width now.
}

// The run whose nodes are shown: the one chosen, else the first that says anything of its nodes.
function drawNodes() {
  const told = page.data.runs.filter((run) => run.facts.edges || run.facts.node_accuracy || run.facts.class_counts);
  document.getElementById("nodes").hidden = told.length === 0;
  if (told.length === 0) return;
  const run = told.find(({ name }) => name === page.nodesOf) || told[0];
  const select = el(
    "select",
    {
      id: "nodes-of",
      change: (e) => {
        page.nodesOf = e.target.value;
        drawNodes();
      },
    },
    ...told.map(({ name }) => el("option", { value: name, selected: name === run.name }, name)),
  );
  document.getElementById("node-controls").replaceChildren(el("label", { for: "nodes-of" }, "Nodes of"), select);
  graphChart.update(run);
  labelChart.update(run);
}

function drawHead() {
  const { data } = page;
  document.title = `${data.title}: tessera`;
  document.getElementById("title").textContent = data.title;
  const unfinished = data.runs.filter((run) => run.seeds.some((seed) => !seed.finished && !seed.diverged)).length;
  const facts = [
    `${data.runs.length} ${data.runs.length === 1 ? "run" : "runs"}`,
    ...["nodes", "data", "model"]
      .map((key) => {
        const values = new Set(data.runs.map((run) => run.config[key]).filter(Boolean));
        return values.size === 1 ? (key === "nodes" ? `${[...values][0]} nodes` : [...values][0].split(":")[0]) : null;
      })
      .filter(Boolean),
    unfinished ? `${unfinished} unfinished` : null,
  ];
  document.getElementById("subtitle").textContent = facts.filter(Boolean).join(" · ");
  const thinned = data.runs
    .flatMap((run) => run.seeds)
    .filter((seed) => (seed.columns.round || []).length < seed.rows_measured);
  document.getElementById("thinning").textContent =
    thinned.length === 0
      ? "Every measured row is drawn. Numbers are rounded to five digits; the exact ones are in each run's metrics.jsonl."
      : `Of long runs not every row is drawn (here ${thinned[0].columns.round.length} of ${thinned[0].rows_measured.toLocaleString("en")}): of each stretch those where accuracy, loss or queues are highest or lowest. ` +
        "All rows, exact: each run's metrics.jsonl, or tessera report --csv.";
}

function drawAll() {
  const empty = page.data.runs.length === 0;
  document.getElementById("waiting").hidden = !empty;
  for (const part of ["controls", "curves", "cost", "runs"]) document.getElementById(part).hidden = empty;
  drawHead();
  if (empty) return;
  drawControls();
  drawCharts();
  drawNodes();
  drawRuns(page.data);
}

function redraw() {
  if (page.data.runs.length === 0) return;
  drawControls();
  for (const chart of charts) if (!chart.root.hidden && chart.chart) chart.draw();
  targetChart.draw();
  for (const chart of [bytesChart, graphChart, labelChart]) chart.draw(paintNow());
  drawRuns(page.data);
}

function setUpPrint() {
  const all = [...charts, bytesChart, graphChart, labelChart];
  addEventListener("beforeprint", () => {
    for (const chart of all) chart.preparePrint();
  });
  addEventListener("afterprint", redraw);
}

// Asks the program that serves this page for new figures, a second after the last answer.
async function follow() {
  const status = document.getElementById("live");
  status.hidden = false;
  let tag = "";
  for (;;) {
    try {
      const answer = await fetch("data.json", { cache: "no-store", headers: tag ? { "If-None-Match": tag } : {} });
      if (answer.status === 200) {
        tag = answer.headers.get("ETag") || "";
        page.data = readData(await answer.json());
        drawAll();
      }
      status.textContent = page.data.live ? "Live" : "The run is over; these are its last figures";
      status.dataset.state = page.data.live ? "live" : "over";
      if (!page.data.live) return;
    } catch {
      status.textContent = "The program cannot be reached; these are the last figures it sent";
      status.dataset.state = "lost";
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

for (const chart of charts) document.querySelector(`#${chart.figure.section} .charts`).append(chart.root);
document.querySelector("#cost .charts").append(targetChart.root, bytesChart.root);
document.querySelector("#nodes .charts").append(graphChart.root, labelChart.root);
// More than a handful of bands is fog.
if (page.data.runs.length > 6) page.band = "off";
else if (page.data.runs.length > 0 && page.data.runs.every((run) => run.seeds.length > 1)) page.band = "seeds";
setUpTheme();
drawAll();
theme.listeners.push(redraw);
setUpPrint();
// A phone's window changes its height as it scrolls; a window on another screen may have other pixels.
const windowNow = () => `${innerWidth} ${devicePixelRatio}`;
let drawnFor = windowNow();
function onResize() {
  if (windowNow() === drawnFor) return;
  drawnFor = windowNow();
  requestAnimationFrame(redraw);
}
function followPixels() {
  const pixels = matchMedia(`(resolution: ${devicePixelRatio}dppx)`);
  pixels.addEventListener("change", () => (onResize(), followPixels()), { once: true });
}
addEventListener("resize", onResize);
followPixels();
if (document.documentElement.dataset.mode === "live") follow();
