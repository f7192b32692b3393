package slots_test

import (
	"fmt"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/snowraft/snowraft/internal/slots"
)

func at(ip string) net.Addr { return &net.TCPAddr{IP: net.ParseIP(ip), Port: 1} }

// kit takes slots for a test.
type kit struct {
	*testing.T
	*slots.Budget
}

func (k kit) take(addr net.Addr, evict func()) *slots.Slot {
	k.Helper()
	slot, ok := k.Take(addr, evict)
	if !ok {
		k.Fatalf("no slot for %v", addr)
	}
	return slot
}

func (k kit) none(addr net.Addr) {
	k.Helper()
	if _, ok := k.Take(addr, nil); ok {
		k.Fatalf("a slot for %v", addr)
	}
}

func TestPlacesOfOneAddress(t *testing.T) {
	t.Parallel()
	p := kit{t, slots.New(4, 2)}
	first := p.take(at("192.0.2.1"), nil)
	p.take(at("::ffff:192.0.2.1"), nil)
	p.none(at("192.0.2.1"))
	p.take(at("2001:db8::1"), nil)
	p.take(at("2001:db8::2:0:0:1"), nil)
	p.none(at("192.0.2.2")) // all four slots are taken
	first.Release()
	first.Release()           // no effect
	p.none(at("2001:db8::3")) // both slots of the network are taken
	p.take(at("192.0.2.2"), nil)
	p.none(at("192.0.2.3"))
}

func TestPlacesInsideProcess(t *testing.T) {
	t.Parallel()
	p := kit{t, slots.New(2, 1)}
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	p.take(a.RemoteAddr(), nil)
	p.take(a.RemoteAddr(), nil)
	p.none(b.RemoteAddr())
}

// A new connection evicts the oldest silent connection of the address that has the most, unless its own address has its share.
func TestSilentMakesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, silentMakesWay)
}

func silentMakesWay(t *testing.T) {
	p := kit{t, slots.New(4, 2)}
	evicted := make(chan string, 8)
	take := func(name, ip string) *slots.Slot {
		return p.take(at(ip), func() { evicted <- name })
	}
	expect := func(name string) {
		t.Helper()
		synctest.Wait()
		if n := len(evicted); n != 1 {
			t.Fatalf("%d connections were evicted, want one, %s", n, name)
		}
		if got := <-evicted; got != name {
			t.Fatalf("%s was evicted, want %s", got, name)
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
	take("a4", "192.0.2.1")
	expect("a3") // not b2, though its address has the most: 192.0.2.1 has its share
	c1 := take("c1", "192.0.2.3")
	expect("b2") // not a4
	c1.Spoke()
	take("d1", "192.0.2.4")
	expect("b3") // the oldest: three addresses have one each
	take("d2", "192.0.2.4")
	expect("d1") // not a4: the address has as many
	take("e1", "192.0.2.5")
	expect("a4")
	a2.Release()
	take("f1", "192.0.2.6")
	select {
	case name := <-evicted:
		t.Errorf("%s was evicted though a slot was free", name)
	default:
	}
}

// Silent connections from a favored address stay and get slots, regardless of the number of other addresses. A connection from
// a favored address can evict them.
func TestFavoredStay(t *testing.T) {
	t.Parallel()
	p := kit{t, slots.New(4, 2)}
	evicted := make(chan string, 8)
	from := func(ip string) *slots.Slot { return p.take(at(ip), func() { evicted <- ip }) }
	member := from("192.0.2.1")
	member.Favor()
	member.Favor()
	member.Release()
	for _, ip := range []string{"198.51.100.1", "198.51.100.2", "198.51.100.3", "198.51.100.4"} {
		from(ip)
	}
	from("192.0.2.1")
	from("192.0.2.1") // share of the address
	for range 2 {
		if ip := <-evicted; ip == "192.0.2.1" {
			t.Error("a favored connection made way for another")
		}
	}
	from("198.51.100.5")
	from("198.51.100.6")
	from("192.0.2.1")
	found := make(map[string]int)
	for range 3 {
		found[<-evicted]++
	}
	if found["192.0.2.1"] != 1 {
		t.Errorf("evicted: %v, want one favored connection for another of its address", found)
	}

	p = kit{t, slots.New(2, 2)}
	first := p.take(at("192.0.2.1"), nil)
	first.Favor()
	first.Release()
	kept := []*slots.Slot{from("192.0.2.1"), from("192.0.2.1")}
	p.none(at("198.51.100.1"))
	for i := range 300 { // later addresses displace it
		kept[0].Release()
		kept[0] = p.take(at(fmt.Sprintf("2001:db8:%x::1", i)), nil)
		kept[0].Favor()
	}
	kept[0].Release()
	kept[1].Release()
	p.take(at("192.0.2.1"), func() { evicted <- "displaced" })
	p.take(at("192.0.2.1"), func() { evicted <- "displaced" })
	p.take(at("198.51.100.1"), nil)
	if got := <-evicted; got != "displaced" {
		t.Errorf("evicted %s", got)
	}
}

// Hosts that open many silent connections do not evict the connection of another host, nor does a network of IPv6 hosts.
func TestFewSilentStay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := kit{t, slots.New(64, 32)}
		slow := p.take(at("192.0.2.1"), func() { t.Error("the connection of a slow host was evicted") })
		heard := p.take(at("192.0.2.2"), func() { t.Error("the connection of the other slow host was evicted") })
		for i := range 1000 {
			p.take(&net.TCPAddr{IP: net.IPv4(198, 51, 100, byte(i%8)), Port: i}, func() {})
			p.take(&net.TCPAddr{IP: append(net.ParseIP("2001:db8::")[:14:14], byte(i>>8), byte(i)), Port: i}, func() {})
			heard.Heard()
		}
		synctest.Wait() // evictions run in their own goroutines
		slow.Spoke()
		heard.Release()
	})
}

