package fsm

import (
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// The actions of a walk's administrator on the tokens of its applications: some applications lose their token, or a
// scope of it, while their requests are on the way.

// modelScopes are the scopes of tokens. The state machine only compares them.
var modelScopes = [][]string{{"a", "b"}, {"a", "b"}, {"b", "a", "c"}, {"a"}, {"c"}, {"a", "c"}, {}}

// tokens gives the applications their tokens.
func (w *world) makeTokens() error {
	for _, p := range w.processes {
		if p.application != "" && w.tokens[p.application] == 0 {
			if err := w.makeToken(p.application); err != nil {
				return err
			}
		}
	}
	for _, p := range w.processes {
		p.token = w.tokens[p.application]
	}
	return nil
}

func (w *world) makeToken(application string) error {
	cmd := createToken(application, "a", "b")
	c := cmd.GetCreateToken()
	c.Rate, c.Burst = w.rate()
	c.Sequences = w.limit()
	if w.choose("expires", 4) == 0 {
		c.ExpiresAtMs = w.expiry()
	}
	r, err := w.administrate(cmd)
	if err == nil && r.Token != nil {
		w.tokens[application] = r.Token.ID
	}
	return err
}

// rate returns the rate and burst of a token, which only processes limit.
func (w *world) rate() (rate, burst uint64) {
	rate = uint64(w.choose("rate", 3))
	return rate, 2 * rate
}

// limit returns the number of sequences that callers with a token can begin; older versions lack that field.
func (w *world) limit() uint64 {
	if !w.leases {
		return 0
	}
	return uint64(w.choose("limit", 3))
}

func (w *world) expiry() int64 { return w.now + int64(w.choose("expiry", 20))*modelUnit }

// administrate commits a command at once.
func (w *world) administrate(cmd *commandv1.Command) (Result, error) {
	cmd.Version, cmd.ClockAtMs = MinVersion(cmd), w.now
	data, err := Encode(cmd)
	if err != nil {
		return Result{}, violated("encode", "%v", err)
	}
	return w.commit(data, cmd)
}

// revoke changes, deletes or replaces the token of an application.
func (w *world) revoke(p *process) error {
	id := w.tokens[p.application]
	if id == 0 {
		return nil
	}
	r, ok := w.machines[w.choose("replica", len(w.machines))].Token(id)
	switch {
	case !ok:
		return w.makeToken(p.application)
	case w.choose("delete", 3) == 0:
		cmd := deleteToken(id)
		cmd.GetDeleteToken().Generation = []uint64{0, r.Generation, r.Generation - 1}[w.choose("generation", 3)]
		_, err := w.administrate(cmd)
		return err
	}
	cmd := updateToken(id, r.Generation, modelScopes[w.choose("scopes", len(modelScopes))]...)
	c := cmd.GetUpdateToken()
	c.Rate, c.Burst = w.rate()
	c.Sequences = w.limit()
	c.Enable = w.choose("enable", 2) == 0
	if w.choose("expires", 2) == 0 {
		c.ExpiresAtMs = w.expiry()
	}
	_, err := w.administrate(cmd)
	return err
}

// actor returns the actor of a request: a member, or an application with the token that it knows.
func (w *world) actor(p *process) *commandv1.Actor {
	if p.application == "" {
		return nil
	}
	if w.choose("new token", 4) == 0 {
		p.token = w.tokens[p.application]
	}
	return &commandv1.Actor{Kind: commandv1.ActorKind_ACTOR_KIND_TOKEN, Token: p.token, Name: p.application, JudgedAt: w.index}
}
