// What holds for every writer.
#include "assay/format/format.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>

namespace assay {
namespace {

// Zeros, and a note of whether anybody asked for them in a way that hides a file that shrinks.
class Probe final : public Operand {
 public:
  Probe() : Operand({DType::f32, Shape{{100}}}) {}
  Result<Block> block(int64_t, int64_t count, Scratch& scratch) const override {
    asked = true;
    mapped = mapped || scratch.may_map;
    std::byte* const bytes = scratch.buffer(count * 4);
    std::fill(bytes, bytes + count * 4, std::byte{0});
    return Block{meta.dtype, bytes, count};
  }
  mutable bool asked = false, mapped = false;
};

TEST(Writers, NeverReadThroughAMappingThatTheyDoNotCheck) {
  int writers = 0;
  for (const Format* format : formats()) {
    if (format->write == nullptr) continue;
    SCOPED_TRACE(format->name);
    ++writers;
    const auto probe = std::make_shared<Probe>();
    const StoredTensor tensor{.name = format->one_tensor ? "" : "x",
                              .data = OperandPtr(probe),
                              .meta = {},
                              .stats = {},
                              .facts = {}};
    const fs::path path = fs::temp_directory_path() / fmt::format("assay_writers_{}", ::getpid());
    auto out = FileWriter::create(path, IfExists::replace);
    ASSERT_TRUE(out.has_value());
    ASSERT_TRUE(format->write(*out, std::span(&tensor, 1)).has_value());
    EXPECT_TRUE(probe->asked);
    EXPECT_FALSE(probe->mapped);
  }
  EXPECT_GE(writers, 5);
}

}  // namespace
}  // namespace assay
