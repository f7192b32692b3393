package main

import (
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// grantDoc is a worker with the windows that were granted under its token.
type grantDoc struct {
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

func newGrantDoc(g *snowraftv1.WorkerGrant) grantDoc {
	return grantDoc{
		Worker: g.GetWorker(), State: enumName(g.GetState().String(), "WORKER_STATE_"),
		Holder: g.GetHolder(), Nonce: g.GetNonce(), Token: g.GetToken(),
		From: g.GetFrom(), Until: g.GetUntil(), FromTime: stamp(g.GetFromMs()), UntilTime: stamp(g.GetUntilMs()),
	}
}
