// Drives the page as a reader would. Each check states what must hold; the first that does not ends the test.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { readFileSync, rmSync } from "node:fs";
import { resolve } from "node:path";
import { chromium } from "playwright-core";

const [tessera, executablePath] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
const names = ["full", "jwins", "divshare", "stopped"];

function report(out, ...runs) {
  const began = Date.now();
  execFileSync(tessera, ["report", ...runs, `--out=${out}`], { stdio: "pipe" });
  return Date.now() - began;
}

// A page on which any error, warning or request to anywhere fails the test.
async function open(address, options = {}) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, acceptDownloads: true, ...options });
  page.problems = [];
  page.on("console", (message) => page.problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.problems.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !/^(data|blob):/.test(request.url()))
      page.problems.push(`request: ${request.url()}`);
  });
  await page.goto(address);
  return page;
}

const choose = (page, name, value) => page.locator(`input[name=${name}][value=${value}]`).check({ force: true });

// The file a button saves, as the browser would write it.
async function downloaded(page, chart, kind) {
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.locator(`${chart} [data-save=${kind}]`).click(),
  ]);
  return { name: download.suggestedFilename(), text: readFileSync(await download.path(), "utf8") };
}

// The same caught on its way: a browser asks back when a page saves a dozen files in a moment.
async function saved(page, chart, kind) {
  await page.evaluate(() => {
    window.caught = null;
    URL.createObjectURL = (blob) => {
      window.caught = blob.text();
      return "data:,";
    };
    HTMLAnchorElement.prototype.click = () => {};
  });
  await page.locator(`${chart} [data-save=${kind}]`).click();
  return page.evaluate(() => window.caught);
}

// How many pixels of a chart have each colour that the runs have.
const inkOf = (page, chart) =>
  page.locator(`${chart} canvas`).evaluate((canvas) => {
    const copy = Object.assign(document.createElement("canvas"), {
      width: canvas.width,
      height: canvas.height,
    }).getContext("2d", { willReadFrequently: true });
    copy.drawImage(canvas, 0, 0);
    const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
    const seen = {};
    for (let i = 0; i < data.length; i += 4) {
      if (data[i + 3] < 250) continue;
      const colour = `${data[i]},${data[i + 1]},${data[i + 2]}`;
      seen[colour] = (seen[colour] || 0) + 1;
    }
    return seen;
  });
const RGB = { full: "35,120,199", jwins: "181,58,5", divshare: "0,106,80", stopped: "218,116,176" };

// Texts of an SVG that cover each other or leave the picture.
const faultsOf = (page, svg) =>
  page.evaluate((text) => {
    const box = document.body.appendChild(document.createElement("div"));
    box.innerHTML = text;
    const root = box.querySelector("svg");
    const whole = root.getBoundingClientRect();
    const texts = [...root.querySelectorAll("text")]
      .map((t) => ({ text: t.textContent, box: t.getBoundingClientRect() }))
      .filter(({ box: b }) => b.width > 0);
    const faults = texts
      .filter(
        ({ box: b }) =>
          b.left < whole.left - 1 || b.right > whole.right + 1 || b.top < whole.top - 2 || b.bottom > whole.bottom + 2,
      )
      .map(({ text: t }) => `leaves: ${t}`);
    for (let i = 0; i < texts.length; ++i)
      for (let j = i + 1; j < texts.length; ++j) {
        const [a, b] = [texts[i].box, texts[j].box];
        const wide = Math.min(a.right, b.right) - Math.max(a.left, b.left),
          high = Math.min(a.bottom, b.bottom) - Math.max(a.top, b.top);
        if (wide > 2 && high > 5) faults.push(`covers: ${texts[i].text} and ${texts[j].text}`);
      }
    box.remove();
    return faults;
  }, svg);

