// AD-PSGD (Lian et al., 2018): nodes average in pairs while they train. The graph has two sides.
// After every training a node of the first side asks a random neighbour, which is of the second:
// the neighbour answers with its model as it is and moves halfway to the asker's, and the asker
// moves halfway to the answer. Those who ask are never asked, so no node waits for one that
// waits; training runs beside it, and what it changes is added to what averaging made of the model
// meanwhile.
//
// One exchange is under way per asker. An answer that does not come is given up, and asking goes on
// with another neighbour.
//
// A node answers each neighbour once per training of its own; the next question waits for the
// training's end. Otherwise a neighbour that asks without pause could move it to any model.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "node/node.h"
#include "node/protocol.h"
#include "protocol/ending.h"
#include "topology/graph.h"

namespace tessera {

struct PairsOptions {
  std::shared_ptr<const Graph> graph{};
  std::shared_ptr<const std::vector<Side>> sides{};
  Duration patience{};  // How long an answer may take.
  Ending ending{};
};

class Pairs final : public Protocol {
 public:
  explicit Pairs(PairsOptions options) : options_(std::move(options)) {}

  void on_start(Node& node) override;
  void on_trained(Node& node) override;
  void on_share(Node& node, NodeId from, const Heading& heading, HeardShare share) override;
  void on_refused(Node& node, NodeId from, const Heading& heading) override;
  void on_wake(Node& node) override;
  Round rounds_done() const override { return done_; }

  void fields(Archive& archive) override { archive(done_, asked_, open_, askers_); }
  std::vector<const Share*> kept() const override;

 private:
  struct Question {
    NodeId to = 0;
    Round number = 0;
    Instant asked{};
    void fields(Archive& archive) {
      archive(to, number, asked);
      archive.require(is_plausible(asked), "a saved question was asked at no moment");
    }
  };

  struct Waiting {
    Round number = 0;
    HeardShare share{};
    void fields(Archive& archive) { archive(number, share); }
  };
  struct Asker {
    std::optional<Round> answered{};   // Its last question that was.
    bool had_its_turn = false;         // Answered since we last trained.
    std::optional<Waiting> waiting{};  // What it asked since.
    void fields(Archive& archive) { archive(answered, had_its_turn, waiting); }
  };

  bool answers_open_question(NodeId from, Round number) const {
    return open_ && open_->to == from && open_->number == number;
  }
  void ask_and_train(Node& node);
  void ask(Node& node);
  void hear_question(Node& node, NodeId from, Round number, HeardShare question);
  void answer(Node& node, NodeId from, Round number, const Share& question);
  void answer_those_waiting(Node& node);

  PairsOptions options_;
  Round done_ = 0;   // Trainings.
  Round asked_ = 0;  // Questions so far; a heading's round is its question's number.
  std::optional<Question> open_;
  std::map<NodeId, Asker> askers_;
};

}  // namespace tessera
