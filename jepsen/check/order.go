package check

import (
	"cmp"
	"errors"
	"fmt"
	"slices"

	"github.com/snowraft/snowraft/jepsen/history"
)

// Order fails if IDs or numbers are not in the promised order (docs/design.md, "Order", and docs/sequences.md):
//
//   - An ID is greater than each ID of the same worker and process that was answered before the ID was requested. The
//     same holds for all IDs of a session. In a layout that only leases workers, the order is that of foreign generators, and not judged.
//   - An ID is greater than the floor of its request.
//   - All calls to a strict sequence are linearizable.
//   - A number of a relaxed sequence comes after each number that the same process had answered before the number was
//     requested. The checker ignores requests with an ID, which the leader answers from separate blocks. It assumes that
//     the next number of a sequence is never set.
//
// Operations with an unknown outcome have no IDs, and leave a gap.
func Order(r *Run) Verdict { return OrderWithin(r, DefaultBudget) }

// OrderWithin is [Order] with about budget bytes of memory for sorting. In addition, it takes 16 bytes for each request
// with a floor, and about 200 bytes for each call to a strict sequence.
func OrderWithin(r *Run, budget int) Verdict {
	v := newVerdict("order")
	if err := errors.Join(r.orderIDs(v, budget), r.orderNumbers(v, budget)); err != nil {
		v.invalid("%v", err)
	}
	v.Summary = fmt.Sprintf("%d ranges in %d lanes, %d in %d sessions, %d with a floor; "+
		"%d calls to relaxed sequences; %d calls to strict sequences, of which porcupine judged %d slices; %d out of order",
		v.Facts["lane_ranges"], v.Facts["lanes"], v.Facts["session_ranges"], v.Facts["sessions"], v.Facts["floor_ranges"],
		v.Facts["relaxed_calls"], v.Facts["strict_calls"], v.Facts["slices"], v.Facts[factFailures])
	return *v
}

// lane identifies IDs that must ascend: those of a worker of a process, or those of a session.
type lane struct {
	layout             string
	start, session     uint32
	datacenter, worker uint64
}

// orderIDs checks the order of the IDs of each layout.
func (r *Run) orderIDs(v *Verdict, budget int) error {
	floors, err := r.floors()
	if err != nil {
		return err
	}
	files, err := history.IDFiles(r.Dir)
	if err != nil {
		return err
	}
	for name := range files {
		layout, ok := r.Layouts[name]
		if !ok {
			return fmt.Errorf("history lacks layout %q, which has IDs", name)
		}
		lanes := make(map[lane]uint64)
		var names []lane
		err := sorting(r.Dir, budget, func(s *sorter) error {
			add := func(l lane, i history.Issued) error {
				index, ok := lanes[l]
				if !ok {
					index = uint64(len(names))
					lanes[l], names = index, append(names, l)
				}
				return s.add(entry{hi: index, lo: uint64(i.Call) ^ sign, Issued: i}) //nolint:gosec // G115: keeps the bits
			}
			for i, err := range readAll(files[name]) {
				if err != nil {
					return err
				}
				if after, ok := floors.of(i.Op); ok {
					v.Facts["floor_ranges"]++
					if i.First <= after {
						v.fail("ID %d of layout %q is not greater than %d, the floor of its request: %v", i.First, name, after, given{r, i})
					}
				}
				if i.Session > 0 {
					v.Facts["session_ranges"]++
					if err := add(lane{layout: name, session: i.Session}, i); err != nil {
						return err
					}
				}
				first, err := layout.Unpack(i.First)
				last, errLast := layout.Unpack(i.Last())
				if layout.Spec().LeaseOnly || i.Start == 0 || err != nil || errLast != nil || first.Worker != last.Worker || first.Datacenter != last.Datacenter {
					v.Facts["ranges_without_lane"]++
					continue
				}
				v.Facts["lane_ranges"]++
				if err := add(lane{layout: name, start: i.Start, datacenter: first.Datacenter, worker: first.Worker}, i); err != nil {
					return err
				}
			}
			for _, l := range names {
				if l.session > 0 {
					v.Facts["sessions"]++
				} else {
					v.Facts["lanes"]++
				}
			}
			return ascending(s, func(before, e entry) {
				what := fmt.Sprintf("session %d", e.Session)
				if l := names[e.hi]; l.session == 0 {
					what = fmt.Sprintf("worker %d of %s", l.worker, r.process(l.start))
				}
				v.fail("IDs of %s in layout %q do not ascend: %d was requested after %d was returned: %v; %v",
					what, name, e.First, before.Last(), given{r, before.Issued}, given{r, e.Issued})
			})
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// floors is the list of operations with a floor, sorted by ID.
type floors []struct{ op, after uint64 }

func (r *Run) floors() (floors, error) {
	var all floors
	for op, err := range r.Ops() {
		if err != nil {
			return nil, err
		}
		if op.Do == history.DoIDs && op.Outcome == history.OK && op.After > 0 {
			all = append(all, struct{ op, after uint64 }{op.ID, op.After})
		}
	}
	slices.SortFunc(all, func(a, b struct{ op, after uint64 }) int { return cmp.Compare(a.op, b.op) })
	return all, nil
}

// of returns the floor of an operation, and whether it has a floor.
func (f floors) of(op uint64) (uint64, bool) {
	at, ok := slices.BinarySearchFunc(f, op, func(have struct{ op, after uint64 }, op uint64) int { return cmp.Compare(have.op, op) })
	if !ok || op == 0 {
		return 0, false
	}
	return f[at].after, true
}
