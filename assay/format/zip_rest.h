// What a zip holds beside sound entries: for those who remove it afterwards.
#pragma once

#include "assay/support/zip.h"

namespace assay {

// Where the first such byte is: between entries, in a comment, in a field that nobody asked for. Nothing
// where every byte up to the end of the archive belongs to an entry or says where one is.
std::optional<int64_t> find_zip_rest(const File& file, const ZipDirectory& directory);

// The first stored entry whose bytes have another CRC-32 than the archive says; the others are checked as
// they are inflated. Reads them all.
const ZipEntry* find_damaged_entry(const File& file, const ZipDirectory& directory);

}  // namespace assay
