package worker

import (
	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// Grant is a worker with the windows that were granted under its token.
type Grant struct {
	Worker    uint64 `json:"worker,string"`
	State     string `json:"state"`
	Holder    string `json:"holder"`
	Nonce     string `json:"nonce"`
	Token     uint64 `json:"token,string"`
	From      int64  `json:"from,string"`
	Until     int64  `json:"until,string"`
	FromTime  string `json:"from_time"`
	UntilTime string `json:"until_time"`
}

// NewGrant returns a grant as it is printed.
func NewGrant(g *snowraftv1.WorkerGrant) Grant {
	return Grant{
		Worker: g.GetWorker(), State: cli.EnumName(g.GetState().String(), "WORKER_STATE_"),
		Holder: g.GetHolder(), Nonce: g.GetNonce(), Token: g.GetToken(),
		From: g.GetFrom(), Until: g.GetUntil(), FromTime: cli.Stamp(g.GetFromMs()), UntilTime: cli.Stamp(g.GetUntilMs()),
	}
}
