// Tensors inside a zip: read in place where the entry is stored, through an inflate stream where it is
// deflated.
#pragma once

#include "assay/support/zip.h"
#include "assay/support/zip_writer.h"
#include "assay/tensor/operand.h"

namespace assay {

// The row-major little-endian elements that start at byte `offset` of an entry (once inflated).
// A deflated entry is inflated forwards as blocks are asked for; asking for an earlier place starts over.
// Memory does not grow with the entry. A bad stream, or a CRC-32 that differs at the end of the entry, is an
// error of the block. An error here if the entry is unreadable or ends before the elements do.
Result<OperandPtr> dense_in_zip(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                int64_t offset, TensorMeta meta);

// All bytes of an entry; an error past `limit`.
Result<std::vector<std::byte>> read_entry(const std::shared_ptr<const File>& file, const ZipEntry& entry,
                                          int64_t limit);

// The elements of a tensor become the bytes of an entry (or a part of them).
Result<void> append_elements(ZipWriter& out, const Operand& operand);

// Name of the first entry of a zip whose first bytes are `head`; empty if it is not a zip or the name is not
// within.
std::string_view first_entry_name(Bytes head);

}  // namespace assay
