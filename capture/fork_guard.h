// fork() while writers are at work: it waits until none of them is in the middle of a change, and the child
// starts anew.
#pragma once

#include <mutex>

namespace assay::capture {

class Writer;

class ForkGuard {
 public:
  static void add(Writer& writer);
  static void remove(Writer& writer);
  // A mutex under which writers are called: nobody holds it while the program forks, or a child might wait
  // for a thread that it does not have. Named while the library is loaded, in the order in which they are
  // taken.
  static void covers(std::mutex& outer);

 private:
  static void be_called();
  static void before();
  static void in_parent();
  static void in_child();
};

}  // namespace assay::capture
