package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli/clitest"
	"github.com/snowraft/snowraft/internal/apijson"
	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Refusals of some sequences are listed, and make the exit code 1. JSON has all outcomes.
func TestTemplateApplyRefusals(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	for line, want := range map[string]string{
		"": `NAME           FIELDS  REFUSED       ERROR
invoices/best  format  WOULD_REPEAT  the formats can write two numbers alike

changed: 1, refused: 1, unchanged: 1
`,
		" --dry-run": `NAME           FIELDS       REFUSED       ERROR
invoices/acme  max, format  -             -
invoices/best  format       WOULD_REPEAT  the formats can write two numbers alike

would change: 1, refused: 1, unchanged: 1
`,
	} {
		got, stderr, code := command(t, strings.Fields("template apply invoices/* --addr "+f.Address+line)...)
		if got != want || stderr != "" || code != cli.ExitFailed {
			t.Errorf("template apply%s: exit code %d, prints\n%s%s\nwant\n%s", line, code, got, stderr, want)
		}
	}
	got, _, code := command(t, strings.Fields("template apply invoices/* -o json --addr "+f.Address)...)
	var all snowraftv1.ApplyTemplateResponse
	if err := apijson.Unmarshal([]byte(got), &all); err != nil || len(all.GetSequences()) != 2 || all.GetUnchanged() != 1 || all.GetGeneration() != 12 || code != cli.ExitFailed {
		t.Errorf("exit code %d, %s%v", code, got, err)
	}
}

// An application that takes long shows how far it is. If it fails, it says what was done before.
func TestTemplateApplyProgress(t *testing.T) {
	t.Parallel()
	f := clitest.NewAPI(t)
	calls := 0
	f.Before(func(context.Context) error {
		if calls++; calls == 4 { // the total, and two pages before
			return &rpc.Error{Code: codes.Aborted, Reason: rpc.GenerationMismatch, Message: "the template was changed"}
		}
		return nil
	})
	a := newTestApp()
	a.Now = func() time.Time { return time.Unix(int64(calls)*3, 0) }
	code := run(t.Context(), a.Host, strings.Fields("template apply invoices/* --addr "+f.Address))
	const want = `snowraft: checked 1 of 3 sequences
snowraft: checked 2 of 3 sequences
snowraft: the template was changed [GENERATION_MISMATCH]; changed: 1, refused: 1, unchanged: 0; run the command again for the rest
`
	if got := a.Err.String(); code != cli.ExitFailed || got != want || a.Out.String() != "" {
		t.Errorf("exit code %d, prints\n%s%s\nwant\n%s", code, a.Out.String(), got, want)
	}
}
