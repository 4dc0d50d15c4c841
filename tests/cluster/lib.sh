# What the scripts of this folder share. To be sourced.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
root=$(cd "$here/../.." && pwd)
# What cargo builds.
target=${CARGO_TARGET_DIR:-$root/target}
# All that a running cluster keeps: keys, addresses, process ids, logs.
cluster=${KUBELEASE_CLUSTER:-$target/cluster}
# Programs that were built, by what they were built from.
cache=${XDG_CACHE_HOME:-$HOME/.cache}/kubelease-cluster

die() {
  echo "$*" >&2
  exit 1
}

# A name for the contents of files.
key_of() {
  cat "$@" | sha256sum | cut -c1-16
}

# Whether the process of a part (etcd, api) runs. A process that took over its id does not count;
# one that is dying does, for it may still hold its ports.
is_running() {
  local pid exe state
  pid=$(cat "$cluster/$1.pid" 2>/dev/null) || return 1
  exe=$(readlink "/proc/$pid/exe" 2>/dev/null) || true
  if [[ -n $exe ]]; then
    [[ ${exe% (deleted)} == "$(cat "$cluster/$1.exe")" ]]
    return
  fi
  read -r _ _ state _ 2>/dev/null <"/proc/$pid/stat" || return 1
  [[ $state != Z ]] || compgen -G "/proc/$pid/task/*" | grep -qv "/$pid\$"
}

# Ends a part: SIGTERM, a grace of some tenths of a second, SIGKILL.
end_part() {
  local -r part=$1 tenths=$2
  local pid
  is_running "$part" || return 0
  pid=$(cat "$cluster/$part.pid")
  # A stopped process must wake to die of SIGTERM.
  kill -TERM "$pid" && kill -CONT "$pid"
  for ((i = 0; i < tenths; i++)); do
    is_running "$part" || return 0
    sleep 0.1
  done
  kill -KILL "$pid"
  while is_running "$part"; do sleep 0.02; done
}

# Runs a command again and again until it succeeds, for some seconds.
await() {
  local -r seconds=$1 what=$2
  local -r end=$((SECONDS + seconds))
  shift 2
  until "$@"; do
    ((SECONDS < end)) || die "no $what within $seconds s"
    sleep 0.1
  done
}

# A request to the API server as the user of a token; fails where the status is not 2xx.
api() {
  local -r token=$1 method=$2 target=$3
  shift 3
  curl -sf --max-time 5 --cacert "$cluster/ca.crt" -H "Authorization: Bearer $token" \
    -X "$method" "$(cat "$cluster/url")$target" "$@"
}

# Whether both parts serve all that they will serve.
is_serving() {
  is_running etcd && is_running api || die "a part ended at its start: see $cluster/*.log"
  local -r review='{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":
    {"resourceAttributes":{"verb":"get","resource":"leases","group":"coordination.k8s.io"}}}'
  local -r admin=$(cat "$cluster/admin.token") elector=$(cat "$cluster/elector.token")
  local namespace
  api "$admin" GET /readyz >/dev/null || return
  for namespace in default kube-system kube-node-lease; do
    api "$admin" GET "/api/v1/namespaces/$namespace" >/dev/null || return
  done
  # For some tenths of a second after a start the server says 403 to all but administrators.
  api "$elector" POST /apis/authorization.k8s.io/v1/selfsubjectaccessreviews \
    -H 'Content-Type: application/json' -d "$review" >/dev/null
}

# build_c PROGRAM: builds an example in C, beside what cargo builds.
build_c() {
  make --silent -C "$root/ffi" static
  make --silent -C "$root/examples/c" BIN="$target/debug" "$target/debug/$1"
}

# election PROGRAM FLAG...: builds all kinds of candidates, and runs a program of go/ that lets them
# elect a leader on the running cluster, which is started if there is none.
election() {
  local -r program=$1
  shift
  "$here/up"
  local bin
  bin=$("$here/build" elector work "$program")
  cargo build --quiet --manifest-path "$root/Cargo.toml" -p kubelease-cluster --bin candidate
  build_c leader_curl
  "$bin/$program" --cluster "$cluster" --logs "$cluster-logs" --candidate "$target/debug/candidate" \
    --leader-curl "$target/debug/leader_curl" --elector "$bin/elector" --work "$bin/work" "$@"
}
