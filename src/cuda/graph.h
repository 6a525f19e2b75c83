// Work that a stream is asked for again and again, as CUDA graphs: one call starts all of it, where
// every kernel took a call of its own.
#pragma once

#include <cstddef>
#include <functional>
#include <map>

#include "cuda/runtime.h"

namespace tessera::cuda {

// Work that was taken down instead of done.
class Graph {
 public:
  // `ask` asks the stream for kernels and for memory to be cleared, and for nothing else.
  Graph(const Stream& stream, const std::function<void()>& ask);
  ~Graph();
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;

  // As if the stream were asked for it once more, with the same arguments.
  void start(const Stream& stream) const;

 private:
  cudaGraphExec_t graph_ = nullptr;
};

// One stream's graphs, by a key that says what is the same about them. The first time, work is
// asked for as ever: then kernels are loaded and memory is there. The second time it is taken down.
class Graphs {
 public:
  // With more keys than `kept` it begins anew.
  explicit Graphs(std::size_t kept) : kept_(kept) {}
  void run(const Stream& stream, std::size_t key, const std::function<void()>& ask);
  // When memory that the work is about has moved.
  void forget() { known_.clear(); }

 private:
  std::size_t kept_;
  std::map<std::size_t, std::unique_ptr<Graph>> known_;
};

}  // namespace tessera::cuda