async function curvesShowEveryRun(page) {
  for (const chart of ["#chart-accuracy", "#chart-loss", "#chart-train_loss"]) {
    const ink = await inkOf(page, chart);
    for (const [run, colour] of Object.entries(RGB))
      assert.ok((ink[colour] || 0) > 40, `${chart} shows ${run}: ${ink[colour]} pixels`);
  }
  for (const id of ["staleness", "queue", "link_use", "delay", "delivered", "local_rounds"])
    assert.ok(((await inkOf(page, `#chart-${id}`))[RGB.divshare] || 0) > 40, `${id} shows the asynchronous run`);
}

async function axesSwitch(page) {
  const label = () => page.locator("#chart-accuracy .plot").getAttribute("aria-label");
  const before = await inkOf(page, "#chart-accuracy");
  for (const [axis, words] of [
    ["bytes", "against bytes"],
    ["time", "against virtual time"],
  ]) {
    await choose(page, "axis", axis);
    assert.match(await label(), new RegExp(words));
    await curvesShowEveryRun(page);
    assert.notDeepEqual(await inkOf(page, "#chart-accuracy"), before);
  }
  await choose(page, "scale", "log");
  await choose(page, "band", "off");
  await choose(page, "axis", "round");
  await curvesShowEveryRun(page);
  const bare = await inkOf(page, "#chart-accuracy");
  const inks = [bare];
  for (const band of ["seeds", "deviation", "confidence"]) {
    await choose(page, "band", band);
    await curvesShowEveryRun(page);
    const ink = await inkOf(page, "#chart-accuracy");
    for (const other of inks) assert.notDeepEqual(ink, other, `the band of ${band} is one of its own`);
    inks.push(ink);
  }
  await choose(page, "band", "nodes");
}

// The slider's answer must be the one worked out here from the run's own rows.
async function targetsAreRight(page) {
  const rows = readFileSync("samples/small/full/metrics.jsonl", "utf8").trim().split("\n").map(JSON.parse);
  const target = 0.3;
  const i = rows.findIndex((row) => row.accuracy >= target);
  const [a, b] = [rows[i - 1], rows[i]];
  const round = a.round + ((b.round - a.round) * (target - a.accuracy)) / (b.accuracy - a.accuracy);
  const slide = (value) =>
    page.locator("#target").evaluate((slider, v) => {
      slider.value = v;
      slider.dispatchEvent(new Event("input"));
    }, value);
  await slide(target);
  const exact = +(await page.locator("#target").inputValue());
  assert.ok(Math.abs(exact - target) < 1e-3);
  const csv = (await saved(page, "#chart-target", "CSV")).split("\n").map((line) => line.split(","));
  const column = csv[0].indexOf("round");
  assert.ok(
    Math.abs(+csv.find((row) => row[0] === "full")[column] - round) < 2,
    "the round of the target, by hand and by the page",
  );
  assert.equal(csv.find((row) => row[0] === "stopped")[column], "", "a run that never met it has no number");
  assert.match(await page.locator("table.target").innerText(), /never/);
  await slide(1);
  assert.ok(
    (await page.locator("table.target td", { hasText: "never" }).count()) >= 9,
    "nobody but the best meets the highest target",
  );
  await slide(0.2);
}

async function everythingCanBeSaved(page) {
  const file = await downloaded(page, "#chart-accuracy", "CSV");
  assert.equal(file.name, "accuracy.csv");
  assert.equal(file.text, await saved(page, "#chart-accuracy", "CSV"));
  for (const chart of await page
    .locator("figure.chart")
    .evaluateAll((all) => all.filter((f) => !f.hidden && f.offsetParent).map((f) => `#${f.id}`))) {
    const csv = await saved(page, chart, "CSV");
    const lines = csv.trim().split("\n");
    assert.ok(lines.length > 1, `${chart}: rows in the CSV`);
    const wide = lines[0].split(",").length;
    assert.ok(
      wide > 1 && lines.slice(1).every((line) => line.split(",").length === wide),
      `${chart}: as many fields in every row`,
    );
    const svg = await saved(page, chart, "SVG");
    assert.match(svg, /^<svg xmlns/);
    assert.ok(svg.length > 600, `${chart}: something in the SVG`);
    assert.equal(
      await page.evaluate(
        (text) =>
          new DOMParser().parseFromString(text, "image/svg+xml").querySelector("parsererror")?.textContent ?? "",
        svg,
      ),
      "",
    );
    assert.deepEqual(await faultsOf(page, svg), [], `${chart}: texts of its SVG`);
  }
  const rows = await saved(page, "#chart-accuracy", "CSV");
  assert.equal(rows.trim().split("\n").length, 1 + 60 + 3 * 60 + 60 + 25, "every row of every seed");
  assert.match(await saved(page, "#runs-body", "CSV"), /^run,seed,finished,accuracy/);
}

