// Kernels for models of text and of ratings: products of whole sequences, LSTMs over time, tables
// of which a batch touches a few rows.
#pragma once

#include "cuda/kernels.h"

namespace tessera::cuda {

// One factor of a product. `turned`: its terms are the rows in memory, [terms][others]; otherwise
// [others][terms]. Rows are a multiple of four floats, and begin at one.
struct Factor {
  const float* data = nullptr;
  std::size_t node_stride = 0;
  int pitch = 0;  // Floats from row to row.
  bool turned = false;
  // Where it is not 0, row r stands for the row before it, or for zeros where `period` divides r:
  // the states that came before, in sequences of this length.
  int period = 0;
};
// out[node][rows][columns] = a b + the sum of the biases, where there are any. Where a is turned, b
// is too.
struct Product {
  int rows = 0, columns = 0, terms = 0;
  Factor a{}, b{};
  const float* biases[2] = {};
  std::size_t bias_stride = 0;
  float* out = nullptr;
};
void multiply(const Pass& pass, const Product& product);

// One level of an LSTM over whole sequences, [node][sample][step][...].
struct LstmShape {
  int steps = 0, units = 0;  // Units: lstm_units_fit().
  bool relu = false;         // Follows, and has a result of its own.
  bool stepwise = false;     // A launch for every step, as GPUs without clusters need it.
};
bool lstm_units_fit(std::size_t units);
struct LstmMemory {
  float* gates = nullptr;   // [4 units]: what comes in; values; on the way back, gradients.
  float* cells = nullptr;   // [units]
  float* states = nullptr;  // [units]
  float* out = nullptr;     // The states after ReLU.
};
// Sums of the gates' gradients, in lstm_tiles() parts of the batch: [node][part][4 units].
int lstm_tiles(int batch);
struct LstmGradients {
  float* bias = nullptr;
  float* carried = nullptr;  // lstm_carried() floats per node, what steps hand to one another.
};
std::size_t lstm_carried(int units, int batch);
// `weights`: of the states, [4 units][units].
void lstm_states(const Pass& pass, const LstmShape& shape, std::size_t weights,
                 const LstmMemory& memory);
void lstm_gradient(const Pass& pass, const LstmShape& shape, std::size_t weights,
                   const LstmMemory& memory, const float* d_out, const LstmGradients& gradients);

// Rows of a table, one for each of a sample's whole numbers.
struct TableShape {
  int rows = 0, width = 0, numbers = 0;
};
void look_up(const Pass& pass, const TableShape& shape, const Rows& in, std::size_t table,
             float* out);
void look_up_gradient(const Pass& pass, const TableShape& shape, const Rows& in, const float* d_out,
                      float* d_table);

// Ratings: a sample is a user and an item, and its rating the product of their rows.
struct RatingShape {
  int width = 0;
  std::size_t users = 0, items = 0;  // Where their tables begin, in working order.
};
void rate(const Pass& pass, const RatingShape& shape, const Rows& in, float* out);
// What each sample adds to the gradients of its two rows, and where those begin.
struct RatingGradients {
  float* terms = nullptr;         // [node][2][batch][width]
  std::uint32_t* rows = nullptr;  // [node][2][batch]
};
void rate_gradient(const Pass& pass, const RatingShape& shape, const Rows& in, const float* d_out,
                   const RatingGradients& gradients);
// Sums them up row by row, in the order of the samples: into gradients of all rows, of which the
// others are zero already,
void gather_touched(const Pass& pass, const RatingShape& shape, const RatingGradients& gradients,
                    float* d_users, std::size_t users_stride, float* d_items,
                    std::size_t items_stride);
// or off the rows themselves, `lr` times.
void descend_touched(const Pass& pass, const RatingShape& shape, const RatingGradients& gradients,
                     float lr, float* parameters);

}  // namespace tessera::cuda
