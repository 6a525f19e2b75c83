#!/usr/bin/env bash
# What others published, and the same run here, side by side: scripts/judge.sh JUDGE ARGUMENT...
#
#   clipped-gossip LOGS MNIST [DIR]
#     He, Karimireddy and Jaggi, "Byzantine-robust decentralized learning via ClippedGossip", 2022: two cliques of ten nodes joined by
#     one edge, MNIST, 900 rounds, without attackers. LOGS is outputs/dumbbell/exp of a checkout of
#     epfml/byzantine-robust-decentralized-optimizer, MNIST the folder of its four files. Their network has dropout and 1.2 million
#     parameters; here it is cnn28, without.
#   base-graph CHECKOUT
#     Takezawa et al., "Beyond exponential graph: communication-efficient topologies for decentralized learning via finite-time
#     convergence", NeurIPS 2023: the cases of their own test, 1 to 99 nodes with 1 to 4 peers. CHECKOUT is one of
#     yukiTakezawa/BaseGraph; its graphs are made by its own code, which needs torch (PYTHON=a Python that has it).
#   beer CHECKOUT MNIST [DIR]
#     Zhao et al., "BEER: fast O(1/T) rate for decentralized nonconvex optimization with communication compression", NeurIPS 2022: the log
#     of their CHOCO-SGD, ten nodes with a digit each. CHECKOUT is one of liboyue/beer. Needs torch and the module tessera (PYTHONPATH).
#     ROUNDS of their 8,250, in hundreds (default 1,000).
#
#   relaysgd CIFAR [DEVICE [DIR]]
#     Vogels et al., "RelaySum for decentralized deep learning on heterogeneous data", NeurIPS 2021: table 2, CIFAR-10, VGG-11, 16 nodes.
#     CIFAR is the folder of its binary files, DEVICE cuda by default. What runs can be a part of it: CELLS="ring_0.1 all_reduce" of
#     experiments/relaysgd.toml, SEEDS="1 2 3", EPOCHS of their 200, with warm-up and milestones in proportion.
#
# DIR is where the runs go (default runs/judge); what is there is not run again. JOBS runs of clipped-gossip at a time (default 1).
set -euo pipefail
cd "$(dirname "$0")/.."

readonly jobs_max=${JOBS:-1}

