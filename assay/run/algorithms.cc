#include "assay/run/algorithms.h"

#include "assay/base/path_kind.h"
#include "assay/base/text.h"
#include "assay/run/algorithms_script.h"
#include "assay/run/resources.h"
#include "assay/support/log.h"
#include "assay/tensor/cast.h"

#include <fmt/ranges.h>
#include <rapidjson/document.h>

#include <sys/stat.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace assay {
namespace {

using rapidjson::Document;
constexpr unsigned kAsPythonWrites = rapidjson::kParseNanAndInfFlag | rapidjson::kParseIterativeFlag;

constexpr int kMostFailures = 3;  // behind these nobody is started any more
constexpr std::chrono::seconds kToStart{120};

// How long one pair may take.
std::chrono::seconds patience() {
  constexpr int64_t kDefault = 600, kMost = 1'000'000;
  const char* const text = std::getenv("ASSAY_ALGORITHM_SECONDS");
  int64_t seconds = kDefault;
  if (text != nullptr) std::from_chars(text, text + std::string_view(text).size(), seconds);
  return std::chrono::seconds(std::clamp<int64_t>(seconds, 1, kMost));
}

std::string python() {
  const char* const given = std::getenv("ASSAY_PYTHON");
  return given != nullptr && *given != '\0' ? given : "python3";
}

// "~/x.py" as the original takes it.
std::string expanded(std::string path) {
  const char* const home = std::getenv("HOME");
  return path.starts_with("~/") && home != nullptr ? home + path.substr(1) : path;
}

Result<std::string> checked(const std::string& spec) {
  const size_t colon = spec.find(':');
  if (colon == std::string::npos || spec.find(':', colon + 1) != std::string::npos || colon == 0 ||
      colon + 1 == spec.size())
    return fail(
        ErrorKind::bad_argument,
        "custom_compare_algorithm should be in format '{{python_file_path}}:{{function_name}}', not '{}'",
        printable(spec));
  const std::string path = expanded(spec.substr(0, colon));
  if (!is_there(path))
    return fail(ErrorKind::not_found, "custom_compare_algorithm specified {} not exists", printable(path));
  if (!path.ends_with(".py"))
    return fail(ErrorKind::bad_argument, "custom_compare_algorithm specified {} is not a py file",
                printable(path));
  struct stat status {};
  // What others may write to is not what the user meant to run.
  if (!is_file(path) || ::stat(path.c_str(), &status) != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)) != 0)
    return fail(
        ErrorKind::bad_argument,
        "custom_compare_algorithm specified {} permission stat is illegal: a file that nobody but its "
        "owner may write to",
        printable(path));
  return path + spec.substr(colon);
}

std::vector<std::string> texts_of(const rapidjson::Value& list) {
  std::vector<std::string> out;
  for (const auto& each : list.GetArray())
    if (each.IsString()) out.emplace_back(each.GetString(), each.GetStringLength());
  return out;
}

Value value_of(const rapidjson::Value& cell) {
  if (cell.IsBool()) return cell.GetBool();
  if (cell.IsInt64()) return int64_t{cell.GetInt64()};
  if (cell.IsNumber()) return cell.GetDouble();
  if (cell.IsString()) return printable({cell.GetString(), cell.GetStringLength()});
  return {};
}

std::string description(const TensorMeta& meta, bool is_flat) {
  return fmt::format(
      R"(["{}", [{}], {}])", name(meta.dtype),
      is_flat ? fmt::format("{}", meta.shape.count()) : fmt::format("{}", fmt::join(meta.shape.dims, ", ")),
      meta.byte_size());
}

}  // namespace

Result<std::unique_ptr<Algorithms>> Algorithms::start(std::span<const std::string> specs, Given given) {
  std::vector<std::string> whole;
  for (const std::string& spec : specs) {
    ASSAY_TRY(std::string each, checked(spec));
    whole.push_back(std::move(each));
  }
  std::unique_ptr<Algorithms> algorithms(new Algorithms(std::move(whole), given));
  ASSAY_TRY_DO(algorithms->open());
  for (const std::string& name : algorithms->names_) log::info("Added custom comparing algorithm: {}", name);
  return algorithms;
}

