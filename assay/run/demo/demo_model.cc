#include "assay/run/demo/demo_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace assay {
namespace {

constexpr int kLayers = 4, kHidden = 64, kHeads = 4, kHead = kHidden / kHeads, kMlp = 172, kVocabulary = 256,
              kTokens = 16;
constexpr uint64_t kSeed = 20250102;

// splitmix64: the same numbers on every machine, which the distributions of <random> do not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() {
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  double uniform() { return std::ldexp(static_cast<double>(next() >> 11), -52) - 1; }  // [-1, 1)

 private:
  uint64_t state_;
};

// Rows × columns, row-major.
struct Matrix {
  int rows = 0, columns = 0;
  std::vector<float> values;

  Matrix(int r, int c) : rows(r), columns(c), values(static_cast<size_t>(r) * static_cast<size_t>(c)) {}
  float& at(int r, int c) {
    return values[static_cast<size_t>(r) * static_cast<size_t>(columns) + static_cast<size_t>(c)];
  }
  float at(int r, int c) const {
    return values[static_cast<size_t>(r) * static_cast<size_t>(columns) + static_cast<size_t>(c)];
  }
};

float silu(float x) { return static_cast<float>(double{x} / (1 + std::exp(-double{x}))); }
float gelu(float x) {  // the tanh form
  const double inner =
      std::sqrt(2 / std::numbers::pi) * (double{x} + 0.044715 * double{x} * double{x} * double{x});
  return static_cast<float>(0.5 * double{x} * (1 + std::tanh(inner)));
}

class Model {
 public:
  explicit Model(const DemoSettings& settings) : settings_(settings), random_(kSeed) {}

  std::vector<DemoTensor> run() {
    Matrix stream = output("embedding", embedding());
    for (int layer = 0; layer < kLayers; ++layer) stream = block(fmt::format("layers.{}.", layer), stream);
    const Matrix normed = output("final_norm", norm(stream));
    output("logits", linear(normed, kVocabulary));
    return std::move(outputs_);
  }

 private:
  float rounded(float value) const { return settings_.bf16 ? bf16_to_f32(f32_to_bf16(value)) : value; }

  // Rounds as the operator would, and records.
  Matrix output(std::string name, Matrix matrix, std::vector<int64_t> dims = {}) {
    for (float& value : matrix.values) value = rounded(value);
    if (dims.empty()) dims = {matrix.rows, matrix.columns};
    outputs_.push_back({std::move(name), {std::move(dims)}, matrix.values});
    return matrix;
  }

  Matrix weight(int rows, int columns, double spread) {
    Matrix out(rows, columns);
    for (float& value : out.values) value = rounded(static_cast<float>(spread * random_.uniform()));
    return out;
  }

  Matrix embedding() {
    const Matrix table = weight(kVocabulary, kHidden, std::sqrt(3.0));  // variance 1
    Matrix out(kTokens, kHidden);
    for (int t = 0; t < kTokens; ++t) {
      const int token = static_cast<int>(random_.next() % kVocabulary);
      for (int i = 0; i < kHidden; ++i) out.at(t, i) = table.at(token, i);
    }
    return out;
  }

  // x · Wᵀ with a fresh weight of variance 1 / inputs, so that outputs have the variance of the inputs.
  Matrix linear(const Matrix& x, int outputs) {
    const Matrix w = weight(outputs, x.columns, std::sqrt(3.0 / x.columns));
    Matrix out(x.rows, outputs);
    for (int r = 0; r < x.rows; ++r)
      for (int o = 0; o < outputs; ++o) {
        float sum = 0;
        for (int i = 0; i < x.columns; ++i) sum += x.at(r, i) * w.at(o, i);
        out.at(r, o) = sum;
      }
    return out;
  }

  Matrix norm(const Matrix& x) {
    const Matrix gain = weight(1, x.columns, 0.1);
    Matrix out(x.rows, x.columns);
    for (int r = 0; r < x.rows; ++r) {
      float squares = 0;
      for (int i = 0; i < x.columns; ++i) squares += x.at(r, i) * x.at(r, i);
      const float scale = 1 / std::sqrt(squares / static_cast<float>(x.columns) + 1e-6f);
      for (int i = 0; i < x.columns; ++i) out.at(r, i) = x.at(r, i) * scale * (1 + gain.at(0, i));
    }
    return out;
  }

