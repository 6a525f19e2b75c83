// An LSTM over time. 16 samples of a node go through all steps in one launch: a block has 32 units
// and all of a step's samples, and the units / 32 blocks of a node are a cluster. The weights of
// the states stay in registers, where a launch per step would read them from memory every time;
// what a step hands to the next goes from block to block through shared memory.
//
// Forward a block needs all states for its own 128 gates, and its own states go to all others.
// Backward it has its own gates' gradients, and what they make of the states before goes to the
// block whose states those are, which adds up eight such parts in their order.
//
// GPUs without clusters take a step per launch, and blocks meet in memory.
#include "cuda/launch.cuh"
#include "cuda/lstm_held.cuh"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

constexpr int kThreads = 256, kUnits = 32, kParts = 8;
constexpr int kPart = kUnits * kSumPitch;  // Floats of one of the parts that come back.
constexpr int kCarried = 6;                // Numbers that a thread hands on, step by step.

struct LstmLaunch {
  LstmShape shape{};
  LstmMemory memory{};
  const float* weights = nullptr;
  std::size_t dimension = 0;
  int batch = 0, first = 0, end = 0;  // Steps, in the direction they are made.
  bool clusters = false, training = true;
  const float* d_out = nullptr;
  LstmGradients gradients{};
};

// Two samples' numbers.
__device__ float2 operator+(float2 a, float2 b) {
  return {a.x + b.x, a.y + b.y};
}

// What a thread of a block stands for: one unit of two samples.
struct CellPlace {
  int rank, tile, node;  // Whose block this is, among `ranks`.
  int unit, sample;      // In the block.
  int samples;           // How many of the two there are.
  std::size_t row;       // The first sample's first step.
  int steps, units;

  __device__ CellPlace(const LstmLaunch& launch, int ranks)
      : rank(static_cast<int>(blockIdx.x) % ranks),
        tile(static_cast<int>(blockIdx.x) / ranks),
        node(blockIdx.y),
        unit(static_cast<int>(threadIdx.x) / 32 % 4 * 8 + static_cast<int>(threadIdx.x) % 8),
        sample(2 *
               (static_cast<int>(threadIdx.x) / 128 * 4 + static_cast<int>(threadIdx.x) % 32 / 8)),
        samples(min(2, max(0, launch.batch - tile * kTileSamples - sample))),
        row((static_cast<std::size_t>(node) * launch.batch + tile * kTileSamples + sample) *
            launch.shape.steps),
        steps(launch.shape.steps),
        units(launch.shape.units) {}

  // The place of a number in an array of `width` to a step, for the first sample; the second's is
  // steps * width further on.
  __device__ std::size_t at(int step, int width, int number) const {
    return (row + step) * width + number;
  }
  __device__ float2 read(const float* from, int step, int width, int number) const {
    float2 both = {0, 0};
    const std::size_t first = at(step, width, number);
    if (samples > 0) both.x = from[first];
    if (samples > 1) both.y = from[first + static_cast<std::size_t>(steps) * width];
    return both;
  }
  __device__ void write(float* to, int step, int width, int number, float2 both) const {
    const std::size_t first = at(step, width, number);
    if (samples > 0) to[first] = both.x;
    if (samples > 1) to[first + static_cast<std::size_t>(steps) * width] = both.y;
  }
  __device__ float2 read_state(const float* from, int step) const {
    return read(from, step, units, rank * kUnits + unit);
  }
  __device__ void write_state(float* to, int step, float2 both) const {
    write(to, step, units, rank * kUnits + unit, both);
  }
  __device__ int gate(int which) const { return which * units + rank * kUnits + unit; }
};

struct Gates {
  float2 of[4];  // Input, forget, cell, output.
};

__device__ Gates read_gates(const CellPlace& place, const float* gates, int step) {
  Gates read;
#pragma unroll
  for (int q = 0; q < 4; ++q) read.of[q] = place.read(gates, step, 4 * place.units, place.gate(q));
  return read;
}
__device__ void write_gates(const CellPlace& place, float* gates, int step, const Gates& values) {
#pragma unroll
  for (int q = 0; q < 4; ++q)
    place.write(gates, step, 4 * place.units, place.gate(q), values.of[q]);
}

__device__ float sigmoid(float x) {
  return 1 / (1 + expf(-x));
}

