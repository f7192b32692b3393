package slots

import (
	"cmp"
	"slices"
	"time"
)

// longestIdle returns the slot whose connection has been idle for longest, among those that fit, if for IdleLimit; nil if there
// is none. Requires p.mu.
func (p *Budget) longestIdle(fits func(*Slot) bool) *Slot {
	if now := time.Now(); now.Sub(p.searched) >= searchInterval {
		p.searched, p.idle = now, nil
		lasts := make(map[*Slot]time.Duration)
		for slot := range p.evictable {
			if slot.idler == nil {
				continue
			}
			if idle := slot.idler.Idle(); idle >= IdleLimit {
				lasts[slot] = idle
				p.idle = append(p.idle, slot)
			}
		}
		slices.SortFunc(p.idle, func(a, b *Slot) int { return cmp.Compare(lasts[b], lasts[a]) })
	}
	for _, slot := range p.idle {
		if slot.owner != nil && fits(slot) && slot.idler.Idle() >= IdleLimit {
			return slot
		}
	}
	return nil
}

// evictable yields all slots that can be evicted. Requires p.mu.
func (p *Budget) evictable(yield func(*Slot) bool) {
	for _, o := range p.owners {
		if o.id == kept {
			continue
		}
		for _, h := range o.hosts {
			for at := h.slots.Front(); at != nil; at = at.Next() {
				if !yield(at.Value.(*Slot)) {
					return
				}
			}
		}
	}
}
