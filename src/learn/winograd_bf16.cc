// The matrix products of winograd.cc with factors in bf16.
#include "learn/bf16.h"
#include "learn/winograd_plan.h"

namespace tessera {

void pair_weights(const WinogradPlan& plan, std::size_t from, std::size_t to,
                  WinogradSpace& space) {
  for (std::size_t point = 0; point < kPoints * kPoints; ++point)
    bf16::pair_rows(from, to, space.weights.data() + point * plan.weights_step,
                    space.paired.data() + point * plan.paired_step());
}

void multiply_block_bf16(const WinogradPlan& plan, const BlockProduct& p, WinogradSpace& space) {
  for (std::size_t point = 0; point < kPoints * kPoints; ++point) {
    bf16::round_all(p.rows * p.from, p.a + point * p.a_step, space.rounded.data());
    bf16::multiply({.rows = p.rows,
                    .columns = p.to,
                    .pairs = p.from / 2,
                    .a = space.rounded.data(),
                    .a_row = p.from,
                    .a_pair = 2,
                    .b = space.paired.data() + point * plan.paired_step(),
                    .c = p.c + point * p.c_step});
  }
}

void keep_block_bf16(const ConvShape& s, const WinogradPlan& plan, std::size_t block,
                     const BlockProduct& p, Bf16s64& kept) {
  Bf16* const to = kept.data() + block * plan.block_pairs(0, s.batch) * 2 * p.from;
  for (std::size_t point = 0; point < kPoints * kPoints; ++point)
    bf16::pair_rows(p.rows, p.from, p.a + point * p.a_step,
                    to + point * plan.pairs_step(p.from, s.batch));
}

// The sum runs over the rows of all blocks, the last of which may have fewer.
void multiply_weights_bf16(const ConvShape& s, const WinogradPlan& plan, WinogradSpace& space) {
  const std::size_t last = plan.block_count - 1;
  for (std::size_t point = 0; point < kPoints * kPoints; ++point)
    bf16::multiply({.rows = s.inputs,
                    .columns = s.outputs,
                    .pairs = last * plan.block_pairs(0, s.batch) + plan.block_pairs(last, s.batch),
                    .a = space.kept_in.data() + point * plan.pairs_step(s.inputs, s.batch),
                    .a_row = 2,
                    .a_pair = 2 * s.inputs,
                    .b = space.kept_d_out.data() + point * plan.pairs_step(s.outputs, s.batch),
                    .c = space.weights.data() + point * plan.weights_step});
}

}  // namespace tessera
