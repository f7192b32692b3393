package console

import (
	"bytes"
	"sync"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/trust"
)

// maxCached is the largest number of cached views of pages. The number of views is unbounded, because viewers choose the
// query.
const maxCached = 16

// cache keeps the elements rendered from an overview, for all viewers with the same view.
type cache struct {
	mu  sync.Mutex
	all map[viewKey]*cached
}

// viewKey identifies a page as viewers with the same rights see it.
type viewKey struct {
	page, query string
	principal   *trust.Principal
}

type cached struct {
	of    *snowraftv1.Overview // equal pointers are the same overview
	texts map[string][]byte    // keyed by element ID
}

// get returns an element. It calls render only if the element has not been rendered from the same overview. The caller must
// not change the result.
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
