#include "assay/dump/atb.h"

#include "assay/base/cancel.h"
#include "assay/base/text.h"
#include "assay/dump/atb_graph.h"
#include "assay/dump/atb_op_params.h"
#include "assay/dump/atb_place.h"
#include "assay/dump/atb_statistics.h"
#include "assay/dump/capture_losses.h"
#include "assay/dump/walk.h"
#include "assay/support/parallel.h"

#include <algorithm>
#include <set>
#include <unordered_map>

namespace assay {
namespace {

int recognise_atb(const fs::path& root) { return locate_atb(root).ranks.empty() ? 0 : 91; }

FrameInfo frame_of(const fs::path& round, const At& at, const std::shared_ptr<const AtbModels>& of_rank,
                   std::span<const AtbModel> models) {
  FrameInfo frame{at, {round}};
  frame.atb_models = of_rank;
  for (const AtbModel& model : models) frame.paths.push_back(model.topology);
  return frame;
}

// One model: round k is token k. Two of them, for prefill and decode: round 0 warms up, round 1 holds tokens
// 0 and 1.
void add_tokens(Survey& survey, const fs::path& round, At at, const std::shared_ptr<const AtbModels>& of_rank,
                bool is_only_one, bool warm_up) {
  const std::span<const AtbModel> models = of_rank->all;
  std::vector<FrameInfo>& frames = survey.frames;
  const std::string name = round.filename().native();
  const auto number = whole_number(name);
  if (!number) {
    at.part = printable(name);
    frames.push_back(frame_of(round, at, of_rank, models));
    return;
  }
  if (models.size() >= 2 && *number == 0 && warm_up) {
    at.part = kWarmUp;
    frames.push_back(frame_of(round, at, of_rank, models));
    return;
  }
  at.token = *number;
  if (models.size() < 2 || *number > 1 || (*number == 0 && is_only_one)) {
    frames.push_back(frame_of(round, at, of_rank, models));
    return;
  }
  if (*number == 0) {
    survey.warnings.push_back(
        left_out(fmt::format("{}: is the warm-up and is not compared", display(round))));
    return;
  }
  for (const int token : {0, 1}) {
    const auto which = static_cast<size_t>(token);
    at.token = token;
    FrameInfo frame = frame_of(round, at, of_rank, models.subspan(which, 1));
    frame.first_order = token == 0 ? 0 : models[1].first_order;
    if (token == 0) frame.last_order = models[1].first_order - 1;
    frames.push_back(std::move(frame));
  }
}

// A table that cannot be read is no reason to leave out its round: indexing it says why.
bool counts_as_round(const fs::path& folder) {
  return is_atb_round(folder) || is_there(folder / kAtbStatistics);
}

void note_outside_of_rounds(const fs::path& root, const AtbDumpPlace& place, Remarks& warnings) {
  constexpr std::string_view kTiling = "kernel_tilingdata.bin";  // of msit, for kernels; no tensor
  OwnFolders own;
  for (const fs::path& rank : place.ranks)
    for (const fs::path& folder : folders_in(rank))
      if (counts_as_round(folder)) own.add_tree(folder);
  std::vector<std::string> files = files_outside(own, root, warnings);
  std::erase_if(files, [&](const std::string& file) { return file.ends_with(kTiling); });
  note_strays(root, files, warnings);
}

// "1_4002"
bool is_atb_rank_folder(std::string_view name) {
  const size_t mark = name.find('_');
  return mark != std::string_view::npos && whole_number(name.substr(0, mark)) &&
         whole_number(name.substr(mark + 1));
}

Result<Survey> survey_atb(const fs::path& root, const OpenOptions& options) {
  const AtbDumpPlace place = locate_atb(root);
  if (place.ranks.empty())
    return fail(ErrorKind::not_found, "{}",
                place.trouble.empty()
                    ? fmt::format("{}: holds no rounds of operators; point at tensors/{{device}}_{{pid}}",
                                  display(root))
                    : place.trouble);
  const std::vector<int> numbers = rank_numbers(place.ranks);
  Survey survey;
  std::vector<FrameInfo>& frames = survey.frames;
  note_outside_of_rounds(root, place, survey.warnings);
  note_losses(place.ranks, options.format.memory, survey.warnings);
  std::vector<std::string> empty;
  if (place.round.empty()) empty = empty_ranks(root, place.ranks, options, is_atb_rank_folder);
  Remarks unread;
  for (size_t i = 0; i < place.ranks.size(); ++i) {
    if (!options.ranks.empty() &&
        std::find(options.ranks.begin(), options.ranks.end(), numbers[i]) == options.ranks.end())
      continue;
    At at;
    if (place.ranks.size() > 1) at.rank = numbers[i];
    const auto models =
        std::make_shared<const AtbModels>(models_of(place.ranks[i], options.format.memory, unread));
    const std::ptrdiff_t first = std::ssize(frames);
    for (const fs::path& round : folders_in(place.ranks[i])) {
      if (!place.round.empty() && round.filename() != place.round) continue;
      if (counts_as_round(round))
        add_tokens(survey, round, at, models, !place.round.empty(), options.warm_up);
      else if (whole_number(round.filename().native()) && is_empty_tree(round))
        empty.push_back(below_root(root, round).native());
    }
    // Behind the tokens, where msit has it.
    std::stable_partition(frames.begin() + first, frames.end(),
                          [](const FrameInfo& frame) { return frame.at.part != kWarmUp; });
  }
  note_empty_folders(root, empty, survey.warnings);
  for (const Remark& remark : unread)
    survey.warnings.push_back(remark.text + "; operators are told apart by their folders alone");
  if (frames.empty())
    return fail(ErrorKind::not_found, "{}: holds the warm-up round only; there is nothing to compare",
                display(root));
  return survey;
}

// "1_Layer/0_Linear/after/outtensor0.bin": the operator and what of it.
struct Parsed {
  std::string op;
  Port port;
};

std::optional<Parsed> parse_file(const std::string& relative) {
  if (!relative.ends_with(".bin")) return std::nullopt;
  const fs::path path(relative);
  const std::string moment = path.parent_path().filename().native();
  if (moment != "before" && moment != "after") return std::nullopt;
  const std::string stem = path.stem().native();
  Parsed parsed{path.parent_path().parent_path().native(), {}};
  for (const auto& [word, direction] :
       {std::pair{"intensor", Direction::input}, std::pair{"outtensor", Direction::output}})
    if (stem.starts_with(word)) {
      parsed.port.direction = direction;
      parsed.port.phase = moment == "before" ? Phase::before : Phase::after;
      read_port_number(std::string_view(stem).substr(std::string_view(word).size()), parsed.port);
    }
  if (parsed.port.direction == Direction::none || parsed.op.empty()) return std::nullopt;
  return parsed;
}

int64_t top_order(const std::string& op) { return whole_number(op.substr(0, op.find('_'))).value_or(0); }

// Of two that share a round.
bool is_of_token(const Parsed& parsed, const FrameInfo& info) {
  const int64_t order = top_order(parsed.op);
  return order >= info.first_order && order <= info.last_order;
}

struct Read {
  std::optional<Parsed> parsed;
  bool is_of_other_token = false;
  TensorDraft draft;
  Remarks warnings;
};

Read read_file(const fs::path& root, const FoundFile& found, const FrameInfo& info,
               const OpenOptions& options) {
  Read read;
  read.parsed = parse_file(found.relative);
  if (!read.parsed) return read;
  if (!is_of_token(*read.parsed, info)) {
    read.parsed.reset();
    read.is_of_other_token = true;
    return read;
  }
  if (!found.trouble.empty()) {
    read.draft.trouble = found.trouble;
    return read;
  }
  auto set = open_tensors(root / found.relative, options.format);
  if (!set) {
    read.draft.trouble = set.error().message;
  } else if (set->tensors.size() != 1) {
    read.draft.trouble = fmt::format("{}: holds {} tensors where an operator has one",
                                     display(root / found.relative), set->tensors.size());
  } else {
    read.warnings = std::move(set->warnings);
    read.draft = std::move(draft_tensors(root / found.relative, std::move(*set), options)[0]);
    read.draft.name.clear();
  }
  return read;
}

std::string_view above_op(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? std::string_view() : path.substr(0, slash);
}

// Only the models of which something was dumped: from the second token on nothing of the first one was.
void add_models(Frame& frame, const FrameInfo& info, const std::set<std::string, std::less<>>& top_folders) {
  const std::vector<AtbModel>& models = info.atb_models->all;
  std::vector<const AtbModel*> here;
  for (const AtbModel& model : models) {
    if (std::find(info.paths.begin() + 1, info.paths.end(), model.topology) == info.paths.end()) continue;
    int64_t order = model.first_order;
    const auto& children = model.content->ops[0].children;
    const bool is_here = std::any_of(children.begin(), children.end(), [&](int32_t child) {
      return top_folders.contains(
          fmt::format("{}_{}", order++, model.content->ops[static_cast<size_t>(child)].type));
    });
    if (!is_here && models.size() > 1) continue;
    frame.warnings.insert(frame.warnings.end(), model.content->warnings.begin(),
                          model.content->warnings.end());
    here.push_back(&model);
  }
  frame.graph = info.atb_models->graphs->of(here);
}

struct OpFiles {
  std::string op;
  OpFile file;
};

std::vector<OpFiles> read_files(const fs::path& round, const Walk& walk, const FrameInfo& info,
                                const OpenOptions& options, Remarks& warnings) {
  std::vector<Read> reads(walk.files.size());
  parallel_for(walk.files.size(), [&](size_t i) {
    if (!cancelled()) reads[i] = read_file(round, walk.files[i], info, options);
  });
  std::vector<OpFiles> files;
  std::vector<std::string> misfits;
  for (size_t i = 0; i < reads.size(); ++i) {
    if (!reads[i].parsed && !reads[i].is_of_other_token) misfits.push_back(walk.files[i].relative);
    if (!reads[i].parsed) continue;
    std::move(reads[i].warnings.begin(), reads[i].warnings.end(), std::back_inserter(warnings));
    const FoundFile& found = walk.files[i];
    OpFile file{found.relative, reads[i].parsed->port, found.size, std::move(reads[i].draft)};
    if (found.is_statistics) file.described_in = path_of({}, found).native();
    files.push_back({std::move(reads[i].parsed->op), std::move(file)});
  }
  note_misfits(round, misfits, warnings);
  return files;
}

// What a table says of a tensor that has a file.
void add_claims(const fs::path& table, TensorDraft& row, OpFile& file) {
  TensorDraft& draft = file.draft;
  if (!draft.trouble.empty()) return;
  if (!row.trouble.empty())
    draft.trouble = std::move(row.trouble);
  else if (row.meta && draft.meta && *row.meta != *draft.meta)
    draft.trouble = fmt::format("{}: holds {} {} where {} says {} {}: the dump contradicts itself",
                                printable(file.relative), name(draft.meta->dtype), draft.meta->shape.text(),
                                display(table), name(row.meta->dtype), row.meta->shape.text());
  else if (!draft.stats)
    draft.stats = std::move(row.stats);
}

// What the table says of tensors that have no file; and of those whose file says nothing of the kind.
void add_statistics(Frame& frame, const fs::path& table, const FrameInfo& info, std::vector<OpFiles>& files) {
  if (!is_there(table)) return;
  auto stated = read_atb_statistics(table, frame.warnings);
  if (!stated) {
    frame.warnings.push_back(unreadable(stated.error().message));
    return;
  }
  std::unordered_map<std::string, size_t> by_name;
  for (size_t i = 0; i < files.size(); ++i) by_name.emplace(files[i].file.relative, i);
  for (StatedTensor& tensor : *stated) {
    const int64_t order = top_order(tensor.op);
    if (order < info.first_order || order > info.last_order) continue;
    const auto found = by_name.find(tensor.file.relative);
    if (found == by_name.end()) {
      TensorDraft& draft = tensor.file.draft;
      const bool says_nothing = !draft.stats && draft.trouble.empty();
      if (says_nothing && tensor.names_file)
        draft.trouble = fmt::format("{}: names {}, which is not there, and has no statistics of it",
                                    display(table), printable(tensor.file.relative));
      else if (says_nothing)
        draft.stats.emplace();  // of bool and the like a dump of statistics has none
      tensor.file.described_in = kAtbStatistics;
      tensor.file.row = 0;
      files.push_back({std::move(tensor.op), std::move(tensor.file)});
    } else {
      add_claims(table, tensor.file.draft, files[found->second].file);
    }
  }
}

// Tensors that the table of a rank describes and no file holds: they stand against rows of the first rank,
// not against its data.
void add_rows_of_rank(const fs::path& round, const FrameInfo& info, const RankTensors& data,
                      RankContents& rank) {
  const fs::path table = round / kAtbStatistics;
  if (!is_there(table)) return;
  const auto stated = read_atb_statistics(table, rank.warnings);
  if (!stated) {
    rank.warnings.push_back(unreadable(stated.error().message));
    return;
  }
  for (const StatedTensor& tensor : *stated) {
    const int64_t order = top_order(tensor.op);
    if (order >= info.first_order && order <= info.last_order && !data.contains(tensor.file.relative))
      rank.tensors.insert(tensor.file.relative);
  }
}

// What the tables of other ranks say; each is read once.
class TableRows {
 public:
  const TensorDraft* operator()(const fs::path& round, const OpFile& file) {
    const auto [known, is_new] = rows_.try_emplace(round.native());
    if (is_new && is_there(round / kAtbStatistics)) {
      Remarks ignored;  // those of other ranks are looked at by themselves
      if (auto read = read_atb_statistics(round / kAtbStatistics, ignored))
        for (StatedTensor& tensor : *read)
          known->second.emplace(tensor.file.relative, std::move(tensor.file.draft));
    }
    const auto found = known->second.find(file.relative);
    return found == known->second.end() ? nullptr : &found->second;
  }

