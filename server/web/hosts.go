package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Hosts are the names by which a browser may reach a process that requests no token. A page of another site can have its
// own name resolve to the process's address, and the browser then takes requests of the page for those of one origin.
// The name that they were sent to shows it. A nil Hosts checks nothing.
type Hosts struct{ names map[string]bool }

// NewHosts returns hosts with names besides IP addresses and localhost; empty ones do not count.
func NewHosts(names ...string) *Hosts {
	h := &Hosts{names: make(map[string]bool)}
	for _, name := range names {
		if name != "" {
			h.names[canonical(name)] = true
		}
	}
	return h
}

// Check refuses a request that a browser sent to a name that is not among the hosts.
func (h *Hosts) Check(r *http.Request) error {
	if h == nil || !fromBrowser(r.Header) {
		return nil
	}
	host := r.Host
	if name, port, err := net.SplitHostPort(host); err == nil && strings.Trim(port, "0123456789") == "" {
		host = name
	}
	host = canonical(host)
	if host == "localhost" || strings.HasSuffix(host, ".localhost") || h.names[host] {
		return nil
	}
	ip, err := netip.ParseAddr(strings.TrimSuffix(strings.TrimPrefix(host, "["), "]"))
	if err == nil && ip.Zone() == "" {
		return nil
	}
	return rpc.NewError(rpc.BrowserRequest, fmt.Sprintf("a browser sent this request to the host name %q, which a page of "+
		"another site may have made resolve to this address; use the IP address, localhost, the machine's name or the advertised host", host))
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// fromBrowser reports whether a browser may have sent a request. Programs may send these headers too.
func fromBrowser(h http.Header) bool {
	for _, name := range [...]string{"Origin", "Referer", "Accept-Language", "Sec-Fetch-Site", "Sec-Fetch-Mode", "Sec-Fetch-Dest"} {
		if h[name] != nil {
			return true
		}
	}
	agent := h["User-Agent"]
	return len(agent) > 0 && strings.HasPrefix(agent[0], "Mozilla/")
}
