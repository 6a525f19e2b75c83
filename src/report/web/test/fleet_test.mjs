// Drives the page of a fleet: eight live nodes by hand, one of them killed and started again, and a feed of a hundred.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { chromium } from "playwright-core";

const [tessera, executablePath] = process.argv.slice(2);
const NODES = 8;
const name = (id) => `n${id}`;
const children = [];

const freePort = () =>
  new Promise((found) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address();
      server.close(() => found(port));
    });
  });

const run = (...words) => execFileSync(tessera, words, { cwd: "fleet", stdio: "pipe" });

async function makeRoster() {
  rmSync("fleet", { recursive: true, force: true });
  mkdirSync("fleet");
  run("keygen", "desk");
  for (let id = 0; id < NODES; ++id) {
    run("keygen", name(id));
    run("roster", "add", "roster.toml", name(id), `127.0.0.1:${await freePort()}`, `${name(id)}.pub`);
  }
  run("roster", "observe", "roster.toml", "desk", "desk.pub");
}

function start(...words) {
  const child = spawn(tessera, words, { cwd: "fleet", stdio: ["ignore", "ignore", "pipe"] });
  child.said = "";
  child.stderr.on("data", (text) => (child.said += text));
  children.push(child);
  return child;
}

const startNode = (id) =>
  start(
    "node",
    `--name=${name(id)}`,
    `--key=${name(id)}.key`,
    "--roster=roster.toml",
    "--experiment=experiment.toml",
    "--pace=100ms",
    "--checkpoint=1s",
  );

async function addressOf(child) {
  for (let i = 0; i < 300; ++i) {
    const match = /http:\/\/127\.0\.0\.1:\d+/.exec(child.said);
    if (match) return match[0];
    await new Promise((later) => setTimeout(later, 100));
  }
  throw new Error(`it did not say where to look: ${child.said}`);
}

