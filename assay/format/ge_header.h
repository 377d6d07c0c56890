// The header of a GE dump file as plain structs, from either of its two encodings.
// Layout of the bytes: docs/formats/ge_dump.md
#pragma once

#include "assay/base/bytes.h"
#include "assay/base/result.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace assay {

// The operator of the model that an output comes from, where the compiler renamed or fused it.
struct GeOrigin {
  std::string name;
  uint32_t output_index = 0;
  int data_type = 0, format = 0;
  friend bool operator==(const GeOrigin&, const GeOrigin&) = default;
};

struct GeTensor {
  int data_type = 0;
  int format = 2;
  std::optional<std::vector<uint64_t>> shape;           // empty: the file states none
  std::optional<std::vector<uint64_t>> original_shape;  // likewise
  uint64_t size = 0;                                    // bytes in the payload
  int groups = 1;
  std::string data;  // the elements, where the message itself holds them
  GeOrigin origin;
  std::vector<std::pair<uint64_t, uint64_t>> ranges;  // of dimensions: which part of the output this is
};

struct GeHeader {
  std::string version, op_name;
  uint64_t dump_time = 0;  // milliseconds since 1970
  std::vector<GeTensor> inputs, outputs;
  std::vector<uint64_t> other_sizes;  // buffers, then spaces: in the payload behind the tensors
  size_t buffers = 0;                 // how many of them are buffers
  std::vector<std::pair<std::string, std::string>> attributes;  // of the operator
  bool has_more = false;     // it holds what is not described here: unknown fields, data of buffers…
  bool data_inside = false;  // the message holds the elements
  bool nano = false;         // other numbers for the element types
};

// Could `head` begin a DumpData message of `length` bytes? Walks its fields, and those of tensors, as far as
// it reaches. A version or the beginning of a tensor must be there; with_tensor: the latter (nothing else
// tells a file that is all message from others).
bool looks_like_dump_data(Bytes head, int64_t length, bool with_tensor);

// What the decoded message would need in memory, not counting the elements inside it. Empty if it is not a
// DumpData message. A hostile message of many empty parts grows when it is decoded; this is known before.
std::optional<int64_t> decoded_size(Bytes message);

// Does the message hold what decoding drops, at any depth: fields that the schema does not have, or a field
// twice of which only the last counts? Precondition: it could be decoded.
bool has_dropped_fields(Bytes message);

// `file` is the name for messages.
Result<GeHeader> read_dump_data(Bytes message, int64_t memory, const std::string& file);

// The header of the Nano variant; begins with kNanoMagic.
inline constexpr uint32_t kNanoMagic = 0x5a5a5a5a;
Result<GeHeader> read_nano_header(Bytes header, const std::string& file);

}  // namespace assay
