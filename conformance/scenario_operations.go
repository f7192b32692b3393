package main

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"time"

	"github.com/snowraft/snowraft/snowflake"
)

type ids struct {
	IDs []string `json:"ids"`
}

// take calls an operation that returns count IDs, and checks that they are distinct.
func (p *player) take(op string, with args, count int) ([]uint64, error) {
	with["count"] = count
	var got ids
	if err := p.call(op, with, &got); err != nil {
		return nil, err
	}
	all, err := numbers(got.IDs, count)
	if err == nil {
		err = distinct(all)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", op, err)
	}
	return all, err
}

// connect opens the client c of a driver at the members of the open cluster.
func (p *player) connect() error {
	return p.call("open", args{"client": "c", "addresses": p.open.addresses()}, nil)
}

// operations uses each operation once or twice.
func operations(ctx context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	for _, part := range []func(*player) error{direct, uuids, buffered, strict, relaxed} {
		if err := part(p); err != nil {
			return err
		}
	}
	if err := manages(ctx, p); err != nil {
		return err
	}
	return p.call("close", args{"client": "c"}, nil)
}

func direct(p *player) error {
	var greatest uint64
	for _, count := range []int{1, 100, 5000} {
		all, err := p.take("ids", args{"client": "c"}, count)
		if err != nil {
			return err
		}
		greatest = max(greatest, slices.Max(all))
	}
	for range 20 {
		all, err := p.take("ids", args{"client": "c", "after": strconv.FormatUint(greatest, 10)}, 1)
		if err != nil {
			return err
		}
		if all[0] <= greatest {
			return fmt.Errorf("ID %d after %d", all[0], greatest)
		}
		greatest = all[0]
	}
	return nil
}

var version7 = regexp.MustCompile(`^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$`)

func uuids(p *player) error {
	if !p.has("uuid") {
		return nil
	}
	var got struct {
		UUIDs []string `json:"uuids"`
	}
	if err := p.call("uuids", args{"client": "c", "count": 20}, &got); err != nil {
		return err
	}
	seen := make(map[string]bool)
	for _, u := range got.UUIDs {
		if !version7.MatchString(u) || seen[u] {
			return fmt.Errorf("UUID %q, or twice", u)
		}
		seen[u] = true
	}
	if len(seen) != 20 {
		return fmt.Errorf("%d UUIDs, want 20", len(seen))
	}
	return nil
}

func buffered(p *player) error {
	if !p.has("buffer") {
		return nil
	}
	if err := p.call("buffer", args{"client": "c", "buffer": "b"}, nil); err != nil {
		return err
	}
	_, err := p.take("take", args{"buffer": "b"}, 3000)
	return err
}

// numbering is the answer of the operation numbers.
type numbering struct {
	First  string   `json:"first"`
	Count  int      `json:"count"`
	Step   string   `json:"step"`
	Texts  []string `json:"texts"`
	Period string   `json:"period"`
}

func strict(p *player) error {
	name := p.unique("strict")
	if err := p.call("create", args{"client": "c", "sequence": name, "mode": "strict", "start": "100", "step": "5", "format": "N-{seq:06}"}, nil); err != nil {
		return err
	}
	var last int64 = 95
	for _, count := range []int{1, 3, 1} {
		var n numbering
		if err := p.call("numbers", args{"client": "c", "sequence": name, "count": count}, &n); err != nil {
			return err
		}
		first, err := strconv.ParseInt(n.First, 10, 64)
		if err != nil || first != last+5 || n.Count != count || n.Step != "5" {
			return fmt.Errorf("numbers %+v after %d: %w", n, last, err)
		}
		if want := fmt.Sprintf("N-%06d", first); len(n.Texts) != count || n.Texts[0] != want {
			return fmt.Errorf("texts %q, want %q first", n.Texts, want)
		}
		last = first + 5*int64(count-1)
	}
	var once, again numbering
	with := args{"client": "c", "sequence": name, "count": 2, "request_id": name + "-1"}
	if err := errors.Join(p.call("numbers", with, &once), p.call("numbers", with, &again)); err != nil {
		return err
	}
	if once.First != again.First || once.Count != again.Count {
		return fmt.Errorf("a repetition with a request ID got %+v after %+v", again, once)
	}
	yearly := p.unique("yearly")
	if err := p.call("create", args{"client": "c", "sequence": yearly, "mode": "strict", "reset": "yearly", "zone": "Asia/Tokyo"}, nil); err != nil {
		return err
	}
	var n numbering
	if err := p.call("numbers", args{"client": "c", "sequence": yearly, "count": 1}, &n); err != nil {
		return err
	}
	tokyo := time.FixedZone("Tokyo", 9*3600)
	if want := time.Now().In(tokyo).Format("2006") + "-01-01"; n.First != "1" || n.Period != want {
		return fmt.Errorf("%+v of a yearly sequence, want 1 of %s", n, want)
	}
	return errors.Join(fiscal(p, tokyo), late(p, tokyo))
}

