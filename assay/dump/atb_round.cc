#include "assay/dump/atb_round.h"

#include "assay/base/text.h"
#include "assay/dump/atb_statistics.h"
#include "assay/dump/items.h"
#include "assay/support/csv.h"

#include <unordered_map>

namespace assay {
namespace {

enum Cell : size_t {
  kDevice,
  kExecution,
  kOpName,
  kOpType,
  kOpId,
  kDirection,
  kIndex,
  kDtype,
  kFormat,
  kShape,
  kMax,
  kMin,
  kMean,
  kNorm,
  kPath,
  kCells
};

// Never by itself: for whoever did not give this one, a round is a part of an ATB dump.
int recognise_atb_statistic(const fs::path&) { return 0; }

Result<Survey> survey_atb_statistic(const fs::path& root, const OpenOptions&) {
  if (!is_file(root / kAtbStatistics))
    return fail(ErrorKind::not_found,
                "{}: holds no {}; point at a round of a dump of msprobe, such as "
                "atb_dump_data/data/{{device}}_{{pid}}/0",
                display(root), kAtbStatistics);
  return Survey{{FrameInfo{At{}, {root}}}};
}

// The dump may have been moved: what counts is where a file lies below the round.
std::optional<fs::path> below_round(std::string_view written) {
  constexpr size_t kAbove = 4;  // atb_dump_data/data/0_4321/0
  const size_t begin = written.rfind("atb_dump_data");
  if (begin == std::string_view::npos) return std::nullopt;
  const auto parts = split(written.substr(begin), '/');
  if (parts.size() <= kAbove) return std::nullopt;
  fs::path path;
  for (size_t i = kAbove; i < parts.size(); ++i) {
    if (parts[i] == "..") return std::nullopt;
    path /= parts[i];
  }
  return path;
}

class TableIndex {
 public:
  TableIndex(Frame& frame, const fs::path& round, const OpenOptions& options)
      : frame_(frame), round_(round), options_(options) {}

  Result<void> read() {
    ASSAY_TRY(auto file, File::open(round_ / kAtbStatistics));
    const std::string name = file->name();
    CsvReader rows(std::move(file));
    std::vector<std::string> cells;
    ASSAY_TRY(const bool has_rows, rows.next(cells));
    if (!has_rows || cells.size() != kCells || !has_atb_titles(cells))
      return fail(ErrorKind::bad_format, "{}: does not begin with the titles of an ATB dump, '{}' and on",
                  name, kAtbDevice);
    for (bool is_first = true;; is_first = false) {
      ASSAY_TRY(const bool more, rows.next(cells));
      if (!more) break;
      if (is_first && !cells.empty() && cells.back() == kAtbNothing) frame_.content = Content::statistics;
      if (cells.size() != kCells || !add(cells)) {
        if (skipped_++ == 0) first_skipped_ = rows.line();
      }
    }
    if (skipped_ > 0)
      frame_.warnings.push_back(
          left_out(fmt::format("{}: {} rows do not describe a tensor, the first at line {}; they are skipped",
                               name, skipped_, first_skipped_),
                   skipped_));
    return {};
  }

 private:
  bool add(const std::vector<std::string>& cells) {
    const auto op = atb_op_path(cells[kOpName], cells[kOpId]);
    if (!op) return false;
    const std::string name = fmt::format("{}/{}.{}", *op, cells[kDirection], cells[kIndex]);
    if (!selected(name, options_)) return true;
    const auto known = places_.find(printable(name));
    if (known == places_.end()) {
      open_node(*op, cells[kOpType]);
      Item item = make_item(name, cells);
      places_.emplace(item.name, std::pair(frame_.nodes.size() - 1, frame_.nodes.back().items.size()));
      frame_.nodes.back().items.push_back(item);
    } else {  // written twice: the later one counts, in the place of the first
      frame_.nodes[known->second.first].items[known->second.second] = make_item(name, cells);
    }
    return true;
  }

  void open_node(const std::string& op, std::string_view type) {
    if (!frame_.nodes.empty() && frame_.nodes.back().name == printable(op)) return;
    Node node;
    node.name = frame_.strings.keep(printable(op));
    node.type = frame_.strings.keep(printable(type));
    node.order = std::ssize(frame_.nodes);
    frame_.nodes.push_back(std::move(node));
  }

  Item make_item(const std::string& name, const std::vector<std::string>& cells) {
    Item item;
    item.name = frame_.strings.keep(printable(name));
    item.port.direction = cells[kDirection] == "input" ? Direction::input : Direction::output;
    read_port_number(cells[kIndex], item.port);
    if (auto meta = atb_stated_meta(cells[kDtype], cells[kShape]))
      item.meta = &frame_.metas.emplace_back(std::move(*meta));
    Stated& stated = frame_.stated.emplace_back();
    const auto keep = [&](Cell cell) { return frame_.strings.keep(printable(cells[cell])); };
    stated.max = keep(kMax);
    stated.min = keep(kMin);
    stated.mean = keep(kMean);
    stated.norm = keep(kNorm);
    stated.dtype = keep(kDtype);
    stated.shape = keep(kShape);
    item.stated = &stated;
    item.facts = facts_of(cells[kDevice], cells[kExecution]);
    if (cells[kPath] == kAtbNothing) return item;
    const auto path = below_round(cells[kPath]);
    if (!path) {
      item.trouble =
          frame_.strings.keep(fmt::format("{}: names {}, which does not lie in a round of an atb_dump_data",
                                          display(round_ / kAtbStatistics), printable(cells[kPath])));
      return item;
    }
    stated.data_name = keep(kPath);
    std::error_code ignored;
    const auto size = fs::file_size(round_ / *path, ignored);
    item.data = TensorRef{static_cast<int32_t>(frame_.files.size()), 0};
    frame_.files.push_back(data_file(round_ / *path, ignored ? 0 : static_cast<int64_t>(size)));
    return item;
  }

  // One for all rows that say the same.
  const std::vector<Fact>* facts_of(const std::string& device, const std::string& execution) {
    // Under the titles of their columns.
    std::vector<Fact> facts = {{std::string(kAtbDevice), printable(device)},
                               {std::string(kAtbExecution), printable(execution)}};
    if (frame_.facts.empty() || frame_.facts.back()[0].value != facts[0].value ||
        frame_.facts.back()[1].value != facts[1].value)
      frame_.facts.push_back(std::move(facts));
    return &frame_.facts.back();
  }

  Frame& frame_;
  const fs::path& round_;
  const OpenOptions& options_;
  std::unordered_map<std::string_view, std::pair<size_t, size_t>> places_;  // node and item, by name
  int64_t skipped_ = 0, first_skipped_ = 0;
};

Result<Frame> index_atb_statistic(const FrameInfo& info, const OpenOptions& options) {
  Frame frame;
  frame.at = info.at;
  frame.framework = "atb";
  ASSAY_TRY_DO(TableIndex(frame, info.paths[0], options).read());
  return frame;
}

}  // namespace

const Layout atb_statistic_layout = {"atb_statistic", recognise_atb_statistic, survey_atb_statistic,
                                     index_atb_statistic, true};

}  // namespace assay
