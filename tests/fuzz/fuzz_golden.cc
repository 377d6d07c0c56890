// Golden operators: parameters and tensors of any kind must give outputs that can be read, or an error.
// Input: the type of the operator, its parameters as JSON, each on a line; then tensors.
#include "tests/fuzz/target.h"

#include "assay/dump/atb_op_params.h"
#include "assay/dump/atb_op_table.h"
#include "assay/golden/golden.h"
#include "assay/tensor/dense.h"

#include <algorithm>
#include <string_view>

namespace assay {
namespace {

constexpr size_t kMostInputs = 12;
constexpr int64_t kMostElements = 4096;
constexpr DType kTypes[] = {DType::f32, DType::f16, DType::bf16, DType::i8,  DType::i32,     DType::i64,
                            DType::f64, DType::u8,  DType::i16,  DType::u32, DType::boolean, DType::c64};

class Bytes8 {
 public:
  Bytes8(const uint8_t* data, size_t size) : data_(data), size_(size) {}
  bool is_empty() const { return at_ >= size_; }
  uint8_t next() { return is_empty() ? 0 : data_[at_++]; }
  std::string line() {
    std::string out;
    while (!is_empty()) {
      const char c = static_cast<char>(next());
      if (c == '\n') break;
      out += c;
    }
    return out;
  }

 private:
  const uint8_t* data_;
  size_t size_, at_ = 0;
};

// A byte for the type, one for the number of dimensions, one for each, then as many elements as there are.
OperandPtr next_tensor(Bytes8& bytes) {
  TensorMeta meta{kTypes[bytes.next() % std::size(kTypes)], {}};
  const int rank = bytes.next() % 5;
  int64_t count = 1;
  for (int i = 0; i < rank; ++i) {
    const int64_t extent = std::min<int64_t>(bytes.next() % 40, kMostElements / std::max<int64_t>(count, 1));
    meta.shape.dims.push_back(extent);
    count *= extent;
  }
  std::vector<std::byte> data(static_cast<size_t>(meta.byte_size()));
  for (std::byte& each : data) each = std::byte{bytes.next()};
  if (meta.dtype == DType::boolean)
    for (std::byte& each : data) each &= std::byte{1};
  return dense_in_memory(std::move(data), meta);
}

void read_all(const OperandPtr& operand) {
  if (operand == nullptr) return;
  check_error(read_whole(*operand, int64_t{1} << 28));
}

}  // namespace
}  // namespace assay

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace assay;
  static const TemporaryFile table("operation_tensors_0.csv");
  table.fill(data, size);
  check_error(read_op_table(table.path()));
  Bytes8 bytes(data, size);
  const std::string type = bytes.line();
  const OpParams params = parse_op_params(bytes.line(), "op_param.json");
  ASSAY_CHECK(params.trouble.find('\n') == std::string::npos);
  const GoldenOp* const op = find_golden_op(type);
  if (op == nullptr) return 0;
  GoldenCall call;
  call.type = type;
  call.params = GoldenParams(params.list);
  call.soc = static_cast<Soc>(bytes.next() % 3);
  call.memory = int64_t{64} << 20;
  while (!bytes.is_empty() && call.in.size() < kMostInputs) call.in.push_back(next_tensor(bytes));
  for (const OperandPtr& in : call.in) call.out.push_back(in->meta);
  call.in_of_rank = [&call](int rank) -> Result<std::vector<OperandPtr>> {
    if (rank < 0 || rank > 3) return fail(ErrorKind::not_found, "no rank {}", rank);
    return call.in;
  };
  const auto outputs = op->compute(call);
  check_error(outputs);
  if (!outputs) return 0;
  for (const Expected& output : *outputs) {
    ASSAY_CHECK(output.value != nullptr);
    for (const OperandPtr& beside : {output.allowed, output.known})
      ASSAY_CHECK(beside == nullptr || beside->meta.shape.count() == output.value->meta.shape.count());
    read_all(output.value);
    read_all(output.allowed);
    read_all(output.known);
  }
  return 0;
}