Result<void> Algorithms::open() {
  std::vector<std::string> words = {python(), "-c", kAlgorithmsScript};
  words.insert(words.end(), specs_.begin(), specs_.end());
  auto started = WorkerProcess::start(words);
  if (!started)
    return fail(started.error().kind, "{}; ASSAY_PYTHON names the Python for custom algorithms",
                started.error().message);
  worker_ = std::move(*started);
  auto line = worker_->receive_line(std::chrono::steady_clock::now() + kToStart);
  if (!line) return fail(line.error().kind, "the Python for custom algorithms {}", failed(line.error()));
  Document said;
  said.Parse<kAsPythonWrites>(line->data(), line->size());
  const bool is_ready = said.IsObject() && said.HasMember("names") && said["names"].IsArray() &&
                        said.HasMember("types") && said["types"].IsArray();
  if (!is_ready) {
    worker_.reset();
    const bool says_why = said.IsObject() && said.HasMember("error") && said["error"].IsString();
    return fail(ErrorKind::bad_argument, "{}",
                printable(says_why ? said["error"].GetString() : "the Python for custom algorithms is none"));
  }
  names_ = texts_of(said["names"]);
  types_ = texts_of(said["types"]);
  if (said.HasMember("torch") && said["torch"].IsFalse() && failures_ == 0)
    log::warn("torch is not installed beside {}: custom algorithms are given arrays of NumPy", python());
  return {};
}

// What became of the worker, which is gone then.
std::string Algorithms::failed(const Error& why) {
  ++failures_;
  const std::string how = worker_ ? worker_->end() : std::string();
  worker_.reset();
  if (why.kind == ErrorKind::limit) return fmt::format("was ended: it {}", why.message);
  return how.empty() ? "ended" : fmt::format("ended by itself ({})", how);
}

Result<OperandPtr> Algorithms::fitting(const Operand& operand) const {
  const OperandPtr data(&operand, [](const Operand*) {});  // ours for the call
  const DType type = operand.meta.dtype;
  const bool is_known = std::ranges::find(types_, name(type)) != types_.end();
  if (is_complex(type) && (given_ == Given::flat_f32 || !is_known))
    return fail(ErrorKind::unsupported, "custom algorithms are given no complex tensors");
  if (given_ == Given::flat_f32 ? type == DType::f32 : is_known) return data;
  return cast(data, DType::f32);
}

Result<std::vector<AlgorithmAnswer>> Algorithms::ask_worker(const Operand& mine, const Operand& golden) {
  const auto deadline = std::chrono::steady_clock::now() + patience();
  const bool is_flat = given_ == Given::flat_f32;
  const std::string request = fmt::format("{{\"golden\": {}, \"mine\": {}}}\n",
                                          description(golden.meta, is_flat), description(mine.meta, is_flat));
  ASSAY_TRY_DO(worker_->send(std::as_bytes(std::span(request)), deadline));
  for (const Operand* const side : {&golden, &mine}) {
    Scratch scratch;
    const int64_t count = side->meta.shape.count();
    for (int64_t first = 0; first < count; first += kBlockElements) {
      ASSAY_TRY(const Block block, side->block(first, std::min(kBlockElements, count - first), scratch));
      ASSAY_TRY_DO(worker_->send(block.bytes(), deadline));
    }
  }
  ASSAY_TRY(const std::string line, worker_->receive_line(deadline));
  Document said;
  said.Parse<kAsPythonWrites>(line.data(), line.size());
  std::vector<AlgorithmAnswer> answers;
  if (said.IsObject() && said.HasMember("answers") && said["answers"].IsArray())
    for (const auto& each : said["answers"].GetArray())
      if (each.IsArray() && each.Size() == 2 && each[1].IsString())
        answers.push_back({value_of(each[0]), printable({each[1].GetString(), each[1].GetStringLength()})});
  if (answers.size() != names_.size()) return fail(ErrorKind::bad_format, "answers what nobody asked");
  return answers;
}

std::vector<AlgorithmAnswer> Algorithms::ask(const Operand& mine, const Operand& golden) {
  const std::lock_guard lock(guard_);
  const auto all_say = [&](const std::string& why) {
    std::vector<AlgorithmAnswer> answers(names_.size());
    answers.front().message = why;
    return answers;
  };
  const auto of_mine = fitting(mine), of_golden = fitting(golden);
  if (!of_mine || !of_golden) return all_say((of_mine ? of_golden : of_mine).error().message);
  if ((*of_mine)->meta.byte_size() + (*of_golden)->meta.byte_size() > memory_budget(0))
    return all_say("too large for custom algorithms, which are given whole tensors");
  if (!worker_) {
    if (failures_ >= kMostFailures)
      return all_say(fmt::format("custom algorithms were given up: their Python failed {} times", failures_));
    if (const auto opened = open(); !opened) {
      ++failures_;
      return all_say(opened.error().message);
    }
  }
  auto answers = ask_worker(**of_mine, **of_golden);
  if (answers) return std::move(*answers);
  return all_say(fmt::format("the Python for custom algorithms {}", failed(answers.error())));
}

}  // namespace assay
