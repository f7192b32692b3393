package cli

import (
	"cmp"
	"os"
)

// NewFile is a file of mode 0600 that gets its name only when its whole content is on disk, also if the process is killed. It never
// replaces a file.
type NewFile struct{ temporary *os.File }

// CreateNewFile creates a file in a directory under a temporary name that begins with prefix.
func CreateNewFile(dir, prefix string) (NewFile, error) {
	f, err := os.CreateTemp(dir, prefix)
	return NewFile{f}, err
}

// Keep writes the content and gives the file its name, in the same directory. The error is an [io/fs.ErrExist] if a file has the name.
func (f NewFile) Keep(path, content string) error {
	_, err := f.temporary.WriteString(content)
	if err = cmp.Or(err, f.temporary.Sync(), f.temporary.Close()); err != nil {
		return err
	}
	return os.Link(f.temporary.Name(), path)
}

// Discard removes the temporary name, and so the file, unless it was kept.
func (f NewFile) Discard() {
	_ = f.temporary.Close() // may be closed already
	_ = os.Remove(f.temporary.Name())
}
