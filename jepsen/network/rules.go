//go:build linux

package network

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
)

// A chain holds the rules that one fault adds to a table of iptables in one host. It is made and removed with all its rules
// in one transaction, and belongs to one fault only.
type chain struct {
	table, parent string // table and chain that jump to this chain
	name          string
	rules         []string // rules without the name of the chain
}

// newChain returns a chain with a unique name. It does not make the chain in a host.
func (n *Net) newChain(table, parent string) *chain {
	return &chain{table: table, parent: parent, name: fmt.Sprintf("fault-%d", n.chains.Add(1))}
}

func (c *chain) make(ctx context.Context, h *Host) error {
	return c.restore(ctx, h, c.made())
}

func (c *chain) remove(ctx context.Context, h *Host) error {
	return c.restore(ctx, h, c.removed())
}

// made returns the input of iptables-restore that makes the chain.
func (c *chain) made() string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%s\n:%s - [0:0]\n", c.table, c.name)
	for _, rule := range c.rules {
		fmt.Fprintf(&b, "-A %s %s\n", c.name, rule)
	}
	fmt.Fprintf(&b, "-A %s -j %s\nCOMMIT\n", c.parent, c.name)
	return b.String()
}

func (c *chain) removed() string {
	return fmt.Sprintf("*%s\n-D %s -j %s\n-F %s\n-X %s\nCOMMIT\n", c.table, c.parent, c.name, c.name, c.name)
}

// packets returns the number of packets that the chain's rules matched. It reads the lines of iptables-save, which begin
// with [packets:bytes].
func (c *chain) packets(ctx context.Context, h *Host) (sum int64, err error) {
	var saved []byte
	err = h.Do(func() (err error) {
		saved, err = exec.CommandContext(ctx, "iptables-save", "-c", "-t", c.table).Output() //nolint:gosec // G204: constant table
		return err
	})
	if err != nil {
		return 0, fmt.Errorf("count packets: %w", err)
	}
	for line := range strings.Lines(string(saved)) {
		counters, rule, _ := strings.Cut(line, " ")
		if !strings.HasPrefix(rule, "-A "+c.name+" ") {
			continue
		}
		var packets, bytes int64
		if _, err := fmt.Sscanf(counters, "[%d:%d]", &packets, &bytes); err != nil {
			return 0, fmt.Errorf("count packets of %q: %w", line, err)
		}
		sum += packets
	}
	return sum, nil
}

func (c *chain) restore(ctx context.Context, h *Host, lines string) error {
	h.rules.Lock()
	defer h.rules.Unlock()
	if err := h.feed(ctx, lines, "iptables-restore", "--noflush", "-w"); err != nil {
		return fmt.Errorf("change table %s with %q: %w", c.table, lines, err)
	}
	return nil
}
