package check

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/snowraft/snowraft/jepsen/history"
	"github.com/snowraft/snowraft/jepsen/raftlog"
	"github.com/snowraft/snowraft/snowflake"
)

// nonce is the hash of a start's nonce. It identifies the start.
type nonce [32]byte

func (n nonce) String() string { return hex.EncodeToString(n[:4]) + "..." }

// identity is the identity of a start, by the windows that it uses.
type identity struct {
	nonce nonce
	name  string // holder without lane
}

// owner checks that the window was granted to the process that answered.
func (c *containment) owner(l *snowflake.Layout, i *history.Issued, id uint64, w *raftlog.Window) {
	mine := identity{nonce: w.NonceHash, name: holderName(w.Holder)}
	known, ok := c.starts[i.Start]
	if !ok {
		c.learn(i, id, mine, w)
		return
	}
	if known != mine {
		c.v.fail("%s is in the window of token %d of layout %q, of %s with nonce %v, but start %d is %s with nonce %v",
			c.name(i, id), w.Token, l.Name(), w.Holder, mine.nonce, i.Start, known.name, known.nonce)
	}
}

// learn takes the identity of a start from the window of the start's first ID.
func (c *containment) learn(i *history.Issued, id uint64, mine identity, w *raftlog.Window) {
	p, ok := c.of.Process(i.Start)
	switch {
	case !ok:
		c.v.invalid("%s is from start %d, which the history lacks", c.name(i, id), i.Start)
		return
	case !p.Generator && mine.name != p.Member:
		c.v.fail("%s is in a window of %s (token %d), but %s answered (start %d)", c.name(i, id), w.Holder, w.Token, p.Member, i.Start)
		return
	case p.Generator && slices.Contains(c.of.Header.Members, mine.name):
		c.v.fail("%s is in a window of member %s (token %d), but generator %s issued it (start %d)",
			c.name(i, id), w.Holder, w.Token, p.Member, i.Start)
		return
	}
	if other, taken := c.owners[mine.nonce]; taken {
		c.v.fail("%s of start %d is in the window of token %d, of %s with nonce %v, which belongs to start %d",
			c.name(i, id), i.Start, w.Token, w.Holder, mine.nonce, other)
		return
	}
	c.starts[i.Start], c.owners[mine.nonce] = mine, i.Start
}

// holderName returns a holder's name without its lane.
func holderName(holder string) string {
	if at := strings.LastIndexByte(holder, '/'); at >= 0 {
		return holder[:at]
	}
	return holder
}
