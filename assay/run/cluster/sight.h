// What a process sees of the files of a section, to be held against what the others see.
#pragma once

#include "assay/model/pairing.h"

#include <string>
#include <string_view>
#include <vector>

namespace assay {

class Sight {
 public:
  explicit Sight(const Matched& matched);

  // Of paths, sizes, times of change, and what stands against what. Equal where all of it is.
  const std::string& digest() const { return digest_; }
  std::string encode() const;
  static Sight decode(std::string_view bytes);
  // The first difference, as one line.
  std::string difference(const Sight& other, std::string_view own_host, std::string_view other_host) const;

 private:
  Sight() = default;
  struct Seen {
    std::string path;
    int64_t size = -1, time = 0;  // nanoseconds; size -1: it is not there
    friend bool operator==(const Seen&, const Seen&) = default;
  };
  static std::string text_of(const Seen* seen);
  std::vector<Seen> files_;  // each once, by path
  std::string digest_;
};

}  // namespace assay
