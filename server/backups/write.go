package backups

import (
	"context"
	"io"

	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// write puts a backup at a place and returns its size.
func write(ctx context.Context, p archive.Place, name archive.Name, header *commandv1.BackupHeader, state io.WriterTo) (int64, error) {
	var size counter
	err := p.Put(ctx, name, func(w io.Writer) error {
		size = counter{to: w}
		return backup.Write(&size, header, state)
	})
	return size.bytes, err
}

// counter counts the bytes that pass to a writer.
type counter struct {
	to    io.Writer
	bytes int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.to.Write(p)
	c.bytes += int64(n)
	return n, err
}
