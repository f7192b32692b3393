#!/bin/sh
# Before the files of a package go. dpkg calls it with "remove" or "upgrade", rpm with the number of versions that stay.
set -e

case $1 in
remove | 0)
	if command -v systemctl >/dev/null; then
		systemctl --no-reload disable snowraft.service snowraft-gateway.service
		if [ -d /run/systemd/system ]; then
			systemctl stop snowraft.service snowraft-gateway.service
		fi
	fi
	;;
esac
