package backup

import (
	"context"
	"errors"
	"os"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/internal/backup"
	"github.com/snowraft/snowraft/internal/backup/archive"
)

// Sources is the argument of commands that read backups.
const Sources = "FILE|DIR|URL"

// Open opens the backup that an argument names: a file, the data directory of a stopped member, or the latest backup at a place of
// scheduled backups, which is a directory or a URL. It returns the text that names the backup.
func Open(ctx context.Context, a *cli.App, text string) (*backup.Backup, string, error) {
	if info, err := os.Stat(text); !archive.IsURL(text) && (err != nil || !info.IsDir()) {
		b, err := backup.Open(text)
		return b, text, cli.Unreadable(Sources, err)
	}
	p, name, err := archive.Find(ctx, text)
	if errors.Is(err, archive.ErrNone) && !archive.IsURL(text) {
		b, err := backup.OpenDirectory(text, a.Now().UnixMilli())
		return b, text, cli.Unreadable(Sources, err)
	}
	if err != nil {
		return nil, "", unusable(err)
	}
	b, err := archive.Read(ctx, p, name)
	return b, p.String() + "/" + name.String(), unusable(err)
}

// unusable returns a usage error for a text that names no place, and err otherwise.
func unusable(err error) error {
	if errors.Is(err, archive.ErrPlace) {
		return cli.Usagef("%s: %v", Sources, err)
	}
	return cli.Unreadable(Sources, err)
}
