// What a plan's nodes learn from, and the time that takes.
#pragma once

#include "learn/learning.h"
#include "run/plan.h"
#include "sim/blocks.h"

namespace tessera {

// Throws std::invalid_argument for a line that does not fit the data, and std::runtime_error for a
// file that cannot be used. With 0 threads it takes one per core.
Learning make_lesson(const Plan& plan, unsigned threads);

// Throws std::invalid_argument where nodes are to count by their samples and their numbers are
// not known: the toy's, or those of a loop of the caller's own.
void require_samples(const Plan& plan, const Learning& lesson);

// Wraps the evaluator in one that leaves each node to the rank that holds it, and hears the scores
// of all; `blocks` must outlive it.
void divide_evaluation(Learning& lesson, const Blocks& blocks);

// Wall time spent in learning, for the summary: what is left of a run is the simulator's own.
// Training is when some thread waits for it: where a trainer computes some nodes while all threads
// pack others, that is not in it.
struct LessonTime {
  double training_s = 0, evaluating_s = 0;
};
// Wraps trainer and evaluator in ones that measure; `time` must outlive them.
void measure(Learning& lesson, LessonTime& time);

}  // namespace tessera
