#include "attack/liar.h"

#include <utility>

#include "base/check.h"

namespace tessera {

Liar::Liar(NodeId self, ChosenAttack chosen, const Random& faults)
    : chosen_(std::move(chosen)), random_(faults.fork("lies").fork("node", self)) {}

Payload Liar::retell(const Payload& truth, const Scene* scene) {
  if (chosen_.kind->flips_labels) return truth;
  if (chosen_.kind->repeats) {
    if (!first_.letter) first_ = truth;
    return first_;
  }
  Told& told = told_[truth.letter.get()];
  if (!told.lie.letter || chosen_.kind->aims) told = {truth, make_lie(truth, scene)};
  return told.lie;
}

Payload Liar::make_lie(const Payload& truth, const Scene* scene) {
  const Random random = random_.fork("lie", lies_++);
  Result<Message> message = decode(truth.letter->bytes());
  CHECK(message.ok());
  if (chosen_.kind->omniscient) {
    CHECK(scene != nullptr);
    const Vector model = chosen_.attack->model(*scene);
    if (!model.empty()) message->share.values = scene->told_of(model, message->share.coordinates);
  }
  chosen_.attack->change(*message, random.fork("change"));
  const Header header = peek(truth.letter->bytes()).value();
  Encoded lie = encode(message->heading, message->share, {header.index_codec, header.value_codec},
                       message->envelope, random.fork("rounding"));
  return {std::make_shared<const Letter>(std::move(lie.bytes)), lie.value_bytes};
}

}  // namespace tessera
