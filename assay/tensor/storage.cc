#include "assay/tensor/storage.h"

#include "assay/base/checked.h"
#include "assay/tensor/gather.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>

namespace assay {
namespace {

constexpr std::array<std::string_view, 55> kNames = {"NCHW",
                                                     "NHWC",
                                                     "ND",
                                                     "NC1HWC0",
                                                     "FRACTAL_Z",
                                                     "NC1C0HWPAD",
                                                     "NHWC1C0",
                                                     "FSR_NCHW",
                                                     "FRACTAL_DECONV",
                                                     "C1HWNC0",
                                                     "FRACTAL_DECONV_TRANSPOSE",
                                                     "FRACTAL_DECONV_SP_STRIDE_TRANS",
                                                     "NC1HWC0_C04",
                                                     "FRACTAL_Z_C04",
                                                     "CHWN",
                                                     "FRACTAL_DECONV_SP_STRIDE8_TRANS",
                                                     "HWCN",
                                                     "NC1KHKWHWC0",
                                                     "BN_WEIGHT",
                                                     "FILTER_HWCK",
                                                     "HASHTABLE_LOOKUP_LOOKUPS",
                                                     "HASHTABLE_LOOKUP_KEYS",
                                                     "HASHTABLE_LOOKUP_VALUE",
                                                     "HASHTABLE_LOOKUP_OUTPUT",
                                                     "HASHTABLE_LOOKUP_HITS",
                                                     "C1HWNCoC0",
                                                     "MD",
                                                     "NDHWC",
                                                     "FRACTAL_ZZ",
                                                     "FRACTAL_NZ",
                                                     "NCDHW",
                                                     "DHWCN",
                                                     "NDC1HWC0",
                                                     "FRACTAL_Z_3D",
                                                     "CN",
                                                     "NC",
                                                     "DHWNC",
                                                     "FRACTAL_Z_3D_TRANSPOSE",
                                                     "FRACTAL_ZN_LSTM",
                                                     "FRACTAL_Z_G",
                                                     "RESERVED",
                                                     "ALL",
                                                     "NULL",
                                                     "ND_RNN_BIAS",
                                                     "FRACTAL_ZN_RNN",
                                                     "YUV",
                                                     "YUV_A",
                                                     "NCL",
                                                     "FRACTAL_Z_WINO",
                                                     "C1HWC0",
                                                     "FRACTAL_NZ_C0_16",
                                                     "FRACTAL_NZ_C0_32",
                                                     "FRACTAL_NZ_C0_2",
                                                     "FRACTAL_NZ_C0_4",
                                                     "FRACTAL_NZ_C0_8"};

constexpr int64_t kCube = 16;       // rows of a fractal
constexpr int kMostGroups = 65536;  // of a grouped convolution; one operand each

using Layouts = std::vector<std::string_view>;

tl::unexpected<Error> no_fit(StorageFormat format, const Shape& stored, const Shape& original) {
  return fail(ErrorKind::mismatch, "storage shape {} in {} does not fit the original shape {}", stored.text(),
              label(format), original.text());
}

std::vector<int64_t> row_major_strides(const std::vector<int64_t>& dims) {
  std::vector<int64_t> strides(dims.size(), 1);
  for (size_t i = dims.size(); i-- > 1;) strides[i - 1] = strides[i] * dims[i];
  return strides;
}

// `extent` numbers fill `blocks` blocks of `size`, the last one perhaps in part.
bool fills(int64_t extent, int64_t blocks, int64_t size) {
  return blocks > 0 && extent > (blocks - 1) * size && extent <= blocks * size;
}

// ----- plain formats: letters in another order at most

Result<OperandPtr> permuted(OperandPtr stored, StorageFormat format, const Shape& original) {
  const Shape shape = stored->meta.shape;
  const auto count = checked_product(original.dims);
  if (!count || *count != shape.count()) return no_fit(format, shape, original);
  const std::string_view letters = name(format);
  static const Layouts kTargets = {"NCHW",  "NHWC",  "HWCN",  "CHWN", "NCDHW",
                                   "NDHWC", "DHWCN", "DHWNC", "NC",   "CN"};
  if (shape != original && letters.size() == shape.dims.size())
    for (const std::string_view target : kTargets) {
      if (!std::is_permutation(target.begin(), target.end(), letters.begin(), letters.end())) continue;
      const auto strides = row_major_strides(shape.dims);
      Shape turned;
      std::vector<int64_t> steps;
      for (const char letter : target) {
        turned.dims.push_back(shape.dims[letters.find(letter)]);
        steps.push_back(strides[letters.find(letter)]);
      }
      if (turned == original) return strided(std::move(stored), original, steps, 0);
    }
  return reshaped(std::move(stored), original);
}

// ----- FRACTAL_NZ and FRACTAL_ZZ: the last two dimensions are cut into tiles

struct Tiles {
  int64_t batches = 1;
  int64_t row_tiles = 0, row_size = 0;
  int64_t column_tiles = 0, column_size = 0;
  int64_t tile_row_stride = 0, tile_column_stride = 0;  // from one tile to the next
  int64_t row_padding = 0;  // the most rows that may be added; 0: less than one tile
};

std::optional<Tiles> nz_tiles(const Shape& stored) {
  const auto& s = stored.dims;
  if (s.size() < 4) return std::nullopt;
  const size_t r = s.size() - 4;
  const int64_t batches = std::accumulate(s.begin(), s.end() - 4, int64_t{1}, std::multiplies<>());
  return Tiles{
      batches, s[r + 1], s[r + 2], s[r], s[r + 3], s[r + 2] * s[r + 3], s[r + 1] * s[r + 2] * s[r + 3], 0};
}

// ATB writes (batch, C1, rows, C0): all rows of a column of tiles, rounded up to 16, in one dimension.
std::optional<Tiles> nz_tiles_merged(const Shape& stored) {
  const auto& s = stored.dims;
  if (s.size() < 3) return std::nullopt;
  const size_t r = s.size() - 3;
  const int64_t batches = std::accumulate(s.begin(), s.end() - 3, int64_t{1}, std::multiplies<>());
  return Tiles{batches, 1, s[r + 1], s[r], s[r + 2], 0, s[r + 1] * s[r + 2], kCube};
}

std::optional<Tiles> zz_tiles(const Shape& stored) {
  const auto& s = stored.dims;
  if (s.size() < 4) return std::nullopt;
  const size_t r = s.size() - 4;
  const int64_t tile = s[r + 2] * s[r + 3];
  const int64_t batches = std::accumulate(s.begin(), s.end() - 4, int64_t{1}, std::multiplies<>());
  return Tiles{batches, s[r], s[r + 2], s[r + 1], s[r + 3], s[r + 1] * tile, tile, 0};
}

// Null where the shapes do not fit. Precondition: no dimension of `original` is 0, and its count fits.
OperandPtr untiled(const OperandPtr& stored, const std::optional<Tiles>& tiles, const Shape& original) {
  if (!tiles) return nullptr;
  std::vector<int64_t> dims(original.dims.size() < 2 ? 2 - original.dims.size() : 0, 1);
  dims.insert(dims.end(), original.dims.begin(), original.dims.end());
  const int64_t rows = dims[dims.size() - 2], columns = dims.back();
  const int64_t batches = std::accumulate(dims.begin(), dims.end() - 2, int64_t{1}, std::multiplies<>());
  if (batches != tiles->batches || !fills(rows, tiles->row_tiles, tiles->row_size) ||
      !fills(columns, tiles->column_tiles, tiles->column_size))
    return nullptr;
  if (tiles->row_padding > 0 && rows + tiles->row_padding <= tiles->row_size) return nullptr;

  int64_t step = tiles->row_tiles * tiles->row_size * tiles->column_tiles * tiles->column_size;  // of a batch
  std::vector<Axis> axes(dims.size());
  for (size_t i = dims.size() - 2; i-- > 0; step *= dims[i]) axes[i] = {dims[i], {{dims[i], step}}};
  axes[dims.size() - 2] = {
      rows, {{tiles->row_tiles, tiles->tile_row_stride}, {tiles->row_size, tiles->column_size}}};
  axes[dims.size() - 1] = {columns,
                           {{tiles->column_tiles, tiles->tile_column_stride}, {tiles->column_size, 1}}};
  return reshaped(gathered(stored, 0, std::move(axes)), original);
}

// ----- formats that cut channels and filters: every letter of the original walks through the storage in its
// own way

template <class T>
struct ByLetter {
  T n, c, d, h, w;

