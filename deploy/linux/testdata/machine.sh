#!/bin/sh
# Boots systemd as process 1 of a machine in namespaces: a copy-on-write copy of this one, with a loopback network. What
# happens there does not reach this machine. The caller makes the namespaces of mounts, processes, IPC, host name and
# network, and kills process 1 at the end.
#
# usage: machine.sh boot DIR PACKAGES   DIR: an empty directory; PACKAGES: a directory that is /packages in the machine
#        machine.sh end DIR             removes the cgroups of a machine that was killed
set -eu
dir=$2
id=$(printf %s "$dir" | md5sum | cut -c1-32)

# cgroup mounts the hierarchy of cgroups at $dir/cgroup, and names the machine's cgroup.
cgroup() {
	mkdir -p "$dir/cgroup"
	mount -t cgroup2 cgroup "$dir/cgroup"
	cgroup=$dir/cgroup/snowraft-$id
}

mount --make-rprivate /
case $1 in
end)
	cgroup
	if [ -d "$cgroup" ]; then
		find "$cgroup" -depth -type d -exec rmdir {} +
	fi
	;;
boot)
	cgroup
	mkdir -p "$cgroup"
	echo 0 >"$cgroup/cgroup.procs"
	umount "$dir/cgroup"
	exec unshare --cgroup "$0" inside "$dir" "$3"
	;;
inside)
	mount -t tmpfs machine "$dir"
	mkdir "$dir/upper" "$dir/work" "$dir/root"
	mount -t overlay machine -o "lowerdir=/,upperdir=$dir/upper,workdir=$dir/work" "$dir/root"
	cd "$dir/root"
	mkdir packages
	mount --bind "$3" packages
	mount -t proc proc proc
	mount --bind proc/sys proc/sys
	mount -o remount,bind,ro proc/sys # it is that of the kernel
	mount -t sysfs -o ro sysfs sys
	mount -t cgroup2 cgroup sys/fs/cgroup
	mount -t tmpfs devices dev
	for device in null zero full random urandom tty; do
		touch "dev/$device"
		mount --bind "/dev/$device" "dev/$device"
	done
	ln -s /proc/self/fd dev/fd
	ln -s pts/ptmx dev/ptmx
	mkdir dev/shm dev/pts
	mount -t tmpfs shm dev/shm
	mount -t tmpfs run run
	mount -t tmpfs tmp tmp
	ip link set lo up
	: >etc/fstab
	# Nothing of this machine's own services, and no clock, terminal or log but the machine's.
	rm -rf etc/systemd/system/*.wants var/log/journal
	echo machine >etc/hostname
	echo "$id" >etc/machine-id
	pivot_root . .
	umount -l .
	mount --make-rshared / # credentials reach services that way
	cd /
	exec env -i container=snowraft PATH=/usr/sbin:/usr/bin:/sbin:/bin \
		/lib/systemd/systemd --system --unit=multi-user.target --show-status=0 --log-target=journal
	;;
esac
