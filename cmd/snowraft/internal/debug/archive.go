package debug

import (
	"archive/tar"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"sync"
	"time"
)

// root is the directory that an archive unpacks to.
const root = "snowraft-debug/"

// archive is a tar.gz file that is being written. Its methods may be called from any goroutine.
type archive struct {
	at time.Time

	mu  sync.Mutex
	gz  *gzip.Writer
	tar *tar.Writer
}

func newArchive(w io.Writer, at time.Time) *archive {
	gz := gzip.NewWriter(w)
	return &archive{at: at, gz: gz, tar: tar.NewWriter(gz)}
}

// add adds a file. Its path is relative to root.
func (a *archive) add(path string, content []byte) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	err := a.tar.WriteHeader(&tar.Header{Name: root + path, Mode: 0o600, Size: int64(len(content)), ModTime: a.at, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = a.tar.Write(content)
	return err
}

// addJSON adds a document as a JSON file. Its path is relative to root.
func (a *archive) addJSON(path string, doc any) error {
	raw, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		return err
	}
	return a.add(path, append(raw, '\n'))
}

func (a *archive) close() error { return errors.Join(a.tar.Close(), a.gz.Close()) }
