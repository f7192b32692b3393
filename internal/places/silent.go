package places

import (
	"container/list"
	"net/netip"
)

// silence has the places of connections that have not spoken, by their origins. The origin that has the most makes way, so that a
// host that opens any number of connections ends its own.
type silence struct {
	of   map[netip.Prefix]*crowd
	size []*list.List // of *crowd, by the number of its places; the last one is not empty
}

// crowd is the silent places of one origin.
type crowd struct {
	places list.List // of *Place, the oldest first
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

// remove requires that the place is here.
func (s *silence) remove(place *Place) {
	c := s.of[place.origin]
	s.resize(c, place.leave)
	if c.places.Len() == 0 {
		delete(s.of, place.origin)
	}
}

// resize changes the places of a crowd.
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

// first returns the place that makes way for a connection from an origin; nil if none does. It is the oldest one of the origin
// that has the most, or of the one that asks if that has as many, or may have no more.
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
