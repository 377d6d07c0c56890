// CRC-32 of zip files, zlib and Ethernet, at the speed of memory where the CPU can multiply without carries.
#pragma once

#include "assay/base/bytes.h"

namespace assay {

// Goes on from `crc`, the checksum of what came before; 0 at the start.
uint32_t crc32_of(uint32_t crc, Bytes bytes);

}  // namespace assay
