// Values of a Python program, for the Python package.
#include "library/guarded.h"
#include "library/python_values.h"

#include <mutex>

struct assay_values {
  assay::library::PythonValues values;
};

namespace assay::library {
namespace {

PyObject* object(void* given) { return static_cast<PyObject*>(given); }

// What Python is given where something of ours was thrown: the package then takes its own way.
template <class Body>
void* or_none(Body body) {
  try {
    return body();
  } catch (...) {
    python()->forget_trouble();
    python()->inc_ref(python()->none);
    return python()->none;
  }
}

}  // namespace
}  // namespace assay::library

using namespace assay::library;

assay_status assay_values_open(const assay_values_config* config, assay_values** out) {
  return guarded([&] {
    if (config == nullptr || out == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    *out = nullptr;
    if (config->size != sizeof *config)
      return refuse(ASSAY_BAD_ARGUMENT, "the configuration is of another version");
    if (python() == nullptr)
      return refuse(ASSAY_UNSUPPORTED, "this process runs no Python that is known here");
    ValuesOptions options{.summary = config->summary,
                          .has_sums = config->has_sums != 0,
                          .tensor = object(config->tensor),
                          .parameter = object(config->parameter),
                          .strided = object(config->strided),
                          .mean = object(config->mean),
                          .norm = object(config->norm),
                          .stream = object(config->stream),
                          .keep_for_stream = object(config->keep),
                          .dtypes = {}};
    for (int32_t i = 0; i < config->dtypes; ++i) {
      const auto dtype = static_cast<assay::DType>(config->dtype_numbers[i]);
      if (is_measured_on_devices(dtype)) options.dtypes.emplace_back(object(config->dtype_objects[i]), dtype);
    }
    *out = new assay_values{PythonValues(*python(), std::move(options))};
    return ASSAY_OK;
  });
}

assay_status assay_values_use_device(assay_values* values, int device, const char* compiler) {
  return guarded([&] {
    if (values == nullptr || compiler == nullptr) return refuse(ASSAY_BAD_ARGUMENT, "a null pointer");
    // The devices belong to the process, and so does the kernel on them.
    static std::mutex guard;
    static CudaStatistics* kept = nullptr;
    const std::lock_guard lock(guard);
    if (kept == nullptr) {
      auto opened = CudaStatistics::open(compiler);
      if (!opened) return refuse(opened.error());
      kept = opened->release();
    }
    if (const auto made = kept->prepare(device); !made) return refuse(made.error());
    values->values.use(kept);
    return ASSAY_OK;
  });
}

void* assay_values_text(assay_values* values, void* value, int32_t depth, void* keep) {
  return or_none([&] { return values->values.text_of(object(value), depth, object(keep)); });
}

void* assay_values_line(assay_values* values, void* head, void* begun, void* value, int32_t depth, int file) {
  return or_none(
      [&] { return values->values.write_line(object(head), object(begun), object(value), depth, file); });
}

void* assay_values_settled(assay_values* values, void* text, int32_t waits) {
  return or_none([&] { return values->values.settled(object(text), waits != 0); });
}

void assay_values_close(assay_values* values) { delete values; }
