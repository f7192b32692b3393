package main

import (
	"bufio"
	"context"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/snowflake"
)

// maxIDsPerCall is the most that a member issues in one call.
const maxIDsPerCall = 1_000_000

func (a *app) idCommand() *cobra.Command {
	var (
		count    uint64 = 1
		layout   string
		encoding snowflake.Encoding
		after    string
	)
	cmd := &cobra.Command{
		Use:   "id",
		Short: "Issue IDs",
		Long: `Asks a member for IDs and prints them, one a line. Large numbers are asked for
in calls of at most 1,000,000, and printed as they come.

IDs of one answer ascend when the member has one lane. With --after, each ID is
greater than the one given, on whichever member: the member waits until it can
issue such IDs, or refuses.`,
		Example: `  snowraft id
  snowraft id -n 1000 --encoding base58
  snowraft id --after 132271570944028672
  snowraft id -n 100000000 --addr 10.0.0.1:7700,10.0.0.2:7700 >ids.txt`,
		Args: arguments(),
	}
	addFlag(cmd, "", "count", "n", uintValue(&count, 1), "how many IDs")
	addLayoutFlag(cmd, &layout)
	addFlag(cmd, "", "encoding", "", encodingValue(&encoding), "how IDs are written: "+either(encodingNames()))
	addFlag(cmd, "", "after", "", textValue(&after, "ID"), "issue only IDs greater than this one, written as --encoding says")
	return a.client(cmd, func(ctx context.Context, r *remote, _ []string) error {
		req := &snowraftv1.GenerateIdsRequest{Layout: layout}
		if after != "" {
			var err error
			if req.After, err = encoding.Decode(after); err != nil {
				return usagef("--after: %s", plain(err))
			}
		}
		w := newIDWriter(r.out, encoding)
		for count > 0 && w.err == nil {
			req.Count = uint32(min(count, maxIDsPerCall))
			resp, err := r.ids().GenerateIds(ctx, req)
			if err != nil {
				return err
			}
			got := w.write(resp.GetRanges())
			if got != uint64(req.GetCount()) {
				return fmt.Errorf("the member answered with %d IDs, expected %d", got, req.GetCount())
			}
			count -= got
		}
		return w.close()
	})
}

// addLayoutFlag adds the flag that names a layout; shells offer the suggestions.
func addLayoutFlag(cmd *cobra.Command, layout *string, suggestions ...string) *pflag.Flag {
	*layout = snowflake.Default().Name()
	v := textValue(layout, "NAME")
	v.among = suggestions
	return addFlag(cmd, "", "layout", "l", v, "the layout of the ID")
}

// idWriter writes IDs as they come, as text or within a JSON document.
type idWriter struct {
	w        *bufio.Writer
	json     bool
	encoding snowflake.Encoding
	buf      []byte
	any      bool
	err      error
}

func newIDWriter(out *printer, encoding snowflake.Encoding) *idWriter {
	return &idWriter{w: bufio.NewWriterSize(out.w, 64<<10), json: out.json, encoding: encoding}
}

// write writes the IDs of ranges, flushes them and returns how many they are.
func (w *idWriter) write(ranges []*snowraftv1.IdRange) (n uint64) {
	for _, r := range ranges {
		id := r.GetFirst()
		for range r.GetCount() {
			w.one(id)
			id += r.GetStep()
		}
		n += uint64(r.GetCount())
	}
	w.flush()
	return n
}

func (w *idWriter) one(id uint64) {
	w.buf = w.buf[:0]
	if w.json {
		if w.any {
			w.buf = append(w.buf, ',')
		} else {
			w.buf = append(w.buf, `{"ids":[`...) // not before the first ID: a failure prints nothing
		}
		w.buf = append(w.encoding.Append(append(w.buf, '"'), id), '"')
	} else {
		w.buf = append(w.encoding.Append(w.buf, id), '\n')
	}
	w.any = true
	_, _ = w.w.Write(w.buf) // bufio remembers the error for flush
}

func (w *idWriter) flush() {
	if err := w.w.Flush(); w.err == nil {
		w.err = err
	}
}

// close ends the document and returns what went wrong when writing.
func (w *idWriter) close() error {
	if w.json {
		_, _ = io.WriteString(w.w, "]}\n")
	}
	w.flush()
	return w.err
}
