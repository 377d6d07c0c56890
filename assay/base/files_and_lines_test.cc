#include "assay/base/files_and_lines.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

TEST(FilesAndLines, NamesWhatThereIs) {
  EXPECT_EQ(files_and_lines(0, 0), "0 files");
  EXPECT_EQ(files_and_lines(1, 0), "1 file");
  EXPECT_EQ(files_and_lines(3, 1), "2 files and 1 line of tables");
  EXPECT_EQ(files_and_lines(8, 7), "1 file and 7 lines of tables");
  EXPECT_EQ(files_and_lines(2, 2), "2 lines of tables");
}

}  // namespace
}  // namespace assay
