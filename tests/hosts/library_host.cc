// A program that calls libassay.so as others do.
//   library_host read PATH...                every tensor of each: a line, or the reason
//   library_host many MINE GOLDEN FILE       eight threads at once: each must get what one gets alone
//   library_host memory                      tensors in memory: strides, few bits, and what is refused
//   library_host state MINE GOLDEN DUMP      nothing that belongs to the process may change
#include "include/assay/assay.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <clocale>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

namespace {

struct Heard {
  std::vector<std::string> rows, messages;
  std::string summary;
  size_t most = SIZE_MAX;  // rows after which it wants no more
  int after = 0;           // what it was told nevertheless
};

int hear(void* user, int kind, const char* text, int64_t size) {
  Heard& heard = *static_cast<Heard*>(user);
  if (heard.rows.size() >= heard.most) ++heard.after;
  if (static_cast<int64_t>(std::strlen(text)) != size) std::puts("a text with a zero inside");
  if (kind == ASSAY_ROW) heard.rows.emplace_back(text);
  if (kind == ASSAY_SUMMARY) heard.summary = text;
  if (kind == ASSAY_MESSAGE) heard.messages.emplace_back(text);
  return heard.rows.size() >= heard.most ? 1 : 0;
}

// FNV-1a, enough to tell two tensors apart.
uint64_t digest(const std::vector<unsigned char>& bytes) {
  uint64_t hash = 14695981039346656037ULL;
  for (const unsigned char byte : bytes) hash = (hash ^ byte) * 1099511628211ULL;
  return hash;
}

std::vector<std::string> read_all(const char* path) {
  std::vector<std::string> lines;
  assay_file* file = nullptr;
  if (assay_file_open(path, 0, nullptr, nullptr, nullptr, &file) != ASSAY_OK)
    return {std::string("refused: ") + assay_last_error()};
  for (int64_t i = 0; i < assay_file_count(file); ++i) {
    assay_tensor_info info;
    info.size = sizeof info;
    if (assay_file_info(file, i, &info) != ASSAY_OK) {
      lines.push_back(std::string("no info: ") + assay_last_error());
      continue;
    }
    std::string line = std::string(info.section) + "|" + info.name + "|" + std::to_string(info.state) + "|" +
                       std::to_string(info.dtype) + "|" + std::to_string(info.count);
    const char* json = "";
    if (assay_file_describe(file, i, nullptr, 0, &json) != ASSAY_OK || *json != '{') line += "|not described";
    // A broken tensor may claim any size.
    if (info.state == ASSAY_HAS_DATA && info.bytes < (int64_t{1} << 28)) {
      std::vector<unsigned char> bytes(static_cast<size_t>(info.bytes));
      const assay_status status = assay_file_read(file, i, nullptr, -1, bytes.data(), info.bytes);
      line +=
          status == ASSAY_OK ? "|" + std::to_string(digest(bytes)) : std::string("|") + assay_last_error();
    } else if (info.state == ASSAY_BROKEN) {
      line += std::string("|") + info.trouble;
      char byte = 0;
      if (assay_file_read(file, i, nullptr, -1, &byte, 1) == ASSAY_OK) line += "|and yet it was read";
    }
    lines.push_back(line);
  }
  assay_file_close(file);
  return lines;
}

int read_each(int count, char** paths) {
  for (int i = 0; i < count; ++i)
    for (const std::string& line : read_all(paths[i])) std::printf("%s: %s\n", paths[i], line.c_str());
  return 0;
}

struct Work {
  int code = 0;
  Heard heard;
  std::vector<std::string> read;
  std::string error;
};

Work work_once(char** paths, size_t most_rows, const char* threads) {
  Work work;
  work.heard.most = most_rows;
  const char* const flags[] = {"--threads", threads, "--only", "*", "--only", "no such tensor"};
  work.code = assay_compare(paths[0], paths[1], 6, flags, hear, &work.heard);
  work.error = assay_last_error();
  work.read = read_all(paths[2]);
  return work;
}

int complaints = 0;
void complain(const char* text) {
  std::printf("%s\n", text);
  ++complaints;
}

int many(char** paths) {
  const Work alone = work_once(paths, SIZE_MAX, "1");
  if (alone.code == 2 || alone.heard.rows.size() < 4 || alone.heard.messages.empty() ||
      alone.heard.summary.empty())
    complain(("alone: " + alone.error).c_str());
  constexpr size_t kThreads = 8, kRounds = 3;
  std::vector<std::vector<Work>> works(kThreads, std::vector<Work>(kRounds));
  std::vector<std::thread> threads;
  for (size_t i = 0; i < kThreads; ++i)
    threads.emplace_back([&, i] {
      for (size_t k = 0; k < kRounds; ++k)
        works[i][k] = work_once(paths, i % 4 == 3 ? 1 : SIZE_MAX, i % 2 == 0 ? "0" : "3");
    });
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < kThreads; ++i)
    for (const Work& work : works[i]) {
      if (work.read != alone.read) complain("a thread read something else");
      if (work.heard.after != 0) complain("a sink was told more than it wanted");
      if (i % 4 == 3) {
        if (work.code != 2 || work.heard.rows.size() != 1 ||
            work.error.find("interrupted") == std::string::npos)
          complain(("cancelled: " + std::to_string(work.code) + " " + work.error).c_str());
      } else if (work.code != alone.code || work.heard.rows != alone.heard.rows ||
                 work.heard.messages != alone.heard.messages) {
        complain("a thread was told something else");
      }
    }
  return complaints > 0;
}

