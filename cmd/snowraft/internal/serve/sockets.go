package serve

import (
	"fmt"
	"io/fs"
	"strconv"

	"github.com/spf13/cobra"

	"github.com/snowraft/snowraft/cmd/snowraft/internal/cli"
	"github.com/snowraft/snowraft/server"
	"github.com/snowraft/snowraft/server/socket"
)

// sockets are the flags of the Unix sockets. A socket has flags of its own, because it is served in addition to the address of its
// protocol: members and the command health use the address.
var sockets = []struct {
	flag, clients string
	field         func(*server.Config) *socket.File
}{
	{"http-socket", "HTTP clients on this host", func(c *server.Config) *socket.File { return &c.HTTPSocket }},
	{"redis-socket", "Redis clients on this host", func(c *server.Config) *socket.File { return &c.RedisSocket }},
}

func addSocketFlags(cmd *cobra.Command, c *server.Config) {
	for _, s := range sockets {
		at := s.field(c)
		at.Mode = socket.DefaultMode
		cli.AddSetting(cmd, "Network", s.flag, socketValue(&at.Path), "Unix socket for "+s.clients+", without TLS; empty disables the socket")
		cli.AddSetting(cmd, "Network", s.flag+"-mode", modeValue(&at.Mode), "mode of --"+s.flag+"; users with write permission may connect")
	}
}

// socketValue returns a value that accepts the path of a socket, or the empty text.
func socketValue(p *string) *cli.Value {
	expects := fmt.Sprintf("an absolute path of at most %d bytes, such as /run/snowraft/redis.sock, or an empty value", socket.MaxPath)
	return &cli.Value{Kind: "PATH", Expects: expects, Text: func() string { return *p }, Parse: func(s string) bool {
		*p = s
		return s == "" || socket.Fits(s)
	}}
}

// modeValue returns a value that accepts the mode of a socket in octal digits.
func modeValue(p *fs.FileMode) *cli.Value {
	expects := fmt.Sprintf("an octal mode from %s to %s", octal(socket.MinMode), octal(socket.MaxMode))
	return &cli.Value{Kind: "MODE", Expects: expects, Text: func() string { return octal(*p) }, Parse: func(s string) bool {
		n, err := strconv.ParseUint(s, 8, 16)
		*p = fs.FileMode(n)
		return err == nil && *p >= socket.MinMode && *p <= socket.MaxMode
	}}
}

func octal(mode fs.FileMode) string { return fmt.Sprintf("%#o", uint32(mode)) }
