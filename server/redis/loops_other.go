//go:build !linux

package redis

import "net"

// place is empty where each connection has its own goroutine.
type place struct{}

type loops struct{}

func (*loops) start(*Server, net.Listener) {}

func (*loops) adopt(*conn) bool { return false }
func (*loops) endReading()      {}
func (*loops) stop()            {}
