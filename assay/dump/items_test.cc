#include "assay/dump/items.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::HasSubstr;

const TensorMeta kMeta{DType::f32, Shape{{1}}};

TensorDraft draft_of(Result<OperandPtr> data, std::optional<TensorMeta> meta) {
  TensorSet set;
  set.tensors.push_back({.name = "t",
                         .data = std::move(data),
                         .meta = std::move(meta),
                         .stats = Stats{},
                         .facts = {Fact{"format", std::string("ND")}}});
  return draft_tensors("t.npy", std::move(set), {}).at(0);
}

TEST(DraftTensors, KeepsWhatTheFileSays) {
  const TensorDraft draft = draft_of(dense_in_memory(std::vector<std::byte>(4), kMeta), std::nullopt);
  EXPECT_TRUE(draft.has_data);
  EXPECT_EQ(draft.meta, kMeta);
  EXPECT_TRUE(draft.stats.has_value());
  EXPECT_EQ(draft.facts.size(), 1);
}

TEST(DraftTensors, TellsADescriptionFromTrouble) {
  TensorDraft draft = draft_of(fail(ErrorKind::not_found, "x: holds a description only"), kMeta);
  EXPECT_FALSE(draft.has_data);
  EXPECT_EQ(draft.trouble, "");
  EXPECT_EQ(draft.facts.back().key, "no_data");
  draft = draft_of(OperandPtr{}, kMeta);
  EXPECT_FALSE(draft.has_data);
  EXPECT_EQ(draft.trouble, "");
  draft = draft_of(fail(ErrorKind::bad_format, "x: broken"), kMeta);
  EXPECT_FALSE(draft.has_data);
  EXPECT_EQ(draft.trouble, "x: broken");
}

TEST(MakeItem, MovesIntoTheFrame) {
  Frame frame;
  const Item item =
      make_item(frame, "a\xff", 3, 4, draft_of(dense_in_memory(std::vector<std::byte>(4), kMeta), {}));
  EXPECT_EQ(item.name, "a\\xff");
  EXPECT_EQ(item.data->file, 3);
  EXPECT_EQ(item.data->slot, 4);
  EXPECT_EQ(item.stated, &frame.stated[0]);
  EXPECT_EQ(item.facts->at(0).key, "format");
}

TEST(SomeNames, ShowsAFew) {
  EXPECT_EQ(some_names({"a", "b"}), "a, b");
  EXPECT_EQ(some_names({"a", "b", "c", "d\n"}, 3), "a, b, c, …");
  EXPECT_THAT(some_names({"d\n"}), HasSubstr("\\x0a"));
}

}  // namespace
}  // namespace assay