# The nodes of one clique hold the digits 0 to 4, those of the other 5 to 9; or everybody holds all ten. As many samples each as the rarer
# half of the digits allows.
write_split() {  # MNIST LABELS(halves|all) FILE
  python3 - "$@" <<'PYTHON'
import gzip, pathlib, random, sys
folder, which, out = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
plain = folder / "train-labels-idx1-ubyte"
labels = (plain.read_bytes() if plain.exists() else gzip.open(f"{plain}.gz").read())[8:]
halves = [[], []]
draw = random.Random(0)
for sample, label in enumerate(labels):
    halves[label // 5 if which == "halves" else draw.randrange(2)].append(sample)
each = min(map(len, halves)) // 10
node_of = ["-"] * len(labels)
for clique, samples in enumerate(halves):
    draw.shuffle(samples)
    for place, sample in enumerate(samples[: each * 10]):
        node_of[sample] = str(clique * 10 + place % 10)
pathlib.Path(out).write_text("\n".join(node_of) + "\n")
PYTHON
}

write_dumbbell() {  # FILE
  local a b
  {
    echo 20
    for a in {0..8}; do
      for ((b = a + 1; b < 10; ++b)); do echo "$a $b" && echo "$((a + 10)) $((b + 10))"; done
    done
    echo "0 19"
  } >"$1"
}

# The last figures of one of their logs: all nodes' models averaged, and the mean of the two cliques' averages.
theirs() {  # LOG
  python3 - "$1" <<'PYTHON'
import ast, sys
last = {}
for line in open(sys.argv[1]):
    row = ast.literal_eval(line)
    if "Validation" in row["_meta"]["type"]:
        last[row["_meta"]["type"].split()[0]] = row["top1"]
print(f"{last['Global']:.1f} {(last['Clique1'] + last['Clique2']) / 2:.1f}")
PYTHON
}

ours() {  # RUN
  python3 -c 'import json, sys; s = json.load(open(sys.argv[1])); print("%.1f %.1f" % (100 * s["merged_accuracy"], 100 * s["accuracy"]))' \
    "$1/summary.json"
}

run_dumbbell() {  # LABELS RULE OUT
  [[ -e $3/summary.json ]] && return
  "$tessera" sim --nodes=20 --seed=90 --data="mnist:dir=$mnist" --partition="file:path=$dir/$1.split" --model=cnn28 \
    --training=sgd:lr=0.01,momentum=0.9,batch=32,steps=1 --topology="file:path=$dir/dumbbell.edges" --protocol=dpsgd:rounds=900 \
    --sharing=full --codec=gamma+f32 --rule="$2" --evaluate=every=300 --threads=$((jobs_max > 1 ? 1 : 0)) \
    --out="$3" --overwrite --quiet >"$3.log" 2>&1 || { cat "$3.log" >&2; return 1; }
}

clipped_gossip() {  # LOGS MNIST [DIR]
  local logs=$1 labels rule percent log
  readonly mnist=$2 dir=${3:-runs/judge}/clipped-gossip
  local -A lines=([gossip_avg]=gaps [scp1]=clipped:radius=1 [cm]=median [tm1]=trimmed:drop=1 [rfa8]=geometric [krum1]=krum)
  local rules=(gossip_avg scp1 cm tm1 rfa8 krum1)
  source scripts/program.sh
  mkdir -p "$dir"
  write_dumbbell "$dir/dumbbell.edges"
  for labels in all halves; do
    write_split "$mnist" $labels "$dir/$labels.split"
    for rule in "${rules[@]}"; do
      while [[ $(jobs -rp | wc -l) -ge $jobs_max ]]; do wait -n; done
      run_dumbbell $labels "${lines[$rule]}" "$dir/$labels-$rule" &
    done
  done
  wait
  echo '| labels of a clique | their rule | ours | all models averaged: theirs | ours | within a clique: theirs | ours, mean of the nodes |'
  echo '|---|---|---|---:|---:|---:|---:|'
  for labels in all halves; do
    percent=$([[ $labels == all ]] && echo 0.0 || echo 1.0)
    for rule in "${rules[@]}"; do
      log="$logs/n20f0ATKNA_noniid${percent}_agg${rule}_lr1.000e-02_m9.000e-01_dumbbell10,0,0/stats"
      read -r merged_theirs clique_theirs < <(theirs "$log")
      read -r merged_ours nodes_ours < <(ours "$dir/$labels-$rule")
      echo "| $labels | $rule | ${lines[$rule]} | $merged_theirs | $merged_ours | $clique_theirs | $nodes_ours |"
    done
  done
}

# Rounds of a cycle, theirs beside ours. What draws is not needed, and of sympy only prime factors are.
base_graph() {  # CHECKOUT
  source scripts/program.sh
  "${PYTHON:-python3}" - "$1" "$tessera" <<'PYTHON'
import math, re, subprocess, sys, types

def factors(n):
    found, divisor = {}, 2
    while n > 1:
        while n % divisor == 0:
            found[divisor], n = found.get(divisor, 0) + 1, n // divisor
        divisor += 1
    return found

checkout, tessera = sys.argv[1:]
for name in ("matplotlib", "matplotlib.pyplot", "networkx", "sympy"):
    try:
        __import__(name)
    except ImportError:
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].factorint = factors
sys.path.insert(0, checkout)
import torch
from base_graph import BaseGraph

def theirs(nodes, peers):
    whole = torch.eye(nodes, dtype=torch.float64)
    rounds = BaseGraph(nodes, peers).w_list
    for round_ in rounds:
        whole = whole @ round_.double()
    return len(rounds), bool((whole - 1 / nodes).abs().max() < 1e-6)

def ours(nodes, peers):
    said = subprocess.run([tessera, "inspect", "--model=quadratic", f"--nodes={nodes}", f"--topology=base:peers={peers}"],
                          capture_output=True, text=True, check=True).stdout
    rounds = re.search(r"a cycle of (\d+) rounds", said)
    return int(rounds[1]) if rounds else 1, "have the exact mean" in said

print("| peers | cases | exact: theirs | ours | rounds of a cycle in all: theirs | ours | ours longer | ours shorter | over their bound: theirs | ours |")
print("|---:|---:|---:|---:|---:|---:|---:|---:|---:|---:|")
for peers in range(1, 5):
    pairs = [(n, theirs(n, peers), ours(n, peers)) for n in range(2, 100)]
    bound = {n: 2 * math.log(n, peers + 1) + 2 for n, _, _ in pairs}
    print("| " + " | ".join(map(str, (
        peers, len(pairs), sum(a[1] for _, a, _ in pairs), sum(b[1] for _, _, b in pairs), sum(a[0] for _, a, _ in pairs),
        sum(b[0] for _, _, b in pairs), sum(b[0] > a[0] for _, a, b in pairs), sum(b[0] < a[0] for _, a, b in pairs),
        sum(a[0] > bound[n] for n, a, _ in pairs), sum(b[0] > bound[n] for n, _, b in pairs)))) + " |")
PYTHON
}

beer() {  # CHECKOUT MNIST [DIR]
  OMP_NUM_THREADS=1 "${PYTHON:-python3}" scripts/judge_beer.py "$1" "$2" "${3:-runs/judge}/beer" "${ROUNDS:-1000}"
}

