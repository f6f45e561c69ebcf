#!/usr/bin/env bash
# A SLURM of one node for tests: everything it makes is in one folder, nothing of the machine's own is touched.
#
#   tools/one_node_slurm.sh start FOLDER    # prints the line that makes sbatch and squeue talk to it
#   tools/one_node_slurm.sh stop FOLDER
#
# For the superuser, with Debian's packages slurm-wlm and munge. Exits with 3 and one sentence where this cannot work.
set -euo pipefail
action=${1:?start or stop} folder=$(realpath -m "${2:?a folder}")

cannot() { echo "No SLURM here: $1" >&2; exit 3; }

if [ "$action" = stop ]; then
  for daemon in slurmd slurmctld munged; do
    if [ -s "$folder/$daemon.pid" ]; then kill "$(cat "$folder/$daemon.pid")" 2>/dev/null || true; fi
  done
  exit 0
fi

[ "$(id -u)" = 0 ] || cannot "its daemons need the superuser"
PATH=$PATH:/usr/sbin:/sbin
for program in munged slurmctld slurmd sinfo; do
  command -v $program > /dev/null || cannot "$program is not installed (apt-get install slurm-wlm munge)"
done

mkdir -p "$folder"/state "$folder"/spool "$folder"/munge
chmod 755 "$folder" "$folder"/munge
chmod 700 "$folder"/state
# Ports that nobody listens to.
read -r controller node < <(python3 - <<'PY'
import socket
free = [socket.socket() for _ in range(2)]
for one in free:
    one.bind(("127.0.0.1", 0))
print(*(one.getsockname()[1] for one in free))
PY
)
host=$(hostname -s)
memory=$(($(awk '/MemTotal/ {print $2}' /proc/meminfo) / 1024))
# Twice as many processors as there are: the driver of a run and its shares may meet.
cat > "$folder/slurm.conf" <<CONF
ClusterName=one
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$controller
SlurmdPort=$node
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$folder/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=2,batch_sched_delay=0,sched_min_interval=200000
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
JobAcctGatherType=jobacct_gather/none
InactiveLimit=0
KillWait=2
MinJobAge=300
OverTimeLimit=0
ReturnToService=2
SlurmctldPidFile=$folder/slurmctld.pid
SlurmdPidFile=$folder/slurmd.pid
SlurmctldLogFile=$folder/slurmctld.log
SlurmdLogFile=$folder/slurmd.log
StateSaveLocation=$folder/state
SlurmdSpoolDir=$folder/spool
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(($(nproc) * 2)) RealMemory=$memory State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF=$folder/slurm.conf
[ -s "$folder/munge/key" ] || head -c 1024 /dev/urandom > "$folder/munge/key"
chmod 400 "$folder/munge/key"
munged --force --key-file="$folder/munge/key" --socket="$folder/munge/socket" --pid-file="$folder/munged.pid" \
  --log-file="$folder/munge/log" --seed-file="$folder/munge/seed" || cannot "munged did not start"
slurmctld || cannot "slurmctld did not start, see $folder/slurmctld.log"
slurmd || cannot "slurmd did not start, see $folder/slurmd.log"
for _ in $(seq 60); do
  state=$(sinfo --noheader --format=%T 2> /dev/null || true)
  if [ "$state" = idle ]; then
    echo "export SLURM_CONF=$SLURM_CONF"
    exit 0
  fi
  sleep 0.5
done
cannot "the node is $state after half a minute, see $folder/slurmctld.log"
