package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"golang.org/x/sys/unix"
)

// Usage is the space that a data directory takes, and that its file system has.
type Usage struct {
	Files      []File
	Others     int   // files that are not Snowraft's
	OtherBytes int64 // their size
	FreeBytes  uint64
	TotalBytes uint64
}

// File is a file of a data directory.
type File struct {
	Path     string // within the directory
	Bytes    int64
	Modified time.Time
}

// maxFiles bounds the files that a Usage lists. The others count as Others.
const maxFiles = 1000

// ownFiles are the paths of Snowraft's files in a data directory.
var ownFiles = regexp.MustCompile(`^(lock|member\.json(\.new)?|raft\.db[.\w-]*|snapshots/[\d-]+(\.tmp)?/(state\.bin|meta\.json)|snapshots/permTest)$`)

// UsageOf looks at a data directory. It opens no file.
func UsageOf(dir string) (u Usage, err error) {
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if os.IsNotExist(err) && path != dir {
				return nil // a snapshot that was replaced meanwhile
			}
			return err
		}
		if d.IsDir() {
			return nil
		}
		info, err := d.Info()
		if os.IsNotExist(err) {
			return nil
		}
		if err != nil {
			return err
		}
		name, err := filepath.Rel(dir, path)
		if err != nil {
			return err
		}
		if !ownFiles.MatchString(filepath.ToSlash(name)) || len(u.Files) == maxFiles {
			u.Others++
			u.OtherBytes += info.Size()
			return nil
		}
		u.Files = append(u.Files, File{Path: filepath.ToSlash(name), Bytes: info.Size(), Modified: info.ModTime().UTC()})
		return nil
	})
	if err != nil {
		return u, err
	}
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return u, &fs.PathError{Op: "statfs", Path: dir, Err: err}
	}
	block := uint64(stat.Bsize) //nolint:gosec // positive; its type differs between systems
	u.FreeBytes, u.TotalBytes = stat.Bavail*block, stat.Blocks*block
	return u, nil
}
