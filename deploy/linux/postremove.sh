#!/bin/sh
# After the files of a package are gone. dpkg calls it with "remove", "purge" or others, rpm with the number of versions
# that stay. The data of a member, the secret and the user stay: see docs/linux.md for what to delete.
set -e

if [ -d /run/systemd/system ]; then
	systemctl daemon-reload
fi
case $1 in
purge | 0)
	if [ -d /var/lib/snowraft ]; then
		echo "snowraft: kept /var/lib/snowraft, /etc/snowraft and the user snowraft"
	fi
	;;
esac
