package wire

import (
	"fmt"
	"time"

	"github.com/snowraft/snowraft/allocator"
	"github.com/snowraft/snowraft/internal/limits"
	"github.com/snowraft/snowraft/internal/member"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// NumbersRequest is a request for numbers of one period.
func NumbersRequest(sequence string, count uint64, r member.PeriodRequest) *snowraftv1.NextNumbersRequest {
	return &snowraftv1.NextNumbersRequest{
		Sequence: sequence, Count: uint32(count), RequestId: r.RequestID, Period: r.Period, From: r.From, //nolint:gosec // at most limits.Count
	}
}

// Numbers reads another member's answer to a request for count numbers. Another number of numbers is an error, as are a
// period, a format, a start of years or a time zone that this program does not know.
func Numbers(m *snowraftv1.NextNumbersResponse, count uint64) (member.Numbering, error) {
	if uint64(m.GetCount()) != count {
		return member.Numbering{}, fmt.Errorf("the member answered with %d numbers instead of %d", m.GetCount(), count)
	}
	period, err := sequence.ParsePeriod(m.GetPeriod())
	if err != nil {
		return member.Numbering{}, err
	}
	n := member.Numbering{Numbers: allocator.Numbers{
		First: m.GetFirst(), Count: uint64(m.GetCount()), Increment: m.GetIncrement(), Period: int32(period),
	}, Strict: m.GetMode() == snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT}
	if m.GetFormat() == "" {
		return n, nil
	}
	location, err := sequence.LoadLocation(m.GetTimeZone())
	if err != nil {
		return n, err
	}
	n.At = time.UnixMilli(m.GetIssuedAtMs()).In(location)
	starts, err := sequence.ParseYearStart(m.GetYearStarts())
	if err != nil {
		return n, err
	}
	n.Format, err = sequence.Calendar{YearStarts: starts}.ParseFormat(m.GetFormat())
	if err != nil || !n.Format.NeedsKey() {
		return n, err
	}
	if n.Texts = m.GetTexts(); uint64(len(n.Texts)) != count {
		return member.Numbering{}, fmt.Errorf("the member answered with %d codes instead of %d", len(n.Texts), count)
	}
	return n, nil
}

// NumbersResponse returns numbers as a message. texts adds the formatted texts of at most limits.Formatted numbers; a member
// that forwards a request formats the numbers itself. Codes are always added, because only members have their key.
func NumbersResponse(name string, n member.Numbering, texts bool) *snowraftv1.NextNumbersResponse {
	m := &snowraftv1.NextNumbersResponse{
		Sequence: name, First: n.First, Count: uint32(n.Count), Increment: n.Increment, //nolint:gosec // at most limits.Count
		Period: n.Day(),
	}
	if m.Mode = snowraftv1.SequenceMode_SEQUENCE_MODE_RELAXED; n.Strict {
		m.Mode = snowraftv1.SequenceMode_SEQUENCE_MODE_STRICT
	}
	if n.Format == nil {
		return m
	}
	m.Format, m.YearStarts = n.Format.String(), n.Format.YearStarts().String()
	m.TimeZone, m.IssuedAtMs = n.At.Location().String(), n.At.UnixMilli()
	if _, coded := n.Format.Code(); !coded && (!texts || n.Count > limits.Formatted) {
		return m
	}
	var text []byte
	m.Texts = make([]string, n.Count)
	for i := range m.Texts {
		text = n.Append(text[:0], uint64(i))
		m.Texts[i] = string(text)
	}
	return m
}

// LastResponse returns the last number as a message; a message without a number if ok is false.
func LastResponse(last int64, ok bool) *snowraftv1.GetLastResponse {
	if !ok {
		return &snowraftv1.GetLastResponse{}
	}
	return &snowraftv1.GetLastResponse{Last: &last}
}
