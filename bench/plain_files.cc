// How fast small files can be written by a program that does nothing else, in the folders that a dump has:
// the bound of any probe. Usage: bench_plain_files FOLDER WAY COUNT IN_A_FOLDER THREADS; prints the seconds.
//   direct   open, write, close: the least there is, and a file may be seen half written
//   unnamed  a file without a name, which gets one when it is whole
//   stdio    fopen, fwrite, fclose, rename
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

constexpr size_t kBytes = 1024 + 110;  // with the header of an ATB file

bool write_direct(const std::string& path, const std::string& data) {
  const int file = ::open(path.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0640);
  const bool good = file >= 0 && ::write(file, data.data(), data.size()) == static_cast<ssize_t>(data.size());
  return ::close(file) == 0 && good;
}

bool write_unnamed(const std::string& folder, const std::string& path, const std::string& data) {
  const int file = ::open(folder.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0640);
  const bool good = file >= 0 &&
                    ::write(file, data.data(), data.size()) == static_cast<ssize_t>(data.size()) &&
                    ::linkat(file, "", AT_FDCWD, path.c_str(), AT_EMPTY_PATH) == 0;
  return ::close(file) == 0 && good;
}

bool write_stdio(const std::string& path, const std::string& data) {
  const std::string temporary = path + ".tmp";
  FILE* const file = std::fopen(temporary.c_str(), "wb");
  if (file == nullptr) return false;
  const bool good = std::fwrite(data.data(), 1, data.size(), file) == data.size();
  return std::fclose(file) == 0 && good && std::rename(temporary.c_str(), path.c_str()) == 0;
}

// Every `threads`th folder, from the one of this number on.
void write_share(const std::string& root, const std::string& way, int64_t count, int64_t in_a_folder,
                 int64_t threads, int64_t share) {
  const std::string data(kBytes, 'x');
  for (int64_t op = share; op * in_a_folder < count; op += threads) {
    const std::string round = root + "/" + std::to_string(op / 1000),
                      above = round + "/" + std::to_string(op % 1000) + "_Op", folder = above + "/after";
    for (const std::string& each : {round, above, folder}) ::mkdir(each.c_str(), 0750);
    for (int64_t i = op * in_a_folder; i < std::min(count, (op + 1) * in_a_folder); ++i) {
      const std::string path = folder + "/outtensor" + std::to_string(i % in_a_folder) + ".bin";
      const bool good = way == "direct"    ? write_direct(path, data)
                        : way == "unnamed" ? write_unnamed(folder, path, data)
                                           : write_stdio(path, data);
      if (good) continue;
      std::perror(path.c_str());
      std::exit(1);
    }
  }
}

}  // namespace

int main(int count, char** words) {
  if (count < 6) return 2;
  const std::string root = words[1], way = words[2];
  const int64_t files = std::atoll(words[3]), in_a_folder = std::atoll(words[4]),
                threads = std::atoll(words[5]);
  const auto start = std::chrono::steady_clock::now();
  std::vector<std::thread> all;
  for (int64_t t = 0; t < threads; ++t)
    all.emplace_back([=] { write_share(root, way, files, in_a_folder, threads, t); });
  for (std::thread& each : all) each.join();
  std::printf("%.6f\n", std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  return 0;
}
