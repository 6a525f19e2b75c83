// The cell of an LSTM, both ways, for a run of units that lie side by side:
//
//   c = f c_before + i g      h = o tanh(c)       i, f, o = sigmoid, g = tanh of their inputs
//
// Sigmoid and tanh come from Highway's vector math: within a few units in the last place of the
// exact value, not bit-equal to the C library's.
#pragma once

#include <cstddef>

namespace tessera {

// Pointers to `count` numbers each, a multiple of 16.
struct LstmGates {
  float* input = nullptr;
  float* forget = nullptr;
  float* cell = nullptr;
  float* output = nullptr;
};

// The gates' inputs become their values. `before` is null at the first step, where c was zero.
void lstm_cell(std::size_t count, LstmGates gates, const float* before, float* c, float* tanh_c,
               float* h);

// The gates' values become the gradients of their inputs. d_c comes in as the gradient that later
// steps left for c and goes out as the one for `before`.
void lstm_cell_gradient(std::size_t count, LstmGates gates, const float* before,
                        const float* tanh_c, const float* d_h, float* d_c);

// sums[column] = sum over `count` rows of rows[row][column], 32 columns, in the order of the rows.
void sum_rows(std::size_t count, const float* rows, float* sums);

}  // namespace tessera
