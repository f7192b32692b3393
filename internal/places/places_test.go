package places_test

import (
	"net"
	"testing"

	"github.com/snowraft/snowraft/internal/places"
)

func at(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }

// kit takes places for a test.
type kit struct {
	*testing.T
	*places.Places
}

func (k kit) take(addr net.Addr, evict func()) *places.Place {
	k.Helper()
	place, ok := k.Take(addr, evict)
	if !ok {
		k.Fatalf("no place for %v", addr)
	}
	return place
}

func (k kit) none(addr net.Addr) {
	k.Helper()
	if _, ok := k.Take(addr, nil); ok {
		k.Fatalf("a place for %v", addr)
	}
}

func TestPlacesOfOneAddress(t *testing.T) {
	t.Parallel()
	p := kit{t, places.New(4, 2)}
	first := p.take(at("192.0.2.1"), nil)
	p.take(at("::ffff:192.0.2.1"), nil)
	p.none(at("192.0.2.1"))
	p.take(at("2001:db8::1"), nil)
	p.take(at("2001:db8::2:0:0:1"), nil)
	p.none(at("192.0.2.2")) // all four are taken
	first.Release()
	first.Release()           // which changes nothing
	p.none(at("2001:db8::3")) // of the network that has two
	p.take(at("192.0.2.2"), nil)
	p.none(at("192.0.2.3"))
}

func TestPlacesInsideProcess(t *testing.T) {
	t.Parallel()
	p := kit{t, places.New(2, 1)}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	p.take(a.RemoteAddr(), nil)
	p.take(a.RemoteAddr(), nil)
	p.none(b.RemoteAddr())
}

// What has said nothing makes way, the oldest first, but not for an address that has its share.
func TestSilentMakesWay(t *testing.T) {
	t.Parallel()
	p := kit{t, places.New(4, 2)}
	evicted := make(chan string, 8)
	take := func(name, ip string) *places.Place {
		return p.take(at(ip), func() { evicted <- name })
	}
	expect := func(name string) {
		t.Helper()
		if got := <-evicted; got != name {
			t.Fatalf("%s was evicted, expected %s", got, name)
		}
	}
	take("a1", "192.0.2.1")
	a2 := take("a2", "192.0.2.1")
	a2.Spoke()
	take("a3", "192.0.2.1")
	expect("a1") // not a2, which spoke
	take("b1", "192.0.2.2")
	take("b2", "192.0.2.2")
	take("b3", "192.0.2.2")
	expect("b1") // not a3: the address has its share
	c1 := take("c1", "192.0.2.3")
	expect("a3")
	c1.Spoke()
	take("d1", "192.0.2.4")
	expect("b2")
	take("d2", "192.0.2.4")
	expect("b3")
	take("d3", "192.0.2.4")
	expect("d1")
	a2.Release()
	take("e1", "192.0.2.5")
	select {
	case name := <-evicted:
		t.Errorf("%s was evicted though a place was free", name)
	default:
	}
}

func TestSpokenStays(t *testing.T) {
	t.Parallel()
	p := kit{t, places.New(1, 1)}
	p.take(at("192.0.2.1"), func() { t.Error("it was evicted") }).Spoke()
	p.none(at("192.0.2.1"))
	p.none(at("192.0.2.2"))
}