# The cells of their table: the accuracy of the worst of 16 models after epochs 196 and 200, mean of three seeds.
readonly relaysgd_cells=(ring_1=87.4 ring_0.1=79.9 ring_0.01=53.9 one_peer_1=87.4 one_peer_0.1=86.7 one_peer_0.01=86.7 all_reduce=87.0)

# The experiment with CIFAR's folder in it, and with fewer epochs.
write_relaysgd() {  # FILE
  local steps=$((epochs * 97))
  local warmup=$((steps / 40))
  local at=$((steps * 3 / 4 - warmup))/$((steps * 9 / 10 - warmup))
  sed -e "s#dir=[^,]*#dir=$cifar#" -e "s/rounds=19400/rounds=$steps/" -e "s/warmup=485/warmup=$warmup/" -e "s#at=14065/16975#at=$at#" \
    -e "s/every=388/every=$((epochs < 8 ? steps / 2 : 388))/" experiments/relaysgd.toml >"$1"
}

# One that was cut short goes on from its checkpoint.
run_relaysgd() {  # CELL SEED OUT
  local code=0
  [[ -e $3/summary.json ]] && return
  "$tessera" sim "$dir/$epochs.toml:$1" --seed="$2" --device="$device" --out="$3" --resume --quiet >"$3.log" 2>&1 || code=$?
  [[ $code -eq 0 ]] || cat "$3.log" >&2
  return $code
}

relaysgd_row() {  # CELL THEIRS RUN...
  python3 - "$@" <<'PYTHON'
import json, pathlib, statistics, sys
cell, theirs, *runs = sys.argv[1:]
worst, mean = [], []
for run in runs:
    rows = [json.loads(line) for line in pathlib.Path(run, "metrics.jsonl").read_text().splitlines()][-2:]
    worst.append(100 * statistics.mean(row["accuracy_min"] for row in rows))
    mean.append(100 * statistics.mean(row["accuracy"] for row in rows))
spread = f" ± {statistics.stdev(worst):.1f}" if len(worst) > 1 else ""
print(f"| {cell} | {theirs} | {statistics.mean(worst):.1f}{spread} | {statistics.mean(mean):.1f} | {len(runs)} |")
PYTHON
}

relaysgd() {  # CIFAR [DEVICE [DIR]]
  readonly cifar=$(realpath "$1") device=${2:-cuda} dir=${3:-runs/judge}/relaysgd epochs=${EPOCHS:-200}
  local pair cell seed run runs code failed=0
  # What sed, TOML or a line of options would read as something else.
  if [[ $cifar == *[\&\#,\\\"\']* ]]; then
    echo "judge: $cifar: no & # , \\ \" or ' can be in this path: name CIFAR by a link" >&2
    return 2
  fi
  source scripts/program.sh
  mkdir -p "$dir"
  write_relaysgd "$dir/$epochs.toml"
  echo "| cell, $epochs epochs | worst node, %: theirs (200 epochs, three seeds) | ours | mean of the nodes | seeds |"
  echo '|---|---:|---:|---:|---:|'
  for pair in "${relaysgd_cells[@]}"; do
    cell=${pair%=*}
    [[ -z ${CELLS:-} || " $CELLS " == *" $cell "* ]] || continue
    runs=()
    for seed in ${SEEDS:-1 2 3}; do
      run=$dir/$cell-seed-$seed-epochs-$epochs
      code=0
      run_relaysgd "$cell" "$seed" "$run" || code=$?
      case $code in
        0) runs+=("$run") ;;
        130 | 143) return $code ;;  # Stopped by a signal.
        *)
          echo "judge: $cell with seed $seed failed and is not counted; its log is $run.log" >&2
          failed=1
          ;;
      esac
    done
    [[ ${#runs[@]} -eq 0 ]] || relaysgd_row "$cell" "${pair#*=}" "${runs[@]}"
  done
  return $failed
}

main() {
  case ${1:-} in
    clipped-gossip)
      [[ $# -ge 3 && $# -le 4 ]] || { echo "usage: scripts/judge.sh clipped-gossip LOGS MNIST [DIR]" >&2; return 2; }
      shift
      clipped_gossip "$@"
      ;;
    base-graph)
      [[ $# -eq 2 ]] || { echo "usage: scripts/judge.sh base-graph CHECKOUT" >&2; return 2; }
      base_graph "$2"
      ;;
    beer)
      [[ $# -ge 3 && $# -le 4 ]] || { echo "usage: scripts/judge.sh beer CHECKOUT MNIST [DIR]" >&2; return 2; }
      shift
      beer "$@"
      ;;
    relaysgd)
      [[ $# -ge 2 && $# -le 4 ]] || { echo "usage: scripts/judge.sh relaysgd CIFAR [DEVICE [DIR]]" >&2; return 2; }
      shift
      relaysgd "$@"
      ;;
    *)
      echo "judge: there is no judge '${1:-}'. Known: clipped-gossip, base-graph, beer, relaysgd." >&2
      return 2
      ;;
  esac
}

main "$@"
