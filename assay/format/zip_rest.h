// What a zip holds beside sound entries: for those who remove it afterwards.
#pragma once

#include "assay/format/format.h"
#include "assay/support/zip.h"

namespace assay {

// Into set.beside: bytes of which none of the entries knows (between entries, in a comment, in a field that
// nobody asked for), and the first stored entry whose bytes have another CRC-32 than the archive says; the
// others are checked as they are inflated. Reads them all.
void note_zip_rest(const File& file, const ZipDirectory& directory, TensorSet& set);

}  // namespace assay
