package main

import "syscall"

// withParent returns attributes with which the kernel kills the child when this process exits for any reason.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
