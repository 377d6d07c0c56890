// fork() while writers are at work: it waits until none of them is in the middle of a change, and the child
// starts anew.
#pragma once

namespace assay::capture {

class Writer;

class ForkGuard {
 public:
  static void add(Writer& writer);
  static void remove(Writer& writer);

 private:
  static void before();
  static void in_parent();
  static void in_child();
};

}  // namespace assay::capture
