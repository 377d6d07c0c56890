// A program that called us, and the function of its own that it wants to be told through.
#pragma once

#include "assay/base/caller.h"
#include "include/assay/assay.h"

#include <mutex>
#include <string>

namespace assay::library {

// One thing at a time is told, from whichever thread has it. A function that answers anything but 0 hears no
// more, and its run ends.
class ToldCaller final : public Caller {
 public:
  ToldCaller(assay_sink sink, void* user) : sink_(sink), user_(user) {}

  void write_output(std::string_view text) override;
  void write_message(std::string_view text) override;
  void note_progress(std::string_view what, int64_t done, int64_t total) override;
  bool takes_rows() const override { return sink_ != nullptr; }
  void write_rows(std::string_view lines) override;
  void write_summary(std::string_view json) override;

 private:
  void tell(int kind, std::string_view text);  // without the end of its line
  const assay_sink sink_;
  void* const user_;
  std::mutex guard_;
};

}  // namespace assay::library
