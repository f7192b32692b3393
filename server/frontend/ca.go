package frontend

import (
	"net/http"

	"github.com/snowraft/snowraft/internal/rpc"
	"github.com/snowraft/snowraft/trust"
)

// authority returns the certificate, in PEM, of the cluster's CA that signed the certificate of the request's connection. A client
// that knows the pin of the CA, and cannot see the certificates of its connection, verifies it by that pin.
func (s *Server) authority(r *http.Request) ([]byte, error) {
	switch {
	case s.cfg.What == "gateway":
		return nil, rpc.NewError(rpc.NotAMember, "a gateway has no certificate of the cluster's CA; send the request to a member")
	case s.auth.open():
		return nil, rpc.NewError(rpc.ClusterOpen, "the cluster has no secret, and so no CA; connect without TLS")
	case r.TLS == nil:
		return nil, rpc.NewError(rpc.InvalidArgument, "this connection has no TLS, and so no certificate; connect with TLS")
	}
	a := trust.ServerTLS{Keys: s.auth.Keys, Own: s.cfg.Certificate}.Authority(r.TLS.ServerName)
	if a == nil {
		return nil, rpc.NewError(rpc.InvalidArgument,
			"no CA of the cluster signed the certificate of this connection; send the pin of a token, or of \"snowraft secret ca\", in place of a TLS server name")
	}
	return a.PEM(), nil
}
