// A caller that remembers what it was told.
#pragma once

#include "assay/base/caller.h"

#include <string>

namespace assay {

struct Listener final : Caller {
  void write_output(std::string_view text) override { output += text; }
  void write_message(std::string_view text) override { messages += text; }
  void note_progress(std::string_view, int64_t, int64_t) override {}
  bool takes_rows() const override { return false; }
  void write_rows(std::string_view) override {}
  void write_summary(std::string_view) override {}
  std::string output, messages;
};

}  // namespace assay
