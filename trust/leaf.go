package trust

import (
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"net"
	"net/url"
	"strings"
	"time"
)

// Role is the kind of a process that has the cluster secret.
type Role int

// The roles of peers.
const (
	RoleNone   Role = iota // no certificate
	RoleMember             // member of the cluster
	RoleAdmin              // command line with the secret file
)

const (
	uriScheme  = "snowraft"
	memberPath = "/member/"
	adminPath  = "/admin"
)

// Peer is the other side of a connection, as proved by its certificate.
type Peer struct {
	Role        Role
	ID          string // node ID of a member
	Fingerprint string // fingerprint of the secret that proved it
}

// path returns the path in the URI of a peer's leaf; empty without a role.
func (p Peer) path() string {
	switch p.Role {
	case RoleMember:
		return memberPath + p.ID
	case RoleAdmin:
		return adminPath
	default:
		return ""
	}
}

// named returns the role and ID in a leaf; RoleNone if the leaf does not name exactly one peer.
func named(leaf *x509.Certificate) Peer {
	if len(leaf.URIs) != 1 || leaf.URIs[0].Scheme != uriScheme || leaf.URIs[0].Host != "" {
		return Peer{}
	}
	path := leaf.URIs[0].Path
	if path == adminPath {
		return Peer{Role: RoleAdmin}
	}
	if id, found := strings.CutPrefix(path, memberPath); found && id != "" {
		return Peer{Role: RoleMember, ID: id}
	}
	return Peer{}
}

// leaf returns the authority's certificate for a peer as client or server.
func (a *Authority) leaf(p Peer, usage x509.ExtKeyUsage) *tls.Certificate {
	path, kind := p.path(), "client "
	if usage == x509.ExtKeyUsageServerAuth {
		kind = "server "
	}
	return a.cached(kind+path, func() *x509.Certificate {
		template := &x509.Certificate{
			Subject:     pkix.Name{Organization: []string{organization}},
			NotBefore:   beginning,
			NotAfter:    ending,
			ExtKeyUsage: []x509.ExtKeyUsage{usage},
		}
		if path != "" {
			template.URIs = []*url.URL{{Scheme: uriScheme, Path: path}}
		}
		return template
	})
}

const (
	hostLeafLead = 24 * time.Hour // start before the observed clock, because clocks of clients differ
	hostLeafLife = 90 * 24 * time.Hour
)

// hostCharacters are the characters of host names in a certificate. Clients cannot verify other host names,
// which are omitted.
const hostCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_*"

// hostLeaf returns the authority's certificate for clients that verify hosts and times. It is valid from a day
// before now.
func (a *Authority) hostLeaf(hosts []string, now time.Time) *tls.Certificate {
	begin := now.Add(-hostLeafLead).Truncate(time.Second)
	template := &x509.Certificate{
		Subject:     pkix.Name{Organization: []string{organization}},
		NotBefore:   begin,
		NotAfter:    begin.Add(hostLeafLife),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	for _, host := range hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if strings.Trim(host, hostCharacters) == "" && host != "" && host != "localhost" {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	return a.mint(template)
}