struct Cell {
  float i, f, g, o, c, h;
  __device__ Cell(float to_i, float to_f, float to_g, float to_o, float before)
      : i(sigmoid(to_i)), f(sigmoid(to_f)), g(tanhf(to_g)), o(sigmoid(to_o)) {
    c = fmaf(f, before, i * g);
    h = o * tanhf(c);
  }
};

// The gates become their values and c the cell's; returns the states.
__device__ float2 run_cells(Gates& gates, float2& c) {
  const Cell a(gates.of[0].x, gates.of[1].x, gates.of[2].x, gates.of[3].x, c.x);
  const Cell b(gates.of[0].y, gates.of[1].y, gates.of[2].y, gates.of[3].y, c.y);
  gates.of[0] = {a.i, b.i};
  gates.of[1] = {a.f, b.f};
  gates.of[2] = {a.g, b.g};
  gates.of[3] = {a.o, b.o};
  c = {a.c, b.c};
  return {a.h, b.h};
}

__device__ float2 relu(float2 x) {
  return {x.x <= 0 ? 0 : x.x, x.y <= 0 ? 0 : x.y};
}

// The states before the launch's first step, where it is not the first of all.
__device__ void load_states(const LstmLaunch& launch, const CellPlace& place, float* to) {
  for (int i = threadIdx.x; i < kTileSamples * place.units; i += kThreads) {
    const int sample = place.tile * kTileSamples + i / place.units, unit = i % place.units;
    const std::size_t row =
        (static_cast<std::size_t>(place.node) * launch.batch + sample) * place.steps;
    to[unit * kTermPitch + i / place.units] =
        sample < launch.batch ? launch.memory.states[(row + launch.first - 1) * place.units + unit]
                              : 0;
  }
  __syncthreads();
}

// What the states before add to the gates: the sums of both halves of the terms.
__device__ void add_sums(const CellPlace& place, const float* sums, Gates& gates) {
#pragma unroll
  for (int half = 0; half < 2; ++half)
#pragma unroll
    for (int q = 0; q < 4; ++q) {
      const float* const at =
          sums + ((half * 4 + q) * kUnits + place.unit) * kSumPitch + place.sample;
      gates.of[q] = gates.of[q] + *reinterpret_cast<const float2*>(at);
    }
}

template <Precision kPrecision, int kAll>
__global__ void __launch_bounds__(kThreads, 1) states_kernel(LstmLaunch launch) {
  constexpr int kRanks = kAll / kUnits, kTerms = kAll / 2, kStates = kAll * kTermPitch;
  float* const shared = shared_memory();
  float* const states = shared;              // [2][unit][sample], in turns.
  float* const sums = shared + 2 * kStates;  // [half][gate][unit][sample]
  const CellPlace place(launch, kRanks);
  const LstmMemory& memory = launch.memory;
  // A warp has one gate of all the block's units, and half of the terms.
  const int gate = static_cast<int>(threadIdx.x) / 32 % 4, half = threadIdx.x / 128;
  const float* const own = launch.weights + place.node * launch.dimension +
                           static_cast<std::size_t>(gate * kAll + place.rank * kUnits) * kAll +
                           half * kTerms;
  const HeldWeights<kPrecision, kTerms> weights(
      [&](int term, int column) { return own[column * kAll + term]; });
  float2 c = {0, 0};
  if (launch.first > 0) {
    c = place.read_state(memory.cells, launch.first - 1);
    load_states(launch, place, states + launch.first % 2 * kStates);
  }
  if (launch.clusters) meet_cluster();  // All blocks have begun.
  Gates next = read_gates(place, memory.gates, launch.first);
  for (int step = launch.first; step < launch.end; ++step) {
    Gates gates = next;
    const bool last = step + 1 == launch.end;
    if (!last) next = read_gates(place, memory.gates, step + 1);
    if (step > 0) {
      weights.multiply(states + step % 2 * kStates + half * kTerms * kTermPitch,
                       sums + (half * 4 + gate) * kUnits * kSumPitch);
      __syncthreads();
      add_sums(place, sums, gates);
    }
    const float2 h = run_cells(gates, c);
    if (launch.training) write_gates(place, memory.gates, step, gates);
    place.write_state(memory.cells, step, c);
    place.write_state(memory.states, step, h);
    if (launch.shape.relu) place.write_state(memory.out, step, relu(h));
    if (last) break;
    float* const to = states + (step + 1) % 2 * kStates +
                      (place.rank * kUnits + place.unit) * kTermPitch + place.sample;
#pragma unroll
    for (int block = 0; block < kRanks; ++block)
      *reinterpret_cast<float2*>(of_block(to, block)) = h;
    meet_cluster();
  }
}

