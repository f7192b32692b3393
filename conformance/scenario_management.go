package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"

	"github.com/snowraft/snowraft/snowflake"
)

// info is a sequence in an answer.
type info struct {
	Mode   string `json:"mode"`
	Step   string `json:"step"`
	Format string `json:"format"`
	Next   string `json:"next"`
}

// managed is a sequence that a client manages.
type managed struct {
	*player
	name string
}

// manages creates, reads, changes, lists and deletes a sequence, and then a layout.
func manages(ctx context.Context, p *player) error {
	m := managed{p, p.unique("managed")}
	created, changed, set := info{"strict", "1", "A-{seq}", "1"}, info{"strict", "1", "B-{seq:05}", ""}, info{"strict", "1", "B-{seq:05}", "5000"}
	if err := m.do("create", args{"mode": "strict", "format": created.Format}, nil); err != nil {
		return err
	}
	for _, step := range []func() error{
		func() error { return m.shows("sequence", args{}, created) },
		func() error { return m.last("") },
		func() error { return m.issues(1, 1, "A-%d") },
		func() error { return m.last("1") },
		func() error { return m.shows("update", args{"format": changed.Format}, changed) },
		func() error { return m.issues(2, 4999, "B-%05d") }, // a change may skip numbers
		func() error { return m.shows("set_next", args{"next": set.Next}, set) },
		func() error { return m.issues(5000, 5000, "B-%05d") },
		func() error { return m.decodes("B-05000", "5000", "granted") },
		func() error { return m.decodes("A-1", "1", "granted") }, // the earlier format
		func() error { return m.decodes("B-07000", "7000", "not-granted") },
		func() error { return m.refuses("decode_text", args{"text": "C-1"}, "INVALID_ARGUMENT") },
		func() error { return m.refuses("set_next", args{"next": "10"}, "WOULD_REPEAT") },
		func() error { return eventually(ctx, m.listed) }, // a member may answer from its replica
		func() error { return m.do("delete", args{}, nil) },
		func() error { return m.refuses("sequence", args{}, "UNKNOWN_SEQUENCE") },
		func() error { return m.refuses("delete", args{}, "UNKNOWN_SEQUENCE") },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	return layouts(ctx, p)
}

// do performs an operation on the sequence.
func (m managed) do(op string, with args, ok any) error {
	with["client"], with["sequence"] = "c", m.name
	return m.call(op, with, ok)
}

// shows performs an operation that answers the sequence. Its next number counts only if it is wanted.
func (m managed) shows(op string, with args, want info) error {
	var got info
	if err := m.do(op, with, &got); err != nil {
		return fmt.Errorf("%s: %w", op, err)
	}
	if want.Next == "" {
		got.Next = ""
	}
	if got != want {
		return fmt.Errorf("%s: %+v, want %+v", op, got, want)
	}
	return nil
}

func (m managed) refuses(op string, with args, reason string) error {
	with["client"], with["sequence"] = "c", m.name
	f, err := m.refused(op, with, reason)
	if err == nil && (f.Retry || f.Unknown) {
		err = fmt.Errorf("%s: %w: retry %v, unknown %v, want neither", op, f, f.Retry, f.Unknown)
	}
	return err
}

// last checks the last number; empty if none was issued.
func (m managed) last(want string) error {
	var got struct {
		Last string `json:"last"`
	}
	if err := m.do("last", args{}, &got); err != nil || got.Last != want {
		return errors.Join(err, fmt.Errorf("last number %q, want %q", got.Last, want))
	}
	return nil
}

// issues takes one number, from least to most, with a text in a format of fmt.
func (m managed) issues(least, most int64, format string) error {
	var n numbering
	if err := m.do("numbers", args{"count": 1}, &n); err != nil {
		return err
	}
	first, err := strconv.ParseInt(n.First, 10, 64)
	if err != nil || first < least || first > most || !slices.Equal(n.Texts, []string{fmt.Sprintf(format, first)}) {
		return fmt.Errorf("number %+v, want one from %d to %d as %s: %w", n, least, most, format, err)
	}
	return nil
}

// decodes checks the number of a text.
func (m managed) decodes(text, number, state string) error {
	var got struct {
		Number string `json:"number"`
		State  string `json:"state"`
	}
	if err := m.do("decode_text", args{"text": text}, &got); err != nil || got.Number != number || got.State != state {
		return errors.Join(err, fmt.Errorf("text %s is %+v, want %s, %s", text, got, number, state))
	}
	return nil
}

// listed looks for the sequence in the list of those with its name as the prefix.
func (m managed) listed() error {
	var got struct {
		Names []string `json:"names"`
	}
	if err := m.do("list", args{"prefix": m.name}, &got); err != nil {
		return err
	}
	if !slices.Equal(got.Names, []string{m.name}) {
		return fmt.Errorf("list %q, want %s", got.Names, m.name)
	}
	return nil
}

// layouts creates a layout, reads it, and takes IDs of it.
func layouts(ctx context.Context, p *player) error {
	name := p.unique("layout")
	with := args{"client": "c", "layout": name, "fields": "time:41,worker:8,sequence:12", "epoch_ms": 1_735_689_600_000}
	for range 2 { // the same layout may be created again
		if err := p.call("create_layout", with, nil); err != nil {
			return err
		}
	}
	if err := eventually(ctx, func() error { // a member answers from its replica
		var got struct {
			Fields string   `json:"fields"`
			Names  []string `json:"names"`
		}
		if err := p.call("layout", args{"client": "c", "layout": name}, &got); err != nil {
			return err
		}
		if got.Fields != with["fields"] || !slices.Contains(got.Names, name) || !slices.Contains(got.Names, snowflake.Default().Name()) {
			return fmt.Errorf("layout %+v, want %s in the list", got, with["fields"])
		}
		return nil
	}); err != nil {
		return err
	}
	with["fields"] = "time:41,worker:6,sequence:12"
	if _, err := p.refused("create_layout", with, "LAYOUT_EXISTS"); err != nil {
		return err
	}
	all, err := p.take("ids", args{"client": "c", "layout": name}, 5)
	if err != nil {
		return err
	}
	if all[4]>>61 != 0 {
		return errors.New("an ID of 61 bits is " + strconv.FormatUint(all[4], 10))
	}
	return nil
}
