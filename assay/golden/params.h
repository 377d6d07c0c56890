// What an operator was told, read with its types checked.
#pragma once

#include "assay/base/result.h"
#include "assay/model/op_param.h"

#include <initializer_list>
#include <span>
#include <string_view>
#include <vector>

namespace assay {

// The names of one parameter, ATB's own first: tools have read it under others.
using ParamKeys = std::initializer_list<std::string_view>;

// Cheap to copy; the list outlives it. A parameter that is null counts as missing.
class GoldenParams {
 public:
  GoldenParams() = default;
  explicit GoldenParams(std::span<const OpParam> list) : list_(list) {}

  bool has(ParamKeys keys) const { return find(keys) != nullptr; }

  // Required: an error where there is none, or where it is no such thing.
  Result<int64_t> integer(ParamKeys keys) const;
  Result<std::vector<int64_t>> integers(ParamKeys keys) const;  // one number is a list of one
  Result<std::vector<double>> reals(ParamKeys keys) const;
  Result<std::string> text(ParamKeys keys) const;
  Result<bool> flag(ParamKeys keys) const;  // true, false, or 1 and 0: older tools write those
  // An error only where it is no such thing.
  Result<int64_t> integer_or(ParamKeys keys, int64_t otherwise) const;
  Result<double> real_or(ParamKeys keys, double otherwise) const;
  Result<double> epsilon_or(ParamKeys keys,
                            double otherwise) const;  // 0 or more: a norm adds it under its root
  Result<bool> flag_or(ParamKeys keys, bool otherwise) const;
  Result<std::vector<int64_t>> integers_or(ParamKeys keys, std::vector<int64_t> otherwise) const;
  // One of the numbers that `allowed` lists. The message names them.
  Result<int64_t> choice(ParamKeys keys, std::span<const int64_t> allowed) const;
  Result<int64_t> choice_or(ParamKeys keys, int64_t otherwise, std::span<const int64_t> allowed) const;

 private:
  // Null: missing. Without values: it is an object, or lies in what is none.
  const OpParam* find(ParamKeys keys) const;
  std::span<const OpParam> list_;
};

}  // namespace assay
