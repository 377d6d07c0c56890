// What a .pt pickle holds that cannot be looked into: bytes that may be anything, names that are not
// imported, and values that no part of its objects refers to.
#pragma once

#include "assay/base/remark.h"
#include "assay/format/pickle.h"

#include <optional>

namespace assay {

// Up to so many bytes are a digest or an id, a value as any number is. More may be a file within the file.
inline constexpr int64_t kMostPlainBytes = 32;
inline constexpr size_t kLongestName = 200;  // of a class or function in a message

// How many bytes a value is, where it is nothing else: bytes, a bytearray, what protocol 2 writes for these.
std::optional<int64_t> raw_bytes(const PickleGraph& graph, const PickleValue& value);

// Those bytes as Python shows them, b'\\x00ab'; nothing for what is something else.
std::optional<std::string> raw_bytes_text(const PickleGraph& graph, const PickleValue& value);

// Whether what a refused name makes is an object without room for a tensor: a class by the way it is spelled,
// or one of a few functions that stand for such objects, made of a handful of numbers and texts.
bool is_small_object(const PickleGraph& graph, const PickleValue& call);
std::string name_of_maker(const PickleGraph& graph, const PickleValue& call);  // "mypkg.Kind", for a message

// Objects that were neither made nor compared; of one inside another only the outer counts.
class LeftObjects {
 public:
  void add(const std::string& path, const std::string& maker);  // inner ones before outer ones
  void note(const std::string& file_name, Remarks& warnings) const;

 private:
  struct Left {
    std::string path, maker;
  };
  std::vector<Left> all_;
};

// All names that the pickle wants to import and may not have, also where nothing of what they make is kept;
// printable, each once, at most so many.
std::vector<std::string> refused_names(const PickleGraph& graph, size_t most);
// The name at the top of the pickle, if the whole file is one object that is refused.
std::optional<std::string> refused_root(const PickleGraph& graph);

// Values that the finished object does not have: dropped from the stack, only remembered.
int64_t count_detached(const PickleGraph& graph);

}  // namespace assay