// late takes numbers of the last year, of which the cluster only knows what the client states.
func late(p *player, tokyo *time.Location) error {
	name, year := p.unique("late"), time.Now().In(tokyo).Format("2006")
	before, err := strconv.Atoi(year)
	if err != nil {
		return err
	}
	before--
	if err := p.call("create", args{
		"client": "c", "sequence": name, "mode": "strict", "reset": "yearly", "late_ms": 366 * 86_400_000, "zone": "Asia/Tokyo", "format": "{date:yyyy}/{seq:04}",
	}, nil); err != nil {
		return err
	}
	with := args{"client": "c", "sequence": name, "count": 2, "period": strconv.Itoa(before), "from": "813"}
	for _, first := range []string{"813", "815"} {
		var n numbering
		if err := p.call("numbers", with, &n); err != nil {
			return err
		}
		delete(with, "from")
		if want := fmt.Sprintf("%d/0%s", before, first); n.First != first || n.Period != fmt.Sprintf("%d-01-01", before) || len(n.Texts) != 2 || n.Texts[0] != want {
			return fmt.Errorf("%+v of the last year, want %s", n, want)
		}
	}
	var now numbering
	if err := p.call("numbers", args{"client": "c", "sequence": name, "count": 1}, &now); err != nil || now.First != "1" {
		return fmt.Errorf("%+v of the present year, want 1: %w", now, err)
	}
	return nil
}

// fiscal takes a number of a fiscal year, which begins in April in Tokyo.
func fiscal(p *player, tokyo *time.Location) error {
	name := p.unique("fiscal")
	if err := p.call("create", args{
		"client": "c", "sequence": name, "mode": "strict", "reset": "yearly", "year_starts": "04-01", "zone": "Asia/Tokyo", "format": "{fy:yyyy-yy}/{seq:03}",
	}, nil); err != nil {
		return err
	}
	var n numbering
	if err := p.call("numbers", args{"client": "c", "sequence": name, "count": 1}, &n); err != nil {
		return err
	}
	begins := time.Now().In(tokyo).AddDate(0, -3, 0).Year()
	if want := fmt.Sprintf("%d-%02d/001", begins, (begins+1)%100); n.Period != fmt.Sprintf("%d-04-01", begins) || len(n.Texts) != 1 || n.Texts[0] != want {
		return fmt.Errorf("%+v of a fiscal year, want %s", n, want)
	}
	return nil
}

func relaxed(p *player) error {
	name := p.unique("relaxed")
	if err := p.call("create", args{"client": "c", "sequence": name, "mode": "relaxed"}, nil); err != nil {
		return err
	}
	if !p.has("relaxed") {
		return nil
	}
	if err := p.call("blocks", args{"client": "c", "blocks": "s", "sequence": name}, nil); err != nil {
		return err
	}
	var all []uint64
	for _, count := range []int{1, 250, 1000} {
		var got struct {
			Numbers []string `json:"numbers"`
		}
		if err := p.call("draw", args{"blocks": "s", "count": count}, &got); err != nil {
			return err
		}
		some, err := numbers(got.Numbers, count)
		if err != nil {
			return err
		}
		all = append(all, some...)
	}
	return ascending(all)
}

