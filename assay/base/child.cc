#include "assay/base/child.h"

#include "assay/base/caller.h"
#include "assay/base/text.h"

#include <fmt/format.h>

#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <map>

extern char** environ;

namespace assay {
namespace {

constexpr std::array kPassedOn = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2};

std::atomic<pid_t> child_at_work{0};
static_assert(std::atomic<pid_t>::is_always_lock_free, "a signal handler reads it");

void pass_on(int signal, siginfo_t* info, void*) {
  const int before = errno;
  // Ctrl-C goes to all programs of the terminal: the child has it already.
  const bool has_it = info != nullptr && info->si_code == SI_KERNEL;
  if (const pid_t child = child_at_work.load(); child > 0 && !has_it) ::kill(child, signal);
  errno = before;
}

// While it lives, signals go to the child. Those that come before there is one wait until watch().
class SignalRelay {
 public:
  SignalRelay() {
    sigset_t held;
    ::sigemptyset(&held);
    for (const int signal : kPassedOn) ::sigaddset(&held, signal);
    ::sigprocmask(SIG_BLOCK, &held, &mask_);
    struct sigaction relay {};
    relay.sa_sigaction = pass_on;
    relay.sa_flags = SA_SIGINFO | SA_RESTART;
    for (size_t i = 0; i < kPassedOn.size(); ++i) {
      ::sigaction(kPassedOn[i], nullptr, &before_[i]);
      // What our caller told us not to hear (nohup), the child does not either.
      if (before_[i].sa_handler != SIG_IGN) ::sigaction(kPassedOn[i], &relay, nullptr);
    }
  }
  ~SignalRelay() {
    for (size_t i = 0; i < kPassedOn.size(); ++i) ::sigaction(kPassedOn[i], &before_[i], nullptr);
    child_at_work = 0;
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  SignalRelay(const SignalRelay&) = delete;
  SignalRelay& operator=(const SignalRelay&) = delete;

  void watch(pid_t child) {
    child_at_work = child;
    ::sigprocmask(SIG_SETMASK, &mask_, nullptr);
  }
  const sigset_t& mask() const { return mask_; }
  // Handlers of ours, and what we ignore for our own sake; what the caller had ignored stays so.
  sigset_t to_default() const {
    sigset_t signals;
    ::sigemptyset(&signals);
    for (size_t i = 0; i < kPassedOn.size(); ++i)
      if (before_[i].sa_handler != SIG_IGN) ::sigaddset(&signals, kPassedOn[i]);
    for (const int signal : {SIGPIPE, SIGXFSZ}) ::sigaddset(&signals, signal);
    return signals;
  }

 private:
  sigset_t mask_{};
  std::array<struct sigaction, kPassedOn.size()> before_{};
};

std::vector<std::string> changed_environment(const std::vector<EnvironmentChange>& changes) {
  std::map<std::string_view, const EnvironmentChange*> by_name;
  for (const EnvironmentChange& change : changes) by_name[change.name] = &change;
  std::vector<std::string> out;
  for (char** each = environ; each != nullptr && *each != nullptr; ++each) {
    const std::string_view entry = *each;
    if (!by_name.contains(entry.substr(0, entry.find('=')))) out.emplace_back(entry);
  }
  for (const auto& [name, change] : by_name)
    if (change->value) out.push_back(fmt::format("{}={}", name, *change->value));
  return out;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> out;
  for (std::string& text : texts) out.push_back(text.data());
  out.push_back(nullptr);
  return out;
}

Result<pid_t> spawn(std::vector<std::string> words, std::vector<std::string> environment,
                    const SignalRelay& relay) {
  posix_spawnattr_t attributes;
  ::posix_spawnattr_init(&attributes);
  const sigset_t defaults = relay.to_default();
  ::posix_spawnattr_setsigdefault(&attributes, &defaults);
  ::posix_spawnattr_setsigmask(&attributes, &relay.mask());
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
  pid_t child = 0;
  const std::string name = words.front();
  const int error = ::posix_spawnp(&child, name.c_str(), nullptr, &attributes, pointers_to(words).data(),
                                   pointers_to(environment).data());
  ::posix_spawnattr_destroy(&attributes);
  if (error == 0) return child;
  if (error == ENOENT)
    return fail(ErrorKind::not_found, "{}: there is no such program{}; give a path, or a name that PATH has",
                printable(name), name.find('/') == std::string::npos ? " in PATH" : "");
  return fail(ErrorKind::unsupported, "{}: cannot be run: {}{}", printable(name), std::strerror(error),
              error == ENOEXEC
                  ? "; a script begins with #!, or is given to its interpreter: bash " + printable(name)
              : error == EACCES ? "; is it executable? chmod +x, or give it to its interpreter"
                                : "");
}

}  // namespace

Result<void> check_may_start(const std::vector<std::string>& words) {
  if (current_caller() == nullptr) return {};
  return fail(ErrorKind::unsupported, "{}: programs are started by the assay program, not by its library",
              printable(words.empty() ? "" : words.front()));
}

Result<ChildEnd> run_child(const std::vector<std::string>& words,
                           const std::vector<EnvironmentChange>& changes) {
  ASSAY_CHECK(!words.empty());
  ASSAY_TRY_DO(check_may_start(words));
  SignalRelay relay;
  ASSAY_TRY(const pid_t child, spawn(words, changed_environment(changes), relay));
  relay.watch(child);
  int status = 0;
  while (::waitpid(child, &status, 0) < 0)
    if (errno != EINTR)
      return fail(ErrorKind::io, "waiting for {}: {}", printable(words.front()), std::strerror(errno));
  if (WIFSIGNALED(status)) return ChildEnd{128 + WTERMSIG(status), WTERMSIG(status)};
  return ChildEnd{WEXITSTATUS(status), 0};
}

Result<std::vector<std::string>> split_command(std::string_view line) {
  constexpr std::string_view kOfShells = "><|&$`*?(){}~";
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n'; };
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    const bool has_next = i + 1 < line.size();
    if (quote == '\'' || (quote == '"' && c != '\\')) {
      if (c == quote)
        quote = 0;
      else
        word += c;
    } else if (c == '\\' && has_next) {
      const char next = line[++i];
      if (quote == '"' && next != '"' && next != '\\') word += c;
      word += next;
      in_word = true;
    } else if (c == '\'' || c == '"') {
      quote = c;
      in_word = true;
    } else if (is_blank(c)) {
      if (in_word) words.push_back(std::move(word));
      word.clear();
      in_word = false;
    } else if (kOfShells.find(c) != std::string_view::npos ||
               (c == ';' && (!has_next || is_blank(line[i + 1])))) {  // within a word it may be meant so
      return fail(
          ErrorKind::bad_argument,
          "The command contains invalid characters: '{}' means something to a shell, and none is asked; "
          "put it in quotes, or the command into a script",
          c);
    } else {
      word += c;
      in_word = true;
    }
  }
  if (quote != 0)
    return fail(ErrorKind::bad_argument, "The command contains a quote ({}) that is not closed", quote);
  if (in_word) words.push_back(std::move(word));
  if (words.empty()) return fail(ErrorKind::bad_argument, "The command is empty");
  return words;
}

}  // namespace assay
