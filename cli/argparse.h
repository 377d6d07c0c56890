// A table-driven twin of Python's argparse, for the command lines of tools that were written with it: flags
// such as -hl, unambiguous beginnings of long flags, values behind = or glued on, the same errors on stderr.
#pragma once

#include "assay/base/result.h"

#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace assay::cli {

struct ForeignFlag {
  std::vector<std::string_view> names;  // "-o", "--output_path"
  enum class Takes : uint8_t { nothing, one, perhaps_one, several } takes = Takes::nothing;
  std::string_view help = {};
  bool required = false;
  std::vector<std::string_view> choices = {};
  bool hidden = false;            // ours, not in the usage of the original
  std::string_view metavar = {};  // what the usage calls the value; empty: made of the key
  std::optional<std::string> (*check)(const std::string& value) = nullptr;  // what is wrong with a value

  std::string_view key() const;  // what Parsed knows it by: the first long name, or else the last
};

struct ForeignCommand {
  std::string program;  // "msprobe compare"
  std::vector<ForeignFlag> flags;
};

class Parsed {
 public:
  bool has(std::string_view key) const { return values_.contains(key); }
  // Nothing where the flag was not given, or given without a value.
  std::optional<std::string> value(std::string_view key) const;
  // For flags that take several values.
  std::vector<std::string> values(std::string_view key) const;

 private:
  friend struct ForeignParser;
  std::map<std::string_view, std::vector<std::string>> values_;
};

// A text to print and the code to exit with: help (0, on stdout) or an error (2, on stderr).
struct ParseStop {
  std::string text;
  int code = 0;
};

tl::expected<Parsed, ParseStop> parse_foreign(const ForeignCommand& command,
                                              std::span<const std::string> arguments);

}  // namespace assay::cli
