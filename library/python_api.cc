#include "library/python_api.h"

#include <dlfcn.h>

#include <memory>

namespace assay::library {
namespace {

template <class T>
bool find(const char* name, T& out) {
  void* const found = dlsym(RTLD_DEFAULT, name);
  out = reinterpret_cast<T>(found);
  return found != nullptr;
}

const PyApi* find_all() {
  auto api = std::make_unique<PyApi>();
  const bool has_all =
      find("Py_IncRef", api->inc_ref) && find("Py_DecRef", api->dec_ref) &&
      find("PyObject_Type", api->type_of) && find("PyObject_GetAttr", api->get_attr) &&
      find("PyObject_CallFunctionObjArgs", api->call) && find("PyUnicode_InternFromString", api->intern) &&
      find("PyUnicode_FromStringAndSize", api->text) && find("PyUnicode_AsUTF8AndSize", api->utf8_of) &&
      find("PyTuple_Size", api->tuple_size) && find("PyTuple_GetItem", api->tuple_item) &&
      find("PyList_Size", api->list_size) && find("PyList_GetItem", api->list_item) &&
      find("PyDict_Next", api->dict_next) && find("PyLong_AsLongLongAndOverflow", api->whole) &&
      find("PyLong_AsUnsignedLongLong", api->address) && find("PyLong_FromLongLong", api->new_whole) &&
      find("PyFloat_AsDouble", api->real) && find("PyObject_IsTrue", api->is_true) &&
      find("PyErr_Occurred", api->trouble) && find("PyErr_Clear", api->forget_trouble) &&
      find("PyEval_SaveThread", api->unlock) && find("PyEval_RestoreThread", api->lock) &&
      find("_Py_NoneStruct", api->none) && find("_Py_TrueStruct", api->true_) &&
      find("PyLong_Type", api->type_of_int) && find("PyFloat_Type", api->type_of_float) &&
      find("PyBool_Type", api->type_of_bool) && find("PyUnicode_Type", api->type_of_str) &&
      find("PyTuple_Type", api->type_of_tuple) && find("PyList_Type", api->type_of_list) &&
      find("PyDict_Type", api->type_of_dict);
  return has_all ? api.release() : nullptr;
}

}  // namespace

const PyApi* python() {
  static const PyApi* const api = find_all();
  return api;
}

}  // namespace assay::library
