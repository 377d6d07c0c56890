#pragma once

namespace assay {

// Two elements are close if |m - g| <= atol + rtol * |g|, as in NumPy and PyTorch; these are their defaults.
struct Closeness {
  double rtol = 1e-5, atol = 1e-8;
};

}  // namespace assay
