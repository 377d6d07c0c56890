#include "probe/probe.h"

#include "probe/state.h"

#include "assay/base/text.h"
#include "assay/format/atb_bin_write.h"

#include <unistd.h>

#include <algorithm>

namespace assay::probe {
namespace {

constexpr size_t kLongestAttribute = 50;

using capture::AtbAttributes;
using capture::AtbContent;
using capture::Existing;
using capture::Task;

// Runs what ATB asked for: no exception of ours reaches it.
template <class Body>
auto guarded(Body body) noexcept -> decltype(body()) {
  try {
    return body();
  } catch (...) {  // there was no memory; the program has other worries
    return decltype(body())();
  }
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool leads_out(std::string_view path) {
  const auto parts = split(path, '/');
  return path.empty() || path.starts_with('/') || std::find(parts.begin(), parts.end(), "..") != parts.end();
}

// Where a tensor stands, as its path says: "0_77/3/0_Layer/1_Linear/before/intensor0.bin".
struct TensorPlace {
  std::string device, round, op_name, op_type, op_id, file, index;
  bool is_input = false;
};

TensorPlace place_of(std::string_view path) {
  TensorPlace out;
  const auto parts = split(path, '/');
  if (parts.size() > 0) out.device = parts[0];
  if (parts.size() > 1) out.round = parts[1];
  for (size_t i = 2; i + 2 < parts.size(); ++i) {
    const size_t line = std::min(parts[i].find('_'), parts[i].size());
    out.op_id.append(out.op_id.empty() ? "" : "_").append(parts[i].substr(0, line));
    out.op_type = parts[i].substr(std::min(line + 1, parts[i].size()));
    out.op_name.append(out.op_name.empty() ? "" : "/").append(out.op_type);
  }
  out.file = parts.back();
  const std::string lower = to_lower(out.file);
  out.is_input = lower.starts_with("in");
  const size_t number = lower.find("tensor");
  if (number != std::string::npos) {
    const size_t begin = number + std::string_view("tensor").size();
    out.index = out.file.substr(begin, std::min(out.file.find('.', begin), out.file.size()) - begin);
  }
  return out;
}

std::string cell(const std::string& text) {
  if (text.find_first_of(",\"\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out.append(c == '"' ? 2 : 1, c);
  return out + "\"";
}

constexpr std::string_view kTableHeader =
    "Device and PID,Execution Count,Op Name,Op Type,Op "
    "Id,Input/Output,Index,Dtype,Format,Shape,Max,Min,Mean,Norm,Tensor Path,"
    "Full Max,Full Min,Full Mean,Full Norm\n";

std::string known_or_undefined(const std::string& name, const std::string& number, bool is_known) {
  return is_known ? name : "undefined(" + number + ")";
}

// One line of statistic.csv.
std::string table_row(const TensorPlace& place, const AtbAttributes& tensor,
                      const capture::Statistics* statistics, const std::string& shown_path) {
  const auto dtype = parse_int(tensor.dtype), format = parse_int(tensor.format);
  const AtbDType* const type = dtype ? find_atb_dtype(*dtype) : nullptr;
  const std::string format_name = format ? atb_format_name(*format) : "";
  std::string shape = tensor.dims;
  std::replace(shape.begin(), shape.end(), ',', 'x');
  capture::AtbTexts texts{"N/A", "N/A", "N/A", "N/A"}, full = texts;
  if (statistics != nullptr) texts = capture::atb_texts(*statistics), full = capture::full_texts(*statistics);
  std::string row;
  for (const std::string& text :
       {place.device, place.round, place.op_name, place.op_type, place.op_id,
        std::string(place.is_input ? "input" : "output"), place.index,
        known_or_undefined(type == nullptr ? "" : std::string(type->name), tensor.dtype, type != nullptr),
        known_or_undefined(format_name, tensor.format,
                           format && *format >= 0 && !format_name.starts_with("format ")),
        shape, texts.max, texts.min, texts.mean, texts.norm, shown_path, full.max, full.min, full.mean,
        full.norm})
    row += (row.empty() ? "" : ",") + cell(text);
  return row + "\n";
}

// Of generation three: a file with the data, or one that names it, and a line in the table.
void save_with_table(State& state, const Settings& settings, const AtbAttributes& attributes,
                     capture::Source source, std::string_view path) {
  const TensorPlace place = place_of(path);
  std::string more;
  if (settings.has_files && settings.with_children && settings.filter_level != 0) {
    const std::string alias = state.alias_of(place.device + "/" + place.round, place.op_id, place.file,
                                             place.op_type, settings.filter_level);
    if (!alias.empty()) more = "data=" + alias + "\n";
  }
  const auto bytes = static_cast<int64_t>(source.bytes.size());
  const std::string folder = settings.root + "/data/";
  Task task = capture::atb_task(settings.has_files ? folder + std::string(path) : "", attributes,
                                more.empty() ? AtbContent::data : AtbContent::description, bytes, more);
  if (!settings.has_files) task.has_data = false;
  const bool is_known = capture::atb_dtype(attributes.dtype).has_value();
  task.wanted.values = settings.has_statistics && is_known;
  task.table = folder + place.device + "/" + place.round + "/statistic.csv";
  task.header = kTableHeader;
  task.row = [place, attributes, has_statistics = task.wanted.values, root = settings.root,
              shown = settings.shown_root](const capture::Statistics& statistics,
                                           const std::string& written) {
    const std::string shown_path = written.empty() ? "N/A" : shown + written.substr(root.size());
    return table_row(place, attributes, has_statistics ? &statistics : nullptr, shown_path);
  };
  state.writer().save(std::move(task), source);
}

std::string tensors_folder(const Settings& settings) {
  switch (settings.generation) {
    case Generation::one_a:
      return settings.root + "/";
    case Generation::three:
      return settings.root + "/data/";
    default:
      return settings.root + "/tensors/";
  }
}

// Which of the rules of the original it falls under; true: it is saved.
bool is_wanted(const Settings& settings, const Description& tensor, std::string_view path) {
  const std::string_view name = path.substr(path.rfind('/') + 1);
  const bool is_in = contains(name, "intensor") || contains(name, "inTensor");
  const bool is_out = contains(name, "outtensor") || contains(name, "outTensor");
  if (!(is_in && settings.inputs) && !(is_out && settings.outputs)) return false;
  if (!settings.has_device(path)) return false;
  if (settings.only_in_before_out_after && !((contains(path, "before") && contains(path, "intensor")) ||
                                             (contains(path, "after") && contains(path, "outtensor"))))
    return false;
  return tensor.format.size() <= kLongestAttribute && tensor.dtype.size() <= kLongestAttribute &&
         tensor.dims.size() <= kLongestAttribute;
}

void save(State& state, const Settings& settings, const Description& tensor, const void* data, uint64_t size,
          std::string_view path) {
  if (data == nullptr || size == 0 || leads_out(path)) return;
  const AtbAttributes attributes{std::string(tensor.format), std::string(tensor.dtype),
                                 std::string(tensor.dims)};
  const capture::Source source{{static_cast<const std::byte*>(data), static_cast<size_t>(size)}};
  if (settings.overflow) state.watch(path, attributes.dtype, source.bytes);
  if (!settings.saves_tensors) return;
  if (!is_wanted(settings, tensor, path)) return state.writer().count_filtered();
  if (settings.generation == Generation::three)
    return save_with_table(state, settings, attributes, source, path);
  const AtbContent content = settings.content == Content::data          ? AtbContent::data
                             : settings.content == Content::description ? AtbContent::description
                                                                        : AtbContent::statistics;
  state.writer().save(capture::atb_task(tensors_folder(settings) + std::string(path), attributes, content,
                                        static_cast<int64_t>(size)),
                      source);
}

std::string one_line(std::string_view text) {
  std::string out(text);
  std::replace(out.begin(), out.end(), '\n', ' ');
  return out;
}

constexpr std::string_view kCaseHeader =
    "CaseNum|CaseName|OpName|OpParam|InNum|InDType|InFormat|InShape|OutNum|OutDType|OutFormat|OutShape|"
    "DataGenType|DataGenRange|"
    "InTensorFile|OutTensorFile|TestType|TestLevel|FromModel|SocVersion|ExpectedError\n";
constexpr int64_t kMostCases = 10000;  // the number stops there

void add_case(State& state, const Settings& settings, Level level, uint64_t round, std::string_view name,
              std::string_view param, std::span<const IoTensor> in, std::span<const IoTensor> out) {
  const std::string kind = level == Level::operation ? "operation" : "kernel";
  const std::string file = settings.root + "/" + kind + "_io_tensors/" + std::to_string(::getpid()) + "/" +
                           kind + "_tensors_" + std::to_string(round) + ".csv";
  const auto joined = [](std::span<const IoTensor> tensors, const auto& part) {
    std::string text;
    for (size_t i = 0; i < tensors.size(); ++i) text.append(i == 0 ? "" : ";").append(part(tensors[i]));
    return text;
  };
  const auto dtypes = [](const IoTensor& t) { return std::string(t.dtype); };
  const auto formats = [](const IoTensor& t) { return std::string(t.format); };
  const auto shapes = [](const IoTensor& t) { return std::string(t.shape); };
  const auto files = [&](const IoTensor& t) { return tensors_folder(settings) + std::string(t.path); };
  const auto generated = [](const IoTensor&) { return std::string("customize"); };
  state.add_line_of_case(file, kCaseHeader, [&](int64_t number) {
    const std::string count = std::to_string(std::min(number, kMostCases));
    std::string row;
    for (const std::string& text : {count,
                                    std::string(name) + count,
                                    std::string(name),
                                    one_line(param),
                                    std::to_string(in.size()),
                                    joined(in, dtypes),
                                    joined(in, formats),
                                    joined(in, shapes),
                                    std::to_string(out.size()),
                                    joined(out, dtypes),
                                    joined(out, formats),
                                    joined(out, shapes),
                                    joined(in, generated),
                                    std::string(" "),
                                    joined(in, files),
                                    joined(out, files),
                                    std::string(" "),
                                    std::string(" "),
                                    std::string(" "),
                                    std::string(" "),
                                    std::string("NO_ERROR")})
      row += (row.empty() ? "" : "|") + text;
    return row + "\n";
  });
}

std::string file_name(std::string_view name) {
  std::string out(name);
  std::replace(out.begin(), out.end(), '/', '_');
  return out;
}

}  // namespace

void update_config() noexcept {
  guarded([] { State::get().look_at_config(); });
}

bool asks(Question question) noexcept {
  return guarded([&] {
    const Settings& s = State::get().settings();
    switch (question) {
      case Question::tensor_data:
        return s.content == Content::data || s.content == Content::statistics;
      case Question::children:
        return s.with_children;
      case Question::before:
        return s.before;
      case Question::after:
        return s.after;
      case Question::tiling:
        return s.tiling;
      case Question::inputs:
        return s.inputs;
      case Question::outputs:
        return s.outputs;
      case Question::operation_graphs:
        return s.graphs;
      case Question::times:
        return s.times;
      case Question::operation_tables:
        return s.operation_tables;
      case Question::kernel_tables:
        return s.kernel_tables;
      case Question::overflow:
        return s.overflow;
      case Question::overflow_stop:
        return s.overflow_stop;
    }
    return false;
  });
}

bool is_in_range(uint64_t round) noexcept {
  return guarded([&] {
    const Settings& s = State::get().settings();
    return s.scans || s.rounds.has(static_cast<int64_t>(round));
  });
}

bool saves_in(std::string_view folder) noexcept {
  return guarded([&] { return State::get().settings().saves_in(folder); });
}

bool needs_tensors(std::span<const int64_t> ids, std::string_view op_type) noexcept {
  return guarded([&] { return State::get().settings().saves(ids, op_type); });
}

void save_tensor(const Description& tensor, const void* data, uint64_t size, std::string_view path) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& settings = state.settings();
    if (settings.is_active) save(state, settings, tensor, data, size, path);
  });
}

void save_tiling(const uint8_t* data, uint64_t size, std::string_view path) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (!s.tiling || data == nullptr || leads_out(path)) return;
    const std::string folder = s.generation == Generation::two ? s.root + "/tiling/" : s.root + "/";
    Task task{.path = folder + std::string(path), .is_tensor = false, .existing = Existing::replace};
    state.writer().save(std::move(task),
                        {{reinterpret_cast<const std::byte*>(data), static_cast<size_t>(size)}});
  });
}

