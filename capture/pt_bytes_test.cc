// What torch.save of PyTorch 1.13 wrote (tests/data/capture), against what stands around a tensor here.
#include "assay/base/crc32.h"
#include "assay/format/pt_write.h"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

namespace assay {
namespace {

using ::testing::HasSubstr;

std::string file_of_hooks(const std::string& name) {
  std::ifstream file(std::string(ASSAY_TEST_DATA) +
                         "/capture/msit_torch_hook/msit_dump_20261115_011842/torch_tensors/cpu_27468/" + name,
                     std::ios::binary);
  std::stringstream all;
  all << file.rdbuf();
  return all.str();
}

// The file again, from the data that lie in it and what is known of it.
std::string written_anew(const std::string& file, const TensorMeta& meta, const PtObject& object) {
  const size_t record = file.find("PK\3\4", 4);
  const size_t begin = file.find("FB", record) + 4;
  const auto padding = static_cast<uint8_t>(file[begin - 2]);
  const std::string data = file.substr(begin + padding, static_cast<size_t>(meta.byte_size()));
  const PtAround around = around_one_tensor(meta, object, crc32_of(0, as_bytes(std::string_view(data))));
  return around.before + data + around.behind;
}

TEST(PtBytes, OfATensorAreThoseOfTorch) {
  const std::string three = file_of_hooks("0/root.layers.0.attn/input_0.pth");
  ASSERT_EQ(three.size(), 811U);
  EXPECT_EQ(written_anew(three, {DType::f32, Shape{{1, 3, 8}}}, {.folder = "input_0"}), three);
  const std::string four = file_of_hooks("0/root.layers.0.attn/output_1.pth");
  EXPECT_EQ(written_anew(four, {DType::f32, Shape{{1, 2, 3, 3}}}, {.folder = "output_1"}), four);
}

TEST(PtBytes, OfAParameterAreThoseOfTorch) {
  const std::string name = "root.layers.0.attn.k.bias";
  const std::string file = file_of_hooks("weights/" + name + ".pth");
  ASSERT_EQ(file.size(), 929U);
  const PtObject parameter{.folder = name, .requires_grad = true, .is_parameter = true};
  EXPECT_EQ(written_anew(file, {DType::f32, Shape{{8}}}, parameter), file);
  EXPECT_NE(written_anew(file, {DType::f32, Shape{{8}}}, {.folder = name, .is_parameter = true}), file);
}

TEST(PtBytes, OfMoreThan4GiBSayTheirSizeIn64Bits) {
  const TensorMeta large{DType::u8, Shape{{int64_t{5} << 30}}};
  const PtAround around = around_one_tensor(large, {}, 7);
  EXPECT_THAT(around.before, HasSubstr("archive/data/0"));
  const int64_t size = large.byte_size();
  EXPECT_THAT(around.before, HasSubstr(std::string(reinterpret_cast<const char*>(&size), sizeof size)));
  EXPECT_THAT(around.behind, HasSubstr("PK\6\6"));
  EXPECT_EQ(around.before.size() % 64, 0U);  // data are aligned
}

}  // namespace
}  // namespace assay
