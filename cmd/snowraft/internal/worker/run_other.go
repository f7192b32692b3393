//go:build !linux

package worker

import (
	"context"
	"errors"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
)

var errLinux = errors.New("worker run needs Linux, whose kernel ends all descendants of a command with it")

func run(context.Context, *cli.App, *cli.Remote, settings, []string) error { return errLinux }

func claim(context.Context, *cli.App, string, places, []string) error { return errLinux }

func guard([]string) error { return errLinux }