void save_param(std::string_view param, std::string_view path) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (!s.saves_tensors || leads_out(path) || !s.has_device(path)) return;
    state.writer().replace(tensors_folder(s) + std::string(path), std::string(param) + "\n");
  });
}

void report_operation(std::string_view name, std::string_view graph) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (s.graphs) state.add_layer(s, name, graph, file_name(name));
  });
}

bool wants_model(std::string_view model) noexcept {
  return guarded([&] {
    State& state = State::get();
    return state.settings().models && state.may_be_new_model(model);
  });
}

void report_model(std::string_view model, std::string_view graph) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (s.models) state.add_model(s, model, graph, file_name(model));
  });
}

void report_times(uint64_t round, std::string_view name, std::string_view text) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (!s.times) return;
    const std::string file = s.root + "/cpu_profiling/" + std::to_string(::getpid()) +
                             "/operation_statistic_" + std::to_string(round) + ".txt";
    state.writer().append(file, "", "[" + one_line(name) + "]:" + one_line(text) + "\n");
  });
}

void report_io(Level level, uint64_t round, std::string_view name, std::string_view param,
               std::span<const IoTensor> in, std::span<const IoTensor> out) noexcept {
  guarded([&] {
    State& state = State::get();
    const Settings& s = state.settings();
    if (level == Level::operation ? s.operation_tables : s.kernel_tables)
      add_case(state, s, level, round, name, param, in, out);
  });
}

void report_overflow(std::string_view kernel) noexcept {
  guarded([&] { State::get().report_overflow(kernel); });
}

}  // namespace assay::probe
