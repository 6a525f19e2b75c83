#!/usr/bin/env bash
# Installs what is missing, builds, and runs every test: scripts/test.sh [PART...]
#
#   core     everything that sees neither LibTorch nor CUDA, learning among it; the part to run while working
#   release  everything, optimised, the installed package, and a cluster; the tests of some folders are left to dev and tsan
#   dev      core under the address and undefined-behaviour sanitizers, compiled by Clang
#   tsan     the folders with threads under the thread sanitizer
#   fuzz     a few seconds of mutated bytes for every decoder, on dev's libraries
#   style    clang-format and the house rules
#
# All parts but core by default: release runs its tests too, and dev shows that they build without
# LibTorch. Output goes to build/test-logs; what failed is printed. The last line says how many passed
# and failed, and the exit status is 0 only if nothing failed.
set -euo pipefail
cd "$(dirname "$0")/.."

readonly parts=(core release dev tsan fuzz style)
readonly parts_by_default=(release dev tsan fuzz style)
readonly logs=build/test-logs
readonly threaded=(base learn sim live live/link)
# Folders without kernels whose tests are the same under sanitizers: dev runs them, and tsan those with threads, so release does not.
readonly tested_by_others='data;sharing;node;protocol;attack;live;report'
readonly fuzz_seconds_each=3
readonly failures_tried_again=5
readonly never_tried_again='(Address|Thread|Leak)Sanitizer|runtime error:|SEGFAULT|Subprocess aborted|ILLEGAL|CHECK failed'
tests_at_once=$(($(nproc) * 2))  # Tests of live nodes wait more than they work.
readonly tests_at_once
passed=0
failed=0
skipped=0
declare -A seconds_of=()
export TESSERA_CACHE=$PWD/build/test-cache  # Tests leave nothing in a home.
readonly memory_wanted_mib=4096

# What tests write is synced, as a user's files are. In memory that costs nothing. Who has set TMPDIR is asked nothing.
work_in_memory() {
  local folder free_mib
  [[ -z ${TMPDIR:-} ]] || return 0
  free_mib=$(df --output=avail -m /dev/shm 2>/dev/null | tail -1) || return 0
  [[ $free_mib -ge $memory_wanted_mib ]] || return 0
  folder=$(mktemp -d /dev/shm/tessera-test.XXXXXX 2>/dev/null) || return 0
  # shellcheck disable=SC2064
  trap "rm -rf '$folder' || true" EXIT
  # Tests run scripts that they write, also as other users.
  chmod 755 "$folder"
  printf '#!/bin/sh\n' >"$folder/try" && chmod 755 "$folder/try"
  "$folder/try" 2>/dev/null || return 0
  export TMPDIR=$folder
}

say() { echo "test: $*"; }

fail() {
  failed=$((failed + 1))
  say "FAILED: $*"
}

# Runs a command with its output in a log. If it fails, prints the end of the log, leaving out what
# ctest and ninja say of the steps that went well.
quietly() {
  local log=$logs/$1.log
  shift
  if "$@" >"$log" 2>&1; then return 0; fi
  echo "---- $* (the end of $log)"
  grep -vE '^ *Start +[0-9]+:| Passed +[0-9.]+ sec|^\[[0-9]+/[0-9]+\] (Building|Linking)' "$log" | tail -n 200
  return 1
}

# Newer kernels place programs where the sanitizers of GCC 12 and Clang 14 do not expect them.
unshuffled() {
  if setarch -R true 2>/dev/null; then setarch -R "$@"; else "$@"; fi
}

