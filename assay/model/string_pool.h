// The texts of an index, which has millions of them.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

namespace assay {

// Strings with stable addresses, packed into chunks. Moving the pool does not move them.
class StringPool {
 public:
  StringPool() = default;
  StringPool(StringPool&&) = default;
  StringPool& operator=(StringPool&&) = default;
  std::string_view keep(std::string_view text);

 private:
  std::vector<std::unique_ptr<char[]>> chunks_;
  size_t used_ = 0, size_ = 0;  // of the last chunk
};

}  // namespace assay
