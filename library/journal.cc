// dump.json, stack.json and construct.json of a journal, as python/assay/msprobe/journal.py describes it: one
// pass over lines that stand in it as the files have them. What is rare (entries that were added to) the
// Python package does itself.
#include "library/guarded.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace assay::library {
namespace {

class Mapped {
 public:
  explicit Mapped(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    struct stat about {};
    if (file >= 0 && fstat(file, &about) == 0 && about.st_size > 0) {
      void* const data = mmap(nullptr, static_cast<size_t>(about.st_size), PROT_READ, MAP_PRIVATE, file, 0);
      if (data != MAP_FAILED) text_ = {static_cast<const char*>(data), static_cast<size_t>(about.st_size)};
    }
    if (file >= 0) close(file);
  }
  Mapped(const Mapped&) = delete;
  Mapped& operator=(const Mapped&) = delete;
  ~Mapped() {
    if (!text_.empty()) munmap(const_cast<char*>(text_.data()), text_.size());
  }
  std::string_view text() const { return text_; }

 private:
  std::string_view text_;
};

// A file that has its name when it is whole. It is written by itself in large pieces: stdio's pages of 4 KiB
// and a call for each line of a dump cost as much as the rest of it.
class Part {
 public:
  explicit Part(std::string path)
      : path_(std::move(path)), part_(path_ + "." + std::to_string(getpid()) + ".part") {
    file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    is_well_ = file_ >= 0;
    waiting_.reserve(kPiece + kPiece / 4);
  }
  Part(const Part&) = delete;
  Part& operator=(const Part&) = delete;
  ~Part() {
    if (file_ >= 0) close(file_);
    if (!is_done_) std::remove(part_.c_str());
  }
  void put(std::string_view text) {
    waiting_ += text;
    if (waiting_.size() >= kPiece) write_out();
  }
  // With ends of line in the place of tabs.
  void put_lines(std::string_view text) {
    const auto from = static_cast<std::ptrdiff_t>(waiting_.size());
    waiting_ += text;
    std::replace(waiting_.begin() + from, waiting_.end(), '\t', '\n');
    if (waiting_.size() >= kPiece) write_out();
  }
  bool finish() {
    write_out();
    const bool is_closed = file_ >= 0 && close(file_) == 0;
    file_ = -1;
    is_done_ = is_well_ && is_closed && std::rename(part_.c_str(), path_.c_str()) == 0;
    return is_done_;
  }

 private:
  static constexpr size_t kPiece = size_t{256} << 10;

  void write_out() {
    for (std::string_view left = waiting_; is_well_ && !left.empty();) {
      const ssize_t written = write(file_, left.data(), left.size());
      if (written < 0 && errno == EINTR) continue;
      is_well_ = written > 0;
      if (is_well_) left.remove_prefix(static_cast<size_t>(written));
    }
    waiting_.clear();
  }

  std::string path_, part_, waiting_;
  int file_;
  bool is_well_, is_done_ = false;
};

constexpr std::string_view kAt = "{\"at\":", kCall = "{\"call\":", kNode = "{\"node\":",
                           kFrames = "{\"frames\":", kMore = "{\"more\":";
constexpr std::string_view kName = ",\"name\":", kEntry = ",\"entry\":", kStack = ",\"stack\":",
                           kParent = ",\"parent\":";

struct Journal {
  std::string_view text;
  std::vector<std::string_view> stacks;
  std::vector<int32_t> call_stacks;
  std::vector<std::string_view> calls;  // names, quoted
  std::vector<std::pair<int64_t, std::string_view>>
      late;              // entries whose place is before that of an earlier line
  bool is_plain = true;  // nothing that is not known here

  template <class Use>
  void each_line(Use use) const {
    size_t begin = text.find('\n');  // behind the first line
    begin = begin == text.npos ? text.size() : begin + 1;
    for (size_t end = text.find('\n', begin); end != text.npos; begin = end + 1, end = text.find('\n', begin))
      use(text.substr(begin, end - begin));
  }

  static int64_t place_of(std::string_view line) {
    int64_t place = -1;
    std::from_chars(line.data() + kAt.size(), line.data() + line.size(), place);
    return place;
  }