async function nodesAreShown(page) {
  await page.locator("#nodes-of").selectOption("divshare");
  assert.equal(await page.locator("#chart-graph svg g circle").count(), 10);
  assert.equal(await page.locator("#chart-graph svg g rect").count(), 6, "stragglers are squares");
  await page.locator("#graph-colour").selectOption("class_counts");
  assert.ok((await page.locator("#chart-graph svg g path").count()) > 40, "pies and links");
  await page.locator(".graph").focus();
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#chart-graph .said").innerText(), /^Node \d+.*accuracy/);
  assert.ok((await page.locator("#chart-labels svg path").count()) > 3);
}

async function runsAreListed(page) {
  const table = await page.locator("#runs-table").innerText();
  for (const name of names) assert.match(table, new RegExp(name));
  assert.match(table, /unfinished: round 500 of 1,000/);
  const commands = await page.locator(".command code").allInnerTexts();
  assert.equal(commands.length, 4);
  assert.ok(
    commands.some((command) => command === "tessera sim experiments/jwins/cifar10.toml --sharing=full --seed=90"),
  );
  assert.ok(
    commands.some((command) => /^tessera sim .*config\.toml --out=.* --resume$/.test(command)),
    "an unfinished run can be continued",
  );
}

async function keysReadValues(page) {
  await page.locator("#chart-loss .plot").focus();
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowRight");
  assert.match(await page.locator("#chart-loss .readout").innerText(), /Round.*\n?.*full/s);
  await page.locator("input[name=run][value=full]").uncheck({ force: true });
  assert.ok(!((await inkOf(page, "#chart-accuracy"))[RGB.full] > 20), "a run that is switched off is not drawn");
  await page.locator("input[name=run][value=full]").check({ force: true });
}

// Values under the mouse, with a point on each curve; dragging zooms, and there are three ways back.
async function mouseReadsAndZooms(page) {
  const chart = page.locator("#chart-accuracy");
  const [plot, readout, whole] = [chart.locator(".plot"), chart.locator(".readout"), chart.getByText("Whole axis")];
  const moveTo = async (part) => {
    await plot.scrollIntoViewIfNeeded();
    const box = await plot.boundingBox();
    await page.mouse.move(box.x + part * box.width, box.y + 150, { steps: 3 });
  };
  const roundRead = async () => +/Round ([\d,]+)/.exec(await readout.innerText())[1].replace(",", "");
  const before = await inkOf(page, "#chart-accuracy");
  await moveTo(0.3);
  assert.match(await readout.innerText(), /full/);
  assert.equal(await plot.locator(".marks circle").count(), await readout.locator("b").count());
  const zoomIn = async () => {
    await moveTo(0.5);
    await page.mouse.down();
    await moveTo(0.7);
    assert.equal(await plot.locator(".marks rect").count(), 1, "the part being chosen is marked");
    await page.mouse.up();
    assert.ok(await whole.isVisible());
    assert.notDeepEqual(await inkOf(page, "#chart-accuracy"), before);
  };
  const isWhole = async (how) => {
    await page.mouse.move(0, 0);
    assert.deepEqual(await inkOf(page, "#chart-accuracy"), before, `the whole axis is back by ${how}`);
    assert.ok(await whole.isHidden());
  };
  await moveTo(0.5);
  const middle = await roundRead();
  await zoomIn();
  await moveTo(0.08);
  assert.ok(Math.abs((await roundRead()) - middle) < 40, "the zoomed chart begins where dragging began");
  await plot.dblclick();
  await isWhole("a double-click");
  await zoomIn();
  await whole.click();
  await isWhole("the button");
  await zoomIn();
  await page.mouse.move(0, 0);
  await plot.focus();
  await page.keyboard.press("Escape");
  await isWhole("Escape");
}

