package seq

import (
	"fmt"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/sequence"
)

// writeNumbers writes the numbers of one answer. It fails when the answer cannot be understood.
func writeNumbers(w *cli.ListWriter, resp *snowraftv1.NextResponse) error {
	text, err := texts(resp)
	if err != nil {
		return err
	}
	var buf []byte
	number := resp.GetFirst()
	for i := range int(resp.GetCount()) {
		buf = text(buf[:0], i, number)
		w.Add(buf)
		number += resp.GetIncrement() // after the last number this may wrap: it is not used then
	}
	return w.Flush()
}

// texts returns what appends the i-th number of an answer as it is written. Members
// write up to 1,000 numbers in an answer themselves.
func texts(resp *snowraftv1.NextResponse) (func(dst []byte, i int, number int64) []byte, error) {
	if resp.GetFormat() == "" {
		return func(dst []byte, _ int, number int64) []byte { return strconv.AppendInt(dst, number, 10) }, nil
	}
	if len(resp.GetTexts()) == int(resp.GetCount()) {
		return func(dst []byte, i int, _ int64) []byte { return append(dst, resp.GetTexts()[i]...) }, nil
	}
	format, err := sequence.ParseFormat(resp.GetFormat())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write, expected one as new as the members: %w", err)
	}
	zone, err := sequence.LoadLocation(resp.GetTimeZone())
	if err != nil {
		return nil, fmt.Errorf("numbers were given out that this program can't write: %w", err)
	}
	at := time.UnixMilli(resp.GetTimeMs()).In(zone)
	return func(dst []byte, _ int, number int64) []byte { return format.Append(dst, number, at) }, nil
}