 private:
  std::unordered_map<std::string, std::unordered_map<std::string, TensorDraft>> rows_;  // by round and tensor
};

// As a rank is looked at that has a frame of its own, but for what is compared. `data`: what the first rank
// has files of.
RankContents look_at_rank(const fs::path& round, const FrameInfo& info, const OpenOptions& options,
                          const RankTensors& data) {
  RankContents rank;
  const auto walk = walk_folder(round);
  if (!walk) return rank;
  rank.warnings = troubles_of(*walk);
  for (const OpFiles& each : read_files(round, *walk, info, options, rank.warnings))
    rank.tensors.insert(item_name(each.file));
  add_rows_of_rank(round, info, data, rank);
  return rank;
}

// Operators that were told something, and of which nothing else was dumped: nothing of theirs, or inside of
// them, has a row.
void note_without_tensors(const fs::path& round, const Walk& walk, const std::vector<OpFiles>& files,
                          Remarks& warnings) {
  std::set<std::string, std::less<>> ops;
  for (const OpFiles& each : files)
    for (fs::path op(each.op); !op.empty() && ops.insert(op.native()).second; op = op.parent_path()) continue;
  std::vector<std::string> bare;
  for (const FoundFile& file : walk.files) {
    const fs::path path(file.relative);
    if (path.filename() == kAtbOpParams && path.has_parent_path() &&
        !ops.contains(path.parent_path().native()))
      bare.push_back(path.parent_path().native());
  }
  if (bare.empty()) return;
  warnings.push_back({Remark::Kind::left_out,
                      fmt::format("{}: {} of which nothing but parameters was dumped: {}{}", display(round),
                                  bare.size() == 1 ? "an operator" : fmt::format("{} operators", bare.size()),
                                  printable(bare[0]), bare.size() == 1 ? "" : " …"),
                      std::ssize(bare)});
}

Result<Frame> index_atb(const FrameInfo& info, const OpenOptions& options) {
  const fs::path& round = info.paths[0];
  ASSAY_TRY(Walk walk, walk_folder(round));
  Frame frame;
  frame.at = info.at;
  frame.framework = "atb";
  frame.warnings = troubles_of(walk);
  std::vector<OpFiles> files = read_files(round, walk, info, options, frame.warnings);
  ASSAY_TRY_DO(check_cancelled());
  RankTensors own_files;
  for (const OpFiles& each : files) own_files.insert(item_name(each.file));
  const bool any_data = std::any_of(files.begin(), files.end(), [](const OpFiles& each) {
    return each.file.draft.has_data || !each.file.draft.trouble.empty();
  });
  add_statistics(frame, round / kAtbStatistics, info, files);
  // What only the table knows belongs between the files, where its operator ran.
  std::ranges::stable_sort(files, [](const OpFiles& a, const OpFiles& b) {
    return natural_less(a.file.relative, b.file.relative);
  });
  const bool is_empty = walk.files.empty();
  RankTensors own;
  for (const OpFiles& each : files) own.insert(item_name(each.file));
  std::set<std::string, std::less<>> top_folders;
  for (const OpFiles& each : files) top_folders.insert(each.op.substr(0, each.op.find('/')));
  add_models(frame, info, top_folders);
  if (options.params) note_without_tensors(round, walk, files, frame.warnings);
  // Where operators are run again, they ask other ranks themselves for the little that they need of them.
  std::vector<fs::path> ranks;
  if (!options.params)
    for (const fs::path& rank : sibling_ranks(round.parent_path())) ranks.push_back(rank / round.filename());
  OpFrame out(frame, options, round, std::move(ranks));
  for (OpFiles& each : files) {
    std::vector<OpFile> one;
    one.push_back(std::move(each.file));
    out.add(std::move(each.op), std::move(one));
  }
  if (info.stands_for_ranks) out.read_rows_of_ranks(TableRows());
  out.finish(above_op);
  if (options.params) read_op_params(frame, round, options.format.memory);
  if (info.stands_for_ranks)
    out.note_other_ranks(std::move(own),
                         [&](const fs::path& rank) { return look_at_rank(rank, info, options, own_files); });
  if (!any_data) frame.content = Content::statistics;
  if (is_empty)
    frame.warnings.push_back(
        left_out(fmt::format("{}: holds no tensors: there is nothing to compare", display(round))));
  else if (frame.nodes.empty())
    frame.warnings.push_back(
        fmt::format("{}: holds no tensors of this token, or none that are wanted", display(round)));
  return frame;
}

}  // namespace

const Layout atb_layout = {"atb", recognise_atb, survey_atb, index_atb, true, true};

}  // namespace assay
