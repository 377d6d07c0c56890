#include "assay/run/view/tensor_detail.h"

#include "assay/base/caller.h"
#include "assay/report/cells.h"
#include "assay/report/detail_json.h"

#include <chrono>
#include <condition_variable>
#include <limits>
#include <mutex>
#include <thread>

namespace assay {
namespace {

constexpr auto kUntilNextLook = std::chrono::milliseconds(200);

// Ends the comparison when nobody waits for it any more, also while a large dump is being listed.
class DetailCaller : public Caller {
 public:
  DetailCaller(const std::function<void(double)>& progress, const std::function<bool()>& is_gone)
      : progress_(progress), watcher_([this, &is_gone] { watch(is_gone); }) {}
  ~DetailCaller() override {
    {
      const std::lock_guard lock(guard_);
      is_done_ = true;
    }
    done_.notify_one();
    watcher_.join();
  }
  void write_output(std::string_view) override {}
  void write_message(std::string_view) override {}
  void note_progress(std::string_view, int64_t done, int64_t total) override {
    const std::lock_guard lock(guard_);
    if (total > 0) progress_(static_cast<double>(done) / static_cast<double>(total));
  }
  bool takes_rows() const override { return false; }
  void write_rows(std::string_view) override {}
  void write_summary(std::string_view) override {}

 private:
  void watch(const std::function<bool()>& is_gone) {
    std::unique_lock lock(guard_);
    while (!done_.wait_for(lock, kUntilNextLook, [&] { return is_done_; }))
      if (is_gone()) return cancel();
  }

  std::mutex guard_;
  std::condition_variable done_;
  bool is_done_ = false;
  const std::function<void(double)>& progress_;
  std::thread watcher_;  // last: it uses the others
};

class DetailSink : public Sink {
 public:
  DetailSink(const StoredPair& pair, std::string& json) : pair_(pair), json_(json) {}
  Result<void> begin(const Head&) override { return {}; }
  std::string render(std::string_view, std::span<const NodeResult>) const override { return {}; }
  Result<void> write(std::string_view section, std::span<const NodeResult> nodes, std::string&&) override {
    for (const NodeResult& node : nodes)
      for (const Comparison& row : node.rows)
        if (json_.empty() && row.detail && shown(section) == pair_.section &&
            shown(row.mine.name) == pair_.mine && shown(row.golden.name) == pair_.golden)
          append_detail(json_, *row.detail);
    return {};
  }
  Result<void> end(const Summary&) override { return {}; }

 private:
  const StoredPair& pair_;
  std::string& json_;
};

// A name as a pattern that fits it; what is special in patterns, or was made visible in the report, is any
// character.
std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (size_t i = 0; i < name.size(); ++i) {
    const char c = name[i];
    if (c == '\\') {
      pattern += '*';
      i += name.substr(i).size() >= 4 ? 3 : 0;  // "\x1b"
    } else {
      pattern += c == '*' || c == '?' || c == '[' || c == ']' ? '?' : c;
    }
  }
  return pattern;
}

}  // namespace

Result<std::string> tensor_detail(CompareRequest how, const StoredPair& pair,
                                  const std::function<void(double share)>& progress,
                                  const std::function<bool()>& is_gone) {
  if (pair.mine.empty() || pair.golden.empty())
    return fail(ErrorKind::not_found, "one side has no such tensor: there is nothing to compare it with");
  how.open.only = {pattern_of(pair.mine), pattern_of(pair.golden)};
  if (!pair.section.empty()) how.sections = {pattern_of(pair.section)};
  how.details = {.rows = std::numeric_limits<int64_t>::max(),
                 .bytes = std::numeric_limits<int64_t>::max(),
                 .only_failed = false};
  how.progress = true;
  std::string json;
  DetailCaller caller(progress, is_gone);
  const CallerScope scope(&caller);
  ReportSet reports;
  reports.add(std::make_unique<DetailSink>(pair, json));
  ASSAY_TRY_DO(compare(how, reports));
  if (json.empty())
    return fail(ErrorKind::not_found,
                "this tensor was not found again, or there are no elements to look at; its dumps may have "
                "changed, or flags paired it that 'assay view' does not know");
  return json;
}

}  // namespace assay
