#!/bin/sh
# After the files of a package are there. dpkg calls it with "configure" and the version that it replaces, rpm with the
# number of versions that are installed then.
set -e

if command -v systemd-sysusers >/dev/null; then
	systemd-sysusers snowraft.conf
elif ! getent passwd snowraft >/dev/null; then
	useradd --system --user-group --home-dir /var/lib/snowraft --no-create-home --shell /usr/sbin/nologin snowraft
fi

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
	# A member that runs keeps the old program until it is restarted. The members of a cluster restart one by one, so the
	# operator does that.
	for unit in snowraft snowraft-gateway; do
		if systemctl --quiet is-active "$unit"; then
			echo "snowraft: $unit still runs the old program; restart it with: systemctl restart $unit"
		fi
	done
fi
if [ ! -e /etc/snowraft/cluster.secret ] && { [ "$1" = 1 ] || [ "$1$2" = configure ]; }; then
	echo "snowraft: nothing was started; set up a member as in https://github.com/snowraft/snowraft/blob/main/docs/linux.md"
fi
