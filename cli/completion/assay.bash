# bash completion for assay

_assay() {
  local current=${COMP_WORDS[COMP_CWORD]} previous=${COMP_WORDS[COMP_CWORD-1]} verb= word
  for word in "${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case $word in compare|opcheck|errcheck|explain|dump|capture|recover|inspect|convert|compact|topology|view|doctor|demo) verb=$word && break ;; esac
  done

  local words=
  case $verb,$previous in
    compare,--report|opcheck,--report|errcheck,--report) words='terminal csv xlsx json jsonl junit sqlite html' ;;
    compare,--unmatched) words='fail ignore' ;;
    compare,--values) words='note fail skip' ;;
    compare,--color|opcheck,--color|errcheck,--color) words='auto always never' ;;
    compare,--order) words='name time' ;;
    compare,--origin) words='run estimate all off' ;;
    compare,--detail) words='words full off' ;;
    dump,--type) words='tensor model layer op kernel cpu_profiling onnx stats' ;;
    dump,--when) words='before after both in-out' ;;
    dump,--part) words='in out both' ;;
    opcheck,--soc) words='910B 310P' ;;
    convert,--layout) words='nd' ;;
    compact,--as) words='stats min_max' ;;
    *,--layout) words='single folder msprobe ms_kernel atb torch_hook torchair_ge torchair_fx logits' ;;
    *,--match) words='name exact content position entry api cell data layer fuzzy token' ;;
    *,--to) words='npy npz pt safetensors bin' ;;
    compare,--tolerance) words='bf16 f16 f32 fp8 f8e4m3fn f8e5m2' ;;
    *,--dtype|*,--raw-dtype) words='f64 f32 f16 bf16 f8e4m3fn f8e5m2 i64 i32 i16 i8 u64 u32 u16 u8 bool c64 c128' ;;
    *,--rules|*,--csv|*,--config|*,--noise|*,--data-mapping|*,--op-mapping) COMPREPLY=($(compgen -f -- "$current")) && return ;;
    topology,--output|topology,-o) COMPREPLY=($(compgen -f -- "$current")) && return ;;
    *,--output) COMPREPLY=($(compgen -d -- "$current")) && return ;;
    *,--port|*,--map|*,--metrics|*,--modules|*,--steps|*,--ids|*,--tokens|*,--device|*,--seed|*,--op|*,--rule|*,--only|*,--sections|*,--skip|*,--memory|*,--threads|*,--shape|*,--raw-shape|*,--level|*,--idle|*,--min-compared|*,--rtol|*,--atol|*,--offset|*,--raw-offset|*,--slice|*,--rename|*,--rename-golden|*,--strip-prefix) return ;;
    *)
      case $verb,$current in
        compare,-*) words='--metrics --rule --rules --fail-fast --only --skip --sections --detail --origin --memory --threads --output --report
                           --rtol --atol --tolerance --noise --unmatched --values --min-compared --allow-nonfinite --trusted --layout --match --rename --rename-golden --strip-prefix --fuzzy --api-mapping --cell-mapping --layer-mapping --data-mapping --op-mapping
                           --dtype --shape --offset --order --color --quiet --help --help-all' ;;
        opcheck,-*) words='--ids --op --csv --soc --metrics --rule --report --output --color --quiet --memory --threads --help --help-all' ;;
        explain,-*) words='--help --help-all' ;;
        errcheck,-*) words='--only --skip --rule --report --output --exit --layout --dtype --shape --offset --trusted --color --quiet --memory --threads --help --help-all' ;;
        dump,-*) words='--type --tokens --ids --op --when --part --output --device --descriptions --no-children --tiling --links --config --seed --help' ;;
        capture,-*) words='--modules --apis --steps --stats --output --help' ;;
        recover,-*) words='--help' ;;
        inspect,-*) words='--json --values --names --detail --map --slice --trusted --only --skip --layout --dtype --shape --offset --memory --threads --help' ;;
        convert,-*) words='--to --dtype --all-dtypes --trusted --layout --force --only --skip --raw-dtype --raw-shape --raw-offset --memory --quiet --help' ;;
        compact,-*) words='--as --watch --trusted --idle --dry-run --keep-going --only --skip --memory --threads --quiet --help' ;;
        topology,-*) words='--level --output --force --help' ;;
        view,-*) words='--port --no-browser --memory --threads --help --help-all' ;;
        demo,-*) words='--output --help' ;;
        doctor,-*) words='--help' ;;
        ,-*) words='--version --verbose --help' ;;
        ,*) words='compare opcheck errcheck explain dump capture recover inspect convert compact topology view doctor demo help msprobe msit ait' ;;
      esac ;;
  esac
  if [[ $words ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    compopt -o filenames
    local IFS=$'\n'
    COMPREPLY=($(compgen -f -- "$current"))
  fi
}
complete -F _assay assay
