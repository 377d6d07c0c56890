// The one way in which these libraries speak: a line on standard error, in one write, with nothing in it that
// could steer a terminal.
#pragma once

#include <string>

namespace assay::capture {

void say(const std::string& line);

}  // namespace assay::capture
