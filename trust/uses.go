package trust

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

const (
	// maxUses bounds the uses that a process remembers, and maxUsesOfHost those of one host, because any client can
	// present texts.
	maxUses       = 1024
	maxUsesOfHost = 64
)

// Use is the use of a token, or its refusal, by one host.
type Use struct {
	Host   string
	Token  uint64 // ID in the text of the token; 0 without one
	Secret string // fingerprint of the secret by whose pin alone the host verifies this process; empty for others
	Fault  Fault  // empty if the token was accepted
	Count  uint64 // connections, or refused requests
	Open   int    // connections that are open now
	Last   time.Time
}

// useKey identifies a Use.
type useKey struct {
	host   string
	token  uint64
	secret string
	fault  Fault
}

// Uses remembers who used which tokens and secrets lately. The uses with open connections stay. Of the others, the oldest makes
// way. The zero value is ready to use, and so are its methods from any goroutine.
type Uses struct {
	mu   sync.Mutex
	rows map[useKey]*Use
	host map[string]int // rows by host
}

// Connected records a connection from an address with a valid token. The caller calls closed at its end.
func (u *Uses) Connected(address string, token uint64, secret string, now time.Time) (closed func(now time.Time)) {
	key := useKey{HostOf(address), token, secret, ""}
	u.record(key, 1, now)
	return func(now time.Time) {
		u.mu.Lock()
		defer u.mu.Unlock()
		use := u.rows[key]
		use.Open--
		use.Last = now
	}
}

// Refused records a refused token and returns its use. fresh reports whether that is the first refusal for an hour.
func (u *Uses) Refused(address string, token uint64, fault Fault, now time.Time) (use Use, fresh bool) {
	return u.record(useKey{HostOf(address), token, "", fault}, 0, now)
}

func (u *Uses) record(key useKey, open int, now time.Time) (use Use, fresh bool) {
	u.mu.Lock()
	defer u.mu.Unlock()
	row := u.rows[key]
	if row == nil {
		u.evictOldest(key.host)
		if u.rows == nil {
			u.rows, u.host = make(map[useKey]*Use), make(map[string]int)
		}
		row = &Use{Host: key.host, Token: key.token, Secret: key.secret, Fault: key.fault}
		u.rows[key] = row
		u.host[key.host]++
	}
	fresh = now.Sub(row.Last) >= time.Hour
	row.Count++
	row.Open += open
	row.Last = now
	return *row, fresh
}

// evictOldest removes the oldest use without open connections if there are too many uses, or too many of one host. Requires u.mu.
func (u *Uses) evictOldest(host string) {
	crowded := u.host[host] >= maxUsesOfHost
	if !crowded && len(u.rows) < maxUses {
		return
	}
	var oldest *Use
	for _, row := range u.rows {
		if row.Open == 0 && (!crowded || row.Host == host) && (oldest == nil || row.Last.Before(oldest.Last)) {
			oldest = row
		}
	}
	if oldest == nil {
		return // a limit of connections bounds the uses
	}
	delete(u.rows, useKey{oldest.Host, oldest.Token, oldest.Secret, oldest.Fault})
	if u.host[oldest.Host]--; u.host[oldest.Host] == 0 {
		delete(u.host, oldest.Host)
	}
}

// List returns the uses, the latest first.
func (u *Uses) List() []Use {
	u.mu.Lock()
	defer u.mu.Unlock()
	all := make([]Use, 0, len(u.rows))
	for _, row := range u.rows {
		all = append(all, *row)
	}
	slices.SortFunc(all, func(a, b Use) int {
		return cmp.Or(b.Last.Compare(a.Last), cmp.Compare(a.Host, b.Host), cmp.Compare(a.Token, b.Token), cmp.Compare(a.Secret, b.Secret), cmp.Compare(a.Fault, b.Fault))
	})
	return all
}

// HostOf returns the host of an address, or the user of a process that connected to a Unix socket (unix:uid=1000); the address itself
// if it has neither a port nor a process.
func HostOf(address string) string {
	if at, err := netip.ParseAddrPort(address); err == nil {
		return at.Addr().Unmap().String()
	}
	user, _, _ := strings.Cut(address, ",pid=")
	return user
}

// AskedFor returns the fingerprint of the secret of the only pin in a client's server name; empty if the name has several pins or
// none, or if the process does not know the secret. A client with one pin fails once that secret is removed.
func (k *Keys) AskedFor(serverName string) string {
	for _, a := range k.set.Load().authorities {
		if a.pin == serverName {
			return a.fingerprint
		}
	}
	return ""
}

// TokenID returns the ID in the text of a token; 0 if the text is not that of a token.
func TokenID(text string) uint64 {
	token, err := ParseToken(text)
	if err != nil {
		return 0
	}
	return token.ID
}