  // Rotary positions: elements i and i + kHead/2 of a head are turned by position · 10000^(-2i/kHead).
  static Matrix rotate(const Matrix& x) {
    Matrix out(x.rows, x.columns);
    for (int t = 0; t < x.rows; ++t)
      for (int first = 0; first < x.columns; first += kHead)
        for (int i = 0; i < kHead / 2; ++i) {
          const double angle = t * std::pow(10000.0, -2.0 * i / kHead);
          const auto c = static_cast<float>(std::cos(angle)), s = static_cast<float>(std::sin(angle));
          const float a = x.at(t, first + i), b = x.at(t, first + i + kHead / 2);
          out.at(t, first + i) = a * c - b * s;
          out.at(t, first + i + kHead / 2) = a * s + b * c;
        }
    return out;
  }

  // Row head · kTokens + t holds what token t of that head looks at; later tokens stay 0.
  static Matrix probabilities(const Matrix& q, const Matrix& k) {
    Matrix out(kHeads * kTokens, kTokens);
    const float scale = 1 / std::sqrt(static_cast<float>(kHead));
    for (int head = 0; head < kHeads; ++head)
      for (int t = 0; t < kTokens; ++t) {
        float* row = &out.at(head * kTokens + t, 0);
        for (int u = 0; u <= t; ++u) {
          float dot = 0;
          for (int i = 0; i < kHead; ++i) dot += q.at(t, head * kHead + i) * k.at(u, head * kHead + i);
          row[u] = dot * scale;
        }
        const float peak = *std::max_element(row, row + t + 1);
        float sum = 0;
        for (int u = 0; u <= t; ++u)
          sum += row[u] = static_cast<float>(std::exp(double{row[u]} - double{peak}));
        for (int u = 0; u <= t; ++u) row[u] /= sum;
      }
    return out;
  }

  static Matrix context(const Matrix& p, const Matrix& v) {
    Matrix out(kTokens, kHidden);
    for (int t = 0; t < kTokens; ++t)
      for (int c = 0; c < kHidden; ++c) {
        float sum = 0;
        for (int u = 0; u <= t; ++u) sum += p.at(c / kHead * kTokens + t, u) * v.at(u, c);
        out.at(t, c) = sum;
      }
    return out;
  }

  template <class F>
  static Matrix elementwise(const Matrix& a, const Matrix& b, F f) {
    Matrix out(a.rows, a.columns);
    std::transform(a.values.begin(), a.values.end(), b.values.begin(), out.values.begin(), f);
    return out;
  }

  Matrix block(const std::string& layer, const Matrix& stream) {
    const Matrix x = output(layer + "input_norm", norm(stream));
    const Matrix q = output(layer + "attention.q", linear(x, kHidden));
    const Matrix k = output(layer + "attention.k", linear(x, kHidden));
    const Matrix v = output(layer + "attention.v", linear(x, kHidden));
    const Matrix q_turned = output(layer + "attention.q_rope", rotate(q));
    const Matrix k_turned = output(layer + "attention.k_rope", rotate(k));
    const Matrix p = output(layer + "attention.probabilities", probabilities(q_turned, k_turned),
                            {kHeads, kTokens, kTokens});
    const Matrix seen = output(layer + "attention.context", context(p, v));
    const Matrix attended = output(layer + "attention.output", linear(seen, kHidden));
    const Matrix middle = output(layer + "attention.residual", elementwise(stream, attended, std::plus<>()));
    const Matrix y = output(layer + "mlp.norm", norm(middle));
    const Matrix gate = output(layer + "mlp.gate", linear(y, kMlp));
    const Matrix up = output(layer + "mlp.up", linear(y, kMlp));
    const std::string activation = layer + "mlp.activation";
    const auto function = settings_.faulty && activation == kDemoFault ? gelu : silu;
    const Matrix active =
        output(activation, elementwise(gate, gate, [&](float g, float) { return function(g); }));
    const Matrix product = output(layer + "mlp.product", elementwise(active, up, std::multiplies<>()));
    const Matrix down = output(layer + "mlp.output", linear(product, kHidden));
    return output(layer + "mlp.residual", elementwise(middle, down, std::plus<>()));
  }

  DemoSettings settings_;
  Random random_;
  std::vector<DemoTensor> outputs_;
};

}  // namespace

std::vector<DemoTensor> run_demo_model(const DemoSettings& settings) { return Model(settings).run(); }

}  // namespace assay
