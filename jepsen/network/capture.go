//go:build linux

package network

import (
	"context"
	"encoding/binary"
	"time"

	"golang.org/x/sys/unix"
)

const (
	// mostCaptured bounds what Capture keeps.
	mostCaptured = 500
	// What is before the payload of a UDP datagram in a packet: an IP header without options, and that of UDP.
	ipHead, udpHead = 20, 8
)

// Capture returns datagrams that hosts send each other to a UDP port, as it sees them on the bridge for a while; none
// if the kernel shows none. The harness calls it, on whose side of the network the bridge is.
func Capture(ctx context.Context, port uint16, d time.Duration) [][]byte {
	const protocol = unix.ETH_P_ALL>>8 | unix.ETH_P_ALL<<8&0xff00 // in the order of the network
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
