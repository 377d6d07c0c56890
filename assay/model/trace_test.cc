#include "assay/model/trace.h"

#include <gmock/gmock.h>

namespace assay {
namespace {

using ::testing::ElementsAre;

Frame frame_of(std::initializer_list<std::string_view> names) {
  Frame frame;
  for (const std::string_view name : names) {
    Node& node = frame.nodes.emplace_back();
    node.name = name;
    node.order = std::ssize(frame.nodes) - 1;
  }
  return frame;
}

OpKind kind(const Node& node) { return kind_of_entry(node.name); }

TEST(Trace, ANodeIsTheOperatorOfItsNumber) {
  Frame frame = frame_of({"Torch.mm.0.forward", "Module.fc.Linear.forward.0", "Torch.mm.0.backward"});
  std::swap(frame.nodes[1].order, frame.nodes[2].order);  // msprobe may write gradients early
  TraceBuilder(frame, kind).finish();
  EXPECT_EQ(frame.graph->shape, GraphShape::trace);
  EXPECT_THAT(frame.ops_of(1), ElementsAre(1));
  EXPECT_EQ(frame.node_of(2), 2);
  EXPECT_EQ(frame.graph->at(1).kind, OpKind::product);
  EXPECT_EQ(frame.graph->at(2).name, "Torch.mm.0.backward");
  EXPECT_THAT(frame.graph->in_order(), ElementsAre(0, 2, 1));
  // Nobody takes it for a model, or for what a compiler made.
  EXPECT_TRUE(frame.tree().ops.empty());
  EXPECT_EQ(frame.compiled(), nullptr);
}

TEST(Trace, ParentsNeedNotBeDumped) {
  Frame frame = frame_of({"a", "b", "c", "a"});
  TraceBuilder trace(frame, kind);
  trace.set_parent("a", "c");
  trace.set_parent("b", std::string("Module.x.Linear.forward.0"));
  trace.set_parent("c", std::string("Module.x.Linear.forward.0"));
  trace.set_parent("Module.x.Linear.forward.0", "a");
  trace.set_parent("unknown", "a");
  trace.finish();
  ASSERT_EQ(frame.graph->ops.size(), 5u);
  const auto parent = [&](int32_t op) { return frame.graph->at(op).parent; };
  EXPECT_EQ(parent(0), 2);
  EXPECT_EQ(parent(1), 4);
  EXPECT_EQ(parent(2), 4);
  EXPECT_EQ(parent(3), -1);  // the first of that name has it
  EXPECT_EQ(parent(4), -1);
  EXPECT_EQ(frame.graph->at(4).name, "Module.x.Linear.forward.0");
  EXPECT_EQ(frame.graph->at(4).kind, OpKind::product);
  EXPECT_EQ(frame.node_of(4), -1);
}

TEST(Trace, OfNothing) {
  Frame frame;
  TraceBuilder trace(frame, kind);
  trace.set_parent("a", "b");
  trace.finish();
  EXPECT_TRUE(frame.graph->ops.empty());
}

}  // namespace
}  // namespace assay
