// A run that is there already and goes on otherwise than it began: made longer, by more rounds or
// more virtual time, or elsewhere on its device. Everything else is as it was. A longer one ends in
// the bits of one that was as long from the beginning, so what depends on a run's length (a
// learning rate that falls until the end) cannot be lengthened. One that goes on elsewhere ends in
// the bits of one that was there from the beginning, as far as its device computes the same
// everywhere (without_place in learn/device.h).
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "run/plan.h"

namespace tessera {

// An experiment's text without what may change when it goes on: the words of its protocol that say
// when it ends, and those of its device that say where on it.
std::string toml_of_same_run(Experiment experiment);

// The plan by which the run in `folder` began, where `now` is the same but for a later end or
// another place on the device. Nothing where there is no run, where it is the very same plan, or
// where more differs. Throws std::invalid_argument, in words, for one that ends sooner or cannot be
// made longer.
std::optional<Plan> plan_to_go_on_from(const std::filesystem::path& folder, const Plan& now);

bool same_end(const Plan& before, const Plan& now);

}  // namespace tessera
