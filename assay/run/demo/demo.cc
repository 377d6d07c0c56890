#include "assay/run/demo/demo.h"

#include "assay/format/npy.h"
#include "assay/format/pt.h"
#include "assay/run/compare/compare.h"
#include "assay/run/demo/demo_model.h"
#include "assay/tensor/dense.h"

#include <fmt/format.h>

#include <system_error>

namespace assay {
namespace {

constexpr int kMostFolders = 1000;

OperandPtr operand(const DemoTensor& tensor, DType dtype) {
  const std::vector<double> values(tensor.values.begin(), tensor.values.end());
  TensorMeta meta{dtype, tensor.shape};
  std::vector<std::byte> bytes(static_cast<size_t>(meta.byte_size()));
  from_f64(dtype, values.data(), tensor.shape.count(), bytes.data());
  return dense_in_memory(std::move(bytes), std::move(meta));
}

Result<void> write_tensor(const fs::path& path, const Format& format, OperandPtr data) {
  ASSAY_TRY(FileWriter out, FileWriter::create(path, IfExists::refuse));
  const StoredTensor stored{.name = "", .data = data, .meta = data->meta, .stats = {}, .facts = {}};
  ASSAY_TRY_DO(format.write(out, {&stored, 1}));
  ASSAY_TRY(const fs::path published, out.publish());
  return {};
}

Result<void> write_dump(const fs::path& folder, const std::vector<DemoTensor>& tensors, const Format& format,
                        DType dtype) {
  ASSAY_TRY_DO(make_folder(folder));
  for (size_t i = 0; i < tensors.size(); ++i) {
    const std::string name = fmt::format("{:03}_{}{}", i, tensors[i].name, format.suffixes.front());
    ASSAY_TRY_DO(write_tensor(folder / name, format, operand(tensors[i], dtype)));
  }
  return {};
}

}  // namespace

Result<fs::path> make_demo_folder(const fs::path& wanted) {
  const fs::path plain = wanted.has_filename() ? wanted : wanted.parent_path();  // "demo/" is "demo"
  if (plain.has_parent_path()) ASSAY_TRY_DO(make_folder(plain.parent_path()));
  for (int i = 1; i <= kMostFolders; ++i) {
    fs::path candidate = plain;
    if (i > 1) candidate += fmt::format("_{}", i);
    std::error_code error;
    if (fs::create_directory(candidate, error)) return candidate;
    const bool taken = !error || error == std::errc::file_exists;
    if (!taken)
      return fail(ErrorKind::io, "{}: cannot make this folder: {}", display(candidate), error.message());
  }
  return fail(ErrorKind::io, "{}: this folder and {} numbered ones exist; pass --output DIR", display(plain),
              kMostFolders - 1);
}

Result<DemoDumps> write_demo_dumps(const fs::path& folder) {
  const std::vector<DemoTensor> golden = run_demo_model({});
  const std::vector<DemoTensor> mine = run_demo_model({.bf16 = true, .faulty = true});
  const DemoDumps dumps{folder / "mine", folder / "golden", std::ssize(golden)};
  ASSAY_TRY_DO(write_dump(dumps.golden, golden, npy_format, DType::f32));
  ASSAY_TRY_DO(write_dump(dumps.mine, mine, pt_format, DType::bf16));
  return dumps;
}

Result<CompareOutcome> compare_demo_dumps(const DemoRequest& request) {
  CompareRequest ask;
  ask.mine = request.dumps.mine;
  ask.golden = request.dumps.golden;
  ask.now = request.now;
  ask.version = request.version;
  ask.command_line = request.command_line;
  ask.terminal_width = request.terminal_width;
  ask.colour = request.colour;
  std::vector<std::string> metrics = {"default"};
  ASSAY_TRY(const MetricPlan shown, plan_metrics(metrics));
  ask.shown_columns = shown.columns;
  const std::vector<std::string> needed = columns_needed(ask.rules);
  metrics.insert(metrics.end(), needed.begin(), needed.end());
  ASSAY_TRY(ask.metrics, plan_metrics(metrics));
  ask.details = kUsualDetails;
  ask.details.passing_rows = kPassingDetails;
  ask.details.passing_bytes = kPassingBytes;
  ask.open.within = true;

  ReportSet reports;
  for (const std::string_view name : {"terminal", "csv", "xlsx", "json", "html"}) {
    const Output* output = find_output(name);
    ASSAY_CHECK(output != nullptr);
    reports.add(output->open(SinkOptions{.folder = request.reports}));
  }
  return compare(ask, reports);
}

bool found_planted_fault(const Summary& summary, const DemoDumps& dumps) {
  const bool complete = summary.errors == 0 && summary.unmatched == 0 && summary.compared == dumps.tensors;
  return complete && summary.first_divergence &&
         summary.first_divergence->mine.find(kDemoFault) != std::string::npos;
}

}  // namespace assay
