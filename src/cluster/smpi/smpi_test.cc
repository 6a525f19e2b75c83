// The experiments of the ranks' tests under SimGrid's MPI, which plays any number of ranks in one
// process: rank 0 carries each of them out by itself too, and compares all that the two say.
// scripts/smpi.sh builds and starts it.
#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <string>

#include "cluster/mpi_ranks.h"
#include "run/ranks_matrix.h"

namespace tessera {
namespace {

std::string story_on(Ranks* ranks, const Plan& plan) {
  SimulatedRun run(plan, 1, ranks);
  return story_of(run);
}

// Whether every experiment is the same on all ranks and alone; what is said is rank 0's.
bool compare_all(Cluster& cluster, const std::string& nodes) {
  std::size_t equal = 0;
  const std::vector<NamedExperiment> all = ranks_matrix();
  for (NamedExperiment one : all) {
    if (!nodes.empty()) one.experiment.nodes = nodes;
    const Plan plan = read_plan(one.experiment);
    const std::string together = story_on(&cluster, plan);
    if (cluster.mine() != 0) continue;
    const bool same = together == story_on(nullptr, plan);
    equal += same;
    fmt::print("{:<20}{:>5} nodes  {}\n", one.name, one.experiment.nodes,
               same ? "equal" : "DIFFERENT");
    std::fflush(stdout);
  }
  if (cluster.mine() == 0)
    fmt::print("{} ranks: {} of {} equal\n", cluster.count(), equal, all.size());
  return cluster.mine() != 0 || equal == all.size();
}

}  // namespace
}  // namespace tessera

int main(int count, char** arguments) {
  const std::unique_ptr<tessera::Cluster> cluster = tessera::join_mpi();
  return tessera::compare_all(*cluster, count > 1 ? arguments[1] : "") ? 0 : 1;
}
