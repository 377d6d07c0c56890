// Protobuf's wire format, walked without decoding: to recognise a message by its first bytes, and to know
// what decoding costs.
#include "assay/format/ge_header.h"

#include <algorithm>
#include <array>
#include <vector>

namespace assay {
namespace {

enum class Wire : uint8_t { number = 0, bytes = 2 };

struct Field {
  uint32_t id = 0;
  Wire wire = Wire::number;
  int64_t length = 0;  // of `bytes`, as stated
};

// Reads the fields of a message of which perhaps only the beginning is there.
class Walk {
 public:
  Walk(Bytes head, int64_t length) : head_(head), left_(length) {}

  enum class Step { field, end, cut, broken };  // cut: the head ends here, all was well so far

  Step next(Field& field) {
    if (left_ == 0) return Step::end;
    uint64_t tag = 0;
    if (const Step step = varint(tag); step != Step::field) return step;
    const uint64_t wire = tag & 7;
    if (tag >> 3 > 100 || (wire != 0 && wire != 2)) return Step::broken;
    field = {static_cast<uint32_t>(tag >> 3), static_cast<Wire>(wire), 0};
    uint64_t value = 0;
    if (const Step step = varint(value); step != Step::field) return step;
    if (field.wire == Wire::number) return Step::field;
    if (value > static_cast<uint64_t>(left_)) return Step::broken;
    field.length = static_cast<int64_t>(value);
    return Step::field;
  }

  // The part of a bytes field that is there; moves behind it.
  Bytes take(const Field& field) {
    const auto there = std::min(static_cast<size_t>(field.length), head_.size());
    const Bytes part = head_.first(there);
    head_ = head_.subspan(there);
    left_ -= field.length;
    return part;
  }

 private:
  Step varint(uint64_t& value) {
    value = 0;
    for (int shift = 0; shift < 70; shift += 7) {
      if (left_ == 0) return Step::broken;
      if (head_.empty()) return Step::cut;
      const auto byte = std::to_integer<uint64_t>(head_[0]);
      head_ = head_.subspan(1);
      --left_;
      value |= shift < 64 ? (byte & 0x7f) << shift : 0;
      if (byte < 0x80) return Step::field;
    }
    return Step::broken;
  }

  Bytes head_;
  int64_t left_;  // bytes of the message that were not walked yet
};

// Wire type of every field, by its number, as a text: 'n' number, 'b' bytes, 'N' numbers, packed or one at a
// time.
using Fields = std::string_view;
constexpr Fields kDumpData = " bnbbbbbb";
constexpr Fields kOutput = " nnbbbnbnnbn";
constexpr Fields kInput = " nnbbnbnnn";
constexpr Fields kBlob = " nbn";  // a buffer or a space
constexpr Fields kAttr = " bb";
constexpr Fields kShape = " N";
constexpr Fields kOriginalOp = " bnnn";
constexpr Fields kDimRange = " nn";

bool is_known(const Field& field, Fields fields) {
  if (field.id == 0 || field.id >= fields.size()) return false;
  const char wanted = fields[field.id];
  return wanted == 'N' || wanted == (field.wire == Wire::number ? 'n' : 'b');
}

bool is_of_version(std::byte byte) {
  const char c = static_cast<char>(byte);
  return (c >= '0' && c <= '9') || c == '.';
}

Fields fields_below(uint32_t id) {
  switch (id) {
    case 3:
      return kOutput;
    case 4:
      return kInput;
    case 5:
    case 8:
      return kBlob;
    case 7:
      return kAttr;
    default:
      return {};
  }
}

}  // namespace

bool looks_like_dump_data(Bytes head, int64_t length, bool with_tensor) {
  Walk walk(head, length);
  bool version = false;
  int members = 0;  // of tensors
  for (;;) {
    Field field;
    const auto step = walk.next(field);
    if (step == Walk::Step::broken) return false;
    if (step != Walk::Step::field) return members >= 2 || (version && !with_tensor);
    if (!is_known(field, kDumpData)) return false;
    if (field.wire == Wire::number) continue;
    const Bytes part = walk.take(field);
    if (field.id == 1) {
      version = field.length > 0 && std::all_of(part.begin(), part.end(), is_of_version);
      if (!version) return false;
    }
    const Fields below = fields_below(field.id);
    if (below.empty()) continue;
    Walk inner(part, field.length);
    for (;;) {
      Field member;
      const auto inner_step = inner.next(member);
      if (inner_step == Walk::Step::broken) return false;
      if (inner_step != Walk::Step::field) break;
      if (!is_known(member, below)) return false;
      if (member.wire == Wire::bytes) inner.take(member);
      members += field.id == 3 || field.id == 4 ? 1 : 0;
    }
  }
}

std::optional<int64_t> decoded_size(Bytes message) {
  constexpr int64_t kObject = 1024;  // a tensor: its message, and what we make of it
  constexpr int64_t kGrowth =
      32;  // the most that a byte inside them can become: an empty DimRange takes 2 bytes
  int64_t total = 0;
  Walk walk(message, std::ssize(message));
  for (;;) {
    Field field;
    const auto step = walk.next(field);
    if (step == Walk::Step::end) return total;
    if (step != Walk::Step::field) return std::nullopt;
    if (field.wire == Wire::number) continue;
    const Bytes part = walk.take(field);
    const uint32_t data_id = field.id == 3 ? 5 : field.id == 4 ? 4 : field.id == 5 || field.id == 8 ? 2 : 0;
    int64_t description = field.length;
    Walk inner(part, field.length);
    for (Field member; data_id != 0;) {
      const auto inner_step = inner.next(member);
      if (inner_step == Walk::Step::end) break;
      if (inner_step != Walk::Step::field) return std::nullopt;
      if (member.wire != Wire::bytes) continue;
      inner.take(member);
      if (member.id == data_id) description -= member.length;
    }
    total += kObject + (field.id == 1 || field.id == 6 ? description : kGrowth * description);
  }
}

namespace {

// Fields that may stand in a message more than once, all of which count.
bool is_repeated(Fields fields, uint32_t id) {
  if (fields == kDumpData) return id == 3 || id == 4 || id == 5 || id == 7 || id == 8;
  return (fields == kOutput && id == 10) || fields == kShape;
}

// What a member of a message is itself; empty for texts and bytes.
Fields fields_of_member(Fields message, uint32_t id) {
  if (message == kDumpData) return fields_below(id);
  if (message == kInput && (id == 3 || id == 6)) return kShape;
  if (message != kOutput) return {};
  switch (id) {
    case 3:
    case 7:
      return kShape;
    case 4:
      return kOriginalOp;
    case 10:
      return kDimRange;
    default:
      return {};
  }
}

}  // namespace

bool has_dropped_fields(Bytes message) {
  struct Open {
    Walk walk;
    Fields fields;
    uint32_t seen;  // a bit for each field
  };
  std::vector<Open> open = {{Walk(message, std::ssize(message)), kDumpData, 0}};
  while (!open.empty()) {
    Open& here = open.back();
    Field field;
    const auto step = here.walk.next(field);
    if (step == Walk::Step::end) {
      open.pop_back();
      continue;
    }
    if (step != Walk::Step::field || !is_known(field, here.fields)) return true;
    if ((here.seen >> field.id & 1) != 0 && !is_repeated(here.fields, field.id)) return true;
    here.seen |= uint32_t{1} << field.id;
    if (field.wire == Wire::number) continue;
    const Bytes part = here.walk.take(field);
    if (const Fields below = fields_of_member(here.fields, field.id); !below.empty())
      open.push_back({Walk(part, field.length), below, 0});
  }
  return false;
}

}  // namespace assay
