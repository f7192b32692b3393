package storage

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"time"
)

// Usage is the space that a data directory takes, and the space of its file system.
type Usage struct {
	Files      []File // at most 1000
	Others     int    // number of files that are not Snowraft's or exceed maxFiles
	OtherBytes int64  // size of those files
	FreeBytes  uint64 // free space of the file system
	TotalBytes uint64 // size of the file system
}

// File is a file of a data directory.
type File struct {
	Path     string // relative to the directory
	Bytes    int64
	Modified time.Time // time of the last write
}

// maxFiles bounds the number of files that a Usage lists. Further files count as Others.
const maxFiles = 1000

// ownFiles matches the paths of Snowraft's files in a data directory.
var ownFiles = regexp.MustCompile(`^(lock|member\.json(\.new)?|raft\.db[.\w-]*|snapshots/[\d-]+(\.tmp)?/(state\.bin|meta\.json)|snapshots/permTest|watermark|halt\.json|running|restore\.incomplete)$`)

// UsageOf measures a data directory. It opens no file.
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
	u.FreeBytes, u.TotalBytes, err = space(dir)
	return u, err
}
