#include "assay/run/cluster/sight.h"

#include "assay/base/text.h"
#include "assay/run/cluster/bytes_codec.h"
#include "assay/support/parallel.h"

#include <sys/stat.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>

namespace assay {
namespace {

// FNV-1a: nobody chooses these bytes against us.
class Digest {
 public:
  void add(std::string_view bytes) {
    for (const char each : bytes) {
      low_ = (low_ ^ static_cast<uint8_t>(each)) * 0x100000001b3;
      high_ = (high_ ^ static_cast<uint8_t>(each)) * 0x100000001b3 + (low_ >> 32);
    }
  }
  template <class T>
  void add_value(const T& value) {
    add({reinterpret_cast<const char*>(&value), sizeof(T)});
  }
  std::string text() const { return fmt::format("{:016x}{:016x}", high_, low_); }

 private:
  uint64_t low_ = 0xcbf29ce484222325, high_ = 0x84222325cbf29ce4;
};

void add_item(const std::optional<ItemId>& id, Digest& digest) {
  digest.add_value(id ? id->frame : -1);
  digest.add_value(id ? id->node : -1);
  digest.add_value(id ? id->item : -1);
}

}  // namespace

Sight::Sight(const Matched& matched) {
  for (const Side side : {Side::mine, Side::golden})
    for (const Frame& frame : matched.frames.frames(side))
      for (const FileEntry& file : frame.files) files_.push_back({file.path.native()});
  std::ranges::sort(files_, {}, &Seen::path);
  const auto twice = std::ranges::unique(files_, {}, &Seen::path);
  files_.erase(twice.begin(), twice.end());
  parallel_for(files_.size(), [this](size_t i) {
    struct stat status {};
    if (::stat(files_[i].path.c_str(), &status) != 0) return;
    files_[i].size = status.st_size;
    files_[i].time = int64_t{status.st_mtim.tv_sec} * 1'000'000'000 + status.st_mtim.tv_nsec;
  });
  Digest digest;
  for (const Seen& seen : files_) {
    digest.add(seen.path);
    digest.add_value(seen.size);
    digest.add_value(seen.time);
  }
  for (const PairedNode& node : matched.pairing.nodes) {
    digest.add(node.name);
    for (const Pair& pair : node.pairs) {
      add_item(pair.mine, digest);
      add_item(pair.golden, digest);
      digest.add_value(pair.why);
    }
  }
  digest_ = digest.text();
}

std::string Sight::encode() const {
  Encoder out;
  for (const Seen& seen : files_) {
    out.text(seen.path);
    out.put(seen.size);
    out.put(seen.time);
  }
  return out.take();
}

Sight Sight::decode(std::string_view bytes) {
  Sight sight;
  for (Decoder in(bytes); !in.is_at_end();) {
    Seen& seen = sight.files_.emplace_back();
    seen.path = in.text();
    seen.size = in.get<int64_t>();
    seen.time = in.get<int64_t>();
  }
  return sight;
}

std::string Sight::text_of(const Seen* seen) {
  if (seen == nullptr || seen->size < 0) return "is not there";
  constexpr int64_t kSecond = 1'000'000'000;
  return fmt::format("has {} bytes of {:%Y-%m-%d %H:%M:%S}.{:09} UTC", seen->size,
                     fmt::gmtime(static_cast<std::time_t>(seen->time / kSecond)), seen->time % kSecond);
}

std::string Sight::difference(const Sight& other, std::string_view own_host,
                              std::string_view other_host) const {
  const auto say = [&](const Seen& of, const Seen* own, const Seen* its) {
    return fmt::format("{}: {} on {}, and {} on {}; all processes have to see the same dumps",
                       printable(of.path), text_of(own), own_host, text_of(its), other_host);
  };
  auto a = files_.begin();
  auto b = other.files_.begin();
  while (a != files_.end() || b != other.files_.end()) {
    if (b == other.files_.end() || (a != files_.end() && a->path < b->path)) return say(*a, &*a, nullptr);
    if (a == files_.end() || b->path < a->path) return say(*b, nullptr, &*b);
    if (*a != *b) return say(*a, &*a, &*b);
    ++a;
    ++b;
  }
  return fmt::format(
      "{} and {} see the same files and pair them in other ways: do both run the same version?", own_host,
      other_host);
}

}  // namespace assay
