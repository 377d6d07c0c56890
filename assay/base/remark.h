// What is worth saying of a file or a dump beside what it holds: a line that names it.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct Remark {
  enum class Kind : uint8_t {
    note,
    left_out,    // it holds things that no row will stand for, and a pass does not speak of them
    unreadable,  // part of it should have been read, and could not be
    refused,     // it asks for code to be run
  };

  // A line of text is a note.
  Remark(std::string line) : text(std::move(line)) {}
  Remark(Kind what, std::string line, int64_t things = 1)
      : text(std::move(line)), kind(what), count(things) {}
  operator const std::string&() const { return text; }

  std::string text;
  Kind kind = Kind::note;
  int64_t count = 0;  // of the things left out
};

using Remarks = std::vector<Remark>;

inline Remark left_out(std::string text, int64_t count = 1) {
  return {Remark::Kind::left_out, std::move(text), count};
}
inline Remark unreadable(std::string text) { return {Remark::Kind::unreadable, std::move(text)}; }

}  // namespace assay
