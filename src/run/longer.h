// A run that is there already, made longer: more rounds or more virtual time, and everything else
// as it was. It ends in the bits of one that was this long from the beginning, so what depends on a
// run's length (a learning rate that falls until the end) cannot be lengthened.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "run/plan.h"

namespace tessera {

// An experiment's text without the words of its protocol that say when it ends.
std::string toml_without_end(Experiment experiment);

// The plan by which the run in `folder` began, where `now` is the same but for a later end. Nothing
// where there is no run, where it is the very same plan, or where more than the end differs. Throws
// std::invalid_argument, in words, for one that ends sooner or cannot be made longer.
std::optional<Plan> plan_to_lengthen(const std::filesystem::path& folder, const Plan& now);

}  // namespace tessera
