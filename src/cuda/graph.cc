#include "cuda/graph.h"

namespace tessera::cuda {

Graph::Graph(const Stream& stream, const std::function<void()>& ask) {
  cudaGraph_t taken_down = nullptr;
  // Other threads may go on with what is theirs.
  require(cudaStreamBeginCapture(stream.get(), cudaStreamCaptureModeThreadLocal),
          "beginning a graph");
  try {
    ask();
  } catch (...) {
    cudaStreamEndCapture(stream.get(), &taken_down);
    if (taken_down) cudaGraphDestroy(taken_down);
    cudaGetLastError();  // The next kernel is not to hear of it.
    throw;
  }
  cudaError_t outcome = cudaStreamEndCapture(stream.get(), &taken_down);
  if (outcome == cudaSuccess) outcome = cudaGraphInstantiate(&graph_, taken_down, 0);
  if (taken_down) cudaGraphDestroy(taken_down);
  if (outcome != cudaSuccess) cudaGetLastError();
  require(outcome, "making a graph");
}

Graph::~Graph() {
  if (graph_) cudaGraphExecDestroy(graph_);
}

void Graph::start(const Stream& stream) const {
  require(cudaGraphLaunch(graph_, stream.get()), "starting a graph");
}

void Graphs::run(const Stream& stream, std::size_t key, const std::function<void()>& ask) {
  if (known_.size() >= kept_ && !known_.contains(key)) known_.clear();
  const auto [known, is_new] = known_.try_emplace(key);
  if (is_new) return ask();
  if (!known->second) known->second = std::make_unique<Graph>(stream, ask);
  known->second->start(stream);
}

}  // namespace tessera::cuda
