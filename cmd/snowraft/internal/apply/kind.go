package apply

import (
	"context"
	"slices"

	"golang.org/x/sync/errgroup"
)

// kind is a kind of named objects, with messages M of the API.
type kind[M any] interface {
	section() section
	settings() []setting[M]
	fresh(name string) M
	name(m M) string
	// list returns the objects of the cluster that the file can have. The state of the answering member may be behind.
	list(ctx context.Context) ([]M, error)
	// numerous reports whether a cluster may have many more objects than a file, so that only --prune lists them all.
	numerous() bool
	// find returns an object as the leader knows it.
	find(ctx context.Context, name string) (M, error)
	// complete returns the settings that a new object has, of those in the file and defaults. m has the former.
	complete(o object, m M) (M, error)
	// want returns the settings that an object must have if the file gives those of asked, which it may change. was is the object
	// in the cluster; there is none for a new object. A refusal says why the object must not be made or changed.
	want(p *planner, o object, asked, was M, exists bool) (m M, refusal string)
	create(ctx context.Context, m M) (unreached []string, err error)
	// update gives an object the settings of m that fields names.
	update(ctx context.Context, m, was M, fields []string) (unreached []string, err error)
	// kept reports whether --prune keeps an object that the file does not have, and omitted whether export-config leaves it out.
	kept(m M) bool
	omitted(m M) bool
	remove(ctx context.Context, m M) (unreached []string, err error)
}

// sections lists the sections of a file, in the order in which changes are made. Sequences come before the templates that could
// begin their names, and before the configuration that could let an INCR create them.
var sections = []section{
	layouts{}.section(), sequences{}.section(), templates{}.section(), configSection, tokens{}.section(),
}

// plan adds the changes of a kind that make the cluster as the file says.
func plan[M any](ctx context.Context, p *planner, k kind[M]) error {
	s := k.section()
	given, ok := p.file.objects[s.key]
	if !ok {
		return nil
	}
	var all []M
	if p.prune || !k.numerous() {
		var err error
		if all, err = k.list(ctx); err != nil {
			return err
		}
	}
	known, err := look(ctx, k, given, all)
	if err != nil {
		return err
	}
	named := make(map[string]bool, len(given))
	for i, o := range given {
		named[o.name] = true
		compare(p, k, o, known[i].m, known[i].exists)
	}
	if !p.prune {
		return nil
	}
	for _, m := range all {
		if !named[k.name(m)] && !k.kept(m) {
			p.deletions = append(p.deletions, &change{
				Action: actionDelete, Kind: s.noun(), Name: k.name(m),
				do: func(ctx context.Context) ([]string, error) { return k.remove(ctx, m) },
			})
		}
	}
	return nil
}

// lookups is the number of objects that are looked up at the same time.
const lookups = 32

// found is an object of the cluster, if it exists there.
type found[M any] struct {
	m      M
	exists bool
}

// look returns the object of each name in a file. It requests those that listed lacks from the leader, because the member that
// listed may be behind.
func look[M any](ctx context.Context, k kind[M], given []object, listed []M) ([]found[M], error) {
	known := make(map[string]M, len(listed))
	for _, m := range listed {
		known[k.name(m)] = m
	}
	all := make([]found[M], len(given))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(lookups)
	for i, o := range given {
		if m, exists := known[o.name]; exists {
			all[i] = found[M]{m, true}
			continue
		}
		group.Go(func() error {
			m, err := k.find(ctx, o.name)
			if unknown(err) {
				return nil
			}
			all[i] = found[M]{m, true}
			return err
		})
	}
	return all, group.Wait()
}

// compare adds the change that an object of the file needs, if any.
func compare[M any](p *planner, k kind[M], o object, was M, exists bool) {
	asked := k.fresh(o.name)
	fill(asked, k.settings(), o.given)
	c := &change{Action: actionCreate, Kind: k.section().noun(), Name: o.name}
	m, refusal := k.want(p, o, asked, was, exists)
	c.Error = refusal
	if !exists {
		for _, s := range k.settings() {
			if text := s.value(asked).Text(); text != s.value(k.fresh(o.name)).Text() {
				c.Settings = append(c.Settings, difference{Key: s.key, File: text})
			}
		}
		c.do = func(ctx context.Context) ([]string, error) { return k.create(ctx, asked) }
		p.add(c)
		return
	}
	c.Action = actionUpdate
	var fields []string
	for _, s := range k.settings() {
		if now, file := s.value(was).Text(), s.value(m).Text(); now != file {
			c.Settings = append(c.Settings, difference{s.key, now, file})
			fields = append(fields, s.field)
		}
	}
	if len(fields) == 0 && c.Error == "" {
		p.unchanged++
		return
	}
	c.do = func(ctx context.Context) ([]string, error) { return k.update(ctx, m, was, fields) }
	p.add(c)
}

// noun returns the name of one object of a section.
func (s section) noun() string {
	if !s.named {
		return s.key
	}
	return s.key[:len(s.key)-1]
}

// given returns an object as a file must give it: without the settings that it would have without them.
func given[M any](k kind[M], m M) (object, error) {
	o := object{name: k.name(m), given: map[string]string{}}
	all := k.settings()
	for _, s := range all {
		o.given[s.key] = s.value(m).Text()
	}
	for _, s := range all {
		if slices.Contains(k.section().need, s.key) {
			continue
		}
		text := o.given[s.key]
		delete(o.given, s.key)
		trial := k.fresh(o.name)
		fill(trial, all, o.given)
		trial, err := k.complete(o, trial)
		if err != nil {
			return o, err
		}
		if !equal(all, trial, m) {
			o.given[s.key] = text
		}
	}
	return o, nil
}

func equal[M any](all []setting[M], a, b M) bool {
	return !slices.ContainsFunc(all, func(s setting[M]) bool { return s.value(a).Text() != s.value(b).Text() })
}
