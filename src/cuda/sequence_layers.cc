// Embeddings and LSTMs: sequences are [node][sample][step][numbers].
#include "base/check.h"
#include "cuda/layers.h"
#include "cuda/sequence_kernels.h"

namespace tessera::cuda {
namespace {

int whole(std::size_t count) {
  return static_cast<int>(count);
}

class CudaEmbedding final : public CudaLayer {
 public:
  CudaEmbedding(const Model& model, const Layer& layer, const Embedding& table,
                const Layout& layout)
      : shape_{
            .rows = whole(table.rows), .width = whole(table.width), .numbers = whole(layer.in[0])} {
    const Parameter& own = model.parameters[layer.first_parameter];
    table_ = layout.order.add(own);
    d_table_ = layout.gradient_in_parts(table_, own.size, 1);
    put_out(layout, std::size_t{layer.in[0]} * table.width);
  }

  void forward(const Pass& pass, const Rows& in) override {
    look_up(pass, shape_, in, table_, out_data());
  }
  void backward(const Pass& pass, const Rows& in, float* /*d_in*/) override {
    look_up_gradient(pass, shape_, in, d_out(), d_table_);
  }

 private:
  TableShape shape_;
  std::size_t table_ = 0;
  float* d_table_ = nullptr;
};

// One level. What comes in is multiplied for all steps at once, and so are the gradients of the
// weights; only what a state makes of the next goes step by step.
class CudaLstmLevel {
 public:
  // `own`: its four parameters. Those below in memory are the layer's to fill in.
  CudaLstmLevel(std::span<const Parameter> own, const LstmShape& shape, std::size_t inputs,
                const Layout& layout)
      : shape_(shape), inputs_(whole(inputs)) {
    from_input_ = layout.order.add(own[0]);
    d_from_input_ = layout.gradient_in_parts(from_input_, own[0].size, 1);
    from_state_ = layout.order.add(own[1]);
    d_from_state_ = layout.gradient_in_parts(from_state_, own[1].size, 1);
    const int batch = whole(layout.batch);
    input_bias_ = layout.order.add(own[2]);
    gradients_.bias = layout.gradient_in_parts(input_bias_, own[2].size, lstm_tiles(batch));
    state_bias_ = layout.order.add(own[3]);
    if (!layout.training) return;
    // Both biases have the same gradient.
    Gradient same = layout.gradients.back();
    same.first = state_bias_;
    layout.gradients.push_back(same);
    gradients_.carried = layout.memory.take<float>(layout.nodes * lstm_carried(shape.units, batch));
  }

  void forward(const Pass& pass, const float* x) const {
    multiply(pass, {.rows = rows(pass),
                    .columns = 4 * shape_.units,
                    .terms = inputs_,
                    .a = activations(pass, x, inputs_, false),
                    .b = {pass.parameters + from_input_, pass.dimension, inputs_},
                    .biases = {pass.parameters + input_bias_, pass.parameters + state_bias_},
                    .bias_stride = pass.dimension,
                    .out = memory.gates});
    lstm_states(pass, shape_, from_state_, memory);
  }

  // Writes d_x unless it is null.
  void backward(const Pass& pass, const float* x, const float* d_states, float* d_x) const {
    lstm_gradient(pass, shape_, from_state_, memory, d_states, gradients_);
    const int gates = 4 * shape_.units;
    if (d_x)
      multiply(pass, {.rows = rows(pass),
                      .columns = inputs_,
                      .terms = gates,
                      .a = activations(pass, memory.gates, gates, false),
                      .b = {pass.parameters + from_input_, pass.dimension, inputs_, true},
                      .out = d_x});
    Product weights{.rows = gates,
                    .columns = inputs_,
                    .terms = rows(pass),
                    .a = activations(pass, memory.gates, gates, true),
                    .b = activations(pass, x, inputs_, true),
                    .out = d_from_input_};
    multiply(pass, weights);
    weights.columns = shape_.units;
    weights.b = activations(pass, memory.states, shape_.units, true);
    weights.b.period = shape_.steps;
    weights.out = d_from_state_;
    multiply(pass, weights);
  }

  LstmMemory memory{};

 private:
  int rows(const Pass& pass) const { return pass.batch * shape_.steps; }
  Factor activations(const Pass& pass, const float* data, int width, bool turned) const {
    return {data, static_cast<std::size_t>(rows(pass)) * static_cast<std::size_t>(width), width,
            turned};
  }

  LstmShape shape_;
  int inputs_;
  std::size_t from_input_ = 0, from_state_ = 0, input_bias_ = 0, state_bias_ = 0;
  float* d_from_input_ = nullptr;
  float* d_from_state_ = nullptr;
  LstmGradients gradients_{};
};

class CudaLstm final : public CudaLayer {
 public:
  CudaLstm(const Model& model, const Layer& layer, const Lstm& lstm, bool relu,
           const Layout& layout) {
    const std::size_t steps = layer.in[0], width = steps * lstm.units;
    put_out(layout, width);
    for (std::size_t level = 0; level < lstm.levels; ++level) {
      const bool last = level + 1 == lstm.levels;
      CudaLstmLevel& made = levels_.emplace_back(
          std::span(model.parameters).subspan(layer.first_parameter + 4 * level, 4),
          LstmShape{.steps = whole(steps), .units = whole(lstm.units), .relu = relu && last},
          level == 0 ? lstm.inputs : lstm.units, layout);
      // Where nothing is trained, a level's gates are done with before the next one's begin.
      made.memory = {.gates = level == 0 || layout.training ? layout.rows<float>(4 * width)
                                                            : levels_.front().memory.gates,
                     .cells = layout.rows<float>(width),
                     .states = last && !relu ? out_data() : layout.rows<float>(width),
                     .out = last && relu ? out_data() : nullptr};
      d_states_.push_back(last || !layout.training ? d_out() : layout.rows<float>(width));
    }
  }

  void forward(const Pass& pass, const Rows& in) override {
    CHECK(in.chosen == nullptr);
    const float* x = in.data;
    for (const CudaLstmLevel& level : levels_) {
      level.forward(pass, x);
      x = level.memory.states;
    }
  }
  void backward(const Pass& pass, const Rows& in, float* d_in) override {
    for (std::size_t i = levels_.size(); i-- > 0;)
      levels_[i].backward(pass, i > 0 ? levels_[i - 1].memory.states : in.data, d_states_[i],
                          i > 0 ? d_states_[i - 1] : d_in);
  }

 private:
  std::vector<CudaLstmLevel> levels_;
  std::vector<float*> d_states_;
};

}  // namespace

std::unique_ptr<CudaLayer> make_embedding(const Model& model, const Layer& layer,
                                          const Embedding& table, const Layout& layout) {
  return std::make_unique<CudaEmbedding>(model, layer, table, layout);
}

std::unique_ptr<CudaLayer> make_lstm(const Model& model, const Layer& layer, const Lstm& lstm,
                                     bool relu, const Layout& layout) {
  return std::make_unique<CudaLstm>(model, layer, lstm, relu, layout);
}

std::string missing_in(const Lstm& lstm) {
  if (!lstm_units_fit(lstm.units)) return "LSTMs whose units are not 32, 64, 128 or 256";
  if (lstm.inputs % 4 != 0) return "LSTMs whose inputs are no multiple of 4";
  return {};
}

}  // namespace tessera::cuda