// What a step back needs to know of its cells.
struct CellsBack {
  Gates gates;
  float2 before, d_out;
};

__device__ CellsBack read_back(const LstmLaunch& launch, const CellPlace& place, int step) {
  const LstmMemory& memory = launch.memory;
  CellsBack read;
  read.gates = read_gates(place, memory.gates, step);
  read.before = step > 0 ? place.read_state(memory.cells, step - 1) : float2{0, 0};
  read.d_out = place.read_state(launch.d_out, step);
  if (!launch.shape.relu) return read;
  const float2 h = place.read_state(memory.states, step);
  if (h.x <= 0) read.d_out.x = 0;
  if (h.y <= 0) read.d_out.y = 0;
  return read;
}

struct CellBack {
  float i, f, g, o;
  // d_c comes in as what later steps left for c and goes out as what is left for `before`.
  __device__ CellBack(float at_i, float at_f, float at_g, float at_o, float c, float before,
                      float d_h, float& d_c) {
    const float squashed = tanhf(c);
    const float dc = fmaf(d_h * at_o, fmaf(-squashed, squashed, 1), d_c);
    i = dc * at_g * fmaf(-at_i, at_i, at_i);
    f = dc * before * fmaf(-at_f, at_f, at_f);
    g = dc * at_i * fmaf(-at_g, at_g, 1);
    o = d_h * squashed * fmaf(-at_o, at_o, at_o);
    d_c = dc * at_f;
  }
};

// The gates' values become the gradients of what came in.
__device__ void run_cells_back(Gates& gates, float2 c, float2 before, float2 d_h, float2& d_c) {
  const CellBack a(gates.of[0].x, gates.of[1].x, gates.of[2].x, gates.of[3].x, c.x, before.x, d_h.x,
                   d_c.x);
  const CellBack b(gates.of[0].y, gates.of[1].y, gates.of[2].y, gates.of[3].y, c.y, before.y, d_h.y,
                   d_c.y);
  gates.of[0] = {a.i, b.i};
  gates.of[1] = {a.f, b.f};
  gates.of[2] = {a.g, b.g};
  gates.of[3] = {a.o, b.o};
}

// The bias' gradient over the block's samples: a thread's own, four lanes', two warps'.
__device__ void store_bias(const LstmLaunch& launch, const CellPlace& place, float (&bias)[4],
                           float* scratch) {
  __syncthreads();
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    bias[q] += __shfl_xor_sync(~0u, bias[q], 8);
    bias[q] += __shfl_xor_sync(~0u, bias[q], 16);
    if (threadIdx.x >= 128 && threadIdx.x % 32 < 8) scratch[q * kUnits + place.unit] = bias[q];
  }
  __syncthreads();
  if (threadIdx.x >= 128 || threadIdx.x % 32 >= 8) return;
  const int tiles = gridDim.x / (place.units / kUnits);
  float* const to = launch.gradients.bias +
                    (static_cast<std::size_t>(place.node) * tiles + place.tile) * 4 * place.units;
#pragma unroll
  for (int q = 0; q < 4; ++q) to[place.gate(q)] = bias[q] + scratch[q * kUnits + place.unit];
}

// Where steps of different launches meet: the parts that come back to each block, in turns, and the
// numbers of its threads.
struct Carried {
  float* parts;
  float* numbers;
  std::size_t stride;  // From block to block.
  __device__ Carried(const LstmLaunch& launch, const CellPlace& place)
      : stride(2 * kParts * kPart + kThreads * kCarried) {
    const std::size_t first =
        (static_cast<std::size_t>(place.node) * gridDim.x + blockIdx.x - place.rank) * stride;
    parts = launch.gradients.carried + first;
    numbers = parts + place.rank * stride + 2 * kParts * kPart + threadIdx.x * kCarried;
  }
  __device__ void load(float2& d_c, float (&bias)[4]) const {
    d_c = {numbers[0], numbers[1]};
    for (int q = 0; q < 4; ++q) bias[q] = numbers[2 + q];
  }
  __device__ void save(float2 d_c, const float (&bias)[4]) const {
    numbers[0] = d_c.x;
    numbers[1] = d_c.y;
    for (int q = 0; q < 4; ++q) numbers[2 + q] = bias[q];
  }
};

