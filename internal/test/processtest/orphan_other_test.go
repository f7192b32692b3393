//go:build (process || browser || prometheus || redisclients || examples || databases || foreign) && !linux

package processtest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(start func() error) error { return start() }
