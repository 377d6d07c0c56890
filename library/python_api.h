// Python's own functions, found in the process that runs it: nothing is linked, and one library serves every
// version from 3.8 on (all of them belong to the stable interface).
#pragma once

#include <cstdint>

namespace assay::library {

struct PyObject;  // Python's; only its address is of use here

struct PyApi {
  void (*inc_ref)(PyObject*);
  void (*dec_ref)(PyObject*);
  PyObject* (*type_of)(PyObject*);
  PyObject* (*get_attr)(PyObject*, PyObject*);
  PyObject* (*call)(PyObject*, ...);  // PyObject_CallFunctionObjArgs: ends with a null
  PyObject* (*intern)(const char*);
  PyObject* (*text)(const char*, int64_t);
  const char* (*utf8_of)(PyObject*, int64_t*);
  int64_t (*tuple_size)(PyObject*);
  PyObject* (*tuple_item)(PyObject*, int64_t);  // borrowed, as that of a list
  int64_t (*list_size)(PyObject*);
  PyObject* (*list_item)(PyObject*, int64_t);
  int (*dict_next)(PyObject*, int64_t*, PyObject**, PyObject**);
  int64_t (*whole)(PyObject*, int*);  // PyLong_AsLongLongAndOverflow
  uint64_t (*address)(PyObject*);     // PyLong_AsUnsignedLongLong
  PyObject* (*new_whole)(long long);
  double (*real)(PyObject*);
  int (*is_true)(PyObject*);
  PyObject* (*trouble)();
  void (*forget_trouble)();
  void* (*unlock)();
  void (*lock)(void*);
  PyObject *none, *true_, *type_of_int, *type_of_float, *type_of_bool, *type_of_str, *type_of_tuple,
      *type_of_list, *type_of_dict;
};

// Null in a process that runs no Python.
const PyApi* python();

// A reference that is given back.
class Owned {
 public:
  Owned(const PyApi& api, PyObject* object) : api_(&api), object_(object) {}
  Owned(Owned&& other) noexcept : api_(other.api_), object_(other.object_) { other.object_ = nullptr; }
  Owned& operator=(Owned&&) = delete;
  ~Owned() {
    if (object_ != nullptr) api_->dec_ref(object_);
  }
  PyObject* get() const { return object_; }
  explicit operator bool() const { return object_ != nullptr; }

 private:
  const PyApi* api_;
  PyObject* object_;
};

}  // namespace assay::library
