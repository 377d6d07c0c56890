// Does a zip hold bytes that belong to none of its entries?
#pragma once

#include "assay/support/zip.h"

namespace assay {

// Where the first such byte is: between entries, in a comment, in a field that nobody asked for. Nothing
// where every byte up to the end of the archive belongs to an entry or says where one is.
std::optional<int64_t> find_zip_rest(const File& file, const ZipDirectory& directory);

}  // namespace assay
