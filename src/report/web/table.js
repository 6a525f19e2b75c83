// All runs: what they reached, what is different about them, and what to type to have them again.

const settingsOf = (data) => [...new Set(data.runs.flatMap((run) => Object.keys(run.config)))];

function differing(data) {
  return settingsOf(data).filter((key) => key !== "seed" && new Set(data.runs.map((run) => run.config[key])).size > 1);
}

// Settings in which runs must agree for their accuracies to mean the same.
const othersOf = (run, first) => ["data", "partition", "model"].filter((key) => run.config[key] !== first.config[key]);

function spreadText(values, show) {
  if (values.length === 0) return "–";
  const d = deviation(values);
  const middle = show(mean(values));
  if (!d) return middle;
  const decimals = (/\.(\d+)$/.exec(middle)?.[1] || "").length;
  return `${middle} ± ${show === showNumber && !middle.includes("e") ? d.toFixed(decimals) : show(d)}`;
}

// The rows of the table, as {head, cells}: what the page shows and its CSV holds.
const RUN_COLUMNS = [
  { head: "Accuracy", figure: "accuracy", show: showPercent, best: Math.max },
  { head: "Worst node", figure: "accuracy_min", show: showPercent, best: Math.max },
  { head: "Merged model", figure: "merged_accuracy", show: showPercent, best: Math.max },
  { head: "Loss", figure: "loss", show: showNumber, best: Math.min },
  { head: "Sent per node", figure: "bytes_sent_per_node", show: showBytes, best: Math.min },
  { head: "Virtual time", figure: "virtual_seconds", show: (v) => (v > 0 ? showSeconds(v) : "–"), best: Math.min },
  { head: "Rounds", figure: "rounds", show: showRound },
  { head: "Wall time", figure: "wall_seconds", show: showSeconds },
];

function stateOf(run) {
  if (run.finished) return "finished";
  const diverged = run.seeds.filter((seed) => seed.diverged).length;
  if (diverged) return diverged < run.seeds.length ? `${diverged} of ${run.seeds.length} seeds diverged` : "diverged";
  const going = run.seeds.filter((seed) => !seed.finished);
  const planned = /rounds=(\d+)/.exec(run.config.protocol || "")?.[1];
  const at = going.map((seed) => showRound(seed.figures.rounds ?? 0)).join(", ");
  return `unfinished: round ${at}${planned ? ` of ${(+planned).toLocaleString("en")}` : ""}`;
}

function runsTable(data, paint) {
  const columns = RUN_COLUMNS.filter(({ figure }) =>
    data.runs.some((run) => figureOf(run, figure).some((v) => v !== 0)),
  );
  const keys = differing(data);
  const contenders = data.runs.filter((run) => run.finished && othersOf(run, data.runs[0]).length === 0);
  // Where all are alike nobody has won.
  const best = columns.map(({ figure, best: pick }) => {
    const values = numbers(contenders.map((run) => mean(figureOf(run, figure))));
    return pick && new Set(values).size > 1 ? pick(...values) : null;
  });
  const head = el(
    "tr",
    {},
    el("th", { scope: "col" }, "Run"),
    ...columns.map(({ head }) => el("th", { scope: "col" }, head)),
    ...keys.map((key) => el("th", { scope: "col", class: "text" }, key)),
    el("th", { scope: "col", class: "text" }, "Seeds"),
  );
  const rows = data.runs.map((run) =>
    el(
      "tr",
      {},
      el(
        "th",
        { scope: "row" },
        chip(run, paint),
        " ",
        run.name,
        run.finished ? null : el("span", { class: "unfinished" }, stateOf(run)),
      ),
      ...columns.map(({ figure, show }, c) => {
        const values = figureOf(run, figure);
        const wins = contenders.includes(run) && best[c] != null && mean(values) === best[c];
        return el("td", {}, wins ? el("b", {}, spreadText(values, show)) : spreadText(values, show));
      }),
      ...keys.map((key) => el("td", { class: "text" }, el("code", {}, run.config[key] ?? "–"))),
      el("td", { class: "text" }, run.seeds.map((seed) => seed.seed).join(", ")),
    ),
  );
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": "Table of runs" },
    el(
      "table",
      { id: "runs-table" },
      el(
        "caption",
        { class: "hidden" },
        "Runs; the best of each column is bold, ± is the standard deviation over seeds",
      ),
      el("thead", {}, head),
      el("tbody", {}, ...rows),
    ),
  );
}

