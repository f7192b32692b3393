package server

import (
	"context"
	"io"

	"github.com/snowraft/snowraft/server/web"
)

// counted is a backend that tells of each refusal. HTTP's short paths answer in the forms of other
// servers, which have no place for a reason.
type counted struct {
	web.Backend
	refused func(error)
}

var _ web.Backend = counted{}

// Next implements web.Backend, as all of these.
func (c counted) Next(ctx context.Context, sequence string, count uint64) (first, increment int64, err error) {
	first, increment, err = c.Backend.Next(ctx, sequence, count)
	c.count(err)
	return first, increment, err
}

// AppendNext appends numbers as text.
func (c counted) AppendNext(ctx context.Context, dst []byte, w io.Writer, sequence string, count uint64) ([]byte, error) {
	dst, err := c.Backend.AppendNext(ctx, dst, w, sequence, count)
	c.count(err)
	return dst, err
}

// AppendIDs appends IDs as text.
func (c counted) AppendIDs(ctx context.Context, dst []byte, w io.Writer, layout string, count uint32) ([]byte, error) {
	dst, err := c.Backend.AppendIDs(ctx, dst, w, layout, count)
	c.count(err)
	return dst, err
}

func (c counted) count(err error) {
	if err != nil {
		c.refused(err)
	}
}
