#include "assay/format/open_files.h"

#include "assay/tensor/dense.h"

#include <gmock/gmock.h>

#include <sys/resource.h>

namespace assay {
namespace {

TensorSet one_tensor(Result<OperandPtr> data = dense_in_memory(std::vector<std::byte>(4),
                                                               TensorMeta{DType::f32, Shape{{1}}})) {
  TensorSet set;
  set.tensors.emplace_back().data = std::move(data);
  return set;
}

TEST(OpenFiles, HandsAFileOnOnce) {
  OpenFiles files(2);
  files.keep("a", one_tensor());
  const auto taken = files.take("a");
  ASSERT_NE(taken, nullptr);
  EXPECT_EQ(taken->tensors.size(), 1);
  EXPECT_EQ(files.take("a"), nullptr);
  EXPECT_EQ(files.take("b"), nullptr);
}

TEST(OpenFiles, KeepsNoMoreThanItMay) {
  OpenFiles files(2);
  for (const char* const name : {"a", "b", "c"}) files.keep(name, one_tensor());
  EXPECT_NE(files.take("a"), nullptr);
  EXPECT_EQ(files.take("c"), nullptr);
  files.keep("d", one_tensor());  // in the place of the one that was taken
  EXPECT_NE(files.take("d"), nullptr);
}

TEST(OpenFiles, AFileWithoutDataIsClosed) {
  OpenFiles files(2);
  files.keep("a", one_tensor(fail(ErrorKind::not_found, "statistics only")));
  EXPECT_EQ(files.take("a"), nullptr);
}

TEST(OpenFiles, LeavesDescriptorsForOthers) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const auto most_of = [&](rlim_t allowed) {
    rlimit limit = before;
    limit.rlim_cur = allowed;
    EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
    return most_open_files();
  };
  EXPECT_EQ(most_of(600), 88);
  EXPECT_EQ(most_of(256), 0);
  EXPECT_EQ(most_shared_files(), 56);
  most_of(20);
  EXPECT_EQ(most_shared_files(), 1);
  raise_limit_of_open_files();
  EXPECT_EQ(most_open_files(), most_of(before.rlim_max));
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace assay