// A page on which any error, warning or request to anywhere fails the test.
async function open(browser, address, feed) {
  const page = await browser.newPage({ viewport: { width: 1280, height: 1000 } });
  page.problems = [];
  page.on("console", (message) => page.problems.push(`console: ${message.text()}`));
  page.on("pageerror", (error) => page.problems.push(`error: ${error.stack}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(address) && !request.url().startsWith("data:"))
      page.problems.push(`request: ${request.url()}`);
  });
  if (feed) await page.route("**/data.json", feed);
  await page.goto(address);
  return page;
}

const row = (page, id) => page.locator(`#fleet tr[data-node=${name(id)}]`);
const isNow = (page, id, is) =>
  page.waitForFunction(
    ([node, word]) =>
      document.querySelector(`#topology [data-node=${node}]`)?.dataset.is === word &&
      document.querySelector(`#fleet tr[data-node=${node}] .is`)?.textContent === word,
    [name(id), is],
    { timeout: 60000 },
  );

const says = (page, id, pattern) =>
  page.waitForFunction(
    ([node, wanted]) => new RegExp(wanted, "s").test(document.querySelector(`#fleet tr[data-node=${node}]`)?.innerText),
    [name(id), pattern],
    { timeout: 60000 },
  );

const brokenEdges = (page, count) =>
  page.waitForFunction((wanted) => document.querySelectorAll("#topology line.broken").length === wanted, count, {
    timeout: 60000,
  });

async function liveFleet(browser) {
  await makeRoster();
  writeFileSync(
    "fleet/experiment.toml",
    'nodes = 8\nmodel = "quadratic:dimension=1000"\ntopology = "ring"\n' +
      'protocol = "dpsgd:rounds=100000,patience=1s"\nevaluate = "every=5"\n',
  );
  const nodes = [];
  for (let id = 0; id < NODES; ++id) nodes.push(startNode(id));
  const address = await addressOf(start("watch", "roster.toml", "--key=desk.key"));
  const page = await open(browser, address);
  for (let id = 0; id < NODES; ++id) await isNow(page, id, "alive");
  await brokenEdges(page, 0); // Nodes answer before they have found one another.
  await page.locator("#alarms").waitFor({ state: "hidden", timeout: 60000 });
  assert.equal(await page.locator("#subtitle").innerText(), "8 nodes: 8 alive, 0 slow, 0 lost");
  assert.equal(await page.locator("#topology line").count(), 8, "a ring has as many edges as nodes");
  const first = await row(page, 0).innerText();
  await page.waitForFunction((text) => document.querySelector("#fleet tr[data-node=n0]").innerText !== text, first);
  await page.screenshot({ path: "shots/fleet.png", fullPage: true });

  nodes[3].kill("SIGKILL");
  await isNow(page, 3, "lost");
  await says(page, 3, "connection refused.*heard it \\d+ s ago"); // Before that: the connection broke.
  await brokenEdges(page, 2); // Its own.
  assert.equal(await page.locator("#subtitle").innerText(), "8 nodes: 7 alive, 0 slow, 1 lost");
  await page.screenshot({ path: "shots/fleet-lost.png", fullPage: true });
  startNode(3);
  await isNow(page, 3, "alive");

  const metrics = await (await fetch(`${address}/metrics`)).text();
  assert.match(metrics, /^tessera_up\{node="n7"\} 1$/m);
  assert.deepEqual(page.problems, []);
  await page.close();
  return address;
}

const HUNDRED = Array.from({ length: 100 }, (_, id) => ({
  id,
  name: `node-${id}`,
  address: "10.0.0.1:5555",
  is: id % 17 === 3 ? "lost" : id % 23 === 5 ? "slow" : "alive",
  why: id % 17 === 3 ? "connection refused" : "",
  alarms: id === 50 ? ["ALONE: no peer has been alive for 9 s"] : [],
  state: "training",
  waiting_for: "",
  round: 100 + id,
  rounds: 1000,
  accuracy: 0.5,
  bytes_out: 1e6 * id,
  bytes_in: 1e6,
  refusals: 0,
  version: "1.0",
  seconds_left: 100,
  neighbours: [1, 2, 3, 97, 98, 99].map((step) => (id + step) % 100),
  links: [1, 2, 3, 97, 98, 99].map((step) => ({ id: (id + step) % 100, is: "alive", why: "", out: 1e5, in: 1e5 })),
}));

// One of them dials out: nobody can ask it, and the others hear it.
const dialsOut = ({ id, name }) => ({ id, name, address: "dials-out", is: "heard", why: "it dials out", alarms: [] });
HUNDRED[60] = dialsOut(HUNDRED[60]);

// Drawn again every second; a task of more than 50 ms is one that a reader could feel.
async function aHundred(browser, address) {
  let asked = 0;
  const page = await open(browser, address, (route) => {
    const nodes = HUNDRED.map((node) => ({ ...node, round: node.round + asked }));
    ++asked;
    return route.fulfill({ json: { title: "a hundred", live: true, nodes } });
  });
  await page.waitForFunction(() => document.querySelectorAll("#fleet tbody tr").length === 100);
  await page.evaluate(() => {
    window.longest = 0;
    new PerformanceObserver((list) => {
      for (const task of list.getEntries()) window.longest = Math.max(window.longest, task.duration);
    }).observe({ type: "longtask" });
  });
  const before = asked;
  while (asked < before + 5) await page.waitForTimeout(100);
  assert.equal(await page.locator("#topology line").count(), 300);
  assert.equal(await page.locator("#alarms li").count(), 1);
  const heard = await page.locator("#fleet tr[data-node=node-60]").innerText();
  assert.match(heard, /heard.*it dials out/s);
  assert.doesNotMatch(heard, /NaN|undefined/);
  assert.match(await page.locator("#subtitle").innerText(), / lost, 1 heard$/);
  const longest = await page.evaluate(() => window.longest);
  console.log(`a hundred nodes: the longest task of five updates took ${longest || "less than 50"} ms`);
  assert.ok(longest < 500, `an update of ${longest} ms`);
  await page.screenshot({ path: "shots/fleet-hundred.png", fullPage: true });
  assert.deepEqual(page.problems, []);
  await page.close();
}

const browser = await chromium.launch({ executablePath, args: ["--no-sandbox"] });
try {
  await aHundred(browser, await liveFleet(browser));
  console.log("the fleet's page holds");
} finally {
  await browser.close();
  for (const child of children) child.kill("SIGKILL");
}
