# eukhed completion for bash
_eukhed() {
  local cur=${COMP_WORDS[COMP_CWORD]} command= words= i
  for ((i = 1; i < COMP_CWORD; i++)); do
    [[ ${COMP_WORDS[i]} == -- ]] && return
    [[ ${COMP_WORDS[i]} == -* ]] && continue
    case $command in
      "") command=${COMP_WORDS[i]} ;;
      cron|bundle) command="$command ${COMP_WORDS[i]}" ;;
    esac
  done
  case $command in
    "") words="a answer archive attach bash bundle clean completion config cron delete demo detach doctor export fork help import job kill laws log logs ls metrics new ps rename reopen rerun rewind rewind-plan rpc run runs search send service sessions show shutdown spawn start state status stop supervise top unarchive wait withdraw --help --json --home --socket --quiet --verbose --color --version" ;;
    run) words="--tty --no-tty --detach --on-signal --session --queue --after --after-any --once --retry --label --env --env-file --clean-env --cwd --nice --umask --no-survive --timeout --grace --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    attach|a) words="--session --read-only --exclusive --lines --all --on-signal --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    runs) words="--session --all --state --label --job --no-header --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    wait) words="--session --all --any --for --match --timeout --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    send) words="--session --stdin --eof --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    stop) words="--session --signal --grace --force --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    kill) words="--session --signal --grace --force --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    rerun) words="--session --failed --interrupted --all --tty --no-tty --detach --on-signal --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    answer) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    withdraw) words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    job) words="--queue --after --after-any --once --retry --label --env --env-file --clean-env --cwd --nice --umask --no-survive --timeout --grace --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    bash) words="--detach --on-signal --label --env --env-file --clean-env --cwd --nice --umask --no-survive --timeout --grace --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    spawn) words="--tty --no-tty --detach --on-signal --name --label --env --env-file --clean-env --cwd --nice --umask --no-survive --timeout --grace --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    detach) words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    log|logs) words="--session --raw --follow --since --until --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    show) words="--session --env --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    sessions|ls) words="--all --no-header --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    new) words="--cwd --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    rename) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    fork) words="--session --at --name --cwd --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    export) words="--session --format --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    import) words="--name --cwd --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    archive) words="--session --force --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    unarchive) words="--session --force --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    delete) words="--force --yes --dry-run --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    search) words="--ignore-case --since --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    clean) words="--older --yes --dry-run --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    reopen) words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    state) words="--session --at --since --follow --worker --full --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    rewind-plan) words="--session --worker --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    rewind) words="--session --worker --dry-run --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "cron add") words="--name --session --new --prompt --timezone --env --env-file --cwd --nice --umask --timeout --grace --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "cron list") words="--session --all --no-header --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "cron show") words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "cron next") words="--timezone --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "cron run") words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "cron pause") words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "cron resume") words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "cron cancel") words="--session --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle list") words="--layer --no-header --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "bundle show") words="--version --layer --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle mint") words="--parent --why --layer --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "bundle lineage") words="--layer --no-header --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle diff") words="--layer --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle revert") words="--why --layer --yes --dry-run --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle verify") words="--layer --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle run") words="--version --layer --input --session --tokens --label --detach --on-signal --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    "bundle remember") words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle recall") words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    "bundle last-run") words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="$(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1)" ;;
    start) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    supervise) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    shutdown) words="--if-idle --force --keep-scheduled --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    status) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    ps) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    top) words="--every --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    metrics) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    rpc) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    service) words="--on-demand --yes --dry-run --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    config) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    doctor) words="--session --fix --yes --no-input --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    completion) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    laws) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    demo) words="--svg --keep --help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    help) words="--help --json --home --socket --quiet --verbose --color"; [[ $cur == -* ]] || words="" ;;
    cron) words="add list show next run pause resume cancel" ;;
    bundle) words="list show mint lineage diff revert verify run remember recall last-run" ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "$cur"))
}
complete -o default -F _eukhed eukhed
