#include "assay/compat/msit/matchers.h"
#include "assay/match/match_test_tools.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

struct Weight {
  std::string name;  // "file:key"
  DType dtype = DType::f32;
};

Frame checkpoint(const std::vector<Weight>& weights) {
  Frame frame;
  for (const Weight& weight : weights) {
    const std::string file = weight.name.substr(0, weight.name.find(':'));
    if (frame.nodes.empty() || frame.nodes.back().name != file)
      frame.nodes.emplace_back().name = frame.strings.keep(file);
    Item& item = frame.nodes.back().items.emplace_back();
    item.name = frame.strings.keep(weight.name);
    item.meta = &frame.metas.emplace_back(TensorMeta{weight.dtype, Shape{{2}}});
    item.data = TensorRef{};
  }
  return frame;
}

// "weight: scale, offset" per pair.
Texts quantised_by(const Matched& matched) {
  Texts out;
  for (const PairedNode& node : matched.pairing.nodes)
    for (const Pair& pair : node.pairs) {
      const PlanStep* const step = pair.plan(Side::mine)->find_last(PlanOp::rescale);
      const auto factor = [&](size_t input) {
        const PlanSource& source = pair.plan(Side::mine)->from[static_cast<size_t>(step->in[input])];
        return std::string(matched.item(source.side, source.item).name);
      };
      out.push_back(std::string(node.name) + ": " + factor(2) + ", " + factor(1));
    }
  return out;
}

TEST(WeightMatcher, FindsAWeightInWhicheverFileHoldsIt) {
  const Matched matched =
      match_frames(weight_matcher,
                   checkpoint({{"b.safetensors:x.weight_scale"},
                               {"b.safetensors:x.weight_offset"},
                               {"c.safetensors:x.weight", DType::i8}}),
                   checkpoint({{"1.safetensors:x.bias"}, {"1.safetensors:x.weight"}}), {});
  EXPECT_THAT(pairs_of(matched), ElementsAre("c.safetensors:x.weight|1.safetensors:x.weight"));
  EXPECT_THAT(quantised_by(matched),
              ElementsAre("x.weight: b.safetensors:x.weight_scale, b.safetensors:x.weight_offset"));
}

// Every "weight" of a key takes the ending, as in the original.
TEST(WeightMatcher, LooksForScalesByTheWholeKey) {
  const Matched matched = match_frames(weight_matcher,
                                       checkpoint({{"m.bin:weights.x.weight", DType::i8},
                                                   {"m.bin:weight_scales.x.weight_scale"},
                                                   {"m.bin:weight_offsets.x.weight_offset"}}),
                                       checkpoint({{"g.bin:weights.x.weight"}}), {});
  EXPECT_EQ(pairs_of(matched).size(), 1u);
}

TEST(WeightMatcher, LeavesOutWhatIsNotQuantised) {
  const Matched matched =
      match_frames(weight_matcher,
                   checkpoint({{"m.bin:a.weight"}, {"m.bin:b.weight", DType::i8}, {"m.bin:b.weight_scale"}}),
                   checkpoint({{"g.bin:a.weight"}, {"g.bin:b.weight"}, {"g.bin:c.weight"}, {"g.bin:d"}}), {});
  EXPECT_THAT(pairs_of(matched), IsEmpty());
  EXPECT_THAT(matched.pairing.warnings, ElementsAre(HasSubstr("3 weights of golden have no int8 weight")));
}

// A checkpoint that is there in two formats is compared once.
TEST(WeightMatcher, PrefersSafetensors) {
  const Matched matched = match_frames(weight_matcher,
                                       checkpoint({{"m.bin:a.weight", DType::i8},
                                                   {"m.bin:a.weight_scale"},
                                                   {"m.bin:a.weight_offset"},
                                                   {"m.safetensors:b.weight"}}),
                                       checkpoint({{"g.bin:a.weight"}, {"g.bin:a.weight"}}), {});
  EXPECT_THAT(pairs_of(matched), IsEmpty());
}

TEST(WeightMatcher, SaysWhatCouldNotBeRead) {
  Frame mine = checkpoint({{"m.safetensors:a.weight"}});
  mine.nodes[0].items[0].trouble = "m.safetensors: is cut off";
  const Matched matched = match_frames(weight_matcher, std::move(mine), checkpoint({}), {});
  EXPECT_THAT(matched.pairing.warnings, ElementsAre(HasSubstr("m.safetensors: is cut off")));
}

}  // namespace
}  // namespace assay
