package client

import (
	"context"
	"errors"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/snowraft/snowraft/internal/rpc"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// decoder is a member that decodes the texts of vouchers.
type decoder struct {
	snowraftv1.SequenceServiceClient
	answers map[string]*snowraftv1.DecodeTextResponse
}

func (d decoder) DecodeText(_ context.Context, req *snowraftv1.DecodeTextRequest, _ ...grpc.CallOption) (*snowraftv1.DecodeTextResponse, error) {
	if answer, ok := d.answers[req.GetText()]; ok && req.GetSequence() == "vouchers" {
		return answer, nil
	}
	return nil, newError(&rpc.Error{Code: codes.InvalidArgument, Reason: rpc.InvalidArgument}, "")
}

func TestDecode(t *testing.T) {
	t.Parallel()
	c, err := New([]string{"127.0.0.1:1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	c.sequences = decoder{answers: map[string]*snowraftv1.DecodeTextResponse{
		"V-1":      {Number: 17, Format: "V-{seq}", State: snowraftv1.GrantState_GRANT_STATE_GRANTED},
		"2026-V-2": {Number: 18, Period: "2026-01-01", State: snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED, Deleted: true},
		"V-3":      {Number: -1, State: snowraftv1.GrantState_GRANT_STATE_UNKNOWN},
		"V-4":      {Period: "2026"},
	}}
	s := c.Sequence("vouchers")
	for text, want := range map[string]Decoded{
		"V-1":      {Number: 17, Format: "V-{seq}", State: Granted},
		"2026-V-2": {Number: 18, Period: 20260101, State: NotGranted, Deleted: true},
		"V-3":      {Number: -1},
	} {
		if got, err := s.Decode(t.Context(), text); err != nil || got != want {
			t.Errorf("Decode(%q) = %+v, %v, want %+v", text, got, err, want)
		}
	}
	if got, err := s.Decode(t.Context(), "V-4"); err == nil {
		t.Errorf("a malformed period: %+v", got)
	}
	if _, err := s.Decode(t.Context(), "W-1"); !errors.Is(err, ErrInvalidArgument) {
		t.Errorf("another text: %v", err)
	}
	for state, want := range map[GrantState]string{GrantUnknown: "unknown", Granted: "granted", NotGranted: "not granted"} {
		if state.String() != want {
			t.Errorf("%d is %q, want %q", state, state, want)
		}
	}
}
