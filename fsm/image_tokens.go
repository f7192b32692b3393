package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

func (im image) walkTokens(visit func(*commandv1.SnapshotRecord)) {
	if a := im.tokens.anonymous; a.Generation != 0 {
		message := a.message()
		message.Name, message.Hash = "", nil
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Token{Token: message}})
	}
	for _, r := range im.tokens.byID {
		visit(&commandv1.SnapshotRecord{Body: &commandv1.SnapshotRecord_Token{Token: r.message()}})
	}
}

// message returns the form of a token in snapshots. It shares memory with the record.
func (r *TokenRecord) message() *commandv1.SnapshotToken {
	return &commandv1.SnapshotToken{
		Id: r.ID, Generation: r.Generation, Narrowed: r.narrowed, Name: r.Name, Hash: r.Hash[:], Scopes: r.Scopes,
		CreatedAtMs: r.CreatedMillis, ExpiresAtMs: r.ExpiresAtMillis, Rate: r.Rate, Burst: r.Burst, Disabled: r.Disabled,
		Sequences: r.Sequences, Begun: r.Begun,
	}
}
