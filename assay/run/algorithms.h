// Functions of the user's own, in Python, that measure a pair beside our metrics: `-alg file.py:function` of
// msit. A Python of its own runs them; nothing but the files that were named is executed, and what they do
// wrong is in the rows.
#pragma once

#include "assay/base/worker_process.h"
#include "assay/model/outcome.h"
#include "assay/tensor/operand.h"

#include <memory>
#include <mutex>
#include <optional>
#include <span>

namespace assay {

class Algorithms {
 public:
  // What a function is given, as the original gives it.
  enum class Given : uint8_t {
    flat_f32,   // all elements in a row, and only where all are finite
    as_dumped,  // type and shape of the dump
  };

  // specs: "file.py:function". Each is tried once on two tensors of one element; what is wrong with it is an
  // error, in the words of the original.
  static Result<std::unique_ptr<Algorithms>> start(std::span<const std::string> specs, Given given);

  const std::vector<std::string>& names() const { return names_; }  // of the functions, and of their columns
  Given given() const { return given_; }
  // One for each name. Any thread; they run one after another.
  std::vector<AlgorithmAnswer> ask(const Operand& mine, const Operand& golden);

 private:
  Algorithms(std::vector<std::string> specs, Given given) : specs_(std::move(specs)), given_(given) {}
  Result<void> open();
  Result<std::vector<AlgorithmAnswer>> ask_worker(const Operand& mine, const Operand& golden);
  Result<OperandPtr> fitting(const Operand& operand) const;
  std::string failed(const Error& why);

  const std::vector<std::string> specs_;
  const Given given_;
  std::vector<std::string> names_;
  std::vector<std::string> types_;  // that the worker knows
  std::mutex guard_;
  std::optional<WorkerProcess> worker_;
  int failures_ = 0;
};

}  // namespace assay
