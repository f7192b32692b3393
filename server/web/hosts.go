package web

import (
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"

	"github.com/snowraft/snowraft/internal/rpc"
)

// Hosts holds the names by which a browser may reach a process that requires no token. It protects against DNS rebinding. A
// page of another site can make its own host name resolve to the address of the process. The browser then treats requests of
// the page as requests of the same origin, but the Host header has the name of the site. A nil Hosts checks nothing.
type Hosts struct{ names map[string]bool }

// NewHosts returns hosts that allow names in addition to IP addresses and localhost. It ignores empty names.
func NewHosts(names ...string) *Hosts {
	h := &Hosts{names: make(map[string]bool)}
	for _, name := range names {
		if name != "" {
			h.names[canonical(name)] = true
		}
	}
	return h
}

// Check returns an error with the reason BROWSER_REQUEST for a request that a browser may have sent to a name other than the
// hosts. Requests without a browser's headers pass.
func (h *Hosts) Check(r *http.Request) error {
	if h == nil {
		return nil
	}
	sign := signOfBrowser(r.Header)
	if sign == "" {
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
	return rpc.NewError(rpc.BrowserRequest, fmt.Sprintf("the header %s is a browser's, and a page of another site may have made the host name %q "+
		"resolve to this address; use the IP address, localhost, the machine's name or the advertised host, or allow the name with --http-hosts", sign, host))
}

func canonical(name string) string { return strings.ToLower(strings.TrimSuffix(name, ".")) }

// signOfBrowser returns the name of a header by which a browser may have sent a request with header h. It is empty for programs.
func signOfBrowser(h http.Header) string {
	if fromProgram(h) {
		return ""
	}
	for _, name := range [...]string{"Origin", "Referer", "Accept-Language", "Sec-Fetch-Site", "Sec-Fetch-Dest"} {
		if h[name] != nil {
			return name
		}
	}
	if agent := h.Get("User-Agent"); strings.HasPrefix(agent, "Mozilla/") && !strings.Contains(agent, "(compatible;") { // monitors and crawlers are compatible
		return "User-Agent"
	}
	return ""
}

// fromProgram reports whether no browser sends header h, whatever a page adds to it. A page can set neither Sec-Fetch-Mode nor
// Accept-Encoding. Browsers send Sec-Fetch-Mode with Sec-Fetch-Site only, and offer Brotli only to origins that get
// Sec-Fetch-Site. The fetch of Node sends Sec-Fetch-Mode alone, and that of Deno offers Brotli.
func fromProgram(h http.Header) bool {
	return h["Sec-Fetch-Site"] == nil && (h["Sec-Fetch-Mode"] != nil || strings.Contains(h.Get("Accept-Encoding"), "br"))
}