# That each file includes what it uses is a house rule (src/tidy), of the standard library and of our own types, so files need not be
# compiled one by one to see it.
build() {  # PRESET [TARGET...]
  local preset=$1 targets=() flags=()
  shift
  [[ $# -gt 0 ]] && targets=(--target "$@")
  # Sanitized code is there to find faults, not to be fast, and takes a third of the time to compile so.
  [[ $preset == dev ]] && flags=(-DTESSERA_UNITY=ON
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -gline-tables-only -DNDEBUG")
  [[ $preset == tsan ]] && flags=(-DTESSERA_UNITY=ON
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1 -Wno-maybe-uninitialized")
  # Kernels choose their own level of optimisation. The others have one that compiles fast.
  [[ $preset == core ]] && flags=(-DTESSERA_UNITY=ON -DTESSERA_CUDA=OFF
    -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG -Wno-maybe-uninitialized")
  # Nobody runs the GPU's kernels here: machine code for one kind shows that they compile. AMX's are run wherever AVX-512 can play them,
  # and compiled for what they are by the other parts.
  [[ $preset == release ]] && flags=(-DTESSERA_UNITY=ON "-DTESSERA_WITHOUT_TESTS_OF=$tested_by_others"
    "-DTESSERA_CUDA_ARCHITECTURES=-gencode=arch=compute_90,code=sm_90" -DTESSERA_AMX_EMULATED=ON
    -DCMAKE_CXX_FLAGS_RELEASE="-O1 -DNDEBUG -Wno-maybe-uninitialized")
  # Sanitized programs are large: LLVM's linker takes a fifth of the time.
  quietly "$preset-configure" cmake --preset "$preset" -DTESSERA_TESTS=ON -DTESSERA_WERROR=ON \
    -DCMAKE_EXE_LINKER_FLAGS=-fuse-ld=lld "${flags[@]}" &&
    quietly "$preset-build" cmake --build --preset "$preset" -j "$(nproc)" "${targets[@]}"
}

# Runs a preset's tests and adds them to the count; ctest's closing line has the numbers. A few that failed are run once more, by
# themselves: on a small machine, tests of real processes can be kept waiting by the tests beside them. Those that pass then are named.
# What a sanitizer found, or a crash, is never forgiven. --rerun-failed goes by numbers, which are others under other filters.
run_ctest() {  # PRESET [FLAG...]
  local preset=$1 ok=yes bad all without again
  local log=$logs/$1-test.log
  shift
  quietly "$preset-test" unshuffled ctest --preset "$preset" -j "$tests_at_once" --no-tests=error "$@" ||
    ok=no
  read -r bad all < <(
    sed -nE 's/^[0-9]+% tests passed, ([0-9]+) tests? failed out of ([0-9]+)$/\1 \2/p' "$log"
  ) || { fail "$preset: ctest did not finish" && return; }
  without=$(grep -cE '\*\*\*Skipped' "$log" || true)
  if [[ $bad -gt 0 && $bad -le $failures_tried_again ]] && ! grep -qE "$never_tried_again" "$log" &&
    quietly "$preset-again" unshuffled ctest --preset "$preset" -j 1 --rerun-failed "$@"; then
    again=$(sed -nE 's/^[[:space:]]*[0-9]+ - (.*) \((Failed|Timeout)\)$/\1/p' "$log" | tr '\n' ' ')
    say "$preset: failed beside others, passed alone: $again"
    bad=0 ok=yes
  fi
  passed=$((passed + all - bad - without))
  failed=$((failed + bad))
  skipped=$((skipped + without))
  if [[ $ok == no && $bad -eq 0 ]]; then fail "$preset: ctest"; fi
}

build_and_test() {  # PRESET [FLAG OF CTEST...]
  if build "$1"; then run_ctest "$@"; else fail "$1 does not build"; fi
}

# What wants minutes, or PyTorch, is release's.
part_core() { build_and_test core -E '^(package|install)\.|^cluster\.Slurm|^python\.test_(torch|batched|peer_torch|scripts)'; }

part_release() { build_and_test release; }

part_dev() {
  if ! build dev; then
    fail "dev does not build"
    return
  fi
  # Minutes under the sanitizers, for code that other tests run there as well: exact sums, long runs, many processes, and what tsan runs.
  run_ctest dev -E 'LearnWhatIsThereToLearn|LiveFashionMnist|LeftBehindByTheNemesis|FullDisks|NobodyCanFind|examples.(stragglers|sweep)|'\
'Mpi.Killed|Mpi.ASignal|LiveMembers.AreReplaced|MessagesDoNotTravelAllAtOnce|CheckpointsComeByTime|SweepProcess.Killed|SecondEigenvalue|'\
'BaseGraph.IsExact|SimProcess.Threads|EqualsPyWavelets|IsExactForManyNodes|(SameBits|TheSame).*Threads|ClipTheWhole|ADivergedModel|'\
'Mpi.Twenty|WhoIsMissingCosts|TheTreeKeepsTheRules|SimProcess.KilledAt|LiveProcess.CtrlC|AHundredNodesAre|SweepProcess.ForSlurm|ReadByPython'
}

part_tsan() {
  local folder folders=()
  for folder in "${threaded[@]}"; do
    compgen -G "src/$folder/*_test.cc" >/dev/null && folders+=("${folder//\//_}")
  done
  if build tsan "${folders[@]/%/_test}"; then
    # How well a model learns, how exactly a kernel sums and what a checkpoint holds have nothing to do with threads.
    run_ctest tsan -L "^($(IFS='|' && echo "${folders[*]}"))\$" \
      -E 'LearnWhat|EqualsIts|EqualsTheFormula|^Checkpoint\.|ADivergedModel|ResumesFrom|ReadByPython|ClipTheWhole|GoOnFrom|Mislead'
  else
    fail "tsan does not build"
  fi
}

part_fuzz() {
  local count
  count=$(find src -name '*_fuzz.cc' | wc -l)
  if [[ $count -eq 0 ]]; then return; fi
  if TESSERA_WERROR=ON quietly fuzz scripts/fuzz.sh $((fuzz_seconds_each * (count + 1) / 2)); then
    passed=$((passed + count))
  else
    fail "fuzzing"
  fi
}

part_style() {
  local files=()
  mapfile -t files < <(find src examples -name '*.cc' -o -name '*.h')
  if quietly format clang-format-14 --dry-run -Werror "${files[@]}"; then
    passed=$((passed + 1))
  else
    fail "the layout: run clang-format-14 -i on the files above"
  fi
  # The house rules are among the tests of these parts.
  if [[ -n ${seconds_of[core]:-}${seconds_of[release]:-}${seconds_of[dev]:-} ]]; then return; fi
  if build core tidy_test; then
    run_ctest core -L '^tidy$'
  else
    fail "the house rules do not build"
  fi
}

report() {
  local part
  echo
  for part in setup "${parts[@]}"; do
    if [[ -n ${seconds_of[$part]:-} ]]; then printf '%-8s %5d s\n' "$part" "${seconds_of[$part]}"; fi
  done
  printf '%-8s %5d s\n\n' total "$SECONDS"
  if [[ $skipped -gt 0 ]]; then
    echo "$skipped tests were skipped; they say why in $logs (most want datasets that are not here)"
  fi
  echo "$passed passed, $failed failed"
}

main() {
  local chosen=("$@") part before needs=(build core data test)
  [[ $# -gt 0 ]] || chosen=("${parts_by_default[@]}")
  for part in "${chosen[@]}"; do
    if [[ " ${parts[*]} " != *" $part "* ]]; then
      say "there is no part called '$part'. Known: ${parts[*]}."
      return 2
    fi
    [[ $part == release ]] && needs+=(torch)
  done
  mkdir -p "$logs"
  work_in_memory
  SECONDS=0
  scripts/setup.sh "${needs[@]}"
  seconds_of[setup]=$SECONDS
  for part in "${chosen[@]}"; do
    before=$SECONDS
    local passed_before=$passed failed_before=$failed
    say "$part"
    "part_$part"
    seconds_of[$part]=$((SECONDS - before))
    say "$part: $((passed - passed_before)) ok, $((failed - failed_before)) not ok," \
      "$((SECONDS - before)) s"
  done
  report
  [[ $failed -eq 0 ]]
}

main "$@"
