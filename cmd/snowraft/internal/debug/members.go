package debug

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
	"github.com/snowraft/snowraft/server/diagnose"
)

const (
	// sending is the time that a member has to send its files, without the duration of the CPU profile.
	sending = 2 * time.Minute
	// Limits of the files that a member sends.
	maxFiles = 100
	maxBytes = 256 << 20
)

// gathering collects the files of all members.
type gathering struct {
	*Summary
	app      *cli.App
	remote   *cli.Remote
	archive  *archive
	duration time.Duration // duration of the CPU profile
}

// run calls all members at once. It fails if no member answers.
func (g *gathering) run(ctx context.Context) error {
	if err := g.list(ctx); err != nil {
		return err
	}
	fmt.Fprintf(g.app.Stderr, "snowraft: collecting from %d members for %v\n", len(g.Members), g.duration)
	known := make([]string, 0, 2*len(g.Members))
	for _, m := range g.Members {
		known = append(known, m.Name, m.ID)
	}
	redact := diagnose.NewRedactor(known...)
	var wg sync.WaitGroup
	for i := range g.Members {
		wg.Go(func() { g.collect(ctx, &g.Members[i]) })
	}
	wg.Wait()
	answered := false
	for i := range g.Members {
		m := &g.Members[i]
		answered = answered || len(m.Files) > 0
		if m.err == nil {
			continue
		}
		m.Error = redact.Text(cli.Cause(m.err))
		where := cmp.Or(strings.Join(m.addresses, ", "), "address unknown")
		if len(m.Files) > 0 {
			g.app.Warn("files of member %q (%s) are incomplete: %s", m.Name, where, m.Error)
		} else {
			g.app.Warn("member %q (%s) is not in the archive: %s", m.Name, where, m.Error)
		}
	}
	if !answered {
		return fmt.Errorf("no member sent a file: %w", g.Members[0].err)
	}
	return nil
}

// list finds the members: the members that the cluster knows, and the members at the given addresses.
func (g *gathering) list(ctx context.Context) error {
	resp, err := g.remote.Cluster.ListMembers(ctx, &snowraftv1.ListMembersRequest{})
	if err != nil {
		return err
	}
	for _, m := range resp.GetMembers() {
		g.noteMember(m.GetId(), m.GetName(), m.GetApiAddress())
	}
	for _, address := range g.remote.Addresses {
		one, err := g.remote.At(address)
		if err != nil {
			return err
		}
		status, err := one.Cluster.GetStatus(ctx, &snowraftv1.GetStatusRequest{})
		one.Close()
		if err == nil { // otherwise only the API address identifies the member
			g.noteMember(status.GetMemberId(), status.GetName(), address)
		}
	}
	if len(g.Members) == 0 {
		return errors.New("the member that answers knows no members; set --addr to the members")
	}
	slices.SortFunc(g.Members, func(a, b Member) int { return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.ID, b.ID)) })
	return nil
}

func (g *gathering) noteMember(id, name, address string) {
	i := slices.IndexFunc(g.Members, func(m Member) bool { return m.ID == id })
	if i < 0 {
		i = len(g.Members)
		g.Members = append(g.Members, Member{ID: id, Files: []string{}})
	}
	m := &g.Members[i]
	m.Name = cmp.Or(m.Name, name)
	if address != "" && !slices.Contains(m.addresses, address) {
		m.addresses = append(m.addresses, address)
	}
}

// unsafe matches the characters of a member's name that the name of its directory omits.
var unsafe = regexp.MustCompile(`[^A-Za-z0-9_-]+`)

// collect adds the files of a member, from the first of its addresses that answers.
func (g *gathering) collect(ctx context.Context, m *Member) {
	m.err = errors.New("the members that answered do not know its API address; add the address to --addr")
	for i, address := range m.addresses {
		err := g.download(ctx, address, m)
		if err == nil || i == 0 || len(m.Files) > 0 {
			m.err = err
		}
		if len(m.Files) > 0 {
			return
		}
	}
}

// download adds the files that the member at an address sends.
func (g *gathering) download(ctx context.Context, address string, m *Member) error {
	one, err := g.remote.At(address)
	if err != nil {
		return err
	}
	defer one.Close()
	ctx, cancel := context.WithTimeout(ctx, g.duration+sending)
	defer cancel()
	idle := time.AfterFunc(one.Timeout, cancel)
	defer idle.Stop()
	stream, err := one.Operations.Debug(ctx, &snowraftv1.DebugRequest{Seconds: uint32(g.Seconds)}) //nolint:gosec // at most maxSeconds
	if err != nil {
		return err
	}
	m.Directory = strings.Trim(unsafe.ReplaceAllString(m.Name, "_")+"-"+m.ID[:min(8, len(m.ID))], "-")
	var file string
	var content []byte
	total := 0
	end := func() error {
		if file == "" {
			return errors.New("the member sent no files")
		}
		m.Files = append(m.Files, file)
		return g.archive.add("members/"+m.Directory+"/"+file, content)
	}
	for {
		piece, err := stream.Recv()
		switch {
		case errors.Is(err, io.EOF):
			return end()
		case err != nil && ctx.Err() != nil:
			return fmt.Errorf("the member sent nothing for %v; set --timeout", one.Timeout)
		case err != nil:
			return err
		}
		idle.Reset(one.Timeout + g.duration)
		if piece.GetFile() != file {
			if file != "" {
				if err := end(); err != nil {
					return err
				}
			}
			file, content = piece.GetFile(), nil
			if !fileName.MatchString(file) || slices.Contains(m.Files, file) || len(m.Files) == maxFiles {
				return fmt.Errorf("the member sent an unexpected file %.40q", file)
			}
		}
		content = append(content, piece.GetData()...)
		if total += len(piece.GetData()); total > maxBytes {
			return fmt.Errorf("the member sent more than %d MiB", maxBytes>>20)
		}
	}
}

// fileName matches the names that a member may give to the files in its archive.
var fileName = regexp.MustCompile(`^[a-z][a-z0-9-]*(\.[a-z]+)?$`)
