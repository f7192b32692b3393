package fsm

import (
	"bytes"

	"github.com/snowraft/snowraft/internal/position"
	commandv1 "github.com/snowraft/snowraft/proto/command/v1"
)

// lead raises the version, begins a leadership, or presents a position that some replica had: no seal may follow.
func (w *world) lead() error {
	m := w.machines[w.choose("machine", len(w.machines))]
	var version uint32
	m.View(func(s *State) { version = s.FSMVersion() })
	switch kind := w.choose("lineage", 4); {
	case version < LineageVersion:
		return w.propose(&commandv1.Command{Body: &commandv1.Command_RaiseVersion{RaiseVersion: &commandv1.RaiseVersion{Version: LineageVersion}}})
	case kind > 0 || len(w.claims) == 0:
		w.term++
		w.claims = append(w.claims, m.Position())
		nonce := bytes.Repeat([]byte{byte(1 + w.choose("nonce", 3))}, nonceBytes)
		return w.propose(&commandv1.Command{Body: &commandv1.Command_Lead{Lead: &commandv1.Lead{Nonce: nonce}}})
	}
	claim := w.claims[w.choose("claim", len(w.claims))]
	if verdict, reason := m.Judge(claim); verdict != Consistent && verdict != Unknown {
		return violated("judge", "verdict %d about position %+v of the same history: %s", verdict, claim, reason)
	}
	return w.seal(&claim, commandv1.Refusal_REFUSAL_INVALID_ARGUMENT)
}

// seal presents a position, or an operator's word, and compares the result.
func (w *world) seal(evidence *position.Position, want commandv1.Refusal) error {
	cmd := &commandv1.Command{ClockAtMs: w.now, Version: LineageVersion, Body: &commandv1.Command_Seal{Seal: &commandv1.Seal{Reason: "a disk was set back"}}}
	if evidence != nil {
		cmd.GetSeal().Evidence, cmd.GetSeal().Witness = evidence.Append(nil), "a"
	}
	data, err := Encode(cmd)
	if err != nil {
		return violated("encode", "%v", err)
	}
	r, err := w.commit(data, cmd)
	if err == nil && reasonOf(r) != want {
		err = violated("seal", "%v returned %v, want %v", cmd, r.Err, want)
	}
	return err
}

// end seals the cluster, if its version can, and lets the processes continue.
func (w *world) end() error {
	if w.idsOnly || w.machines[0].Position().Nonce == noNonce {
		return nil
	}
	if err := w.seal(nil, 0); err != nil {
		return err
	}
	for range 30 {
		if err := w.applyAndAnswer(); err != nil {
			return err
		}
		w.acquire(w.processes[w.choose("process", len(w.processes))])
		w.allocate(w.processes[w.choose("process", len(w.processes))])
	}
	return nil
}

// checkSealed compares the result of a command with the seal of a replica before it.
func checkSealed(sealed bool, cmd *commandv1.Command, r Result) error {
	if !sealed || r.Err != nil {
		return nil
	}
	switch cmd.GetBody().(type) {
	case *commandv1.Command_AcquireWorker, *commandv1.Command_ExtendWindow, *commandv1.Command_AllocateBlock, *commandv1.Command_CreateSequence,
		*commandv1.Command_UpdateSequence, *commandv1.Command_DeleteSequence, *commandv1.Command_ReturnBlock, *commandv1.Command_ReleaseWorker:
		return violated("sealed", "%v took effect in a sealed cluster", cmd)
	}
	return nil
}
