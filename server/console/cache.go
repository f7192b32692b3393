package console

import (
	"bytes"
	"sync"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// maxCached is the most views of pages that are cached. A viewer chooses the query, so the number of views is unbounded.
const maxCached = 16

// cache keeps the elements that an overview was rendered to, for all viewers that see the same.
type cache struct {
	mu  sync.Mutex
	all map[viewKey]*cached
}

// viewKey is a page as several viewers with the same rights see it.
type viewKey struct {
	page, query string
	principal   *trust.Principal
}

type cached struct {
	of    *snowraftv1.Overview // equal pointers are the same overview
	texts map[string][]byte    // by element
}

// get returns an element, which render writes unless it was written for the same overview. The result is not changed.
func (c *cache) get(key viewKey, of *snowraftv1.Overview, id string, render func(*bytes.Buffer) error) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	have := c.all[key]
	if have == nil || have.of != of {
		if c.all == nil || len(c.all) >= maxCached {
			c.all = make(map[viewKey]*cached)
		}
		have = &cached{of: of, texts: make(map[string][]byte)}
		c.all[key] = have
	}
	if text, ok := have.texts[id]; ok {
		return text, nil
	}
	var text bytes.Buffer
	if err := render(&text); err != nil {
		return nil, err
	}
	have.texts[id] = text.Bytes()
	return text.Bytes(), nil
}
