// What the probe remembers from one call to the next. One for the process; it lives until the very end.
#pragma once

#include "capture/around.h"
#include "capture/writer.h"
#include "probe/overflow_watch.h"
#include "probe/settings.h"
#include "probe/topology.h"

#include <atomic>
#include <map>
#include <mutex>

#include <sys/types.h>

namespace assay::probe {

class State {
 public:
  static State& get();
  static void be_covered();  // while the program forks

  // As they are now. What was answered before stays valid.
  const Settings& settings() const { return *settings_.load(std::memory_order_acquire); }
  void look_at_config();

  capture::Writer& writer() { return writer_; }

  // The key of the file that holds what this one would; empty: it holds its data itself.
  std::string alias_of(const std::string& round, const std::string& op_id, const std::string& file,
                       const std::string& op_type, int level);
  void watch(std::string_view path, const std::string& dtype, Bytes bytes);
  void report_overflow(std::string_view kernel);
  // Tells whoever started the check how many inputs from outside were not finite, if more than before.
  void tell_outside();

  void add_layer(const Settings& settings, std::string_view name, std::string_view graph,
                 const std::string& file);
  bool may_be_new_model(std::string_view name);
  void add_model(const Settings& settings, std::string_view name, std::string_view graph,
                 const std::string& file);

  // `line(number)`: the number of the row in its file, from 1.
  template <class Line>
  void add_line_of_case(const std::string& file, std::string_view header, Line line) {
    const std::lock_guard lock(guard_);
    writer_.append(file, std::string(header), line(++cases_[file]));
  }

 private:
  State();
  void read_config(bool is_first);
  void stop(const std::string& kernel);
  void begin_watch();
  void list_topology(const Settings& settings, const std::string& path);

  const Settings base_;
  const std::string config_path_;
  std::atomic<const Settings*> settings_;
  std::atomic<int64_t> next_look_{0};
  std::vector<std::string> not_understood_;
  capture::Writer writer_;
  std::atomic<bool> has_stopped_{false};

  static std::mutex guard_;  // of all below; there is one State
  struct Seen {
    int64_t changed = 0, size = -1;
    uint64_t file = 0;
    unsigned mode = 0;
    friend bool operator==(const Seen&, const Seen&) = default;
  } seen_;
  std::string last_trouble_, last_odd_;
  Models models_;
  Aliases aliases_;
  std::set<std::string> saved_layers_;  // whose own tensors were saved
  std::string alias_round_;
  std::set<std::string> held_, written_;  // of that round: keys with data, and all
  OverflowWatch watch_;
  int64_t told_outside_ = 0;
  pid_t watching_ = 0;  // process that watch_ counted in
  std::map<std::string, int64_t> cases_;
};

}  // namespace assay::probe