function runsCsv(data) {
  const keys = settingsOf(data).filter((key) => key !== "seed");
  return csvOf([
    [
      "run",
      "seed",
      "finished",
      ...RUN_COLUMNS.map(({ figure }) => figure),
      "value_bytes_per_node",
      "metadata_bytes_per_node",
      ...keys,
      "model_digest",
      "command",
    ],
    ...data.runs.flatMap((run) =>
      run.seeds.map((seed) => [
        run.name,
        seed.seed,
        seed.finished ? 1 : 0,
        ...RUN_COLUMNS.map(({ figure }) => seed.figures[figure]),
        seed.figures.value_bytes_per_node,
        seed.figures.metadata_bytes_per_node,
        ...keys.map((key) => run.config[key]),
        seed.digest,
        run.command,
      ]),
    ),
  ]);
}

function copyButton(text, name) {
  const button = el("button", { type: "button", class: "copy", "aria-label": `Copy the command of ${name}` }, "Copy");
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Selected";
    }
    setTimeout(() => {
      button.textContent = "Copy";
    }, 1500);
  });
  return button;
}

// How to have a run again: its command, its seeds, its whole configuration and the digest to compare with.
function repeatOf(run, paint) {
  const config = Object.entries(run.config)
    .map(([key, value]) => `${key} = "${value}"`)
    .join("\n");
  const refusals = run.seeds.flatMap((seed) => Object.entries(seed.refusals || {}));
  return el(
    "li",
    {},
    chip(run, paint),
    " ",
    el("b", {}, run.name),
    " ",
    el(
      "span",
      { class: "soft" },
      `${run.seeds.length > 1 ? "seeds" : "seed"} ${run.seeds.map((seed) => seed.seed).join(", ")}; ${stateOf(run)}`,
    ),
    el("div", { class: "command" }, el("code", {}, run.command), copyButton(run.command, run.name)),
    el(
      "details",
      {},
      el("summary", {}, "Configuration and digest"),
      el("pre", {}, config),
      el(
        "p",
        { class: "soft" },
        run.seeds
          .filter((seed) => seed.digest)
          .map((seed) => `seed ${seed.seed}: models ${seed.digest}`)
          .join("; "),
      ),
      refusals.length ? el("p", {}, "Messages refused: " + refusals.map(([why, n]) => `${why} ${n}`).join(", ")) : null,
    ),
  );
}

// What is the same in all runs, in one line; runs of other data or models cannot be compared, and are named.
function notesOf(data) {
  const notes = [];
  const first = data.runs[0];
  const common = settingsOf(data).filter((key) => key !== "seed" && !differing(data).includes(key));
  if (data.runs.length > 1 && common.length)
    notes.push(
      el(
        "p",
        { class: "soft" },
        "The same in all runs: ",
        el("code", {}, common.map((key) => `${key}=${first.config[key]}`).join("  ")),
      ),
    );
  for (const run of data.runs) {
    const other = othersOf(run, first);
    if (other.length)
      notes.push(
        el(
          "p",
          { class: "warning" },
          `${run.name} has another ${other.join(", another ")} than ${first.name}: their accuracies do not compare.`,
        ),
      );
  }
  for (const why of data.left_out) notes.push(el("p", { class: "warning" }, `Left out: ${why}`));
  return notes;
}

function drawRuns(data) {
  const paint = paintNow();
  const tools = el("div", { class: "tools" });
  addTools(tools, "Runs", () => runsCsv(data), null);
  document
    .getElementById("runs-body")
    .replaceChildren(
      tools,
      runsTable(data, paint),
      ...notesOf(data),
      el("h3", {}, "To repeat a run"),
      el("ul", { class: "repeat" }, ...data.runs.map((run) => repeatOf(run, paint))),
    );
}
