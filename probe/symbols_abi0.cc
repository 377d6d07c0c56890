// For an ATB that is built with the std::string of before C++11.
#define _GLIBCXX_USE_CXX11_ABI 0
#include "probe/symbols.cc"