  void read() {
    int64_t highest = -1;
    each_line([&](std::string_view line) {
      if (!line.ends_with('}')) {
        is_plain = false;
      } else if (line.starts_with(kAt)) {
        const int64_t place = place_of(line);
        const size_t name = line.find(kName);
        is_plain = is_plain && place >= 0 && name != line.npos && line.find(kEntry, name) != line.npos;
        if (place < highest)
          late.emplace_back(place, line);
        else
          highest = place;
      } else if (line.starts_with(kCall)) {
        const size_t split = line.rfind(kStack);
        int32_t number = -1;
        if (split != line.npos)
          std::from_chars(line.data() + split + kStack.size(), line.data() + line.size(), number);
        is_plain = is_plain && number >= 0;
        call_stacks.push_back(number);
        calls.push_back(line.substr(kCall.size(), split == line.npos ? 0 : split - kCall.size()));
      } else if (line.starts_with(kFrames)) {
        stacks.push_back(line.substr(kFrames.size(), line.size() - kFrames.size() - 1));
      } else if (line.starts_with(kNode)) {
        is_plain = is_plain && line.rfind(kParent) != line.npos;
      } else {
        is_plain = false;
      }
    });
    for (const int32_t number : call_stacks)
      is_plain = is_plain && number < static_cast<int32_t>(stacks.size());
    std::sort(late.begin(), late.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
  }
};

bool write_dump(const Journal& journal, std::string_view head, Part& file) {
  file.put(head);
  file.put("{");
  bool begun = false;
  const auto put = [&](std::string_view line) {
    const size_t name = line.find(kName), entry = line.find(kEntry, name);
    file.put(begun ? ",\n  " : "\n  ");
    file.put(line.substr(name + kName.size(), entry - name - kName.size()));
    file.put(": ");
    file.put_lines(line.substr(entry + kEntry.size(), line.size() - entry - kEntry.size() - 1));
    begun = true;
  };
  int64_t highest = -1;
  auto late = journal.late.begin();
  journal.each_line([&](std::string_view line) {
    if (!line.starts_with(kAt)) return;
    const int64_t place = Journal::place_of(line);
    if (place < highest) return;
    highest = place;
    for (; late != journal.late.end() && late->first < place; ++late) put(late->second);
    put(line);
  });
  for (; late != journal.late.end(); ++late) put(late->second);
  file.put(begun ? "\n }\n}" : "}\n}");
  return file.finish();
}

// A list of texts as Python's json gives it in one line, one text a line.
void put_frames(std::string_view list, Part& file) {
  if (list == "[]") return file.put(list);
  bool is_inside = false;
  file.put("[\n   ");
  size_t from = 1;
  for (size_t i = 1; i + 1 < list.size(); ++i) {
    if (list[i] == '\\') {
      ++i;
    } else if (list[i] == '"') {
      is_inside = !is_inside;
    } else if (!is_inside && list[i] == ',') {
      file.put(list.substr(from, i - from));
      file.put(",\n   ");
      from = i + 2;
    }
  }
  file.put(list.substr(from, list.size() - 1 - from));
  file.put("\n  ]");
}

bool write_stacks(const Journal& journal, Part& file) {
  std::vector<size_t> counts(journal.stacks.size() + 1), order(journal.calls.size());
  for (const int32_t number : journal.call_stacks) ++counts[static_cast<size_t>(number) + 1];
  for (size_t i = 1; i < counts.size(); ++i) counts[i] += counts[i - 1];
  std::vector<size_t> ends(counts);
  for (size_t i = 0; i < journal.calls.size(); ++i)
    order[ends[static_cast<size_t>(journal.call_stacks[i])]++] = i;
  file.put("{");
  for (size_t number = 0; number < journal.stacks.size(); ++number) {
    file.put((number > 0 ? ",\n \"" : "\n \"") + std::to_string(number) + "\": [\n  [");
    for (size_t i = counts[number]; i < ends[number]; ++i) {
      file.put(i > counts[number] ? ",\n   " : "\n   ");
      file.put(journal.calls[order[i]]);
    }
    file.put("\n  ],\n  ");
    put_frames(journal.stacks[number], file);
    file.put("\n ]");
  }
  file.put(journal.stacks.empty() ? "}" : "\n}");
  return file.finish();
}

bool write_construct(const Journal& journal, Part& file) {
  bool begun = false;
  file.put("{");
  journal.each_line([&](std::string_view line) {
    if (!line.starts_with(kNode)) return;
    const size_t split = line.rfind(kParent);
    file.put(begun ? ",\n " : "\n ");
    file.put(line.substr(kNode.size(), split - kNode.size()));
    file.put(": ");
    file.put_lines(line.substr(split + kParent.size(), line.size() - split - kParent.size() - 1));
    begun = true;
  });
  file.put(begun ? "\n}" : "}");
  return file.finish();
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;

assay_status assay_journal_render(const char* journal, const char* head, int32_t has_extra,
                                  const char* folder) {
  return guarded([&] {
    if (journal == nullptr || head == nullptr || folder == nullptr)
      return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    const Mapped mapped(journal);
    Journal read{mapped.text(), {}, {}, {}, {}, true};
    read.read();
    if (!read.is_plain || read.text.empty())
      return refuse(ASSAY_UNSUPPORTED, "a journal with more than plain lines");
    const std::string place = std::string(folder) + "/";
    Part dump(place + "dump.json");
    bool is_well = write_dump(read, head, dump);
    if (has_extra != 0) {
      Part stacks(place + "stack.json"), construct(place + "construct.json");
      is_well = write_stacks(read, stacks) && is_well;
      is_well = write_construct(read, construct) && is_well;
    }
    return is_well ? ASSAY_OK : refuse(ASSAY_FAILED, "the files of the dump cannot be written");
  });
}
