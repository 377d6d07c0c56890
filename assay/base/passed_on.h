// Of a process whose standard streams another one passes on, as the launcher of MPI does.
#pragma once

namespace assay::console {

// The standard streams lead nowhere from now on: another process speaks for this one.
void fall_silent();

// What is passed on does not end at a terminal, whatever it looks like here.
void end_at_no_terminal(bool output, bool messages);

}  // namespace assay::console
