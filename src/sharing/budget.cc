#include "sharing/budget.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <string>

namespace tessera {
Budget Budget::read(Options& options, std::vector<double> fallback, Round rounds) {
  Budget budget;
  budget.schedule_ = Schedule::read(options, rounds);
  std::vector<std::string> words;
  for (const double fraction : fallback) words.push_back(fmt::format("{}", fraction));
  words = options.words("budget", words);
  bool chances = false;
  double sum = 0;
  for (const std::string& word : words) {
    const std::size_t at = word.find('@');
    Entry entry{.fraction = options.number_in("budget", word.substr(0, at)),
                .chance = 1.0 / static_cast<double>(words.size())};
    if (!above_up_to(0, 1).contains(entry.fraction))
      options.refuse("budget",
                     fmt::format("{} must be in (0, 1]: the fraction of the model to send", word));
    if (at != std::string::npos) {
      entry.chance = options.number_in("budget", word.substr(at + 1));
      if (!above_up_to(0, 1).contains(entry.chance))
        options.refuse("budget", fmt::format("{}: a chance must be in (0, 1]", word));
      chances = true;
    }
    sum += entry.chance;
    budget.entries_.push_back(entry);
  }
  if (chances && std::abs(sum - 1) > 1e-9)
    options.refuse("budget", fmt::format("the chances sum to {}, not to 1", sum));
  return budget;
}

double Budget::draw(const Random& random) {
  return std::min(1.0, draw_entry(random) * schedule_.next());
}

double Budget::draw_entry(const Random& random) const {
  double left = random.fork("cut-off").uniform();
  for (const Entry& entry : entries_) {
    left -= entry.chance;
    if (left < 0) return entry.fraction;
  }
  return entries_.back().fraction;
}

}  // namespace tessera
