// Rows of `tessera bench gpu` for all kernels but those of convolutions, in the sizes of the
// built-in models.
#pragma once

#include "cuda/kernel_table.h"

namespace tessera::cuda {

// Linear layers, rows of activations, losses, scores and optimizers: plain float32.
void bench_plain_kernels(KernelTable& table, int nodes);
// Tables and ratings, plain float32 too.
void bench_table_kernels(KernelTable& table, int nodes);
// A level of an LSTM: its products, and its states step by step.
void bench_lstm_kernels(KernelTable& table, int nodes, Precision precision);

}  // namespace tessera::cuda
