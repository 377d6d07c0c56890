#include "assay/base/system_message.h"

#include <system_error>

namespace assay {

std::string system_message(int error) { return std::generic_category().message(error); }

}  // namespace assay
