#include "assay/dump/single.h"

#include "assay/dump/items.h"
#include "assay/format/held_files.h"

namespace assay {
namespace {

// Whatever is not a folder can only be meant as a file: a file of no known format is 50, so that the user
// reads what the formats have to say about it.
int recognise_single(const fs::path& root) {
  std::error_code ignored;
  const fs::file_status status = fs::status(root, ignored);
  if (!fs::exists(status) || fs::is_directory(status)) return 0;
  const auto file = File::open(root);
  if (!file) return 50;
  const auto format = recognise_file(**file);
  return format && *format != nullptr ? 60 : 50;
}

Result<Survey> survey_single(const fs::path& root, const OpenOptions&) {
  return Survey{{FrameInfo{At{}, {root}}}};
}

Result<Frame> index_single(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& path = info.paths.at(0);
  ASSAY_TRY(TensorSet set, open_tensors(path, options.format));
  Frame frame;
  frame.at = info.at;
  const bool is_held = options.format.held != nullptr && options.format.held->find(path) != nullptr;
  // Names that a caller gives mean something, even that of a single tensor.
  frame.is_file = !is_held || (!set.tensors.empty() && set.tensors[0].name.empty());
  std::error_code ignored;
  const fs::path whole_path = fs::absolute(path, ignored).lexically_normal();
  frame.given_as = (whole_path.parent_path().filename() / whole_path.filename()).string();
  frame.warnings = std::move(set.warnings);
  const auto size = fs::file_size(path, ignored);
  frame.files.push_back(data_file(path, ignored ? 0 : static_cast<int64_t>(size)));
  const std::vector<ValueDraft> values = draft_values(set.values);
  std::vector<TensorDraft> drafts = draft_tensors(path, std::move(set), options);
  if (drafts.empty() && !is_held)  // of a caller, an empty set is one
    return fail(ErrorKind::bad_format, "{}: holds no tensors", display(path));

  const auto add_node = [&](const Item& item) {
    Node node;
    node.items.push_back(item);
    node.name = item.name;
    node.order = std::ssize(frame.nodes);
    frame.nodes.push_back(std::move(node));
  };
  for (size_t slot = 0; slot < drafts.size(); ++slot) {
    std::string name = drafts[slot].name.empty() ? path.filename().string() : drafts[slot].name;
    if (selected(name, options))
      add_node(make_item(frame, std::move(name), 0, static_cast<int32_t>(slot), std::move(drafts[slot])));
  }
  for (const ValueDraft& value : values)
    if (selected(value.name, options)) add_node(make_value_item(frame, value.name, value));
  if (frame.nodes.empty() && !drafts.empty())
    frame.warnings.push_back(
        fmt::format("{}: --only and --skip leave none of its {} tensors", display(path), drafts.size()));
  return frame;
}

}  // namespace

const Layout single_layout = {"single", recognise_single, survey_single, index_single, false, false, true};

}  // namespace assay
