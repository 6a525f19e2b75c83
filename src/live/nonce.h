// Numbers that nobody can foresee, from the operating system. They decide nothing that is learnt:
// they tell a run, or a question, from all others. All other draws descend from the seed.
#pragma once

#include <cstdint>

namespace tessera {

std::uint64_t draw_nonce();  // Never 0.

}  // namespace tessera