func TestSpokenStays(t *testing.T) {
	t.Parallel()
	p := kit{t, slots.New(1, 1)}
	p.take(at("192.0.2.1"), func() { t.Error("a connection that spoke was evicted") }).Spoke()
	p.none(at("192.0.2.1"))
	p.none(at("192.0.2.2"))
}

// idler has been idle since a time; the zero time means busy.
type idler struct{ since time.Time }

func (i *idler) Idle() time.Duration {
	if i.since.IsZero() {
		return 0
	}
	return time.Since(i.since)
}

// crowd takes slots with idlers, and reports their evictions by name.
type crowd struct {
	kit
	evicted chan string
}

func (c crowd) serve(name, ip string, token uint64, since time.Time) (*idler, bool) {
	c.Helper()
	i := &idler{since}
	slot := c.take(at(ip), func() { c.evicted <- name })
	if !slot.Serve(token, i) {
		slot.Release()
		return nil, false
	}
	return i, true
}

func (c crowd) expect(name string) {
	c.Helper()
	synctest.Wait()
	select {
	case got := <-c.evicted:
		if got != name {
			c.Errorf("evicted %q, want %q", got, name)
		}
	default:
		if name != "" {
			c.Errorf("evicted nothing, want %q", name)
		}
	}
}

// A token has a quarter of the slots. Beyond that share, a connection of the token evicts an idle connection of the token.
func TestPlacesOfOneToken(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{kit{t, slots.New(8, 8)}, make(chan string, 8)}
		_, _ = c.serve("other", "192.0.2.1", 2, time.Now())
		c.serve("a", "192.0.2.1", 1, time.Time{})
		b, _ := c.serve("b", "192.0.2.2", 1, time.Time{})
		if _, ok := c.serve("c", "192.0.2.3", 1, time.Time{}); ok {
			t.Error("a token has 3 of 8 slots")
		}
		if _, ok := c.serve("none", "192.0.2.3", 0, time.Time{}); !ok {
			t.Error("a caller without a token has no slot")
		}
		if _, ok := c.serve("d", "192.0.2.3", 3, time.Time{}); !ok {
			t.Error("another token has no slot")
		}
		b.since = time.Now()
		time.Sleep(slots.IdleLimit)
		if _, ok := c.serve("e", "192.0.2.3", 1, time.Time{}); !ok {
			t.Error("an idle connection of the token does not make way")
		}
		c.expect("b")
		c.expect("")
	})
}

func TestReleaseReturnsShareOfToken(t *testing.T) {
	t.Parallel()
	p := kit{t, slots.New(4, 4)}
	first, second := p.take(at("192.0.2.1"), nil), p.take(at("192.0.2.1"), nil)
	if !first.Serve(1, nil) || second.Serve(1, nil) {
		t.Fatal("a token does not have exactly 1 of 4 slots")
	}
	first.Release()
	for range 2 {
		if !second.Serve(1, nil) {
			t.Error("the slot of the token's closed connection is taken")
		}
	}
}

// If all slots are taken, a new connection evicts the one with the longest idle time, but none that was busy within a minute.
func TestIdleMakesWay(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{kit{t, slots.New(5, 3)}, make(chan string, 8)}
		busy, _ := c.serve("busy", "192.0.2.1", 0, time.Time{})
		younger, _ := c.serve("younger", "192.0.2.1", 0, time.Now().Add(time.Second))
		c.serve("older", "192.0.2.2", 0, time.Now())
		c.take(at("192.0.2.3"), func() { t.Error("a connection that spoke was evicted") }).Spoke()
		c.take(at("192.0.2.3"), func() { c.evicted <- "silent" })
		time.Sleep(slots.IdleLimit - time.Second)
		c.take(at("192.0.2.4"), nil).Spoke()
		c.expect("silent")
		c.none(at("192.0.2.4"))
		time.Sleep(time.Second)
		c.take(at("192.0.2.4"), nil).Spoke()
		c.expect("older")
		c.none(at("192.0.2.4"))
		time.Sleep(time.Second)
		younger.since = time.Now() // had a request in the meantime
		c.none(at("192.0.2.4"))
		busy.since = time.Now()
		time.Sleep(slots.IdleLimit)
		for range 2 {
			c.take(at("192.0.2.5"), nil).Spoke()
		}
		for range 2 {
			synctest.Wait()
			if got := <-c.evicted; got != "busy" && got != "younger" {
				t.Errorf("evicted %q", got)
			}
		}
		c.none(at("192.0.2.4"))
	})
}

// An address that has its share evicts only idle connections of its own.
func TestIdleMakesWayForItsAddress(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := crowd{kit{t, slots.New(3, 1)}, make(chan string, 8)}
		c.serve("older", "192.0.2.1", 0, time.Now().Add(-time.Hour))
		c.serve("own", "192.0.2.2", 0, time.Now().Add(-time.Minute))
		c.take(at("192.0.2.2"), nil)
		c.expect("own")
		c.none(at("192.0.2.2"))
	})
}
