// `tessera train`: one node with all the data and no peers, the baseline to try first.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <stdexcept>
#include <string>

#include "base/output.h"
#include "base/spec.h"
#include "base/stopwatch.h"
#include "base/text.h"
#include "cli/command.h"
#include "cli/flags.h"
#include "cli/interrupt.h"
#include "run/lesson.h"

namespace tessera {
namespace {

struct TrainArguments {
  std::shared_ptr<ExperimentArguments> experiment{};
  std::int64_t steps = 0;  // 0: what the data asks for.
  std::int64_t lines = 10;
  unsigned threads = 0;
  std::string folder{};
  std::string formats{};  // Of the model in that folder.
};

void print_line(std::int64_t step, double train_loss, const Score& score, double seconds) {
  const int filled = static_cast<int>(std::lround(std::clamp(score.accuracy, 0.0, 1.0) * 30));
  print_out("{:>8}  {:>10}  {:>9.4f}  {:>8.2f}%  {:<30}  {:>7.1f} s\n", step,
            std::isnan(train_loss) ? std::string("-") : fmt::format("{:.4f}", train_loss),
            score.loss, 100 * score.accuracy, std::string(static_cast<std::size_t>(filled), '#'),
            seconds);
  flush_out();
}

int train(const TrainArguments& arguments) {
  const Stopwatch watch;
  Plan plan = read_plan_alone(arguments.experiment->resolve());
  // Ratings are the one task whose loss is squared.
  const bool ratings = plan.lesson.options.data.kind->name == "movielens";
  const std::int64_t steps = arguments.steps > 0 ? arguments.steps : ratings ? 20'000 : 2'000;
  const std::int64_t every =
      std::max<std::int64_t>(1, steps / std::max<std::int64_t>(1, arguments.lines));
  set_training_steps(plan, every, steps);
  Learning lesson = make_lesson(plan, arguments.threads);
  if (!arguments.folder.empty()) {
    (void)chosen_exporters(lesson, arguments.formats);
    // There is something to save: the model as the next line finds it.
    listen_for({SIGINT, SIGTERM, SIGHUP}, SecondSignal::kEndsAtOnce);
  }
  print_out("{}; {}; lines of {} steps\n\n", plan.experiment.data, lesson.description, every);
  print_out("{:>8}  {:>10}  {:>9}  {:>9}\n", "step", ratings ? "train MSE" : "train loss",
            ratings ? "test RMSE" : "test loss", "accuracy");

  Vector model = lesson.trainer->initial_model();
  const NodeId node = 0;
  const std::span<const float> view = model;
  const auto score = [&] { return lesson.evaluator->evaluate({&node, 1}, {&view, 1}).front(); };
  print_line(0, NAN, score(), watch.seconds());
  const Random random = plan.root().fork("node", node);
  for (std::int64_t step = every; step <= steps; step += every) {
    TrainJob job{.node = node,
                 .model = model,
                 .random = random.fork("train", static_cast<std::uint64_t>(step / every - 1))};
    lesson.trainer->train({&job, 1});
    const Score now = score();
    print_line(step, job.loss, now, watch.seconds());
    if (interrupted()) break;
    if (!std::isfinite(now.loss))
      throw std::runtime_error(
          "the model has diverged: lower the learning rate (training=sgd:lr=…) or clip its "
          "gradients "
          "(clip=1)");
  }
  if (!arguments.folder.empty())
    export_models(lesson, {&view, 1}, arguments.folder, arguments.formats);
  return interrupted() ? kInterrupted : 0;
}

}  // namespace

Action add_train(CLI::App& parser) {
  const auto positive = [](const std::string& text) {
    return whole_number_fault(text, at_least(1));
  };
  auto arguments = std::make_shared<TrainArguments>();
  arguments->experiment = add_experiment_options(parser);
  parser
      .add_option(
          "--steps", arguments->steps,
          "Minibatches in all (default: 2000, for ratings 20000: a step touches few of them)")
      ->check(positive);
  parser.add_option("--lines", arguments->lines, "How often to test and print (default: 10)")
      ->check(positive);
  parser
      .add_option("--threads", arguments->threads,
                  "Worker threads for evaluation; 0 takes one per core")
      ->check(CLI::Range(0u, 1024u));
  parser.add_option("--export", arguments->folder,
                    "Folder to write the model to, with PyTorch's names and shapes; also where a "
                    "signal stops it, after the next line");
  parser.add_option("--export-as", arguments->formats,
                    "File formats for --export: safetensors (by default), npz, and pt "
                    "(TorchScript) where LibTorch is built in; several with commas");
  parser.footer(
      "Examples:\n"
      "  tessera train experiments/fashion.toml --steps=500\n"
      "  tessera train experiments/jwins/cifar10.toml --training=sgd:lr=0.05,batch=8 "
      "--export=model");
  return [arguments](const std::string&) { return train(*arguments); };
}

}  // namespace tessera