// A touch reads values too; the canvas has a pixel for each of the screen's.
async function touchReads(page) {
  const plot = page.locator("#chart-loss .plot");
  await plot.scrollIntoViewIfNeeded();
  const box = await plot.boundingBox();
  await page.touchscreen.tap(box.x + box.width / 2, box.y + 100);
  assert.match(await page.locator("#chart-loss .readout").innerText(), /Round.*full/s);
  assert.equal(await plot.locator("canvas").evaluate((canvas) => canvas.width / canvas.clientWidth), 2);
}

async function smallPage() {
  report("small.html", ...names.map((name) => `samples/small/${name}`));
  const address = `file://${resolve("small.html")}`;
  const page = await open(address);
  await page.screenshot({ path: "shots/light.png", fullPage: true });
  await curvesShowEveryRun(page);
  await axesSwitch(page);
  await everythingCanBeSaved(page);
  await targetsAreRight(page);
  await nodesAreShown(page);
  await runsAreListed(page);
  await keysReadValues(page);
  await mouseReadsAndZooms(page);
  await page.locator("#theme").click();
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  await page.screenshot({ path: "shots/dark.png", fullPage: true });
  await page.pdf({ path: "shots/print.pdf", format: "A4" });
  assert.deepEqual(page.problems, []);
  await page.close();

  const phone = await open(address, { viewport: { width: 390, height: 800 }, deviceScaleFactor: 2, hasTouch: true });
  assert.ok(
    (await phone.evaluate(() => document.documentElement.scrollWidth)) <= 390,
    "the page does not scroll sideways on a phone",
  );
  await phone.screenshot({ path: "shots/phone.png", fullPage: true });
  await touchReads(phone);
  await phone.emulateMedia({ media: "print" });
  await phone.evaluate(() => dispatchEvent(new Event("beforeprint")));
  assert.ok((await phone.locator(".print svg").count()) >= 8, "curves are printed as SVG");
  await phone.setViewportSize({ width: 720, height: 1000 });
  assert.ok((await phone.evaluate(() => document.documentElement.scrollWidth)) <= 720, "nothing is cut off in print");
  assert.deepEqual(phone.problems, []);
  await phone.close();
}

// An older run, or a toy: no accuracy, no time, no graph.
async function barePage() {
  report("bare.html", "samples/bare");
  const page = await open(`file://${resolve("bare.html")}`);
  assert.ok(await page.locator("#chart-accuracy").isHidden());
  assert.ok(await page.locator("input[name=axis][value=time]").isDisabled());
  for (const scale of ["linear", "log"]) {
    await choose(page, "scale", scale);
    assert.ok(((await inkOf(page, "#chart-loss"))[RGB.full] || 0) > 40, `loss on a ${scale} scale`);
  }
  assert.equal(await page.locator("#target-kind").inputValue(), "loss");
  assert.match(await page.locator("#chart-graph .about").innerText(), /links were not recorded/);
  assert.equal(await page.locator("#chart-graph svg g circle").count(), 16);
  assert.ok(await page.locator("#chart-labels").isHidden());
  await page.screenshot({ path: "shots/bare.png", fullPage: true });
  assert.deepEqual(page.problems, []);
  await page.close();
}

// A logarithmic axis has no place for zeros, and then no marks that follow from them.
async function zerosPage() {
  report("zeros.html", "samples/zeros");
  const page = await open(`file://${resolve("zeros.html")}`);
  await choose(page, "scale", "log");
  assert.match(await page.locator("#chart-loss .plot").getAttribute("aria-label"), /zeros ends at 0/);
  assert.ok(((await inkOf(page, "#chart-train_loss"))[RGB.full] || 0) > 40, "what is above zero is drawn");
  assert.deepEqual(page.problems, []);
  await page.close();
}

