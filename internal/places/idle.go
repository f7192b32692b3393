package places

import (
	"cmp"
	"slices"
	"time"
)

// longestIdle returns the place whose connection has been idle for longest, among those that fit, if for IdleLimit; nil if there
// is none. Requires p.mu.
func (p *Places) longestIdle(fits func(*Place) bool) *Place {
	if now := time.Now(); now.Sub(p.searched) >= searchInterval {
		p.searched, p.idle = now, nil
		lasts := make(map[*Place]time.Duration)
		for place := range p.evictable {
			if place.idler == nil {
				continue
			}
			if idle := place.idler.Idle(); idle >= IdleLimit {
				lasts[place] = idle
				p.idle = append(p.idle, place)
			}
		}
		slices.SortFunc(p.idle, func(a, b *Place) int { return cmp.Compare(lasts[b], lasts[a]) })
	}
	for _, place := range p.idle {
		if place.owner != nil && fits(place) && place.idler.Idle() >= IdleLimit {
			return place
		}
	}
	return nil
}

// evictable yields all places that can be evicted. Requires p.mu.
func (p *Places) evictable(yield func(*Place) bool) {
	for _, o := range p.owners {
		if o.id == kept {
			continue
		}
		for _, h := range o.hosts {
			for at := h.places.Front(); at != nil; at = at.Next() {
				if !yield(at.Value.(*Place)) {
					return
				}
			}
		}
	}
}
