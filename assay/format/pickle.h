// Python pickles, protocols 0 to 5, turned into a graph of plain values. Nothing is imported and nothing is
// called: a class or function is its name, a call is a value that says which name was called with what. What
// a name means is decided by the reader of the graph (pt_objects.cc), and only for names it knows.
#pragma once

#include "assay/base/file.h"

#include <deque>
#include <functional>
#include <string>
#include <vector>

namespace assay {

using PickleRef = uint32_t;  // place of a value in its graph

struct PickleValue {
  enum class Kind : uint8_t {
    none,
    boolean,
    integer,
    big_integer,  // does not fit 64 bits: `text` holds the little-endian two's complement
    real,
    text,  // UTF-8
    bytes,
    tuple,
    list,
    set,
    dict,    // items: key, value, key, value…
    global,  // text: "collections.OrderedDict"; items: the texts that it was put together from, if any
    call,  // items: the callable, its arguments (a tuple), then what was added as list elements or dict pairs
    persistent,  // items[0]: the id; an object kept outside the pickle
  };
  Kind kind = Kind::none;
  bool is_str = false;     // of bytes: a str of Python 2, which is text more often than not
  bool is_object = false;  // of a call: an object of the class (NEWOBJ), which its parts fill in; no function
  bool added_pairs = false;  // of a call: what was added are pairs (SETITEMS), not elements (APPENDS)
  PickleRef state = 0;       // of a call: what BUILD handed over; 0 (None) if nothing
  PickleRef keywords = 0;    // of a call: its named arguments (a dict); 0 (None) if there are none
  int64_t integer = 0;       // also boolean
  double real = 0;
  std::string text = {};
  std::vector<PickleRef> items = {};
};

// All values of one pickle, in one place: cycles need no care and freeing needs no recursion.
struct PickleGraph {
  std::deque<PickleValue> values;  // values[0] is None
  PickleRef root = 0;
  int64_t size = 0;  // bytes of the pickle, its STOP included

  const PickleValue& operator[](PickleRef ref) const { return values[ref]; }
};

// Where the bytes of a pickle come from. Reads ahead; never past `end`.
class PickleInput {
 public:
  using Read = std::function<Result<void>(int64_t offset, std::span<std::byte> out)>;
  // Bytes [begin, end) of what `read` reads; never more than `memory` of them at once. `name` is for
  // messages.
  PickleInput(Read read, int64_t begin, int64_t end, int64_t memory, std::string name);

  int64_t position() const { return position_; }
  const std::string& name() const { return name_; }
  // The next `count` bytes; valid until the next call.
  Result<Bytes> take(int64_t count);
  // Up to a line feed, which is taken but not returned.
  Result<std::string_view> take_line();

 private:
  Result<void> fill(int64_t count);

  Read read_;
  int64_t position_, end_, memory_;
  std::string name_;
  std::vector<std::byte> buffer_;
  int64_t buffer_begin_ = 0;  // place of buffer_[0] in the file
};

// Reads one pickle, from where `input` stands to its STOP. `memory` bounds the values and the bytes read.
Result<PickleGraph> read_pickle(PickleInput& input, int64_t memory);

}  // namespace assay
