# assay-mpi: the same program on many hosts. It differs from assay in one object file.
set(MPI_CXX_SKIP_MPICXX ON)
find_package(MPI QUIET COMPONENTS CXX)
if(MPI_CXX_FOUND)
  add_executable(assay-mpi cli/main.cc assay/run/cluster/cluster_mpi.cc)
  target_link_libraries(assay-mpi PRIVATE assay_cli MPI::MPI_CXX)
endif()
