package client

import (
	"context"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// GrantState is the knowledge of the cluster about the granting of a number.
type GrantState uint8

const (
	// GrantUnknown is a number of which the cluster does not know whether it was granted: the end of its period is not known, its text
	// does not name the period, or an earlier cluster may have granted it before a restore.
	GrantUnknown GrantState = iota
	// Granted is a number that lies among those that were granted, so it may have been issued.
	Granted
	// NotGranted is a number that was not granted, and so not issued.
	NotGranted
)

// String returns "unknown", "granted" or "not granted".
func (s GrantState) String() string {
	switch s {
	case Granted:
		return "granted"
	case NotGranted:
		return "not granted"
	}
	return "unknown"
}

// Decoded is the content of a text of a sequence.
type Decoded struct {
	Number  int64
	Period  sequence.Period // 0 without a reset, and if the dates in the text do not name a period
	Format  string          // the format that writes the text; empty for decimals of a sequence without a format
	State   GrantState
	Deleted bool // the sequence was deleted
}

// Decode returns the number of a text that the format of the sequence wrote, or an earlier format of it. The sequence may be a
// deleted one. It fails with ErrInvalidArgument if no format of the sequence writes the text; the message says which part is wrong,
// such as the check digit. In a secured cluster, it needs the right seq:decode.
//
// Each code of the right form has a number, also if the number was never issued: check the State.
func (s *Sequence) Decode(ctx context.Context, text string) (Decoded, error) {
	resp, err := s.client.sequences.DecodeText(ctx, &snowraftv1.DecodeTextRequest{Sequence: s.name, Text: text})
	if err != nil {
		return Decoded{}, err
	}
	period, err := sequence.ParsePeriod(resp.GetPeriod())
	if err != nil {
		return Decoded{}, malformed("the period %q", resp.GetPeriod())
	}
	d := Decoded{Number: resp.GetNumber(), Period: period, Format: resp.GetFormat(), Deleted: resp.GetDeleted()}
	switch resp.GetState() {
	case snowraftv1.GrantState_GRANT_STATE_GRANTED:
		d.State = Granted
	case snowraftv1.GrantState_GRANT_STATE_NOT_GRANTED:
		d.State = NotGranted
	}
	return d, nil
}
