#!/usr/bin/env bash
# Attacks against rules of averaging: scripts/byzantine.sh [DIR] runs what is not there yet and prints the table.
#
# Every cell is experiments/byzantine.toml:SHARING with another attack and rule; the figure is the accuracy of the honest nodes,
# mean and deviation over seeds. DIR is where the runs go (default runs/byzantine). To run less of it:
#
#   SHARINGS=full ATTACKS="none alie" RULES="mean clipped" SEEDS=90 scripts/byzantine.sh
#
# and to run it elsewhere than on one core: JOBS=14 FLAGS=--device=cuda, fourteen runs at a time on one GPU.
# A run whose honest models diverge has no accuracy: its cell says so. Below the table stands what a rule costs: the time outside of
# training and evaluating, in milliseconds per node and round, of the runs without attackers. For figures that compare, let
# JOBS be the number of cores: then every run has one thread.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly dir=${1:-runs/byzantine}
read -ra sharings <<<"${SHARINGS:-full jwins}"
read -ra attacks <<<"${ATTACKS:-none sign_flip ipm alie dissensus label_flip random nan stale future degree}"
read -ra rules <<<"${RULES:-mean clipped trimmed median krum nnm}"
read -ra seeds <<<"${SEEDS:-90 91 92}"
read -ra flags <<<"${FLAGS:-}"
readonly jobs_max=${JOBS:-1}
declare -A lines=([mean]=gaps [clipped]=clipped:hostile=4 [trimmed]=trimmed:drop=4 [median]=median [geometric]=geometric
  [krum]=krum:hostile=4 [multikrum]=multikrum:hostile=4 [nnm]=nnm:hostile=4,then=trimmed:drop=4)

run_cell() {  # SHARING ATTACK RULE SEED
  local out=$dir/$1-$2-$3-$4 faults=hostile=4,attack=$2
  [[ -e $out/summary.json || -e $out/diverged ]] && return
  [[ $2 == none ]] && faults=none
  if ! "$tessera" sim "experiments/byzantine.toml:$1" --seed="$4" --rule="${lines[$3]}" --faults="$faults" --out="$out" \
    --threads=$((jobs_max > 1 ? 1 : 0)) "${flags[@]}" --overwrite >"$out.log" 2>&1; then
    [[ -e $out/diverged ]] || { cat "$out.log" >&2; return 1; }
  fi
}

run_cells() {
  local sharing attack rule seed failed=0
  for seed in "${seeds[@]}"; do
    for sharing in "${sharings[@]}"; do
      for attack in "${attacks[@]}"; do
        for rule in "${rules[@]}"; do
          while [[ $(jobs -rp | wc -l) -ge $jobs_max ]]; do wait -n || failed=1; done
          run_cell "$sharing" "$attack" "$rule" "$seed" &
        done
      done
    done
  done
  while [[ $(jobs -rp | wc -l) -gt 0 ]]; do wait -n || failed=1; done
  return $failed
}

cell() {  # SHARING ATTACK RULE: the figures of all seeds as one
  local seed
  for seed in "${seeds[@]}"; do
    sed -n 's/^  "accuracy": \([0-9.e-]*\),$/\1/p' "$dir/$1-$2-$3-$seed/summary.json" 2>/dev/null || echo diverged
  done | awk '/diverged/ { bad++; next } { n++; sum += $1; squares += $1 * $1 }
    END { if (bad) { printf "diverged"; exit }
          mean = sum / n; printf "%.1f", 100 * mean
          if (n > 1) { v = (squares - n * mean * mean) / (n - 1); printf " ± %.1f", 100 * sqrt(v > 0 ? v : 0) } }'
}

cost() {  # SHARING RULE: the least and the most of all seeds
  local seed
  for seed in "${seeds[@]}"; do
    sed -n 's/^  "\(loop_seconds\|training_seconds\|evaluating_seconds\|rounds\|nodes\)": \([0-9.e-]*\),$/\1 \2/p' \
      "$dir/$1-none-$2-$seed/summary.json" 2>/dev/null |
      awk '{ v[$1] = $2 } END { if (v["rounds"] > 0) print 1000 * (v["loop_seconds"] - v["training_seconds"] \
        - v["evaluating_seconds"]) / (v["rounds"] * v["nodes"]) }'
  done | sort -g | awk '{ v[NR] = sprintf("%.1f", $1) } END { printf "%s", v[1]; if (v[1] != v[NR]) printf " to %s", v[NR] }'
}

source scripts/program.sh
mkdir -p "$dir"
run_cells
for sharing in "${sharings[@]}"; do
  printf '\n%s, accuracy of the honest nodes in %%\n\n| attack |' "$sharing"
  printf ' %s |' "${rules[@]}"
  printf '\n|---|'
  printf -- '---:|%.0s' "${rules[@]}"
  for attack in "${attacks[@]}"; do
    printf '\n| %s |' "$attack"
    for rule in "${rules[@]}"; do printf ' %s |' "$(cell "$sharing" "$attack" "$rule")"; done
  done
  printf '\n| ms per node and round |'
  for rule in "${rules[@]}"; do printf ' %s |' "$(cost "$sharing" "$rule")"; done
  printf '\n'
done
