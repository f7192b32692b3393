package backups

import (
	"context"
	"io"

	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// write puts a backup at a place and returns its size. It fails soon after ctx is canceled.
func write(ctx context.Context, p archive.Place, name archive.Name, header *commandv1.BackupHeader, state io.WriterTo) (int64, error) {
	var size counter
	err := p.Put(ctx, name, func(w io.Writer) error {
		size = counter{ctx: ctx, to: w}
		return backup.Write(&size, header, state)
	})
	return size.bytes, err
}

// counter counts the bytes that pass to a writer, until ctx is canceled.
type counter struct {
	ctx   context.Context
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}
