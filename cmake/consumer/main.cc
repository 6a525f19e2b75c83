// Twenty lines against the installed headers and libraries: there and back through the wavelet
// transform, and a mask both sides of a link would draw.
#include <base/random.h>
#include <codec/share.h>
#include <math/wavelet.h>

#include <cmath>
#include <cstdio>

int main() {
  tessera::Random random(90);
  tessera::Vector model(1000);
  for (float& x : model) x = static_cast<float>(random.normal());
  const tessera::WaveletPlan plan = tessera::plan_wavelet("sym2", 4, model.size());
  tessera::Vector coefficients(plan.coefficients()), back(model.size());
  tessera::wavelet_forward(plan, model, coefficients);
  tessera::wavelet_inverse(plan, coefficients, back);
  float worst = 0;
  for (std::size_t i = 0; i < model.size(); ++i)
    worst = std::fmax(worst, std::fabs(back[i] - model[i]));
  const tessera::Drawn tenth{.seed = 90, .threshold = tessera::threshold_of(0.1)};
  const std::size_t drawn = tessera::draw_indices(tenth, 1000).size();
  std::printf("%zu coefficients, error %g, %zu drawn\n", coefficients.size(), worst, drawn);
  return worst < 1e-5f && drawn > 50 && drawn < 150 ? 0 : 1;
}
