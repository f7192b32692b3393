//go:build linux

package workload

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/snowraft/snowraft/jepsen/lab"
)

func TestInsistWithoutMemberReportsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	w := &World{Lab: &lab.Lab{}}
	err := w.insist(ctx, func(context.Context, *lab.Member) error { return nil })
	if !errors.Is(err, context.Canceled) || strings.Contains(err.Error(), "%!") {
		t.Errorf("insist() = %v, want Canceled without a formatting error", err)
	}
}
