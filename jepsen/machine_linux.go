package main

import (
	"context"
	"errors"
	"strings"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/skew"
)

// checkMachine tries, in the sandbox, all features of the machine that runs need, because a run must not fail after
// minutes at an impossible fault. The error is one line that lists the missing features.
func checkMachine(ctx context.Context) error {
	var missing []string
	for _, err := range []error{disk.Check(ctx), network.Check(ctx), skew.Check()} {
		if err != nil {
			missing = append(missing, err.Error())
		}
	}
	if len(missing) > 0 {
		return errors.New(strings.Join(missing, "; "))
	}
	return nil
}