async function largePage() {
  const built = report("large.html", "samples/large");
  const began = Date.now();
  const page = await open(`file://${resolve("large.html")}`);
  await page.locator("#chart-accuracy canvas").waitFor();
  const opened = Date.now() - began;
  const switched = await page.evaluate(() => {
    const before = performance.now();
    document.querySelector("input[name=axis][value=bytes]").click();
    return performance.now() - before;
  });
  await page.screenshot({ path: "shots/large.png", fullPage: true });
  const size = readFileSync("large.html").length;
  console.log(
    `20 runs x 5,000 rows x 96 nodes: built in ${built} ms, ${size} bytes, opened in ${opened} ms, axis switched in ${Math.round(switched)} ms`,
  );
  // Times are printed, not judged: how long it takes depends on what else this machine does.
  assert.ok(size < 1.5e6);
  assert.deepEqual(page.problems, []);
  await page.close();
}

// A run that is still going: the page grows without being loaded again, and says so when the run is over.
async function livePage() {
  rmSync("live", { recursive: true, force: true });
  const run = spawn(
    tessera,
    [
      "sim",
      "--nodes=8",
      "--model=quadratic:dimension=30000",
      "--topology=ring",
      "--sharing=jwins",
      "--protocol=dpsgd:rounds=150",
      "--evaluate=every=2",
      "--threads=1",
      "--watch",
      "--out=live",
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let said = "";
  const address = await new Promise((found, failed) => {
    run.stderr.on("data", (text) => {
      said += text;
      const match = /http:\/\/127\.0\.0\.1:\d+/.exec(said);
      if (match) found(match[0]);
    });
    run.on("exit", () => failed(new Error(`the run ended without saying where to watch it: ${said}`)));
  });
  const page = await open(address);
  await page.evaluate(() => {
    window.sameDocument = true;
  });
  const shown = async () => /round ([\d,]+)/.exec(await page.locator("#runs-table").innerText({ timeout: 15000 }))?.[1];
  await page.waitForFunction(() => +document.querySelector("#runs-table").innerText.match(/round (\d+)/)?.[1] >= 6);
  await page.locator("#chart-loss .plot").scrollIntoViewIfNeeded();
  const box = await page.locator("#chart-loss .plot").boundingBox();
  const middle = [box.x + box.width / 2, box.y + 100];
  await page.mouse.move(box.x + 70, box.y + 100);
  await page.mouse.down();
  await page.mouse.move(...middle, { steps: 3 });
  await page.mouse.up();
  await page.mouse.move(middle[0] - 1, middle[1]);
  const read = await page.locator("#chart-loss .readout").innerText();
  const first = await shown();
  await page.waitForFunction(
    (before) => !new RegExp(`round ${before}\\b`).test(document.getElementById("runs-table").innerText),
    first,
    { timeout: 15000 },
  );
  await page.locator("#live[data-state=over]").waitFor({ timeout: 60000 });
  assert.match(await page.locator("#chart-loss .plot").getAttribute("aria-label"), /live ends at/);
  assert.ok(!/unfinished/.test(await page.locator("#runs-table").innerText()), "the last figures have arrived");
  assert.ok(await page.evaluate(() => window.sameDocument), "without loading the page again");
  assert.equal(await page.locator("#chart-loss .readout").innerText(), read, "what is read stays");
  assert.ok(await page.locator("#chart-loss").getByText("Whole axis").isVisible(), "what is zoomed stays zoomed");
  assert.deepEqual(page.problems, []);
  await page.close();
}

try {
  await smallPage();
  await barePage();
  await zerosPage();
  await largePage();
  if (execFileSync(tessera, ["sim", "--help"], { encoding: "utf8" }).includes("--watch")) await livePage();
  console.log("the page holds");
} finally {
  await browser.close();
}
