package main

import (
	"context"
	"errors"
	"strings"

	"github.com/snowraft/snowraft/jepsen/disk"
	"github.com/snowraft/snowraft/jepsen/network"
	"github.com/snowraft/snowraft/jepsen/skew"
)

// checkMachine tries, in the sandbox, all that runs need of the machine, so that none fails after
// minutes at a fault that can't be made. The error is one line that says what is missing.
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