// What the kernel and the C library know of this process and a library could change.
std::string state() {
  std::string text;
  for (int signal = 1; signal < 65; ++signal) {
    struct sigaction action {};
    if (sigaction(signal, nullptr, &action) != 0) continue;
    text +=
        std::to_string(signal) + ":" + std::to_string(reinterpret_cast<uintptr_t>(action.sa_handler)) + " ";
  }
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);)
    if (line.starts_with("SigBlk") || line.starts_with("SigIgn")) text += line + " ";
  for (int limit = 0; limit < RLIM_NLIMITS; ++limit) {
    rlimit value{};
    getrlimit(static_cast<__rlimit_resource>(limit), &value);
    text += std::to_string(value.rlim_cur) + " ";
  }
  const mode_t mask = umask(0);
  umask(mask);
  char folder[4096] = "";
  text += std::to_string(mask) + " " + (getcwd(folder, sizeof folder) != nullptr ? folder : "") + " ";
  text += setlocale(LC_ALL, nullptr);
  for (char** variable = environ; *variable != nullptr; ++variable) text += std::string(" ") + *variable;
  return text;
}

int unchanged(char** paths) {
  const std::string before = state();
  static_cast<void>(work_once(paths, SIZE_MAX, "0"));
  const char* const check[] = {"errcheck", paths[2]};
  Heard heard;
  assay_run(2, check, hear, &heard);
  if (heard.rows.empty()) complain("errcheck told no rows");
  const char* const start[] = {"errcheck", "--", "true"};
  const std::string folder = std::string(paths[2]) + ".new";
  const char* const dump[] = {"dump", "--output", folder.c_str(), "--", "true"};
  const auto is_refused = [](int code) {
    return code == 2 && std::strstr(assay_last_error(), "not by its library") != nullptr;
  };
  if (!is_refused(assay_run(3, start, nullptr, nullptr)) || !is_refused(assay_run(5, dump, nullptr, nullptr)))
    complain("a program was started");
  if (access(folder.c_str(), F_OK) == 0) complain("something was made for a program that is not started");
  const std::string after = state();
  if (before != after) complain((before + "\nbecame\n" + after).c_str());
  return complaints > 0;
}

bool is_told(const char* what, bool is_so) {
  if (!is_so) std::printf("%s: %s\n", what, assay_last_error());
  return is_so;
}

int compare_memory() {
  const float rows[] = {1, 2, 3, 4, 5, 6}, turned[] = {1, 4, 2, 5, 3, 6};
  const unsigned char nibbles[] = {0x21, 0x43, 0x05};
  const signed char whole[] = {1, 2, 3, 4, 5};
  const int64_t shape[] = {2, 3}, strides[] = {1, 2}, five[] = {5}, negative[] = {-1};
  const char* const names[] = {"a", "b"};
  const char* const twice[] = {"a", "a"};
  const char* const quiet[] = {"--quiet"};
  assay_tensor mine[] = {{rows, ASSAY_F32, 2, shape, nullptr, nullptr, nullptr},
                         {nibbles, ASSAY_U4, 1, five, nullptr, nullptr, nullptr}};
  assay_tensor golden[] = {{turned, ASSAY_F32, 2, shape, strides, nullptr, nullptr},
                           {whole, ASSAY_I8, 1, five, nullptr, nullptr, nullptr}};
  const assay_tensors both = {2, mine, names}, others = {2, golden, names}, none = {0, nullptr, nullptr};
  const assay_tensors alone = {1, mine, nullptr}, unnamed = {2, mine, nullptr}, same = {2, mine, twice};
  const auto run = [&](const assay_tensors& a, const assay_tensors& b, Heard* heard) {
    return assay_compare_tensors(&a, &b, 1, quiet, heard == nullptr ? nullptr : hear, heard);
  };
  Heard heard, one_sided;
  bool good = is_told("equal", run(both, others, &heard) == 0 && heard.rows.size() == 2);
  good &= is_told("alone", run(alone, alone, nullptr) == 0);
  good &= is_told("one side", run(both, none, &one_sided) == 2 && one_sided.rows.size() == 2);
  good &= is_told("names", run(unnamed, both, nullptr) == 2 && *assay_last_error() != '\0');
  good &= is_told("twice", run(same, both, nullptr) == 2 && *assay_last_error() != '\0');
  mine[0].dtype = 99;
  good &= is_told("type", run(both, others, nullptr) == 2 && *assay_last_error() != '\0');
  mine[0] = {nullptr, ASSAY_F32, 2, shape, nullptr, nullptr, nullptr};
  good &= is_told("no data", run(both, others, nullptr) == 2 && *assay_last_error() != '\0');
  mine[0] = {rows, ASSAY_F32, 1, negative, nullptr, nullptr, nullptr};
  good &= is_told("shape", run(both, others, nullptr) == 2 && *assay_last_error() != '\0');
  mine[0] = {rows, ASSAY_U4, 2, shape, strides, nullptr, nullptr};
  good &= is_told("packed", run(both, others, nullptr) == 2 && *assay_last_error() != '\0');
  good &= is_told("null", assay_compare_tensors(nullptr, &both, 0, nullptr, nullptr, nullptr) == 2);
  good &= is_told("nobody to cancel", assay_cancel(&heard) == 0);
  return good ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const std::string verb = count > 1 ? words[1] : "";
  if (verb == "read") return read_each(count - 2, words + 2);
  if (verb == "many" && count == 5) return many(words + 2);
  if (verb == "memory") return compare_memory();
  if (verb == "state" && count == 5) return unchanged(words + 2);
  std::puts("library_host read PATH... | many MINE GOLDEN FILE | memory | state MINE GOLDEN DUMP");
  return 2;
}
