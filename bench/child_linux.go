package main

import "syscall"

// withParent has a process end with this one, however that ends.
func withParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
