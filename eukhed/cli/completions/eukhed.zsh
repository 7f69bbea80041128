#compdef eukhed
# eukhed completion for zsh
_eukhed() {
  local -a commands
  commands=(
    'run:run a command that outlives this terminal, and show its output'
    'attach:come back to a run - its last lines, then live'
    'a:come back to a run - its last lines, then live'
    'runs:list runs, newest first'
    'wait:wait for runs to end, and exit as they did'
    'send:send bytes to the input of a run that has a terminal'
    'stop:stop a run with everything that it started, or close a session'
    'kill:stop a run at once - `stop -s KILL`'
    'rerun:run the command of a run once more, in its directory, with this environment'
    'answer:answer the question that a run waits with'
    'withdraw:take back a run that is queued, or the next try of one that failed'
    'job:the same as `run --detach`, for programs - prints the address, and leaves'
    'bash:run a line of a shell that joins the conversation of a session'
    'spawn:run a command in a child session of a session'
    'detach:detach the clients that are attached; the runs go on'
    'log:print what runs wrote, from the disk'
    'logs:print what runs wrote, from the disk'
    'show:show one run or record in full'
    'sessions:list sessions'
    'ls:list sessions'
    'new:make a session for a directory'
    'rename:give a session another name'
    'fork:make a session that goes on from a point of another one'
    'export:write a session to stdout, whole or to be read'
    'import:make a session of a file that export or an older version wrote'
    'archive:take a session out of lists, and keep it'
    'unarchive:put an archived session back into lists'
    'delete:remove a session for good'
    'search:find a text in all transcripts'
    'clean:remove the output of finished runs'
    'reopen:start a session over that was given up'
    'state:show what a session holds, as a tree - now, at a past point, or as it changes'
    'rewind-plan:show what going back to a cursor would do'
    'rewind:go back to a cursor, by one commit that can itself be rewound'
    'start:start the daemon, or say that it runs'
    'supervise:run the daemon in the foreground, as a service manager does'
    'shutdown:stop the daemon'
    'status:what the daemon does, in a few lines'
    'ps:list worker processes'
    'top:what waits, works and ended, drawn again as it changes; q leaves'
    'metrics:numbers of the daemon and its workers, as Prometheus text'
    'rpc:the wire as lines of JSON on stdin and stdout, for scripts'
    'service:run the daemon as a unit of the users systemd'
    'config:show settings, and where each comes from'
    'doctor:find what is wrong here, and what helps'
    'completion:print the completion script of a shell'
    'laws:list the rules that hold for every input, and what checks each'
    'demo:kill everything in turn and show that a run goes on'
    'help:show help on a command or a topic'
    'cron:scheduled jobs'
    'bundle:versioned programs'
  )
  if (( CURRENT == 2 )); then
    _describe command commands
    return
  fi
  if (( ${words[(Ie)--]} )) && (( CURRENT > ${words[(Ie)--]} )); then
    _normal
    return
  fi
  local command=$words[2]
  case $command in
    cron)
      if (( CURRENT == 3 )); then
        compadd -- add list show next run pause resume cancel
        return
      fi
      command="$words[2] $words[3]" ;;
    bundle)
      if (( CURRENT == 3 )); then
        compadd -- list show mint lineage diff revert verify run remember recall last-run
        return
      fi
      command="$words[2] $words[3]" ;;
  esac
  case $command in
    run) compadd -- '--tty' '--no-tty' '--detach' '--on-signal' '--session' '--queue' '--after' '--after-any' '--once' '--retry' '--label' '--env' '--env-file' '--clean-env' '--cwd' '--nice' '--umask' '--no-survive' '--timeout' '--grace' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    attach|a) compadd -- '--session' '--read-only' '--exclusive' '--lines' '--all' '--on-signal' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    runs) compadd -- '--session' '--all' '--state' '--label' '--job' '--no-header' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1) ;;
    wait) compadd -- '--session' '--all' '--any' '--for' '--match' '--timeout' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    send) compadd -- '--session' '--stdin' '--eof' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    stop) compadd -- '--session' '--signal' '--grace' '--force' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    kill) compadd -- '--session' '--signal' '--grace' '--force' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    rerun) compadd -- '--session' '--failed' '--interrupted' '--all' '--tty' '--no-tty' '--detach' '--on-signal' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    answer) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    withdraw) compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    job) compadd -- '--queue' '--after' '--after-any' '--once' '--retry' '--label' '--env' '--env-file' '--clean-env' '--cwd' '--nice' '--umask' '--no-survive' '--timeout' '--grace' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1) ;;
    bash) compadd -- '--detach' '--on-signal' '--label' '--env' '--env-file' '--clean-env' '--cwd' '--nice' '--umask' '--no-survive' '--timeout' '--grace' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    spawn) compadd -- '--tty' '--no-tty' '--detach' '--on-signal' '--name' '--label' '--env' '--env-file' '--clean-env' '--cwd' '--nice' '--umask' '--no-survive' '--timeout' '--grace' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    detach) compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    log|logs) compadd -- '--session' '--raw' '--follow' '--since' '--until' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    show) compadd -- '--session' '--env' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed runs --no-header 2>/dev/null | cut -d' ' -f1) ;;
    sessions|ls) compadd -- '--all' '--no-header' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    new) compadd -- '--cwd' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    rename) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    fork) compadd -- '--session' '--at' '--name' '--cwd' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    export) compadd -- '--session' '--format' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    import) compadd -- '--name' '--cwd' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    archive) compadd -- '--session' '--force' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    unarchive) compadd -- '--session' '--force' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    delete) compadd -- '--force' '--yes' '--dry-run' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    search) compadd -- '--ignore-case' '--since' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    clean) compadd -- '--older' '--yes' '--dry-run' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    reopen) compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1) ;;
    state) compadd -- '--session' '--at' '--since' '--follow' '--worker' '--full' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    rewind-plan) compadd -- '--session' '--worker' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    rewind) compadd -- '--session' '--worker' '--dry-run' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "cron add") compadd -- '--name' '--session' '--new' '--prompt' '--timezone' '--env' '--env-file' '--cwd' '--nice' '--umask' '--timeout' '--grace' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "cron list") compadd -- '--session' '--all' '--no-header' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed sessions --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "cron show") compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "cron next") compadd -- '--timezone' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "cron run") compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "cron pause") compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "cron resume") compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "cron cancel") compadd -- '--session' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed cron list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle list") compadd -- '--layer' '--no-header' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "bundle show") compadd -- '--version' '--layer' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle mint") compadd -- '--parent' '--why' '--layer' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "bundle lineage") compadd -- '--layer' '--no-header' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle diff") compadd -- '--layer' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle revert") compadd -- '--why' '--layer' '--yes' '--dry-run' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle verify") compadd -- '--layer' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle run") compadd -- '--version' '--layer' '--input' '--session' '--tokens' '--label' '--detach' '--on-signal' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    "bundle remember") compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle recall") compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    "bundle last-run") compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color'; compadd -- $(eukhed bundle list --no-header 2>/dev/null | cut -d' ' -f1) ;;
    start) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    supervise) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    shutdown) compadd -- '--if-idle' '--force' '--keep-scheduled' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    status) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    ps) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    top) compadd -- '--every' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    metrics) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    rpc) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    service) compadd -- '--on-demand' '--yes' '--dry-run' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    config) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    doctor) compadd -- '--session' '--fix' '--yes' '--no-input' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    completion) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    laws) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    demo) compadd -- '--svg' '--keep' '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
    help) compadd -- '--help' '--json' '--home' '--socket' '--quiet' '--verbose' '--color' ;;
  esac
}
compdef _eukhed eukhed
