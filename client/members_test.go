package client

import (
	"context"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"

	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// hurry makes the client request the membership all the time.
func hurry(c *Client) {
	c.members.pause, c.members.every, c.members.limit = 5*time.Millisecond, 10*time.Millisecond, 2*time.Second
}

// The client calls new members. It does not call removed members and closes their connections. Callers notice nothing
// meanwhile.
func TestMembershipIsFollowed(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		c := f.client(f.addrs()[:1]) // the client learns the other address
		hurry(c)
		f.warm(c)
		stop := make(chan struct{})
		var callers sync.WaitGroup
		for range 4 {
			callers.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
					}
					if _, err := c.NextID(t.Context()); err != nil {
						t.Error(err)
						return
					}
					time.Sleep(time.Millisecond)
				}
			})
		}
		come := f.add("127.0.0.1:0")
		until(t, "the new member is called", func() bool { return come.asked.Load() > 0 })
		gone := f.members[0] // the member whose address the client was given
		f.remove(gone)
		until(t, "connections to the removed member are gone", func() bool { return gone.conns.open.Load() == 0 })
		died := f.members[0]
		died.server.Stop() // without a graceful shutdown
		before := come.asked.Load()
		until(t, "the last member is called", func() bool { return come.asked.Load() > before+100 })
		f.remove(died)
		until(t, "the client knows of the last member only", func() bool { return len(c.ids.caller.standing.known()) == 1 })
		close(stop)
		callers.Wait()
		// A connection that was about to open when the member was removed ends soon, too.
		until(t, "no connection to the removed member is left", func() bool { return gone.conns.open.Load() == 0 })
	})
}

// A member with two known addresses does not get twice as many calls.
func TestOtherNamesOfMembers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		_, port, err := net.SplitHostPort(f.members[0].addr)
		if err != nil {
			t.Fatal(err)
		}
		c := f.client([]string{net.JoinHostPort("localhost", port)})
		f.warm(c)
		for range 40 {
			askAll(t, c, 1, 50)
		}
		a, b := f.members[0].asked.Load(), f.members[1].asked.Load()
		if a < 850 || b < 850 { // about half of the calls each; an alias would take a third
			t.Errorf("%d and %d requests, want half of 2000 each", a, b)
		}
	})
}

// If the advertised addresses cannot be reached, the client uses the given addresses.
func TestUnreachableAdvertisedAddresses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 1)
		c := f.client(f.addrs())
		hurry(c)
		nowhere := &fake{addr: "127.0.0.1:1000"}
		f.mu.Lock()
		f.members = []*fake{nowhere}
		f.mu.Unlock()
		for range 50 {
			if _, err := c.NextID(within(t, patience)); err != nil {
				t.Fatal(err)
			}
		}
		until(t, "the advertised address is learned", func() bool { return len(c.ids.caller.standing.known()) == 2 })
		for range 50 {
			if _, err := c.NextID(within(t, patience)); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// If no learned address can be reached, the client tries the given addresses again.
func TestGivenAddressesAreNotForgotten(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 2)
		first, second := f.members[0], f.members[1]
		c := f.client([]string{first.addr})
		hurry(c)
		f.warm(c)
		f.remove(first)
		until(t, "connections to the removed member are gone", func() bool { return first.conns.open.Load() == 0 })
		second.server.Stop()
		f.mu.Lock()
		f.members = []*fake{first} // member of another, new cluster
		f.mu.Unlock()
		if _, err := c.NextID(within(t, patience)); err != nil {
			t.Error(err)
		}
	})
}

// The client dials nothing before the first call, and the first ID waits for no timer.
func TestFirstID(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		f := startFakes(t, 3)
		began := time.Now()
		c := f.client(f.addrs())
		if n := f.members[0].conns.all.Load(); n != 0 {
			t.Errorf("%d connections before the first call", n)
		}
		if _, err := c.NextID(t.Context()); err != nil || time.Since(began) != 0 {
			t.Errorf("the first ID came after %v, %v", time.Since(began), err)
		}
	})
}

func TestAddressesOfMembers(t *testing.T) {
	t.Parallel()
	seeds, err := seedAddresses([]string{"a", "b:1", "::1", "[::1]:2", "[::1]"})
	if err != nil || seeds[0] != "a:7700" || seeds[1] != "b:1" || seeds[2] != "[::1]:7700" || seeds[3] != "[::1]:2" || seeds[4] != "[::1]:7700" {
		t.Errorf("%q, %v", seeds, err)
	}
	for _, wrong := range [][]string{nil, {""}, {":7700"}, {"a:"}, {"a:1", ""}, {"http://a:1"}, {"http://a"}, {"a:1:2"}, {"a:x"}, {"a:0"}, {"a:70000"}, {"[::1"}} {
		if c, err := New(wrong); err == nil {
			t.Errorf("%q was accepted", wrong)
			_ = c.Close()
		} else {
			t.Log(err)
		}
	}
	for _, wrong := range []Option{WithTimeout(0), WithHedging(-1), WithTransportCredentials(nil)} {
		if c, err := New([]string{"a"}, wrong); err == nil {
			t.Error("an option was accepted")
			_ = c.Close()
		}
	}
}

// A client requests the membership rarely while it stays the same, and soon after a connection broke.
func TestMembershipIsRequestedRarelyWhileUnchanged(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		directory := &directory{}
		m := newMembers([]string{"a:1"})
		m.ask = directory
		m.start()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := directory.asked.Load(); n < 20 || n > 45 {
			t.Errorf("%d requests within an hour, want about one per 140 s", n)
		}
		directory.asked.Store(0)
		m.changed()
		time.Sleep(45 * time.Second)
		synctest.Wait()
		if n := directory.asked.Load(); n < 2 || n > 4 {
			t.Errorf("%d requests within 45 s after a connection broke, want about 3", n)
		}
		m.stop()
	})
}

// directory is a member that answers with the membership.
type directory struct {
	snowraftv1.ClusterServiceClient
	asked atomic.Int64
}

func (d *directory) ListMembers(context.Context, *snowraftv1.ListMembersRequest, ...grpc.CallOption) (*snowraftv1.ListMembersResponse, error) {
	d.asked.Add(1)
	return &snowraftv1.ListMembersResponse{Members: []*snowraftv1.Member{{ApiAddress: "a:1"}}}, nil
}

// countedLists answers each request for the list of members with the same list, and keeps the times of the requests.
type countedLists struct {
	snowraftv1.ClusterServiceClient
	at []time.Time
}

func (c *countedLists) ListMembers(context.Context, *snowraftv1.ListMembersRequest, ...grpc.CallOption) (*snowraftv1.ListMembersResponse, error) {
	c.at = append(c.at, time.Now())
	return &snowraftv1.ListMembersResponse{Members: []*snowraftv1.Member{{ApiAddress: "a:1"}}}, nil
}

// While the list stays the same, it is requested at growing intervals, and soon again after a connection broke.
func TestListIsRequestedSoonAfterABrokenConnection(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m, lists := newMembers(nil), new(countedLists)
		m.ask = lists
		m.start()
		defer m.stop()
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(lists.at); n > 3600/120+5 {
			t.Fatalf("%d requests within an hour", n)
		}
		before := len(lists.at)
		time.Sleep(lookPause)
		m.changed()
		time.Sleep(lookPause + lookEvery)
		synctest.Wait()
		if n := len(lists.at) - before; n != 2 && n != 3 { // 3 if the last interval ended meanwhile
			t.Fatalf("%d requests soon after a broken connection", n)
		}
	})
}
