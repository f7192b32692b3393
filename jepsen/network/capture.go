//go:build linux

package network

import (
	"context"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostCaptured is the greatest number of datagrams that Capture keeps.
	mostCaptured = 500
	// ipHead and udpHead are the sizes in bytes of an IPv4 header without options and of a UDP header.
	ipHead, udpHead = 20, 8
)

// Capture returns the payloads of datagrams to a UDP port that pass the bridge within d. It returns none if the kernel
// does not permit capturing. The caller must be in the harness's network namespace, which has the bridge.
func Capture(ctx context.Context, port uint16, d time.Duration) [][]byte {
	const protocol = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00 // network byte order
	fd, err := unix.Socket(unix.AF_PACKET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, protocol)
	if err != nil {
		return nil
	}
	defer unix.Close(fd) //nolint:errcheck // read only
	wait := unix.NsecToTimeval(int64(100 * time.Millisecond))
	if err := unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_RCVTIMEO, &wait); err != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	var captured [][]byte
	packet := make([]byte, 2048)
	for ctx.Err() == nil && len(captured) < mostCaptured {
		n, _, err := unix.Recvfrom(fd, packet, 0)
		if err != nil || n < ipHead+udpHead || packet[0] != 0x45 || packet[9] != unix.IPPROTO_UDP ||
			binary.BigEndian.Uint16(packet[ipHead+2:]) != port {
			continue
		}
		captured = append(captured, append([]byte(nil), packet[ipHead+udpHead:n]...))
	}
	return captured
}
