# Sourced. cover DIRECTORY KEEP...: puts an empty writable directory over DIRECTORY in which what is to be kept of it is still there.
cover() {
  over=$1
  shift
  mount -n -t tmpfs -o mode=755 tmpfs /mnt
  for keep in "$@"; do
    case $keep in
      "$over"/*)
        mkdir -p "/mnt${keep#"$over"}"
        mount -n --rbind "$keep" "/mnt${keep#"$over"}"
        ;;
    esac
  done
  mount -n --move /mnt "$over"
}

# The directories that programs of a node write to, each node its own.
cover_all() {
  for directory in /run /tmp /var /etc/frr /etc/openvswitch; do
    [ ! -d "$directory" ] || cover "$directory" "$@"
  done
  chmod 1777 /tmp
  mkdir -p /var/lib /var/log /var/tmp /run/netns
  ln -s /run /var/run
  if id frr >/dev/null 2>&1; then
    mkdir -p /run/frr /var/log/frr /var/lib/frr
    chown frr:frr /run/frr /var/log/frr /var/lib/frr /etc/frr
  fi
}
