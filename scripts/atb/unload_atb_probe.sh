# Sourced, not run: takes away what load_atb_probe.sh has set.
_assay_unload_atb_probe() {
  local rest= each IFS=:
  for each in ${LD_PRELOAD-}; do
    case ${each##*/} in
      libatb_probe_abi0.so | libatb_probe_abi1.so | libassay_probe.so) ;;
      *) rest=${rest:+$rest:}$each ;;
    esac
  done
  if [ -n "$rest" ]; then export LD_PRELOAD=$rest; else unset LD_PRELOAD; fi
  unset ATB_OUTPUT_DIR ATB_DUMP_CONFIG
  echo "[INFO] nothing is recorded any more"
}
_assay_unload_atb_probe
