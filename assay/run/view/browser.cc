#include "assay/run/view/browser.h"

#include "assay/base/system_message.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstdlib>
#include <thread>

namespace assay {
namespace {

constexpr int kItsOutput = 1, kItsErrors = 2;  // of the program that is started

}  // namespace

Result<TemporaryFolder> TemporaryFolder::make() {
  std::error_code error;
  const fs::path above = fs::temp_directory_path(error);
  if (error) return fail(ErrorKind::io, "no folder for temporary files: {}", error.message());
  std::string name = (above / "assay_view_XXXXXX").native();
  if (::mkdtemp(name.data()) == nullptr)
    return fail(ErrorKind::io, "{}: no folder can be made here: {}", display(above), system_message(errno));
  return TemporaryFolder(fs::path(name));
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) fs::remove_all(path_, ignored);
}

// The address holds a token, and everyone on the machine can read a command line: the browser finds it in a
// file that is ours alone.
std::optional<TemporaryFolder> open_browser(const std::string& address) {
  if (std::getenv("DISPLAY") == nullptr && std::getenv("WAYLAND_DISPLAY") == nullptr) return std::nullopt;
  auto folder = TemporaryFolder::make();
  if (!folder) return std::nullopt;
  auto file = FileWriter::create(folder->path() / "page.html", IfExists::refuse, 0600);
  const std::string text = "<!DOCTYPE html><meta http-equiv=\"refresh\" content=\"0;url=" + address + "\">\n";
  if (!file || !file->append(text) || !file->publish()) return std::nullopt;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (const int descriptor : {kItsOutput, kItsErrors})
    posix_spawn_file_actions_addopen(&actions, descriptor, "/dev/null", O_WRONLY, 0);
  std::string program = "xdg-open", word = (folder->path() / "page.html").native();
  std::array<char*, 3> words = {program.data(), word.data(), nullptr};
  pid_t child = 0;
  if (::posix_spawnp(&child, program.c_str(), &actions, nullptr, words.data(), environ) == 0)
    std::thread([child] { ::waitpid(child, nullptr, 0); }).detach();
  posix_spawn_file_actions_destroy(&actions);
  return std::move(*folder);
}

}  // namespace assay
