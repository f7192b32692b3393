package trust

import (
	"net"
	"slices"
	"sync"
)

// tracker holds the connections whose peer proved itself with a secret.
type tracker struct {
	mu    sync.Mutex
	conns map[*Conn]string // fingerprint of the secret by connection; guarded by mu
}

// Conn is a connection below TLS. It is closed when the secret with which its peer proved itself is removed
// from the Keys. A client without a certificate has verified the server on its own, and its connection stays
// open.
type Conn struct {
	net.Conn
	tracker *tracker
	closed  bool // guarded by tracker.mu
}

// Track returns conn as a Conn, for tls.Server or tls.Client with a configuration of these Keys. The handshake
// ties the Conn to a secret.
func (k *Keys) Track(conn net.Conn) *Conn { return &Conn{Conn: conn, tracker: &k.conns} }

// Listener returns a listener that tracks its connections. The TLS listener must wrap this listener directly.
func (k *Keys) Listener(l net.Listener) net.Listener { return &listener{Listener: l, keys: k} }

type listener struct {
	net.Listener
	keys *Keys
}

// Accept returns the next connection.
func (l *listener) Accept() (net.Conn, error) {
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return l.keys.Track(conn), nil
}

// NetConn returns the connection below c, like the method of the same name of tls.Conn.
func (c *Conn) NetConn() net.Conn { return c.Conn }

// Close closes the connection.
func (c *Conn) Close() error {
	c.tracker.mu.Lock()
	c.closed = true
	delete(c.tracker.conns, c)
	c.tracker.mu.Unlock()
	return c.Conn.Close()
}

// bind ties conn to the secret with a fingerprint if conn is tracked, and closes conn if the secret was already
// removed.
func (k *Keys) bind(conn net.Conn, fingerprint string) {
	c, tracked := conn.(*Conn)
	if !tracked {
		return
	}
	t := &k.conns
	t.mu.Lock()
	if t.conns == nil {
		t.conns = map[*Conn]string{}
	}
	if !c.closed {
		t.conns[c] = fingerprint
	}
	t.mu.Unlock()
	if k.set.Load().index(fingerprint) < 0 {
		_ = c.Close()
	}
}

// closeExcept closes the connections of all secrets except those with the fingerprints.
func (t *tracker) closeExcept(fingerprints []string) {
	t.mu.Lock()
	var gone []*Conn
	for conn, fingerprint := range t.conns {
		if !slices.Contains(fingerprints, fingerprint) {
			gone = append(gone, conn)
		}
	}
	t.mu.Unlock()
	for _, conn := range gone {
		_ = conn.Close()
	}
}
