# The sources of a folder are compiled several at a time, as one: headers are parsed, and templates instantiated and optimised,
# once for all of them. That saves two fifths of a build from nothing; after an edit, a dozen sources are compiled instead of one.
option(ASSAY_UNITY "Compile the sources of a folder several at a time" ON)

# Compiled by themselves: each defines a helper of the same name as one of its neighbours (every set of rules has a
# `prepare`), sees the other of two things that are both called testing, is compiled once for each kind of CPU (Highway), or is what another
# program has a twin of.
set(apart
  assay/compat/msit/logits_rules_test.cc assay/compat/msit/policies.cc assay/compat/msit/profile.cc
  assay/compat/msit/rules.cc
  assay/compat/msit/metric/tile_errors.cc assay/compat/msprobe/metric/tile_errors.cc
  assay/compat/msprobe/communication.cc assay/compat/msprobe/first_difference.cc assay/compat/msprobe/highlight.cc
  assay/compat/msprobe/profile.cc assay/compat/msprobe/profile_atb.cc assay/compat/msprobe/profile_kernel.cc
  assay/compat/msprobe/profile_test.cc assay/compat/msprobe/rules_atb.cc assay/compat/msprobe/rules_g3.cc
  assay/compat/msprobe/rules_g3_test.cc assay/compat/msprobe/rules_kernel.cc assay/compat/msprobe/rules_kernel_test.cc
  assay/compat/msprobe/rules_tensor.cc assay/compat/msprobe/rules_test.cc
  assay/dump/atb_statistics.cc assay/dump/atb_test.cc assay/dump/ge_stats_csv.cc assay/dump/ge_stats_csv_test.cc
  assay/dump/ms_kernel_folder.cc assay/dump/ms_kernel_test.cc assay/dump/walk.cc
  assay/format/atb_bin_header.cc assay/format/ge_wire.cc assay/format/npy_test.cc assay/format/npz_test.cc
  assay/format/pickle_test.cc assay/format/pt_objects_test.cc assay/format/pt_test.cc assay/format/safetensors_test.cc
  assay/golden/attention_kernel.cc assay/golden/kernels.cc assay/golden/kernels_test.cc assay/golden/row_kernels.cc assay/golden/short_kernels.cc
  assay/graph/ge_graph_file_test.cc assay/graph/operation_tables_test.cc
  assay/judge/expression_parse.cc assay/judge/native_depth_test.cc assay/judge/native_stated.cc
  assay/match/compiled/ge_fx_test.cc
  assay/match/keyed/file_name_test.cc assay/match/keyed/layer.cc assay/match/keyed/layer_test.cc
  assay/match/keyed/mapped_test.cc assay/match/keyed/mappings_test.cc
  assay/match/matcher_test.cc
  assay/match/ops/atb_atb_test.cc assay/match/ops/atb_torch_test.cc assay/match/ops/model_roles.cc
  assay/match/ops/op_aligner.cc assay/match/ops/op_sections.cc assay/match/ops/token_test.cc
  assay/metric/detail/tile_errors.cc
  assay/metric/numpy_stats.cc assay/metric/one_side.cc assay/metric/stated.cc assay/metric/tile_measure.cc assay/metric/tile_range.cc
  assay/metric/tile_sketch.cc assay/metric/tile_softmax.cc assay/metric/tile_ulp.cc
  assay/model/outcome_test.cc
  assay/report/csv_test.cc assay/report/python_cells_test.cc assay/report/xlsx_parts.cc
  assay/run/cluster/cluster_local.cc
  assay/run/compare/align_test.cc assay/run/compare/detail_test.cc assay/run/compare/diagnose_test.cc
  assay/run/compare/kept_results_test.cc
  assay/run/compare/rope_test.cc
  assay/run/demo/demo_test.cc
  assay/run/inspect/print_values_test.cc
  assay/support/inflated_entry.cc assay/support/text_format.cc assay/support/zip_writer.cc
  assay/tensor/cast.cc assay/tensor/dtype_convert.cc assay/tensor/dtype_simd.cc assay/tensor/extremes_test.cc
  cli/msprobe/atb.cc)
foreach(source ${apart})
  if(NOT EXISTS ${PROJECT_SOURCE_DIR}/${source})
    message(FATAL_ERROR "cmake/unity.cmake: there is no ${source} (any more)")
  endif()
  set_source_files_properties(${PROJECT_SOURCE_DIR}/${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
endforeach()

function(assay_unity target)
  set_target_properties(${target} PROPERTIES UNITY_BUILD ${ASSAY_UNITY} UNITY_BUILD_BATCH_SIZE 12)
endfunction()