// refusals sends requests that members and clients refuse.
func refusals(_ context.Context, p *player) error {
	if err := p.connect(); err != nil {
		return err
	}
	name := p.unique("s")
	if err := p.call("create", args{"client": "c", "sequence": name, "mode": "strict"}, nil); err != nil {
		return err
	}
	if err := p.call("numbers", args{"client": "c", "sequence": name, "count": 1, "request_id": name + "-r"}, nil); err != nil {
		return err
	}
	for _, tc := range []struct {
		op     string
		args   args
		reason string
	}{
		{"ids", args{"client": "c", "layout": "nope", "count": 1}, "UNKNOWN_LAYOUT"},
		{"ids", args{"client": "c", "count": 0}, "INVALID_ARGUMENT"},
		{"numbers", args{"client": "c", "sequence": "nope", "count": 1}, "UNKNOWN_SEQUENCE"},
		{"numbers", args{"client": "c", "sequence": name, "count": 0}, "INVALID_ARGUMENT"},
		{"numbers", args{"client": "c", "sequence": name, "count": 2, "request_id": name + "-r"}, "REQUEST_ID_REUSED"},
		{"create", args{"client": "c", "sequence": name, "mode": "relaxed"}, "SEQUENCE_EXISTS"},
		{"create", args{"client": "c", "sequence": name + "2", "mode": "strict", "format": "{nope}"}, "INVALID_ARGUMENT"},
	} {
		f, err := p.refused(tc.op, tc.args, tc.reason)
		if err != nil {
			return err
		}
		if f.Retry || f.Unknown {
			return fmt.Errorf("%s %v: retry %v, unknown %v, want neither", tc.op, tc.args, f.Retry, f.Unknown)
		}
		if f.Message == "" {
			return fmt.Errorf("%s %v: %s without a message", tc.op, tc.args, f.Reason)
		}
	}
	if p.has("relaxed") {
		// The sequence is strict, which a client may learn when it makes the blocks or when it draws.
		err := p.call("blocks", args{"client": "c", "blocks": "s", "sequence": name}, nil)
		if err == nil {
			err = p.call("draw", args{"blocks": "s", "count": 1}, nil)
		}
		if f, ok := errors.AsType[*failure](err); !ok || f.Reason != "STRICT_SEQUENCE" {
			return fmt.Errorf("blocks of a strict sequence: %w, want STRICT_SEQUENCE", err)
		}
	}
	deserted := at(p.ports.take(2) + 1)
	if err := p.call("open", args{"client": "alone", "addresses": []string{deserted}, "timeout_ms": 1000}, nil); err != nil {
		return err
	}
	f, err := p.refused("ids", args{"client": "alone", "count": 1}, "UNAVAILABLE", "TIMEOUT")
	if err != nil {
		return err
	}
	if !f.Retry {
		return fmt.Errorf("no member in reach: %w, without retry", f)
	}
	if err := p.call("close", args{"client": "c"}, nil); err != nil {
		return err
	}
	_, err = p.refused("ids", args{"client": "c", "count": 1}, "CLOSED", "INVALID_ARGUMENT") // the driver may have forgotten the client
	return err
}

// parts holds the fields of an ID in the operations decode and encode.
type parts struct {
	TickAt     int64  `json:"tick_at_ms"`
	Worker     uint64 `json:"worker,string"`
	Sequence   uint64 `json:"sequence,string"`
	Datacenter uint64 `json:"datacenter,string"`
}

// decodes compares the decoding of presets with that of the Go package, and encodes the result.
func decodes(_ context.Context, p *player) error {
	for _, l := range snowflake.Presets() {
		if l.Spec().TicksPerMilli > 1 {
			continue
		}
		for _, id := range []uint64{1, 249786410473619464 >> (64 - l.Bits()), 1<<(l.Bits()-1) | 12345} {
			if err := p.decode(l, id); err != nil {
				return fmt.Errorf("%s %d: %w", l.Name(), id, err)
			}
		}
	}
	return nil
}

func (p *player) decode(l *snowflake.Layout, id uint64) error {
	want, err := l.Unpack(id)
	if err != nil {
		return err
	}
	text := strconv.FormatUint(id, 10)
	var got parts
	if err := p.call("decode", args{"layout": l.Name(), "id": text}, &got); err != nil {
		return err
	}
	if got != (parts{l.MillisAt(want.Tick), want.Worker, want.Sequence, want.Datacenter}) {
		return fmt.Errorf("decoded as %+v, want %+v", got, want)
	}
	var encoded struct {
		ID string `json:"id"`
	}
	err = p.call("encode", args{
		"layout": l.Name(), "tick_at_ms": got.TickAt, "worker": strconv.FormatUint(got.Worker, 10),
		"sequence": strconv.FormatUint(got.Sequence, 10), "datacenter": strconv.FormatUint(got.Datacenter, 10),
	}, &encoded)
	if err == nil && encoded.ID != text {
		err = fmt.Errorf("encoded as %s", encoded.ID)
	}
	return err
}
