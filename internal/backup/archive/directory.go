package archive

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/snowraft/snowraft/internal/backup"
)

// directory is a place in a file system. Only the owner reads what it makes: folders have mode 0700, files 0600.
type directory string

func (d directory) String() string { return string(d) }

func (d directory) path(name Name) string {
	return filepath.Join(string(d), filepath.FromSlash(name.String()))
}

// List implements Place.
func (d directory) List(_ context.Context, cluster string) (all []Entry, err error) {
	folders := []string{cluster}
	if cluster == "" {
		if folders, err = names(string(d)); err != nil {
			return nil, err
		}
	}
	for _, folder := range folders {
		files, err := names(filepath.Join(string(d), folder))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			name, ok := ParseName(folder + "/" + file)
			if !ok {
				continue
			}
			info, err := os.Lstat(d.path(name))
			switch {
			case errors.Is(err, fs.ErrNotExist): // removed meanwhile
			case err != nil:
				return nil, err
			case !info.Mode().IsRegular():
			case len(all) == maxEntries:
				return nil, errTooMany
			default:
				all = append(all, Entry{name, info.Size()})
			}
		}
	}
	return all, nil
}

// names lists the names in a folder; none if it is not a folder or does not exist.
func names(path string) ([]string, error) {
	if info, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) || err == nil && !info.IsDir() {
		return nil, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	list, err := f.Readdirnames(maxEntries + 1)
	if errors.Is(err, io.EOF) {
		err = nil
	}
	if err == nil && len(list) > maxEntries {
		err = errTooMany
	}
	return list, errors.Join(err, f.Close())
}

// Put implements Place.
func (d directory) Put(_ context.Context, name Name, write func(io.Writer) error) error {
	path := d.path(name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	return backup.Create(path, func(f *os.File) error { return write(f) })
}

// Open implements Place.
func (d directory) Open(_ context.Context, name Name) (io.ReadCloser, int64, error) {
	f, err := os.Open(d.path(name))
	if err != nil {
		return nil, 0, err
	}
	info, err := f.Stat()
	if err == nil && !info.Mode().IsRegular() {
		err = backup.ErrForeign
	}
	if err != nil {
		return nil, 0, errors.Join(err, f.Close())
	}
	return f, info.Size(), nil
}

// Remove implements Place.
func (d directory) Remove(_ context.Context, name Name) error {
	if err := os.Remove(d.path(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
