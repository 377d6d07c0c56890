#include "probe/state.h"

#include "assay/base/file_signals.h"
#include "assay/base/text.h"
#include "capture/fork_guard.h"
#include "capture/say.h"

#include <dlfcn.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>

namespace assay::probe {
namespace {

using capture::say;

constexpr int64_t kLookEveryMs = 5000;
constexpr int64_t kReserve = int64_t{2} << 30;  // what the original leaves free on the disk

class ProcessEnvironment : public Environment {
 public:
  const char* get(const char* name) const override { return std::getenv(name); }
};

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

int64_t coarse_ms() {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return now.tv_sec * 1000 + now.tv_nsec / 1'000'000;
}

// The value of a variable; `otherwise` where it is not set, or not understood, which is then noted.
template <class Parse>
int64_t setting(const char* name, Parse parse, int64_t least, int64_t most, int64_t otherwise,
                std::vector<std::string>& not_understood) {
  const std::string text = variable(name);
  if (text.empty()) return otherwise;
  const std::optional<int64_t> value = parse(text);
  if (value && *value >= least && *value <= most) return *value;
  not_understood.push_back(std::string(name) + " is '" + text + "'");
  return otherwise;
}

std::string joined(const std::vector<std::string>& remarks) {
  std::string out;
  for (const std::string& each : remarks) out.append(out.empty() ? "" : "; ").append(each);
  return out;
}

capture::WriterConfig writer_config(const Settings& settings, std::vector<std::string>& not_understood) {
  constexpr int64_t kAny = INT64_MAX;
  constexpr int64_t kMostThreads = 64;
  capture::WriterConfig config;
  config.root = settings.root;
  config.run = variable("ASSAY_CAPTURE_RUN");
  config.reserve = setting("ASSAY_CAPTURE_RESERVE", parse_size, 0, kAny, kReserve, not_understood);
  config.budget = setting("ASSAY_CAPTURE_BUDGET", parse_size, 1, kAny, config.budget, not_understood);
  config.threads =
      static_cast<int>(setting("ASSAY_CAPTURE_THREADS", parse_int, 1, kMostThreads, 0, not_understood));
  config.drops_data = variable("ASSAY_CAPTURE_DROP") == "1";
  config.links = settings.links                            ? capture::LinkKind::symbolic
                 : variable("ASSAY_CAPTURE_DEDUPE") == "1" ? capture::LinkKind::hard
                                                           : capture::LinkKind::none;
  if (settings.generation != Generation::three) config.rights = {0640, 0750};
  return config;
}

// "0_77" where the device is known, else "77".
std::string process_folder() {
  using GetDevice = int (*)(int32_t*);
  const auto ask = reinterpret_cast<GetDevice>(::dlsym(RTLD_DEFAULT, "aclrtGetDevice"));
  int32_t device = -1;
  const std::string pid = std::to_string(::getpid());
  return ask != nullptr && ask(&device) == 0 && device >= 0 ? std::to_string(device) + "_" + pid : pid;
}

std::string topology_file(const Settings& settings, const std::string& kind, const std::string& name) {
  if (settings.generation == Generation::three)
    return settings.root + "/info/" + kind + "/" + process_folder() + "/" + name + ".json";
  return settings.root + "/" + kind + "/" + std::to_string(::getpid()) + "/" + name + ".json";
}

std::mutex making;
std::atomic<State*> made{nullptr};  // never destroyed: ATB may call while the program ends

__attribute__((constructor)) void begin() {
  capture::ForkGuard::covers(making);
  State::be_covered();
}

__attribute__((destructor)) void finish() {
  State* const state = made.load();
  if (state == nullptr) return;
  state->tell_outside();
  state->writer().close();
}

}  // namespace

std::mutex State::guard_;

void State::be_covered() { capture::ForkGuard::covers(guard_); }

State& State::get() {
  if (State* const state = made.load(std::memory_order_acquire)) return *state;
  const std::lock_guard lock(making);  // not that of a static variable, which a child might inherit locked
  if (made.load() == nullptr) made.store(new State);
  return *made.load();
}

State::State()
    : base_(settings_from(ProcessEnvironment())),
      config_path_(base_.is_active ? variable("ATB_DUMP_CONFIG") : ""),
      settings_(&base_),
      not_understood_(base_.not_understood),
      writer_(writer_config(base_, not_understood_)) {
  if (base_.is_active && !not_understood_.empty())
    say("not understood, and what stands for it is the default: " + joined(not_understood_));
  if (!config_path_.empty()) read_config(true);
  // Whoever started the check knows by this that somebody looked.
  if (const std::string asked = variable("ASSAY_CHECK_ASKED"); base_.overflow && !asked.empty()) {
    const auto done = capture::append_whole(asked, "", "asked\n", {0600, 0750});
    if (!done) say(done.error().message);
  }
  next_look_ = coarse_ms() + kLookEveryMs;
}

// Called for every operator: most of the time it reads a clock.
void State::look_at_config() {
  if (config_path_.empty()) return;
  const int64_t now = coarse_ms();
  int64_t due = next_look_.load(std::memory_order_relaxed);
  if (now < due || !next_look_.compare_exchange_strong(due, now + kLookEveryMs)) return;
  read_config(false);
}

void State::read_config(bool is_first) {
  const std::lock_guard lock(guard_);
  struct stat status {};
  Seen now;
  if (::lstat(config_path_.c_str(), &status) == 0)
    now = {status.st_ctim.tv_sec * 1'000'000'000 + status.st_ctim.tv_nsec, status.st_size, status.st_ino,
           status.st_mode};
  if (!is_first && now == seen_) return;
  seen_ = now;
  std::string trouble;
  // The one before is still being read by other threads, and small: it stays.
  auto* const now_valid = new Settings(with_file(base_, config_path_, trouble));
  settings_.store(now_valid, std::memory_order_release);
  if (!trouble.empty() && trouble != last_trouble_)
    say(config_path_ + ": " + trouble + "; no tensors are dumped until that changes");
  last_trouble_ = trouble;
  const std::string odd = joined(now_valid->not_understood);
  if (!odd.empty() && odd != last_odd_) say(config_path_ + ": not understood: " + odd);
  last_odd_ = odd;
}

std::string State::alias_of(const std::string& round, const std::string& op_id, const std::string& file,
                            const std::string& op_type, int level) {
  const std::lock_guard lock(guard_);
  if (round != alias_round_) {
    alias_round_ = round;
    held_.clear();
    written_.clear();
  }
  const std::string key = op_id + "_" + file;
  const std::string layer = op_id.substr(0, op_id.find('_'));
  const bool is_layer = layer.size() == op_id.size();
  const bool may_alias = saved_layers_.contains(layer);
  if (is_layer) saved_layers_.insert(layer);
  written_.insert(key);
  if (may_alias) {
    const auto found = aliases_.of.find(key);
    // Only what this round holds: a file may have another name than the topology thinks, or may have been
    // filtered.
    if (found != aliases_.of.end() && held_.contains(found->second)) return found->second;
    const size_t parent_end = op_id.rfind('_');
    if (found == aliases_.of.end() && !aliases_.real.contains(key) && level == 2 &&
        op_type.ends_with("Kernel") && parent_end != std::string::npos &&
        written_.contains(op_id.substr(0, parent_end) + "_" + file))
      return file;
  }
  held_.insert(key);
  return {};
}

void State::watch(std::string_view path, const std::string& dtype, Bytes bytes) {
  const auto type = capture::atb_dtype(dtype);
  const std::string_view name = path.substr(path.rfind('/') + 1);
  if (!type) return;
  std::optional<std::string> found;
  bool tells = false;
  {
    const std::lock_guard lock(guard_);
    begin_watch();
    found = watch_.see(path, name.starts_with("in"), *type, bytes);
    // A program may be killed, and one with a mask has an input of this kind in every layer: now and then.
    tells = watch_.outside().count > 2 * told_outside_;
  }
  if (tells) tell_outside();
  if (!found) return;
  report_overflow(*found);
  if (settings().overflow_stop && !has_stopped_.exchange(true)) stop(*found);
}

void State::begin_watch() {
  if (watching_ == ::getpid()) return;
  watching_ = ::getpid();
  told_outside_ = 0;
  watch_.forget_outside();
}

void State::tell_outside() {
  const std::string asked = variable("ASSAY_CHECK_ASKED");
  const std::lock_guard lock(guard_);
  begin_watch();
  const OverflowWatch::Outside& outside = watch_.outside();
  if (asked.empty() || outside.count == told_outside_) return;
  told_outside_ = outside.count;
  const WithoutFileSignals quiet;
  const auto done =
      capture::append_whole(asked, "",
                            "outside " + std::to_string(watching_) + " " + std::to_string(outside.count) +
                                " " + printable(outside.first) + "\n",
                            {0600, 0750});
  if (!done) say(done.error().message);
}

// ATB is stopped by the answer to its own check; of what we find it never hears.
void State::stop(const std::string& kernel) {
  constexpr int64_t kPatienceMs = 60'000;
  say(kernel +
      " made a NaN or an infinity of finite numbers; the program is ended by SIGTERM, as --exit asks");
  static_cast<void>(writer_.flush(kPatienceMs));
  ::kill(::getpid(), SIGTERM);
}

// At once: a program that overflows may not live to its end.
void State::report_overflow(std::string_view kernel) {
  const Settings& s = settings();
  const bool is_old = s.generation == Generation::one_a || s.generation == Generation::one_b ||
                      s.generation == Generation::one_c;
  const std::string file =
      s.output_dir + (is_old ? "/ait" : "/msit") + "_overflow_res_" + std::to_string(::getpid()) + ".txt";
  std::string line = "Overflow detected! Operator name: ";
  line.append(kernel).append("\n");
  const WithoutFileSignals quiet;
  const auto done = capture::append_whole(file, "", line, {0600, 0750});
  if (!done) say(done.error().message);
}

void State::list_topology(const Settings& settings, const std::string& path) {
  if (!settings.onnx_list.empty()) writer_.append(settings.onnx_list, "", path + "\n");
}

void State::add_layer(const Settings& settings, std::string_view name, std::string_view graph,
                      const std::string& file) {
  std::string trouble;
  const auto layer = named_layer(name, graph, trouble);
  if (!layer) return say("the operation " + printable(name) + " gets no topology: " + trouble);
  const std::string path = topology_file(settings, "layer", file);
  const std::lock_guard lock(guard_);
  models_.add(*layer);
  if (settings.generation == Generation::three)
    if (auto aliases = find_aliases(*layer)) {
      aliases_.real.merge(aliases->real);
      aliases_.of.merge(aliases->of);
    }
  writer_.replace(path, compact_text(*layer) + "\n");
  list_topology(settings, path);
}

bool State::may_be_new_model(std::string_view name) {
  const std::lock_guard lock(guard_);
  return models_.may_be_new(name);
}

void State::add_model(const Settings& settings, std::string_view name, std::string_view graph,
                      const std::string& file) {
  const std::lock_guard lock(guard_);
  std::string trouble;
  const auto model = models_.name_nodes(name, graph, trouble);
  if (!trouble.empty()) say("the model " + printable(name) + " gets no topology: " + trouble);
  if (!model) return;
  std::string path = topology_file(settings, "model", file);
  if (models_.reported(name) > 1) path = capture::numbered(path, models_.reported(name));
  writer_.replace(path, compact_text(*model) + "\n");
  list_topology(settings, path);
}

}  // namespace assay::probe
