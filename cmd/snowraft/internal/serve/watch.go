package serve

import (
	"context"
	"fmt"
	"os"
	"sync"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/trust"
)

// watch reloads the changed files of a guard every two seconds and at SIGHUP, until ctx ends.
func (h *Host) watch(ctx context.Context, c *config) {
	log := c.Logger
	if c.Keys != nil {
		log.Info("member secured", "secrets", c.Keys.Fingerprints(), "client_tls", c.ClientTLS)
		if trust.ReadableByOthers(c.secretFile) {
			log.Warn("secret file readable by other users of this host; set its mode to 600", "file", c.secretFile)
		}
		h.follow(ctx, c.Keys, func(err error) {
			if err != nil {
				log.Error("secret file not reloaded; keeping the present secrets", "error", err)
				return
			}
			log.Info("secret file reloaded", "secrets", c.Keys.Fingerprints())
		})
	}
	if own := c.OwnCertificate; own != nil {
		e := expiry{own, h.Now, log}
		e.loaded()
		go e.watch(ctx)
		h.follow(ctx, own, func(err error) {
			if err != nil {
				log.Error("custom certificate not reloaded; keeping the present one", "error", err)
				return
			}
			e.loaded()
		})
	}
	if c.audit != nil {
		h.follow(ctx, c.audit, func(err error) {
			if err != nil {
				log.Error("audit log not reopened; keeping the open file", "error", err)
			}
		})
	}
}

func (h *Host) follow(ctx context.Context, r trust.Reloader, report func(error)) {
	now, stop := h.Hangups()
	go func() {
		defer stop()
		trust.Watch(ctx, r, trust.WatchInterval, now, report)
	}()
}

// auditFile is the file of an audit log. After a log rotation has moved the file, Reload opens a new file.
type auditFile struct {
	path string
	mu   sync.Mutex
	file *os.File
}

func newAuditFile(path string) (*auditFile, error) {
	a := &auditFile{path: path}
	if _, err := a.Reload(); err != nil {
		return nil, cli.Usagef("--%s %q: %v; choose a file in a directory that is writable", auditFlag, path, cli.Innermost(err))
	}
	return a, nil
}

// Write implements io.Writer.
func (a *auditFile) Write(line []byte) (int, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.file.Write(line)
}

// Reload opens the file at the path unless that file is open already. It reports whether it opened a file.
func (a *auditFile) Reload() (changed bool, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.file != nil {
		open, err := a.file.Stat()
		if err != nil {
			return false, fmt.Errorf("audit log: %w", err)
		}
		if there, err := os.Stat(a.path); err == nil && os.SameFile(open, there) {
			return false, nil
		}
	}
	file, err := os.OpenFile(a.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return false, err
	}
	if a.file != nil {
		err = a.file.Close()
	}
	a.file = file
	return true, err
}
