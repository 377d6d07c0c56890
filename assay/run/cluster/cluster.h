// The processes of one run, on one machine or many. This is all that the program knows of MPI: `assay` is
// linked to the twin that stands alone (cluster_local.cc), `assay-mpi` to that of MPI (cluster_mpi.cc).
#pragma once

#include "assay/base/result.h"

#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

// This process among those of its run. Any thread.
class Link {
 public:
  virtual ~Link() = default;
  virtual int rank() const = 0;  // process 0 leads: it alone writes
  virtual int size() const = 0;
  virtual std::string host_of(int rank) const = 0;

  // Messages from one process to another arrive in order. Whoever is not there any more gets none.
  virtual void send(int to, std::string message) = 0;
  // What arrives is handed to `receive`, one at a time, on a thread of the link; what arrived before waits
  // for it. An empty message: that process is lost. Whoever listened before hears nothing afterwards.
  virtual void listen(std::function<void(int from, std::string_view message)> receive) = 0;
  // Of process 0: the others begin to do what this one was asked for. They stay silent.
  virtual void wake_others() = 0;
};

// Null: this process works alone.
Link* cluster_link();

// Where finished work is kept, so that the same command may go on after a fall; empty: nobody asked for it.
std::filesystem::path cluster_journal();

// Runs the program as one of its processes, and answers its exit code: that of process 0 is the run's. What
// the command line says to the cluster is taken from the words.
int run_in_cluster(std::vector<std::string> words,
                   const std::function<int(const std::vector<std::string>& words)>& program);

// How many processes there are, and where: for `assay doctor`.
std::string describe_cluster();

}  // namespace assay