__device__ float2 add_parts(const CellPlace& place, const float* parts, float2 sum) {
#pragma unroll
  for (int part = 0; part < kParts; ++part)
    sum = sum + *reinterpret_cast<const float2*>(parts + part * kPart + place.unit * kSumPitch +
                                                 place.sample);
  return sum;
}

__device__ void keep_gates(const CellPlace& place, const Gates& gates, float (&bias)[4],
                           float* to) {
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    bias[q] += gates.of[q].x + gates.of[q].y;
    *reinterpret_cast<float2*>(to + (q * kUnits + place.unit) * kTermPitch + place.sample) =
        gates.of[q];
  }
}

template <Precision kPrecision, int kAll>
__global__ void __launch_bounds__(kThreads, 1) gradient_kernel(LstmLaunch launch) {
  constexpr int kRanks = kAll / kUnits, kTerms = kAll / 2, kOfBlock = kParts / kRanks;
  float* const shared = shared_memory();
  float* const d_gates = shared;                          // [gate][unit][sample]
  float* const inbox = shared + 4 * kUnits * kTermPitch;  // [2][part][unit][sample], in turns.
  const CellPlace place(launch, kRanks);
  const Carried carried(launch, place);
  // A warp makes 32 units' part out of some of the block's 128 gates.
  const int to_rank = static_cast<int>(threadIdx.x) / 32 % kRanks;
  const int part = static_cast<int>(threadIdx.x) / 32 / kRanks;
  const float* const own = launch.weights + place.node * launch.dimension + to_rank * kUnits;
  const HeldWeights<kPrecision, kTerms> weights([&](int term, int column) {
    const int gate = part * kTerms + term;
    return own[static_cast<std::size_t>(gate / kUnits * kAll + place.rank * kUnits +
                                        gate % kUnits) *
                   kAll +
               column];
  });
  float* const outbox =
      (launch.clusters ? of_block(inbox, to_rank) : carried.parts + to_rank * carried.stride) +
      (place.rank * kOfBlock + part) * kPart;
  const float* const parts = launch.clusters ? inbox : carried.parts + place.rank * carried.stride;
  float2 d_c = {0, 0};
  float bias[4] = {};
  if (launch.first + 1 < place.steps) carried.load(d_c, bias);
  if (launch.clusters) meet_cluster();  // All blocks have begun.
  float2 c = place.read_state(launch.memory.cells, launch.first);
  CellsBack next = read_back(launch, place, launch.first);
  for (int step = launch.first; step > launch.end; --step) {
    CellsBack cells = next;
    if (step - 1 > launch.end) next = read_back(launch, place, step - 1);
    float2 d_h = cells.d_out;
    if (step + 1 < place.steps) d_h = add_parts(place, parts + step % 2 * kParts * kPart, d_h);
    run_cells_back(cells.gates, c, cells.before, d_h, d_c);
    c = cells.before;
    write_gates(place, launch.memory.gates, step, cells.gates);
    keep_gates(place, cells.gates, bias, d_gates);
    if (step == 0) break;
    __syncthreads();
    weights.multiply(d_gates + part * kTerms * kTermPitch,
                     outbox + (step - 1) % 2 * kParts * kPart);
    if (launch.clusters) meet_cluster();
  }
  if (launch.end < 0) return store_bias(launch, place, bias, d_gates);
  carried.save(d_c, bias);
}

using LstmKernel = void (*)(LstmLaunch);
struct LstmKernels {
  LstmKernel states = nullptr, gradient = nullptr;
};

