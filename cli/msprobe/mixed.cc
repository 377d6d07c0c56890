#include "cli/msprobe/mixed.h"

#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/dump/items.h"
#include "assay/support/log.h"

#include <algorithm>
#include <array>
#include <set>

namespace assay::cli {
namespace {

constexpr std::array<std::string_view, 2> kParts = {"graph", "pynative"};

std::set<std::string> folders_in(const fs::path& folder) {
  std::set<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (is_folder(it->path())) names.insert(it->path().filename().native());
  return names;
}

// What both have, in order; the rest of the two goes to alone.
std::vector<std::string> common_of(const fs::path& mine, const fs::path& golden,
                                   const std::set<std::string>& ours, const std::set<std::string>& theirs,
                                   std::vector<std::string>& alone) {
  std::vector<std::string> common;
  const auto leave_out = [&](const fs::path& folder, std::string_view side) {
    log::warn("{} is only in the {}; it is not compared.", display(folder), side);
    alone.push_back(display(folder));
  };
  for (const std::string& name : ours)
    if (theirs.contains(name))
      common.push_back(name);
    else
      leave_out(mine / name, "run under test");
  for (const std::string& name : theirs)
    if (!ours.contains(name)) leave_out(golden / name, "bench");
  return common;
}

std::set<std::string> parts_of(const fs::path& root) {
  std::set<std::string> parts;
  for (const std::string_view part : kParts)
    if (is_folder(root / part)) parts.emplace(part);
  return parts;
}

}  // namespace

bool is_mixed(const MsprobeJob& job) {
  return std::ranges::any_of(kParts, [&](std::string_view part) {
    return is_folder(job.mine / part) && is_folder(job.golden / part);
  });
}

Result<void> compare_mixed(const MsprobeJob& job,
                           const std::function<Result<void>(const MsprobeJob&)>& compare_step) {
  log::info("Start mix compare.");
  Result<void> first;  // step of which nothing was compared, or too little
  std::vector<std::string> alone;
  for (const std::string& part :
       common_of(job.mine, job.golden, parts_of(job.mine), parts_of(job.golden), alone)) {
    const fs::path mine = job.mine / part, golden = job.golden / part;
    for (const std::string& step : common_of(mine, golden, folders_in(mine), folders_in(golden), alone)) {
      log::info("[mix compare] Start comparing {}/{}", part, step);
      MsprobeJob of_step = job;
      of_step.mine = mine / step;
      of_step.golden = golden / step;
      of_step.output = job.output / part / step;
      // What one step lacks is no reason to leave out the next.
      auto done = compare_step(of_step);
      if (!done && done.error().kind != ErrorKind::not_compared) return done;
      if (!done) log::error("{}/{}: {}", part, step, done.error().message);
      if (!done && first) first = std::move(done);
    }
  }
  if (!first || alone.empty()) return first;
  return fail(ErrorKind::not_compared, "NOT COMPARED: {} of the dump: {}",
              alone.size() == 1 ? "a part" : fmt::format("{} parts", alone.size()), some_names(alone));
}

}  // namespace assay::cli
