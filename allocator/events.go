package allocator

import (
	"fmt"
	"log/slog"

	"github.com/snowraft/snowraft/internal/events"
)

// Events records notable events for operators. Note may be called from any goroutine, with locks held, so it must
// return at once and must not call back.
type Events interface {
	Note(kind events.Kind, level slog.Level, text string)
}

// note records an event of the lane. Only the lane's goroutine calls it, never a caller that requests an ID.
func (l *lane) note(level slog.Level, format string, args ...any) {
	l.issuer.events.Note(events.Window, level, fmt.Sprintf("%s, layout %s: ", l.holder, l.issuer.layout.Name())+fmt.Sprintf(format, args...))
}
