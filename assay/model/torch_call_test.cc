#include "assay/model/torch_call.h"

#include <gtest/gtest.h>

namespace assay {
namespace {

std::string function_of(std::string_view name, std::string_view framework = "pytorch",
                        std::string_view type = "") {
  Frame frame;
  frame.framework = framework;
  Node node;
  node.name = name;
  node.type = type;
  return torch_function(frame, node);
}

TEST(TorchCalls, FunctionsByTheNamesOfMsprobe) {
  EXPECT_EQ(function_of("Functional.linear.0.forward"), "linear");
  EXPECT_EQ(function_of("Tensor.__add__.12.forward"), "add");
  EXPECT_EQ(function_of("NPU.npu_rms_norm.3.forward"), "npu_rms_norm");
  EXPECT_EQ(function_of("Functional.linear.0.backward"), "");
  EXPECT_EQ(function_of("Module.fc.Linear.forward.0"), "");
  EXPECT_EQ(function_of("Tensor.add_.0.forward"), "");
  EXPECT_EQ(function_of("Tensor.__iadd__.0.forward"), "");
  EXPECT_EQ(function_of("Functional.linear.forward"), "");
  EXPECT_EQ(function_of("Functional.linear.0.forward", "mindspore"), "");
}

TEST(TorchCalls, FunctionsByTheTargetsOfFx) {
  EXPECT_EQ(function_of("mm-aten.mm.default", "fx", "aten.mm.default"), "mm");
  EXPECT_EQ(function_of("s", "fx", "aten._softmax.default"), "_softmax");
  EXPECT_EQ(function_of("s", "fx", "aten.add_.Tensor"), "");
  EXPECT_EQ(function_of("s", "fx", "getitem"), "");
}

TEST(TorchCalls, PlacesOfArguments) {
  Frame frame;
  frame.framework = "pytorch";
  Node node;
  node.name = "Functional.layer_norm.0.forward";
  Item item;
  const auto place_of = [&](std::string_view name) {
    item.name = name;
    return argument_place(frame, node, item);
  };
  EXPECT_EQ(place_of("Functional.layer_norm.0.forward.input.2").place, 2);
  EXPECT_EQ(place_of("Functional.layer_norm.0.forward.input.1.0").place, 1);
  EXPECT_EQ(place_of("Functional.layer_norm.0.forward.input.1.0").part, 0);
  EXPECT_EQ(place_of("Functional.layer_norm.0.forward.input.eps").name, "eps");
  EXPECT_FALSE(place_of("Functional.layer_norm.0.forward.input.1.0.0").is_known());
  EXPECT_FALSE(place_of("another").is_known());
}

}  // namespace
}  // namespace assay
