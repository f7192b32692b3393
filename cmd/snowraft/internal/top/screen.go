package top

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	snowraftv1 "github.com/snowraft/snowraft/proto/snowraft/v1"
)

// lines prints each overview as one line of JSON.
type lines struct {
	out    *cli.Printer
	errors io.Writer
}

func (l *lines) show(now scene) error {
	return l.out.Answer(&snowraftv1.GetOverviewResponse{Overview: now.Overview})
}

func (l *lines) cut(last scene, why string) error {
	_, err := io.WriteString(l.errors, "no view since "+clockOf(last.GetComposedAtMs())+" UTC: "+why+"\n")
	return err
}

// blocks prints one overview after another.
type blocks struct {
	out   *cli.Printer
	width int
	begun bool
}

func (b *blocks) show(now scene) error {
	return b.print(view(now, "", b.width, b.out.Style))
}

func (b *blocks) cut(last scene, why string) error {
	return b.print(wrap("No view since "+clockOf(last.GetComposedAtMs())+" UTC: "+why, b.width, b.out.Style.Red))
}

func (b *blocks) print(all []line) error {
	block := func(w io.Writer, _ cli.Style) {
		if b.begun {
			_, _ = io.WriteString(w, "\n") // the printer remembers the error
		}
		_, _ = io.WriteString(w, text(all, "\n"))
	}
	err := b.out.Answer(nil, block)
	b.begun = true
	return err
}

// text returns lines as one text, each followed by end.
func text(all []line, end string) string {
	var b strings.Builder
	for _, l := range all {
		shown := cli.Visible(l.text)
		if l.look != nil && shown != "" {
			shown = l.look(shown)
		}
		b.WriteString(shown)
		b.WriteString(end)
	}
	return b.String()
}

// Control sequences of the terminal. The end of each line clears the rest of the row, so that no view must be cleared
// before the next one.
const (
	enter   = "\x1b[?1049h\x1b[?25l" // alternate screen, no cursor
	leave   = "\x1b[?25h\x1b[?1049l"
	home    = "\x1b[H"
	endLine = "\x1b[K\r\n"
	rest    = "\x1b[J"
)

// screen shows the newest overview on a terminal.
type screen struct {
	out     *os.File
	in      *os.File // nil: not a terminal
	style   cli.Style
	before  *term.State // state of in before open
	cancel  context.CancelFunc
	closing sync.Once
}

// newScreen returns the terminal; nil if standard output is not a terminal that supports drawing.
func newScreen(a *cli.App) *screen {
	terminal, style := a.Terminal(a.Stdout)
	if !terminal || a.Env("TERM") == "dumb" {
		return nil
	}
	s := &screen{out: a.Stdout.(*os.File), style: style}
	if in, ok := a.Stdin.(*os.File); ok && term.IsTerminal(int(in.Fd())) {
		s.in = in
	}
	return s
}

// open takes over the terminal. The context ends when the user presses q or Ctrl-C.
func (s *screen) open(ctx context.Context) (context.Context, error) {
	ctx, cancel := context.WithCancel(ctx)
	s.cancel = cancel
	if s.in != nil {
		before, err := term.MakeRaw(int(s.in.Fd()))
		if err != nil {
			cancel()
			return nil, err
		}
		s.before = before
		go func() { // lives as long as the process: a read cannot be canceled
			defer cancel()
			key := make([]byte, 1)
			for {
				if _, err := s.in.Read(key); err != nil || key[0] == 'q' || key[0] == 'Q' || key[0] == ctrlC {
					return
				}
			}
		}()
	}
	_, err := s.out.WriteString(enter)
	return ctx, err
}

const ctrlC = 3

// close restores the terminal.
func (s *screen) close() {
	s.closing.Do(func() {
		s.cancel()
		_, _ = s.out.WriteString(leave) // fails only if the terminal is gone
		if s.before != nil {
			_ = term.Restore(int(s.in.Fd()), s.before)
		}
	})
}

func (s *screen) show(now scene) error { return s.draw(now, "") }

func (s *screen) cut(last scene, why string) error { return s.draw(last, why) }

// draw overwrites the previous view with a single write.
func (s *screen) draw(now scene, cut string) error {
	width, height, err := term.GetSize(int(s.out.Fd()))
	if err != nil {
		width, height = 80, 24
	}
	_, err = s.out.WriteString(frame(view(now, cut, width, s.style), height))
	return err
}

// frame returns the text that draws lines on a terminal with height rows.
func frame(all []line, height int) string {
	if height > 1 && len(all) > height-1 {
		all = append(all[:height-2:height-2], line{text: "… more with -n 1"})
	}
	return home + text(all, endLine) + rest
}
