package places

import (
	"container/list"
	"net/netip"
)

// silence holds the places of connections that have not spoken, by origin. A connection of the origin with the most places is
// evicted first, so that a host that opens many connections evicts its own.
type silence struct {
	of   map[netip.Prefix]*crowd
	size []*list.List // lists of *crowd by the number of its places; the last list is not empty
}

// crowd holds the silent places of one origin.
type crowd struct {
	places list.List // elements: *Place, oldest first
	at     *list.Element
}

func (s *silence) add(place *Place) {
	c := s.of[place.origin]
	if c == nil {
		c = new(crowd)
		s.of[place.origin] = c
	}
	s.resize(c, func() { place.enter(&c.places) })
}

// remove removes a place. Requires that s holds the place.
func (s *silence) remove(place *Place) {
	c := s.of[place.origin]
	s.resize(c, place.leave)
	if c.places.Len() == 0 {
		delete(s.of, place.origin)
	}
}

// resize calls change, which changes the number of places of a crowd, and updates s.size.
func (s *silence) resize(c *crowd, change func()) {
	if c.at != nil {
		s.size[c.places.Len()].Remove(c.at)
	}
	change()
	n := c.places.Len()
	for len(s.size) <= n {
		s.size = append(s.size, list.New())
	}
	if n > 0 {
		c.at = s.size[n].PushBack(c)
	}
	for len(s.size) > 0 && s.size[len(s.size)-1].Len() == 0 {
		s.size = s.size[:len(s.size)-1]
	}
}

// first returns the place to evict for a connection from an origin; nil if there is none. It is the oldest place of the origin
// with the most places. If from has as many, or is crowded, which means that it may have no more, it is the oldest place of from.
func (s *silence) first(from netip.Prefix, crowded bool) *Place {
	c, most := s.of[from], len(s.size)-1
	if !crowded && most > 0 && (c == nil || c.places.Len() < most) {
		c = s.size[most].Front().Value.(*crowd)
	}
	if c == nil {
		return nil
	}
	return c.places.Front().Value.(*Place)
}
