// Tensors inside a zip: read in place where the entry is stored, through an inflate stream where it is
// deflated.
#pragma once

#include "assay/format/format.h"
#include "assay/support/inflated_entry.h"
#include "assay/support/zip_writer.h"

namespace assay {

// One entry of a zip, for all tensors in it.
class ZipSource {
 public:
  ZipSource(std::shared_ptr<const File> file, const ZipEntry& entry, const FormatOptions& options);

  // The row-major little-endian elements that start at byte `offset` of the entry (once inflated).
  // Stored: read in place. Deflated: a reader that goes forwards has a stream of its own; for one that does
  // not, and where the entry holds several tensors, the entry is inflated once and kept (InflatedEntry).
  // A bad stream, or a CRC-32 that differs at the end of the entry, is an error of the block. An error here
  // if the entry is unreadable or ends before the elements do.
  Result<OperandPtr> dense(int64_t offset, TensorMeta meta, ReadOrder order);

  const ZipEntry& entry() const { return entry_; }

 private:
  const std::shared_ptr<const File> file_;
  const ZipEntry entry_;
  const std::shared_ptr<InflatedEntry> inflated_;  // null where it is stored
};

// For headers and pickles: one reader that mostly goes forwards, from the start.
Result<ReadBytes> reader_of(const std::shared_ptr<const File>& file, const ZipEntry& entry);

// All bytes of an entry; an error past `limit`.
Result<std::vector<std::byte>> read_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                          int64_t limit);

// The elements of a tensor become the bytes of an entry (or a part of them).
Result<void> append_elements(ZipWriter& out, const Operand& operand);

// Name of the first entry of a zip whose first bytes are `head`; empty if it is not a zip or the name is not
// within.
std::string_view first_entry_name(Bytes head);

}  // namespace assay
