package redis

import (
	"net"
	"runtime"
	"sync"
	"sync/atomic"
)

// loops holds goroutines that each serve many connections, as long as no waiting is needed. A goroutine per connection would
// be woken for each command, which costs more than most commands.
type loops struct {
	all     []*loop
	next    atomic.Uint32
	running sync.WaitGroup
}

// start starts loops for half of the processors and leaves the others to the rest of the member. It starts none if the
// listener or the system does not support them.
func (ls *loops) start(s *Server, l net.Listener) {
	if _, ok := l.(*net.TCPListener); !ok {
		return
	}
	for range max(1, runtime.GOMAXPROCS(0)/2) {
		l, err := newLoop(s)
		if err != nil {
			s.cfg.Logger.Warn("epoll not available; serving each Redis client in its own goroutine, which is slower", "error", err)
			ls.stop()
			ls.all = nil
			return
		}
		ls.all = append(ls.all, l)
		ls.running.Go(l.run)
	}
}

// adopt assigns a new connection to a loop. It returns false if no loop can serve the connection.
func (ls *loops) adopt(c *conn) bool {
	if len(ls.all) == 0 {
		return false
	}
	sock := newSocket(c.net)
	if sock == nil {
		return false
	}
	c.s.mu.Lock() // other goroutines iterate over all connections
	c.net, c.w = sock, newWriter(c.s, sock)
	c.s.mu.Unlock()
	c.sock, c.loop, c.muted = sock, ls.all[int(ls.next.Add(1))%len(ls.all)], true
	c.turns.Store(awaited)
	c.loop.give(c)
	return true
}

// endReading stops further reads. Commands that have arrived are still answered.
func (ls *loops) endReading() {
	for _, l := range ls.all {
		l.closing.Store(true)
		l.wake()
	}
}

// stop ends the loops, which have no connections left.
func (ls *loops) stop() {
	for _, l := range ls.all {
		l.stopped.Store(true)
		l.wake()
	}
	ls.running.Wait()
}
