#!/usr/bin/env bash
# The program under a real Slurm: scripts/slurm_test.sh PROGRAM
#
# Starts munge, slurmctld and slurmd for itself, on the loopback address with a folder of their own, and ends them. Shows that
# srun -n 4 ends in the bits of one process, that a sweep's job array makes the table that the sweep makes by itself, and that a
# job which is warned of its time limit is queued again and resumes to the same bits. Slurm looks at limits twice a minute, so the
# warning is sent by hand; LIMIT=1 waits for Slurm's own, which takes some minutes. Exits with 77 where Slurm is not there or may not be
# started (it wants root and ports 16817 and 16818).
set -euo pipefail

readonly program=$(realpath "$1")
readonly home=$(mktemp -d /tmp/tessera-slurm-XXXXXX)
export SLURM_CONF=$home/slurm.conf
daemons=()

say() { echo "slurm: $*"; }
skip() {
  say "skipped: $*"
  exit 77
}
fail() {
  say "FAILED: $*"
  tail -n 10 "$home"/*.log 2>/dev/null || true
  exit 1
}
end() {
  [[ ${#daemons[@]} -gt 0 ]] && kill "${daemons[@]}" 2>/dev/null
  wait 2>/dev/null
  rm -rf "$home"
}
trap end EXIT

configure() {
  local host
  host=$(hostname -s)
  mkdir -p "$home/state" "$home/spool"
  chmod 755 "$home"
  head -c 1024 /dev/urandom >"$home/munge.key"
  chmod 400 "$home/munge.key"
  cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$home/munge.sock
CredType=cred/munge
StateSaveLocation=$home/state
SlurmdSpoolDir=$home/spool
SlurmctldPidFile=$home/slurmctld.pid
SlurmdPidFile=$home/slurmd.pid
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SlurmdParameters=config_overrides
ReturnToService=2
SchedulerParameters=sched_interval=2,sched_min_interval=0,batch_sched_delay=1
KillWait=20
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
}

start() {
  local tries
  munged --foreground --force --key-file="$home/munge.key" --socket="$home/munge.sock" --pid-file="$home/munge.pid" \
    --log-file="$home/munge.log" --seed-file="$home/munge.seed" >"$home/munged.log" 2>&1 &
  daemons+=($!)
  for tries in {1..100}; do [[ -S $home/munge.sock ]] && break || sleep 0.1; done
  slurmctld -D -i >"$home/slurmctld.log" 2>&1 &
  daemons+=($!)
  slurmd -D -N "$(hostname -s)" >"$home/slurmd.log" 2>&1 &
  daemons+=($!)
  for tries in {1..150}; do
    [[ $(sinfo --noheader --format=%T 2>/dev/null) == idle ]] && return
    sleep 0.2
  done
  tail -n 5 "$home/slurmctld.log" "$home/slurmd.log"
  skip "it cannot be started here"
}

digest() { sed -n 's/^  "model_digest": "\(.*\)",$/\1/p' "$1/summary.json"; }

readonly toy="--model=quadratic:dimension=2000 --nodes=12 --sharing=jwins --evaluate=every=100"
readonly short=--protocol=dpsgd:rounds=300

# shellcheck disable=SC2086  # Flags.
ranks() {
  "$program" sim $toy $short --out="$home/alone" >/dev/null 2>&1
  timeout 120 srun --mpi=pmix -n 4 "$program" sim $toy $short --out="$home/four" >"$home/four.log" 2>&1 || fail "srun -n 4"
  [[ $(digest "$home/four") == "$(digest "$home/alone")" ]] || fail "four ranks end in other bits"
  say "srun -n 4: $(digest "$home/four"), as one process"
  if timeout 60 srun --mpi=none -n 2 "$program" sim $toy $short --out="$home/none" >"$home/none.log" 2>&1; then
    fail "two processes without MPI's help ran"
  fi
  [[ $(grep -c 'tessera:.*--mpi=pmix' "$home/none.log") == 1 ]] || fail "srun without pmix is not explained once"
}

sweep() {
  cat >"$home/grid.toml" <<END
nodes    = 6
model    = "quadratic:dimension=100"
protocol = "dpsgd:rounds=20"
[sweep]
seed    = "90..91"
sharing = ["full", "jwins"]
END
  (cd "$home" && "$program" sweep grid.toml --out=by-itself --quiet >/dev/null &&
    "$program" sweep grid.toml --out=by-slurm --slurm >"$home/array.log" 2>&1) || fail "the job array's script"
  wait_for_jobs
  (cd "$home" && "$program" sweep grid.toml --out=by-slurm --quiet >/dev/null)
  cmp "$home/by-itself/table.csv" "$home/by-slurm/table.csv" || fail "the array's table is another"
  say "a job array of four cells: the table of the sweep by itself"
}

# A job of so many rounds, whose limit is a minute, the least there is.
requeue() {
  cat >"$home/long.sbatch" <<END
#!/bin/bash
#SBATCH --time=1
#SBATCH --ntasks=2
#SBATCH --requeue
#SBATCH --open-mode=append
#SBATCH --signal=USR1@20
#SBATCH --output=$home/long.log
srun --mpi=pmix "$program" sim $toy --out="$home/long" --resume --protocol=dpsgd:rounds=$1 || exit
[[ -e "$home/long/summary.json" ]] || scontrol requeue \$SLURM_JOB_ID
END
  # shellcheck disable=SC2086
  "$program" sim $toy --protocol=dpsgd:rounds="$1" --out="$home/whole" >/dev/null 2>&1
  local job warned=0
  job=$(sbatch --parsable "$home/long.sbatch")
  while [[ ${LIMIT:-0} == 0 && $warned == 0 && -n $(squeue --noheader --job="$job" 2>/dev/null) ]]; do
    sleep 0.2
    if grep -q 'by 2 ranks' "$home/long.log" 2>/dev/null; then
      scancel --signal=USR1 "$job"
      warned=1
    fi
  done
  wait_for_jobs
  [[ $(digest "$home/long") == "$(digest "$home/whole")" ]] || fail "the job that was queued again ends in other bits"
  grep -q 'resuming after round' "$home/long.log" || fail "the job was never cut short"
  say "cut short by its time limit $(grep -c 'stopped after' "$home/long.log") time(s), resumed to the same bits"
}

# Slurm lets a job that was queued again wait for two minutes.
hurry() {
  local job
  for job in $(squeue --noheader --states=PENDING --format=%A); do
    scontrol update JobId="$job" StartTime=now 2>/dev/null || true
  done
}

wait_for_jobs() {
  local tries
  for tries in {1..600}; do
    [[ -z $(squeue --noheader) ]] && return
    hurry
    sleep 0.5
  done
  squeue
  fail "jobs do not end"
}

for needed in munged slurmctld slurmd srun sbatch; do
  command -v "$needed" >/dev/null || skip "there is no $needed (scripts/setup.sh test installs Slurm)"
done
[[ $(id -u) == 0 ]] || skip "it is started by root only"
configure
start
[[ $(srun --mpi=list 2>&1) == *pmix* ]] || skip "this Slurm knows no pmix"
ranks
sweep
requeue $((${LIMIT:-0} == 0 ? 3000 : 30000))
