//go:build (process || browser || prometheus || redisclients || examples) && !linux

package processtest

import "syscall"

func attributes() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }

func spawn(start func() error) error { return start() }
