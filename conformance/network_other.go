//go:build !linux

package main

import (
	"context"
	"errors"
)

var errPlatform = errors.New("hosts with networks of their own need Linux")

// hosts is not supported on this platform.
type hosts struct{}

func sandboxed() bool { return false }

func exitCode(code int) int { return code }

func inSandbox() (int, error) { return 0, errPlatform }

func newHosts(context.Context) (*hosts, error) { return nil, errPlatform }

func (h *hosts) add(context.Context, string) (host, error) { return host{}, errPlatform }

func (h *hosts) cut(context.Context, string, []string, bool) (func(context.Context) error, error) {
	return nil, errPlatform
}
