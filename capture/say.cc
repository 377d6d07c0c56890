#include "capture/say.h"

#include "assay/base/text.h"

#include <unistd.h>

namespace assay::capture {

void say(const std::string& line) {
  const std::string text = "assay: " + printable(line) + "\n";
  if (::write(STDERR_FILENO, text.data(), text.size()) < 0) return;  // there is nobody left to tell
}

}  // namespace assay::capture