  T& of(char letter) { return pick(*this, letter); }
  const T& of(char letter) const { return pick(*this, letter); }

 private:
  template <class Self>
  static auto& pick(Self& self, char letter) {
    switch (letter) {
      case 'N':
        return self.n;
      case 'C':
        return self.c;
      case 'D':
        return self.d;
      case 'H':
        return self.h;
      default:
        return self.w;
    }
  }
};
using Extents = ByLetter<int64_t>;
using Walks = ByLetter<std::vector<Digit>>;

using Fit =
    std::function<std::optional<Walks>(const Extents&)>;  // empty where the storage shape does not fit

// Which letter each dimension of the original stands for, and how large all letters are.
struct Reading {
  std::string letters;
  Extents extents = {1, 1, 1, 1, 1};
};

// A layout may lack letters of extent 1 (a bias of shape [C] stored as NC1HWC0): all ways to leave some out,
// in order.
std::vector<Reading> readings(std::string_view layout, const Shape& original) {
  std::vector<Reading> found;
  for (uint32_t mask = (1u << layout.size()); mask-- > 0;) {
    Reading reading;
    for (size_t i = 0; i < layout.size(); ++i)
      if (mask >> (layout.size() - 1 - i) & 1) reading.letters.push_back(layout[i]);
    if (reading.letters.size() != original.dims.size()) continue;
    for (size_t i = 0; i < original.dims.size(); ++i)
      reading.extents.of(reading.letters[i]) = original.dims[i];
    found.push_back(std::move(reading));
  }
  return found;
}

// (N, C1, H, W, C0) and (N, D, C1, H, W, C0).
std::optional<Walks> fit_channels_split(const std::vector<int64_t>& s, bool with_depth, const Extents& e) {
  if (s.size() != (with_depth ? 6u : 5u)) return std::nullopt;
  const size_t c1 = with_depth ? 2 : 1;
  if (s[0] != e.n || (with_depth ? s[1] : 1) != e.d || s[c1 + 1] != e.h || s[c1 + 2] != e.w ||
      !fills(e.c, s[c1], s[c1 + 3]))
    return std::nullopt;
  const auto strides = row_major_strides(s);
  return Walks{{{e.n, strides[0]}},
               {{s[c1], strides[c1]}, {s[c1 + 3], 1}},
               {{e.d, with_depth ? strides[1] : 0}},
               {{e.h, strides[c1 + 1]}},
               {{e.w, strides[c1 + 2]}}};
}

// (D·C1·H·W, N1, N0, C0); D is 1 in FRACTAL_Z.
std::optional<Walks> fit_filter(const std::vector<int64_t>& s, const Extents& e) {
  const int64_t plane = e.d * e.h * e.w;
  if (s.size() != 4 || s[0] % plane != 0) return std::nullopt;
  const int64_t c1 = s[0] / plane;
  if (!fills(e.c, c1, s[3]) || !fills(e.n, s[1], s[2])) return std::nullopt;
  const int64_t row = s[1] * s[2] * s[3];
  return Walks{{{s[1], s[2] * s[3]}, {s[2], s[3]}},
               {{c1, e.h * e.w * row}, {s[3], 1}},
               {{e.d, c1 * e.h * e.w * row}},
               {{e.h, e.w * row}},
               {{e.w, row}}};
}

OperandPtr walked(const OperandPtr& stored, const Layouts& layouts, const Shape& original, const Fit& fit) {
  for (const std::string_view layout : layouts)
    for (const Reading& reading : readings(layout, original)) {
      const auto walks = fit(reading.extents);
      if (!walks) continue;
      std::vector<Axis> axes;
      for (size_t i = 0; i < original.dims.size(); ++i)
        axes.push_back({original.dims[i], walks->of(reading.letters[i])});
      return gathered(stored, 0, std::move(axes));
    }
  return nullptr;
}

// A grouped convolution: `together` groups of c × n lie on the diagonal of one ordinary FRACTAL_Z of their
// own.
struct Grouping {
  int64_t groups, n, c, together, c1;
};

std::optional<Grouping> fit_groups(const std::vector<int64_t>& s, const Extents& e, int64_t groups) {
  if (s.size() != 4 || e.n % groups != 0 || s[2] <= 0 || s[3] <= 0) return std::nullopt;
  const int64_t n = e.n / groups;
  // The smallest number of groups that fills whole tiles in both directions.
  const int64_t together = std::min(std::lcm(s[3] / std::gcd(e.c, s[3]), s[2] / std::gcd(n, s[2])), groups);
  const auto channels = checked_multiply(together, e.c);
  if (!channels) return std::nullopt;
  const int64_t c1 = *channels / s[3] + (*channels % s[3] != 0);
  const int64_t piles = (groups + together - 1) / together;
  const auto rows = checked_product(std::array{piles, c1, e.h, e.w});
  if (!rows || *rows != s[0] || !fills(together * n, s[1], s[2])) return std::nullopt;
  return Grouping{groups, n, e.c, together, c1};
}

Result<OperandPtr> ungrouped(const OperandPtr& stored, const Layouts& layouts, const Shape& original,
                             int groups) {
  const auto& s = stored->meta.shape.dims;
  if (groups > kMostGroups)
    return fail(ErrorKind::limit, "FRACTAL_Z of {} groups; at most {} are read", groups, kMostGroups);
  for (const std::string_view layout : layouts)
    for (const Reading& reading : readings(layout, original)) {
      const Extents& e = reading.extents;
      const auto grouping = fit_groups(s, e, groups);
      const size_t n_at = reading.letters.find('N');
      if (!grouping || n_at == std::string::npos) continue;
      const int64_t row = s[1] * s[2] * s[3], plane = e.h * e.w * row;
      const Walks walks{{{s[1], s[2] * s[3]}, {s[2], s[3]}},
                        {{grouping->c1, plane}, {s[3], 1}},
                        {},
                        {{e.h, e.w * row}},
                        {{e.w, row}}};
      std::vector<OperandPtr> parts;
      for (int64_t g = 0; g < groups; ++g) {
        const int64_t place = g % grouping->together;  // in its pile
        std::vector<Axis> axes;
        int64_t base = g / grouping->together * grouping->c1 * plane;
        bool has_c = false;
        for (size_t i = 0; i < reading.letters.size(); ++i) {
          const char letter = reading.letters[i];
          axes.push_back({original.dims[i], walks.of(letter)});
          if (letter == 'N') {
            axes.back().extent = grouping->n;
            axes.back().start = place * grouping->n;
          } else if (letter == 'C') {
            axes.back().start = place * grouping->c;
            has_c = true;
          }
        }
        if (!has_c) base += place / s[3] * plane + place % s[3];  // one channel per group
        parts.push_back(gathered(stored, base, std::move(axes)));
      }
      return concatenated(std::move(parts), static_cast<int64_t>(n_at));
    }
  return OperandPtr{};
}

// The plain tensor, null where the shapes do not fit, or an error where the format has no rule.
Result<OperandPtr> converted(const OperandPtr& stored, StorageFormat format, const Shape& original,
                             int groups) {
  static const Layouts kFeature = {"NCHW", "NHWC", "HWCN", "CHWN"},
                       kFilter = {"NCHW", "HWCN", "NHWC", "CHWN"};
  static const Layouts kFeature3d = {"NCDHW", "NDHWC", "DHWCN"}, kFilter3d = {"NCDHW", "DHWCN", "NDHWC"};
  const Shape& shape = stored->meta.shape;
  const auto& s = shape.dims;
  switch (format) {
    case StorageFormat::fractal_nz:
    case StorageFormat::fractal_nz_c0_16:
    case StorageFormat::fractal_nz_c0_32:
    case StorageFormat::fractal_nz_c0_2:
    case StorageFormat::fractal_nz_c0_4:
    case StorageFormat::fractal_nz_c0_8:
      if (OperandPtr plain = untiled(stored, nz_tiles(shape), original)) return plain;
      return untiled(stored, nz_tiles_merged(shape), original);
    case StorageFormat::fractal_zz:
      return untiled(stored, zz_tiles(shape), original);
    case StorageFormat::nc1hwc0:
    case StorageFormat::nc1hwc0_c04:
      return walked(stored, kFeature, original,
                    [&](const Extents& e) { return fit_channels_split(s, false, e); });
    case StorageFormat::ndc1hwc0:
      return walked(stored, kFeature3d, original,
                    [&](const Extents& e) { return fit_channels_split(s, true, e); });
    case StorageFormat::fractal_z:
      if (groups > 1) return ungrouped(stored, kFilter, original, groups);
      return walked(stored, kFilter, original, [&](const Extents& e) { return fit_filter(s, e); });
    case StorageFormat::fractal_z_3d:
      return walked(stored, kFilter3d, original, [&](const Extents& e) { return fit_filter(s, e); });
    default:
      return fail(ErrorKind::unsupported, "the storage format {} cannot be turned into a plain tensor",
                  label(format));
  }
}

}  // namespace

std::string_view name(StorageFormat format) {
  const int number = static_cast<int>(format);
  if (number == -1) return "UNDEFINED";
  return number >= 0 && number < static_cast<int>(kNames.size()) ? kNames[static_cast<size_t>(number)] : "";
}

std::string label(StorageFormat format) {
  const std::string_view known = name(format);
  return known.empty() ? fmt::format("format {}", static_cast<int>(format)) : std::string(known);
}

bool is_plain(StorageFormat format) {
  switch (format) {
    case StorageFormat::undefined:
    case StorageFormat::nchw:
    case StorageFormat::nhwc:
    case StorageFormat::nd:
    case StorageFormat::chwn:
    case StorageFormat::hwcn:
    case StorageFormat::ndhwc:
    case StorageFormat::ncdhw:
    case StorageFormat::dhwcn:
    case StorageFormat::cn:
    case StorageFormat::nc:
    case StorageFormat::dhwnc:
    case StorageFormat::ncl:
      return true;
    default:
      return false;
  }
}

Result<OperandPtr> to_plain(OperandPtr stored, StorageFormat format, const Shape& original, int groups) {
  if (is_plain(format)) return permuted(std::move(stored), format, original);
  const auto count = checked_product(original.dims);
  if (!count || !checked_multiply(*count, size_of(stored->meta.dtype)))
    return no_fit(format, stored->meta.shape, original);
  const Shape shape = stored->meta.shape;
  if (*count == 0 && shape != original) {
    std::vector<Axis> axes;
    for (const int64_t d : original.dims) axes.push_back({d, {{1, 0}}});
    return gathered(std::move(stored), 0, std::move(axes));
  }
  Result<OperandPtr> plain =
      *count == 0 ? Result<OperandPtr>(stored) : converted(stored, format, original, groups);
  const bool failed = !plain || *plain == nullptr;
  if (failed && shape == original)
    return stored;  // the writer says that it is plain already, or never knew better
  if (plain && *plain == nullptr) return no_fit(format, shape, original);
  return plain;
}

}  // namespace assay
