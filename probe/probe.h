// What ATB asks and hands over, without a type of the C++ library that differs between its two ABIs. No
// function throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace assay::probe {

enum class Question : uint8_t {
  tensor_data,
  children,
  before,
  after,
  tiling,
  inputs,
  outputs,
  operation_graphs,
  times,
  operation_tables,
  kernel_tables,
  overflow,
  overflow_stop,
};
enum class Level : uint8_t { operation, kernel };

struct Description {
  std::string_view format, dtype, dims;
};
struct IoTensor {
  std::string_view dtype, format, shape, path;
};

void update_config() noexcept;
bool asks(Question question) noexcept;
bool is_in_range(uint64_t round) noexcept;
bool saves_in(std::string_view folder) noexcept;
bool needs_tensors(std::span<const int64_t> ids, std::string_view op_type) noexcept;

void save_tensor(const Description& tensor, const void* data, uint64_t size, std::string_view path) noexcept;
void save_tiling(const uint8_t* data, uint64_t size, std::string_view path) noexcept;
void save_param(std::string_view param, std::string_view path) noexcept;

void report_operation(std::string_view name, std::string_view graph) noexcept;
bool wants_model(std::string_view model) noexcept;
void report_model(std::string_view model, std::string_view graph) noexcept;
void report_times(uint64_t round, std::string_view name, std::string_view text) noexcept;
void report_io(Level level, uint64_t round, std::string_view name, std::string_view param,
               std::span<const IoTensor> in, std::span<const IoTensor> out) noexcept;
void report_overflow(std::string_view kernel) noexcept;

}  // namespace assay::probe
