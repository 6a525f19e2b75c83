#include "data/sets/synthetic.h"

#include <algorithm>
#include <cmath>

#include "base/random.h"
#include "data/stores.h"

namespace tessera {
namespace {

constexpr int kBumps = 4;

struct Form {
  std::uint32_t channels = 1, height = 16, width = 16;
  std::uint32_t classes = 10;
  std::uint32_t modes = 3;  // Prototypes per class.
  std::uint32_t users = 0;
  double noise = 1;
  std::size_t pixels() const { return std::size_t{channels} * height * width; }
};

// A bump has a place, a width and a height in each channel.
std::vector<float> prototype(const Form& form, Random random) {
  std::vector<float> image(form.pixels(), 0.0f);
  for (int bump = 0; bump < kBumps; ++bump) {
    const double y0 = random.uniform() * form.height;
    const double x0 = random.uniform() * form.width;
    const double reach = 1 + random.uniform() * std::max(form.height, form.width) / 5;
    std::size_t at = 0;
    for (std::uint32_t c = 0; c < form.channels; ++c) {
      const double height = 2 * random.normal();
      for (std::uint32_t y = 0; y < form.height; ++y)
        for (std::uint32_t x = 0; x < form.width; ++x, ++at) {
          const double dy = (y + 0.5 - y0) / reach, dx = (x + 0.5 - x0) / reach;
          image[at] += static_cast<float>(height * std::exp(-0.5 * (dy * dy + dx * dx)));
        }
    }
  }
  return image;
}

// Moved by up to an eighth of its side, around the edges.
void add_moved(const Form& form, std::span<const float> image, float strength, Random& random,
               std::span<float> out) {
  const auto shift = [&](std::uint32_t side) {
    const std::uint32_t most = side / 8;
    return static_cast<std::uint32_t>(side - most + random.below(2 * most + 1));
  };
  const std::uint32_t down = shift(form.height), right = shift(form.width);
  for (std::size_t c = 0; c < form.channels; ++c)
    for (std::size_t y = 0; y < form.height; ++y)
      for (std::size_t x = 0; x < form.width; ++x) {
        const std::size_t row = c * form.height + (y + down) % form.height;
        out[(c * form.height + y) * form.width + x] +=
            strength * image[row * form.width + (x + right) % form.width];
      }
}

struct Half {
  std::vector<float> features{};
  std::vector<float> targets{};
  std::vector<std::uint32_t> users{};
};

// A user draws half of the time a favourite class, which makes users differ as writers do.
std::uint32_t draw_class(const Form& form, std::uint32_t user, Random& random) {
  if (form.users > 0 && random.below(2) == 0) return user % form.classes;
  return static_cast<std::uint32_t>(random.below(form.classes));
}

DecodedHalf draw_half(const Form& form, std::span<const std::vector<float>> prototypes,
                      std::size_t samples, const Random& root) {
  Half half;
  half.features.resize(samples * form.pixels());
  for (std::size_t i = 0; i < samples; ++i) {
    Random random = root.fork("sample", i);
    const auto user = static_cast<std::uint32_t>(form.users ? random.below(form.users) : 0);
    const std::uint32_t label = draw_class(form, user, random);
    const std::size_t mode = label * form.modes + random.below(form.modes);
    const std::span<float> out = std::span(half.features).subspan(i * form.pixels(), form.pixels());
    const auto strength = static_cast<float>(0.7 + 0.6 * random.uniform());
    add_moved(form, prototypes[mode], strength, random, out);
    for (float& x : out) x += static_cast<float>(form.noise * random.normal());
    half.targets.push_back(static_cast<float>(label));
    if (form.users > 0) half.users.push_back(user);
  }
  return {.floats = std::move(half.features),
          .targets = std::move(half.targets),
          .users = std::move(half.users)};
}

Form read_form(Options& options) {
  Form form;
  // "32" is a vector, "16/16" a grey image, "3/32/32" a colour one.
  const std::vector<double> shape = options.numbers("shape", {1, 16, 16}, between(1, 4096));
  if (shape.size() > 3) options.refuse("shape", "write channels/height/width, 16/16 or 32");
  const auto extent = [&](std::size_t from_end) {
    return shape.size() < from_end ? 1u
                                   : static_cast<std::uint32_t>(shape[shape.size() - from_end]);
  };
  form.channels = extent(3);
  form.height = extent(2);
  form.width = extent(1);
  if (form.pixels() > (1u << 20)) options.refuse("shape", "more than a million features");
  const auto count = [&](std::string_view key, std::uint32_t fallback, double low, double high) {
    return static_cast<std::uint32_t>(options.integer(key, fallback, between(low, high)));
  };
  form.classes = count("classes", form.classes, 2, 1000);
  form.modes = count("modes", form.modes, 1, 100);
  form.users = count("users", 0, 0, 1'000'000);
  form.noise = options.number("noise", form.noise, between(0, 1000));
  return form;
}

DecodedData draw(const Form& form, std::size_t samples, std::size_t tests, std::uint64_t seed) {
  const Random root = Random(seed).fork("synthetic");
  std::vector<std::vector<float>> prototypes;
  for (std::uint32_t i = 0; i < form.classes * form.modes; ++i)
    prototypes.push_back(prototype(form, root.fork("prototype", i)));
  return {.name = "synthetic",
          .task = {.shape = {form.channels, form.height, form.width}, .classes = form.classes},
          .train = draw_half(form, prototypes, samples, root.fork("train")),
          .test = draw_half(form, prototypes, tests, root.fork("test"))};
}

}  // namespace

DataSource synthetic_source(Options& options) {
  const Form form = read_form(options);
  const auto samples = static_cast<std::size_t>(options.integer("samples", 4000, between(1, 1e7)));
  const auto tests = static_cast<std::size_t>(options.integer("test", 1000, between(1, 1e7)));
  const auto seed = static_cast<std::uint64_t>(options.integer("seed", 1, at_least(0)));
  options.done();
  return {{}, [=] { return draw(form, samples, tests, seed); }};
}

}  // namespace tessera