template <Precision kPrecision>
LstmKernels kernels_of(int units) {
  switch (units) {
    case 32:
      return {states_kernel<kPrecision, 32>, gradient_kernel<kPrecision, 32>};
    case 64:
      return {states_kernel<kPrecision, 64>, gradient_kernel<kPrecision, 64>};
    case 128:
      return {states_kernel<kPrecision, 128>, gradient_kernel<kPrecision, 128>};
    default:
      return {states_kernel<kPrecision, 256>, gradient_kernel<kPrecision, 256>};
  }
}
LstmKernels kernels_of(Precision precision, int units) {
  if (precision == Precision::kFp32) return kernels_of<Precision::kFp32>(units);
  if (precision == Precision::kTf32) return kernels_of<Precision::kTf32>(units);
  return kernels_of<Precision::k3xTf32>(units);
}

// Whether the code that the driver runs on this GPU was compiled for one with clusters.
bool knows_clusters(LstmKernel kernel) {
  cudaFuncAttributes attributes{};
  require(cudaFuncGetAttributes(&attributes, kernel), "asking about a kernel");
  return attributes.ptxVersion >= 90;
}

struct LstmGrid {
  dim3 blocks{};
  unsigned ranks = 1;
  std::size_t shared_bytes = 0;
};

void start_cluster(LstmKernel kernel, const LstmGrid& grid, cudaStream_t stream,
                   const LstmLaunch& what) {
  allow_shared(reinterpret_cast<const void*>(kernel), grid.shared_bytes);
  cudaLaunchAttribute cluster{};
  cluster.id = cudaLaunchAttributeClusterDimension;
  cluster.val.clusterDim.x = grid.ranks;
  cluster.val.clusterDim.y = cluster.val.clusterDim.z = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid.blocks;
  config.blockDim = dim3(kThreads);
  config.dynamicSmemBytes = grid.shared_bytes;
  config.stream = stream;
  config.attrs = &cluster;
  config.numAttrs = 1;
  require(cudaLaunchKernelEx(&config, kernel, what), "starting a kernel");
}

// Steps from first to before `end`, by `way`, in one launch or in one each.
void run(LstmKernel kernel, const LstmGrid& grid, const Pass& pass, LstmLaunch what, int way) {
  what.clusters = !what.shape.stepwise && knows_clusters(kernel);
  if (what.clusters) return start_cluster(kernel, grid, pass.stream, what);
  for (const int end = what.end; what.first != end; what.first += way) {
    what.end = what.first + way;
    launch(kernel, grid.blocks, kThreads, grid.shared_bytes, pass.stream, what);
  }
}

LstmGrid grid_of(const Pass& pass, const LstmShape& shape, std::size_t shared_floats) {
  const auto ranks = static_cast<unsigned>(shape.units / kUnits);
  return {dim3(ranks * static_cast<unsigned>(lstm_tiles(pass.batch)), pass.nodes), ranks,
          shared_floats * sizeof(float)};
}

}  // namespace

bool lstm_units_fit(std::size_t units) {
  return units == 32 || units == 64 || units == 128 || units == 256;
}

int lstm_tiles(int batch) {
  return (batch + kTileSamples - 1) / kTileSamples;
}

std::size_t lstm_carried(int units, int batch) {
  return static_cast<std::size_t>(units / kUnits * lstm_tiles(batch)) *
         (2 * kParts * kPart + kThreads * kCarried);
}

void lstm_states(const Pass& pass, const LstmShape& shape, std::size_t weights,
                 const LstmMemory& memory) {
  const LstmKernel kernel = kernels_of(pass.precision, shape.units).states;
  run(kernel, grid_of(pass, shape, 2 * shape.units * kTermPitch + 8 * kUnits * kSumPitch), pass,
      {.shape = shape,
       .memory = memory,
       .weights = pass.parameters + weights,
       .dimension = pass.dimension,
       .batch = pass.batch,
       .first = 0,
       .end = shape.steps,
       .training = pass.training},
      1);
}

void lstm_gradient(const Pass& pass, const LstmShape& shape, std::size_t weights,
                   const LstmMemory& memory, const float* d_out, const LstmGradients& gradients) {
  const LstmKernel kernel = kernels_of(pass.precision, shape.units).gradient;
  run(kernel, grid_of(pass, shape, 4 * kUnits * kTermPitch + 2 * kParts * kPart), pass,
      {.shape = shape,
       .memory = memory,
       .weights = pass.parameters + weights,
       .dimension = pass.dimension,
       .batch = pass.batch,
       .first = shape.steps - 1,
       .end = -1,
       .d_out = d_out,
       .gradients = gradients},
      -1);
}

}  // namespace tessera::cuda
