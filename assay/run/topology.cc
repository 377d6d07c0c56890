#include "assay/run/topology.h"

#include "assay/base/text.h"
#include "assay/graph/onnx_writer.h"
#include "assay/graph/operation_tables.h"

#include <algorithm>

namespace assay {
namespace {

constexpr unsigned kMode = 0640;  // as the tools of CANN give to what they write into a dump

fs::path beside(const fs::path& json) {
  fs::path out = json;
  if (out.extension() == ".json") return out.replace_extension(".onnx");
  return out += ".onnx";
}

}  // namespace

std::optional<fs::path> find_topology(const fs::path& dump) {
  for (const fs::path& place :
       {dump / "model", dump / "info" / "model", dump / "layer", dump / "info" / "layer"}) {
    std::vector<fs::path> found;
    std::error_code error;
    for (fs::recursive_directory_iterator at(place, error), end; !error && at != end; at.increment(error))
      if (at->path().extension() == ".json") found.push_back(at->path());
    if (!found.empty())
      return *std::ranges::min_element(
          found, [](const fs::path& a, const fs::path& b) { return natural_less(a.native(), b.native()); });
  }
  return std::nullopt;
}

Result<TopologyOutcome> draw_topology(const TopologyRequest& request) {
  ASSAY_TRY(AtbTopology topology, read_atb_topology(request.json, request.memory));
  const fs::path out = request.out.empty() ? beside(request.json) : request.out;
  if (std::error_code ignored; fs::equivalent(request.json, out, ignored))
    return fail(ErrorKind::bad_argument, "{}: is the topology itself; name another file to write",
                display(out));
  const OnnxOptions options{find_operation_tables(request.json), request.memory};
  for (const fs::path& table : options.tables)
    if (std::error_code ignored; fs::equivalent(table, out, ignored))
      return fail(ErrorKind::bad_argument,
                  "{}: types and shapes are read from it; name another file to write", display(out));
  if (request.force) ASSAY_TRY_DO(check_replaceable(out));
  if (out.has_parent_path()) ASSAY_TRY_DO(make_folder(out.parent_path()));
  ASSAY_TRY(FileWriter writer,
            FileWriter::create(out, request.force ? IfExists::replace : IfExists::refuse, kMode));
  if (request.force) ASSAY_TRY_DO(writer.take_rights_of(out));
  ASSAY_TRY(OnnxSummary summary, write_onnx(topology, request.level, options, writer));
  TopologyOutcome outcome{{}, summary.nodes, std::move(topology.warnings)};
  for (std::string& warning : summary.warnings) outcome.warnings.push_back(std::move(warning));
  ASSAY_TRY(outcome.out, writer.publish());
  return outcome;
}

}  // namespace assay
