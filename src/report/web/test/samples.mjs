// Writes run folders as tessera sim leaves them, with curves made up from a seed, for the page's tests:
//   node samples.mjs FOLDER          full, jwins (three seeds), divshare (asynchronous), stopped (unfinished)
//   node samples.mjs FOLDER large    twenty runs of 5,000 rows and 96 nodes
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

// A small generator of its own, so that the samples are the same everywhere.
function random(seed) {
  let state = seed * 2654435761 + 12345;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 4294967296;
  };
}

const CLASSES = ["plane", "car", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"];

function factsOf(nodes, draw, accuracy, asynchronous) {
  const edges = [];
  for (let i = 0; i < nodes; ++i) for (const hop of [1, 7]) edges.push([i, (i + hop) % nodes]);
  const counts = Array.from({ length: nodes }, () => {
    const row = CLASSES.map(() => 0);
    for (let s = 0; s < 2; ++s) row[Math.floor(draw() * 10)] += 180 + Math.floor(draw() * 80);
    return row;
  });
  const per = (make) => Array.from({ length: nodes }, (_, i) => make(i));
  const late = (i) => asynchronous && i % 3 === 0;
  return {
    node_accuracy: per((i) => accuracy * (0.8 + 0.35 * draw()) - (late(i) ? 0.03 : 0)),
    node_loss: per(() => 1.5 + draw()),
    edges,
    class_counts: counts,
    class_names: CLASSES,
    stragglers: per((i) => i).filter(late),
    node_bytes: per(() => 5e8 * (1 + 0.1 * draw())),
    ...(asynchronous
      ? {
          node_rounds: per((i) => (late(i) ? 300 : 900)),
          node_staleness: per((i) => (late(i) ? 6 : 1) + draw()),
          node_queue: per((i) => (late(i) ? 20 : 1) * draw()),
          node_link_use: per((i) => (late(i) ? 0.98 : 0.5 + 0.2 * draw())),
        }
      : {}),
  };
}

function writeRun(
  folder,
  {
    seed = 90,
    nodes = 16,
    rows = 60,
    every = 20,
    top = 0.45,
    speed = 4,
    bytes = 1.3e6,
    metadata = 0.05,
    asynchronous = false,
    finished = true,
    sharing = "full",
    codec = "raw+f32",
    data = "cifar10",
    wobble = 0.01,
    facts = true,
    toy = false,
    zeros = false,
  },
) {
  mkdirSync(folder, { recursive: true });
  const draw = random(seed + sharing.length * 1000 + Math.round(bytes));
  const rounds = rows * every;
  const planned = finished ? rounds : 2 * rounds;
  const protocol = asynchronous ? `divshare:rounds=${planned}` : `dpsgd:rounds=${planned}`;
  const network = asynchronous ? "links:up=60Mbit/s,down=60Mbit/s,latency=1ms,stragglers=5" : "ideal";
  const config = {
    nodes,
    seed,
    data,
    partition: "shards:per_node=2",
    model: "gn-lenet",
    training: "sgd:lr=0.01,batch=8,steps=3",
    topology: "regular:degree=4",
    protocol,
    sharing,
    codec,
    network,
    evaluate: `every=${every}`,
    device: "cpu",
  };
  writeFileSync(
    join(folder, "config.toml"),
    Object.entries(config)
      .map(([k, v]) => `${k} = "${v}"\n`)
      .join(""),
  );
  const lines = [];
  let last = {};
  for (let i = 1; i <= rows; ++i) {
    const done = i / rows;
    const accuracy =
      0.1 + ((top - 0.1) * (1 - Math.exp(-speed * done))) / (1 - Math.exp(-speed)) + wobble * (draw() - 0.5);
    const loss = 2.4 - 2.2 * accuracy + 0.04 * (draw() - 0.5);
    const sent = bytes * i * every;
    last = {
      round: i * every,
      accuracy,
      accuracy_min: Math.max(0.05, accuracy - 0.09 - 0.03 * draw()),
      accuracy_max: accuracy + 0.08 + 0.03 * draw(),
      loss,
      loss_min: loss * 0.75,
      loss_max: loss * 1.5,
      train_loss: 0.3 + 2 * Math.exp(-3 * done) + 0.05 * draw(),
      bytes_sent_per_node: sent,
      value_bytes_per_node: sent * (1 - metadata),
      metadata_bytes_per_node: sent * metadata,
      messages: i * every * nodes * 4,
      virtual_seconds: i * every * (asynchronous ? 0.35 : 0.6),
    };
    if (toy) Object.assign(last, { accuracy: 0, accuracy_min: 0, accuracy_max: 0, virtual_seconds: 0 });
    if (zeros) Object.assign(last, { loss: 0, loss_min: 0, loss_max: 0 });
    if (asynchronous)
      Object.assign(last, {
        rounds_min: Math.floor(i * every * 0.35),
        rounds_max: Math.ceil(i * every * 1.1),
        delivered_fraction: 0.93 + 0.05 * draw(),
        staleness: 1.5 + draw(),
        staleness_max: 6 + 3 * draw(),
        delay_seconds: 0.4 + 0.2 * draw(),
        queue: 2 + 2 * draw(),
        queue_max: 15 + 12 * draw(),
        link_use: 0.6 + 0.1 * draw(),
        link_use_max: 0.97,
      });
    lines.push(JSON.stringify(last));
  }
  writeFileSync(join(folder, "metrics.jsonl"), lines.join("\n") + "\n");
  if (!finished) return null;
  const { round, ...figures } = last;
  const summary = {
    ...figures,
    rounds: round,
    seed,
    nodes,
    parameters: 89834,
    refusals: {},
    wall_seconds: 45 + 10 * draw(),
    model_digest: (seed * 7919 + sharing.length).toString(16).padStart(16, "0"),
    command: `tessera sim experiments/jwins/cifar10.toml --sharing=${sharing} --seed=${seed}`,
    ...(facts
      ? factsOf(nodes, random(seed), top, asynchronous)
      : {
          node_accuracy: Array(nodes).fill(0),
          node_loss: Array(nodes)
            .fill(1)
            .map((v, i) => v + i),
        }),
  };
  writeFileSync(join(folder, "summary.json"), JSON.stringify(summary, null, 2));
  return summary;
}

function writeSeeds(folder, seeds, options) {
  const runs = seeds.map((seed) =>
    writeRun(join(folder, `seed-${seed}`), { ...options, seed, top: options.top + 0.004 * (seed % 5) }),
  );
  writeFileSync(join(folder, "summary.json"), JSON.stringify({ seeds, command: runs[0].command, runs }, null, 2));
}

const [folder, size] = process.argv.slice(2);
if (size === "large") {
  for (let i = 0; i < 20; ++i)
    writeRun(join(folder, `run-${String(i).padStart(2, "0")}`), {
      nodes: 96,
      rows: 5000,
      every: 1,
      top: 0.3 + 0.01 * i,
      bytes: 2e5 * (1 + i),
      sharing: `random:budget=${(i + 1) / 20}`,
      asynchronous: i % 2 === 1,
      seed: 90,
    });
} else {
  writeRun(join(folder, "full"), { top: 0.45, bytes: 1.4e6, metadata: 0.002 });
  writeSeeds(join(folder, "jwins"), [90, 91, 92], {
    top: 0.44,
    bytes: 4.3e5,
    metadata: 0.06,
    sharing: "jwins",
    codec: "gamma+planes",
  });
  writeRun(join(folder, "divshare"), {
    top: 0.47,
    bytes: 9e5,
    metadata: 0.01,
    sharing: "fragments:fraction=0.1",
    asynchronous: true,
  });
  writeRun(join(folder, "../bare/toy"), { top: 0.1, wobble: 0, toy: true, facts: false });
  writeRun(join(folder, "../zeros/zeros"), { toy: true, zeros: true, facts: false });
  writeRun(join(folder, "stopped"), {
    top: 0.25,
    speed: 1,
    bytes: 5e5,
    rows: 25,
    metadata: 0.02,
    sharing: "random:budget=0.37",
    finished: false,
  });
}
