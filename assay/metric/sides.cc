#include "assay/metric/families.h"

#include <cmath>

namespace assay {
namespace {

void describe(const Gathered& g, const SideSums& side, std::span<Value> out) {
  if (g.pair.finite == 0) return;
  out[0] = side.min;
  out[1] = side.max;
  out[2] = std::ldexp(side.sum / static_cast<double>(g.pair.finite), -g.pair.scale);
  out[3] = std::ldexp(std::sqrt(side.sum_squares), -g.pair.scale);
}

void describe(const Stated& stated, std::span<Value> out) {
  out[0] = to_value(stated.min);
  out[1] = to_value(stated.max);
  out[2] = to_value(stated.mean);
  out[3] = to_value(stated.norm);
}

}  // namespace

const Metric equal_metric{"equal",
                          {"equal", "equal_ratio"},
                          gather::sums,
                          true,
                          "elements that are exactly equal: count and share",
                          [](const Gathered& g, std::span<Value> out) {
                            out[0] = g.pair.equal;
                            out[1] = number_or_absent(
                                static_cast<double>(g.pair.equal) / static_cast<double>(g.pair.count),
                                g.pair.count > 0);
                          }};

const Metric nonfinite_metric{"nonfinite",
                              {"mine_nan", "mine_inf", "golden_nan", "golden_inf", "nonfinite_mismatch"},
                              gather::sums,
                              true,
                              "NaN and Inf on each side, and places where they stand against something else",
                              [](const Gathered& g, std::span<Value> out) {
                                out[0] = g.pair.mine.nans;
                                out[1] = g.pair.mine.infs;
                                out[2] = g.pair.golden.nans;
                                out[3] = g.pair.golden.infs;
                                out[4] = g.pair.nonfinite_mismatch;
                              }};

const Metric mine_metric{
    "mine",
    {"mine_min", "mine_max", "mine_mean", "mine_norm"},
    gather::sums,
    true,
    "min, max, mean and 2-norm of mine where both sides are finite",
    [](const Gathered& g, std::span<Value> out) { describe(g, g.pair.mine, out); },
    [](const Stated& mine, const Stated&, std::span<Value> out) { describe(mine, out); }};

const Metric golden_metric{
    "golden",
    {"golden_min", "golden_max", "golden_mean", "golden_norm"},
    gather::sums,
    true,
    "the same of golden",
    [](const Gathered& g, std::span<Value> out) { describe(g, g.pair.golden, out); },
    [](const Stated&, const Stated& golden, std::span<Value> out) { describe(golden, out); }};

const Metric golden_rms_metric{
    "golden_rms",
    {"golden_rms"},
    gather::sums,
    false,
    "root mean square of golden",
    [](const Gathered& g, std::span<Value> out) {
      const double norm = std::ldexp(std::sqrt(g.pair.golden.sum_squares), -g.pair.scale);
      out[0] = number_or_absent(norm / std::sqrt(static_cast<double>(g.pair.finite)), g.pair.finite > 0);
    }};

const Metric crc32_metric{"crc32",
                          {"mine_crc32", "golden_crc32"},
                          gather::sums | gather::crc32,
                          false,
                          "CRC-32 of the elements as they lie in memory",
                          [](const Gathered& g, std::span<Value> out) {
                            out[0] = g.mine_crc32;
                            out[1] = g.golden_crc32;
                          }};

const Metric md5_metric{"md5",
                        {"mine_md5", "golden_md5"},
                        gather::sums | gather::md5,
                        false,
                        "MD5 of the elements as they lie in memory",
                        [](const Gathered& g, std::span<Value> out) {
                          out[0] = g.mine_md5;
                          out[1] = g.golden_md5;
                        }};

}  // namespace assay
