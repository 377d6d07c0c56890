# Sourced, not run: source load_atb_probe.sh [--output=DIR] [--config=FILE]
# Every program that this shell starts from then on is recorded as FILE says (default: config.json beside this
# script), into DIR (default: the current folder). unload_atb_probe.sh ends it.
_assay_load_atb_probe() {
  local here output=. config argument abi library
  here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd) || return 1
  config=$here/config.json
  for argument in "$@"; do
    case $argument in
      --output=*) output=${argument#--output=} ;;
      --config=*) config=${argument#--config=} ;;
      *) echo "[ERROR] '$argument' is not known; there are --output=DIR and --config=FILE" >&2 && return 1 ;;
    esac
  done
  case ${ATB_HOME_PATH%/} in
    *cxx_abi_0) abi=0 ;;
    *cxx_abi_1) abi=1 ;;
    *)
      echo "[WARNING] The running environment of ATB model is not ready. ATB probe would not work" >&2
      echo "          Run 'source set_env.sh' of ATB first: ATB_HOME_PATH is '${ATB_HOME_PATH-}'" >&2
      return 1 ;;
  esac
  if [ -z "${ASCEND_HOME_PATH-}" ]; then
    echo "[WARNING] ASCEND_HOME_PATH is not set. Run 'source set_env.sh' of the CANN toolkit first" >&2
    return 1
  fi
  [ -f "$config" ] || { echo "[ERROR] $config: there is no such file; give --config=FILE" >&2; return 1; }
  mkdir -p "$output" && output=$(cd "$output" && pwd) || return 1
  config=$(cd "$(dirname "$config")" && pwd)/$(basename "$config")
  for library in "${ASSAY_PROBE-}" "$here/../libatb_probe_abi$abi.so" "$here/../libassay_probe.so"; do
    [ -f "$library" ] && break
    library=
  done
  if [ -z "$library" ]; then
    echo "[ERROR] the probe was not found beside $here; set ASSAY_PROBE to libassay_probe.so" >&2
    return 1
  fi
  library=$(cd "$(dirname "$library")" && pwd)/$(basename "$library")
  case :${LD_PRELOAD-}: in
    *:"$library":*) ;;
    *) export LD_PRELOAD=$library${LD_PRELOAD:+:$LD_PRELOAD} ;;
  esac
  export ATB_OUTPUT_DIR=$output ATB_DUMP_CONFIG=$config
  echo "[INFO] recording into $output as $config says; 'source unload_atb_probe.sh' ends it"
}
_assay_load_atb_probe "$@"
