// The fleet, as the program last saw it: alarms, the topology, a row for every node. It asks again every second.

const SVG = "http://www.w3.org/2000/svg";

function svg(tag, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

const fleet = { places: new Map() };

// Nodes on a circle, in the order of their ids; the same as long as the members are.
function placeNodes(nodes) {
  const radius = Math.max(150, nodes.length * 5.2);
  fleet.places = new Map();
  nodes.forEach((node, i) => {
    const angle = (2 * Math.PI * i) / nodes.length - Math.PI / 2;
    fleet.places.set(node.id, { x: radius * Math.cos(angle), y: radius * Math.sin(angle), angle });
  });
  return radius;
}

// {a, b, broken, text} for every pair of neighbours, whichever of the two names the other.
function edgesOf(nodes) {
  const byId = new Map(nodes.map((node) => [node.id, node]));
  const edges = new Map();
  const pair = (a, b) => (a < b ? `${a} ${b}` : `${b} ${a}`);
  for (const node of nodes)
    for (const id of node.neighbours || [])
      if (byId.has(id)) edges.set(pair(node.id, id), { a: Math.min(node.id, id), b: Math.max(node.id, id), said: [] });
  for (const node of nodes)
    for (const link of node.links || []) {
      const edge = edges.get(pair(node.id, link.id));
      if (!edge) continue;
      if (link.is !== "alive") edge.broken = true;
      const name = byId.get(link.id).name;
      edge.said.push(
        `${node.name} to ${name}: ${link.is}${link.why ? ` (${link.why})` : ""}, ` +
          `${showBytes(link.out)} out, ${showBytes(link.in)} in`,
      );
    }
  for (const edge of edges.values())
    if (byId.get(edge.a).is === "lost" || byId.get(edge.b).is === "lost") edge.broken = true;
  return [...edges.values()];
}

// A circle, a ring, a triangle or a cross: what a node is does not hang on its colour.
function shapeOf(is) {
  if (is === "slow") return svg("path", { d: "M0,-8 L8,6 L-8,6 Z", class: is });
  if (is === "lost") return svg("path", { d: "M-7,-4 L-4,-7 L0,-3 L4,-7 L7,-4 L3,0 L7,4 L4,7 L0,3 L-4,7 L-7,4 L-3,0 Z", class: is });
  return svg("circle", { r: is === "heard" ? 6 : 7, class: is });
}

// Where a node's name stands: beside its shape, and where many would cover each other along the ray from the middle.
function besideShape(angle) {
  const [x, y] = [Math.cos(angle), Math.sin(angle)];
  if (Math.abs(x) < 0.2) return { y: y > 0 ? 26 : -16, "text-anchor": "middle" };
  return { x: 14 * x, y: 14 * y + 4, "text-anchor": x > 0 ? "start" : "end" };
}

function alongRay(angle) {
  const degrees = (180 * angle) / Math.PI;
  const left = Math.cos(angle) < 0;
  return {
    x: left ? -13 : 13,
    y: 4,
    "text-anchor": left ? "end" : "start",
    transform: `rotate(${left ? degrees + 180 : degrees})`,
  };
}

const shortName = (name) => (name.length > 14 ? name.slice(0, 13) + "…" : name);

const wordsOf = (node) => `${node.name} is ${node.is}${node.why ? `: ${node.why}` : ""}`;

function drawTopology(nodes) {
  const radius = placeNodes(nodes);
  const room = radius + (nodes.length > 24 ? 115 : 70);
  const said = document.getElementById("said");
  const drawing = svg("svg", {
    viewBox: `${-room} ${-room} ${2 * room} ${2 * room}`,
    class: nodes.length > 24 ? "large" : "",
    role: "img",
    "aria-label": nodes.map(wordsOf).join("; "),
  });
  for (const edge of edgesOf(nodes)) {
    const [a, b] = [fleet.places.get(edge.a), fleet.places.get(edge.b)];
    const line = svg("line", { x1: a.x, y1: a.y, x2: b.x, y2: b.y, "data-edge": `${edge.a} ${edge.b}` });
    if (edge.broken) line.setAttribute("class", "broken");
    line.append(svg("title", {}, edge.said.join("\n")));
    drawing.append(line);
  }
  for (const node of nodes) {
    const { x, y, angle } = fleet.places.get(node.id);
    const group = svg("g", { transform: `translate(${x},${y})`, "data-node": node.name, "data-is": node.is });
    group.append(svg("title", {}, wordsOf(node)), shapeOf(node.is));
    group.append(svg("text", nodes.length > 24 ? alongRay(angle) : besideShape(angle), shortName(node.name)));
    group.addEventListener("mouseenter", () => (said.textContent = wordsOf(node)));
    drawing.append(group);
  }
  document.getElementById("topology").replaceChildren(drawing);
}

function roundCell(node) {
  const text = node.rounds > 0 ? `${showRound(node.round)} of ${showRound(node.rounds)}` : showRound(node.round);
  if (!(node.rounds > 0)) return el("td", {}, text);
  const width = Math.min(100, (100 * node.round) / node.rounds);
  return el("td", {}, text, el("span", { class: "track" }, el("span", { class: "bar", style: `width:${width}%` })));
}

function rowOf(node) {
  const name = el("th", { scope: "row" }, node.name);
  const is = el("td", { class: "text" }, el("span", { class: `is ${node.is}` }, node.is));
  const doing = node.waiting_for ? `${node.state} for ${node.waiting_for}` : node.state;
  const why = el("td", { class: "text" }, node.why || doing || "");
  const none = () => el("td", {}, "–");
  if (node.is === "lost" || node.is === "heard")
    return el("tr", { "data-node": node.name }, name, is, none(), none(), none(), none(), none(), none(), none(), why);
  return el(
    "tr",
    { "data-node": node.name },
    name,
    is,
    roundCell(node),
    el("td", {}, showPercent(node.accuracy)),
    el("td", {}, showBytes(node.bytes_out)),
    el("td", {}, showBytes(node.bytes_in)),
    el("td", {}, showRound(node.refusals)),
    el("td", {}, node.version || "–"),
    el("td", {}, node.seconds_left == null ? "–" : showSeconds(Math.round(node.seconds_left))),
    why,
  );
}

function drawAlarms(nodes) {
  const items = nodes.flatMap((node) => node.alarms.map((alarm) => el("li", {}, `${node.name}: ${alarm}`)));
  document.getElementById("alarms").hidden = items.length === 0;
  document.querySelector("#alarms ul").replaceChildren(...items);
}

function draw(data) {
  const nodes = data.nodes;
  const count = (is) => nodes.filter((node) => node.is === is).length;
  document.getElementById("title").textContent = document.title = data.title;
  document.getElementById("subtitle").textContent =
    `${nodes.length} nodes: ${count("alive")} alive, ${count("slow")} slow, ${count("lost")} lost` +
    (count("heard") > 0 ? `, ${count("heard")} heard` : "");
  drawAlarms(nodes);
  drawTopology(nodes);
  document.querySelector("#fleet tbody").replaceChildren(...nodes.map(rowOf));
}

async function follow() {
  const status = document.getElementById("live");
  for (;;) {
    try {
      const answer = await fetch("data.json", { cache: "no-store" });
      const data = await answer.json();
      if (data.nodes.length > 0) draw(data);
      status.textContent = data.live ? "Live" : "It is over; this is how the nodes were last";
      status.dataset.state = data.live ? "live" : "over";
      if (!data.live) return;
    } catch {
      status.textContent = "The program cannot be reached; this is what it saw last";
      status.dataset.state = "lost";
    }
    await new Promise((resolve) => setTimeout(resolve, 1000));
  }
}

setUpTheme();
follow();
